"""All logs of a broker at its start, one after another, with word of how far it is and of what was found.

It is a generator: after every log it gives way, so that the node can answer to its controller, show progress, or be
stopped meanwhile. Damage stays with the log it was found in, a fault of a disk with its directory.
"""

from collections.abc import Callable, Iterator
from functools import partial

from tidelog.config.topic_config import TopicConfig
from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclass import dataclass, field
from tidelog.ports.errors import LockHeld, StorageFault, TooManyOpenFiles
from tidelog.ports.paths import join
from tidelog.storage.directories.failed_sync import rewrite_partition
from tidelog.storage.directories.half_made import remove_half_made, was_never_made
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.directories.partition_directories import FoundDirectory, Partitions, find_directories, resolve
from tidelog.storage.errors import LogError, way_out
from tidelog.storage.log.group_commit import survives
from tidelog.storage.log.loader import LoadedLog, LogContext, load_log
from tidelog.storage.log.recovery import Truncation
from tidelog.storage.log.truncation_at_start import begin_anew_at_start
from tidelog.storage.names import LOG_SUFFIX, DirectoryState, parse_segment_name

ConfigOf = Callable[[str], TopicConfig]  # by topic


@dataclass(slots=True)
class LoadProgress:
    """The progress of a start: one object, kept up to date. `bytes_total` is what unclean stops leave to scan."""

    started_ms: int
    logs_total: int = 0
    logs_done: int = 0
    bytes_total: int = 0
    bytes_done: int = 0
    shortage: str | None = None  # no descriptor is left, and the last step is to be tried again
    truncations: list[tuple[TopicPartition, Truncation]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    rebuilt: list[str] = field(default_factory=list)  # indexes that were missing after an unclean stop: no problem
    to_delete: list[str] = field(default_factory=list)  # directories of deleted partitions
    set_aside: list[str] = field(default_factory=list)  # stray directories and the like, which are left alone

    def remaining_ms(self, now_ms: int) -> int | None:
        """Estimate how long the rest takes at the pace so far; None as long as nothing is done yet."""
        done, total = (self.bytes_done, self.bytes_total) if self.bytes_total else (self.logs_done, self.logs_total)
        return (now_ms - self.started_ms) * (total - done) // done if done else None


@dataclass(slots=True)
class _Pending:
    found: FoundDirectory
    bytes_to_scan: int


def load_logs(
    context: LogContext, directories: list[LogDirectory], config_of: ConfigOf, progress: LoadProgress
) -> Iterator[LoadProgress]:
    """Open the directories and load their logs, a log a step. Raises LockHeld at once when another broker is running on
    one of the directories. TooManyOpenFiles is no fault of a directory: before the first step it is raised too, and the
    start can be repeated; after that `progress.shortage` says so, and the next step tries again."""
    found: list[FoundDirectory] = []
    for directory in directories:
        try:
            directory.open()
            found += find_directories(directory, progress.problems)
        except (LockHeld, TooManyOpenFiles):
            raise
        except StorageFault as fault:
            directory.take_offline(fault)
        progress.problems += directory.problems
    pending = _plan(resolve(directories, found), progress)
    progress.logs_total = len(pending)
    progress.bytes_total = sum(each.bytes_to_scan for each in pending)
    yield progress  # the directories are locked: the caller may find out the topics' settings before logs are loaded
    yield from _until_done(partial(_remove_clean_shutdowns, directories), progress)
    for each in pending:
        if each.found.directory.is_online:
            yield from _until_done(partial(_load, context, each.found, config_of, progress), progress)
        progress.logs_done += 1
        progress.bytes_done += each.bytes_to_scan
        yield progress
    yield from _until_done(partial(_settle_doubts, directories), progress)


def _until_done(step: Callable[[], None], progress: LoadProgress) -> Iterator[LoadProgress]:
    """Repeat `step` until there is a descriptor for it, and give way in between. `step` must be repeatable, as after a
    crash."""
    while True:
        try:
            step()
        except TooManyOpenFiles as shortage:
            progress.shortage = str(shortage)
            yield progress
        else:
            progress.shortage = None
            return


def _remove_clean_shutdowns(directories: list[LogDirectory]) -> None:
    for directory in directories:
        try:
            if directory.is_online:
                directory.remove_clean_shutdown()
        except TooManyOpenFiles:
            raise
        except StorageFault as fault:
            directory.take_offline(fault)


def _settle_doubts(directories: list[LogDirectory]) -> None:
    """Mark the directories intact whose logs were all written again. One with a log that was set aside stays in doubt:
    that log may be opened at the next start, and is written again then."""
    for directory in directories:
        try:
            if directory.is_online and not directory.corrupt:
                directory.settle_doubt()
        except TooManyOpenFiles:
            raise
        except StorageFault as fault:
            directory.take_offline(fault)


def _plan(partitions: Partitions, progress: LoadProgress) -> list[_Pending]:
    progress.problems += partitions.problems
    progress.to_delete += partitions.to_delete
    progress.set_aside += partitions.set_aside
    pending = []
    for each in [*partitions.logs, *partitions.futures]:
        try:
            pending.append(_Pending(each, _bytes_to_scan(each.directory, each.partition, each.path)))
        except TooManyOpenFiles:
            raise
        except StorageFault as fault:
            each.directory.take_offline(fault)
    return pending


def _bytes_to_scan(directory: LogDirectory, partition: TopicPartition, path: str) -> int:
    """Return the size of the segments past the recovery point, which recovery reads after an unclean stop."""
    if directory.was_clean:
        return 0
    recovery_point = directory.stored_offsets(partition).recovery_point
    parsed = map(parse_segment_name, directory.fs.list_directory(path))
    logs = [(each.base_offset, each) for each in parsed if each is not None and each[1:] == (LOG_SUFFIX, "")]
    first = max((base for base, _ in logs if base <= recovery_point), default=0)
    scanned = [f"{base:020d}{LOG_SUFFIX}" for base, _ in logs if base >= first]
    return sum(directory.fs.stat(join(path, name)).size for name in scanned)


def _load(context: LogContext, found: FoundDirectory, config_of: ConfigOf, progress: LoadProgress) -> None:
    directory, partition = found.directory, found.partition
    try:
        if _is_half_made(context, found):
            remove_half_made(context.descriptors, found.path)
            progress.problems.append(f"{found.path}: its making was interrupted; removed, to be made anew")
            return
        if directory.is_doubtful:
            rewrite_partition(context.fs, found.path, directory.stored_offsets(partition).recovery_point)
        loaded = load_log(
            context,
            found.path,
            partition,
            config_of(partition.topic),
            directory.stored_offsets(partition),
            progress.started_ms,
            is_clean=directory.was_clean,
        )
        _drop_unowned(loaded, directory, progress.started_ms)
    except LogError as error:
        _set_aside(found, error, progress)
    except TooManyOpenFiles:
        raise
    except StorageFault as fault:
        if survives(fault):
            shortage = LogError(found.path, f"it could not be opened: {fault}; make room, and start the broker again")
            directory.corrupt[partition] = shortage  # set aside as it is: the other logs do not suffer for it
            progress.problems.append(str(shortage))
            return
        directory.take_offline(fault)
        progress.problems.append(f"{directory.path} is offline: {fault}")
    else:
        is_future = found.state is DirectoryState.FUTURE
        (directory.futures if is_future else directory.logs)[partition] = loaded.log
        progress.truncations += [(partition, each) for each in loaded.truncations]
        progress.problems += loaded.problems
        progress.rebuilt += loaded.rebuilt


def _is_half_made(context: LogContext, found: FoundDirectory) -> bool:
    """Tell whether the making of the log was interrupted at the very beginning. A log that the checkpoints know had
    segments once, and is not half made."""
    stored = found.directory.stored_offsets(found.partition)
    is_unknown = not stored.recovery_point and not stored.log_start_offset
    return is_unknown and found.state is DirectoryState.CURRENT and was_never_made(context.descriptors, found.path)


def _drop_unowned(loaded: LoadedLog, directory: LogDirectory, now_ms: int) -> None:
    """Drop all records of a log without a topic id that was never flushed. The id is written before the first record
    and synced with the first flush, so such a log was brought back by a power loss: nothing in it was durable, and its
    topic may have been deleted and made anew."""
    log = loaded.log
    was_flushed = directory.was_clean or directory.stored_offsets(log.topic_partition).recovery_point > 0
    if log.topic_id is None and not was_flushed and log.size_bytes:
        begin_anew_at_start(log, log.log_start_offset, now_ms)
        loaded.problems.append(f"{log.directory}: never flushed, and of a topic that nobody knows; emptied")


def _set_aside(found: FoundDirectory, error: LogError, progress: LoadProgress) -> None:
    """Keep a damaged log out of use, untouched. The copy of a move is deleted instead: the log itself is there, and the
    move can be asked for again."""
    if found.state is DirectoryState.FUTURE:
        progress.to_delete.append(found.path)
        progress.problems.append(f"{error}; the copy is deleted, and the move of {found.partition} is off")
        return
    found.directory.corrupt[found.partition] = error
    words = f"{found.partition} is damaged where it was durable, and set aside: {error}"
    progress.problems.append(f"{words}; {way_out(found.path)}")
