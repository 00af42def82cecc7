"""All logs of a broker at its start, one after another, with word of how far it is and of what was found.

It is a generator: after every log it gives way, so that the node can answer to its controller, show progress, or be
stopped meanwhile. Damage stays with the log it was found in, a fault of a disk with its directory.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tidelog.config.topic_config import TopicConfig
from tidelog.model.ids import TopicPartition
from tidelog.ports.errors import LockHeld, StorageFault
from tidelog.ports.paths import join
from tidelog.storage.checkpoint_errors import CorruptFileError
from tidelog.storage.errors import InvalidNameError, LogError
from tidelog.storage.log_directory import LogDirectory
from tidelog.storage.log_loader import LogContext, load_log
from tidelog.storage.names import LOG_SUFFIX, DirectoryState, parse_partition_directory, parse_segment_name
from tidelog.storage.recovery import Truncation

ConfigOf = Callable[[str], TopicConfig]  # by topic
METADATA_LOG = "__cluster_metadata-0"  # the quorum loads it for itself


@dataclass(slots=True)
class LoadProgress:
    """One object, brought up to date; `bytes_total` is what unclean stops leave to scan."""

    started_ms: int
    logs_total: int = 0
    logs_done: int = 0
    bytes_total: int = 0
    bytes_done: int = 0
    truncations: list[tuple[TopicPartition, Truncation]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    to_delete: list[str] = field(default_factory=list)  # directories of deleted partitions
    set_aside: list[str] = field(default_factory=list)  # stray and future ones: for others to decide

    def remaining_ms(self, now_ms: int) -> int | None:
        """As long as the rest takes at the pace so far; None as long as nothing can be said."""
        done, total = (self.bytes_done, self.bytes_total) if self.bytes_total else (self.logs_done, self.logs_total)
        return (now_ms - self.started_ms) * (total - done) // done if done else None


@dataclass(slots=True)
class _Pending:
    directory: LogDirectory
    partition: TopicPartition
    path: str
    bytes_to_scan: int


def load_logs(
    context: LogContext, directories: list[LogDirectory], config_of: ConfigOf, progress: LoadProgress
) -> Iterator[LoadProgress]:
    """LockHeld leaves it at once: another broker is running on one of the directories. Send the time in."""
    pending: list[_Pending] = []
    for directory in directories:
        try:
            directory.open()
            pending += _find(directory, progress)
        except LockHeld:
            raise
        except StorageFault as fault:
            directory.take_offline(fault)
        progress.problems += directory.problems
    progress.logs_total = len(pending)
    progress.bytes_total = sum(each.bytes_to_scan for each in pending)
    for each in pending:
        if each.directory.is_online:
            _load(context, each, config_of, progress)
        progress.logs_done += 1
        progress.bytes_done += each.bytes_to_scan
        yield progress


def _find(directory: LogDirectory, progress: LoadProgress) -> list[_Pending]:
    found = []
    for name in directory.fs.list_directory(directory.path):
        path = join(directory.path, name)
        try:
            partition, state = parse_partition_directory(name)
        except InvalidNameError as error:
            if directory.fs.stat(path).is_directory:
                progress.problems.append(f"{error}; left alone")
            continue
        if name == METADATA_LOG:
            continue
        if state is DirectoryState.CURRENT:
            found.append(_Pending(directory, partition, path, _bytes_to_scan(directory, partition, path)))
        else:
            (progress.to_delete if state is DirectoryState.DELETE else progress.set_aside).append(path)
    return found


def _bytes_to_scan(directory: LogDirectory, partition: TopicPartition, path: str) -> int:
    """The segments past the recovery point."""
    if directory.was_clean:
        return 0
    recovery_point = directory.stored_offsets(partition).recovery_point
    parsed = map(parse_segment_name, directory.fs.list_directory(path))
    logs = [(each.base_offset, each) for each in parsed if each is not None and each[1:] == (LOG_SUFFIX, "")]
    first = max((base for base, _ in logs if base <= recovery_point), default=0)
    scanned = [f"{base:020d}{LOG_SUFFIX}" for base, _ in logs if base >= first]
    return sum(directory.fs.stat(join(path, name)).size for name in scanned)


def _load(context: LogContext, pending: _Pending, config_of: ConfigOf, progress: LoadProgress) -> None:
    directory, partition = pending.directory, pending.partition
    stored = directory.stored_offsets(partition)
    try:
        loaded = load_log(
            context,
            pending.path,
            partition,
            config_of(partition.topic),
            stored,
            progress.started_ms,
            is_clean=directory.was_clean,
        )
    except LogError as error:
        directory.corrupt[partition] = error
        progress.problems.append(f"{partition} is damaged where it was durable, and set aside: {error}")
    except CorruptFileError as error:
        directory.corrupt[partition] = LogError(error.path, error.reason)
        progress.problems.append(f"{partition} is set aside: {error}")
    except StorageFault as fault:
        directory.take_offline(fault)
        progress.problems.append(f"{directory.path} is offline: {fault}")
    else:
        directory.logs[partition] = loaded.log
        progress.truncations += [(partition, each) for each in loaded.truncations]
        progress.problems += loaded.problems
