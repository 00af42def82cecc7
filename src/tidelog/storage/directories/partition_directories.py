"""Which directory is a partition's log, when a broker starts and finds several of one partition.

    <p> in one directory                          the log
    <p>.U-delete in one, <p>.U-future in another  a move that was committed (`move`): the copy is the log, and gets
                                                  its name now
    <p> and <p>.U-future                          a move that was not: the copy goes on following
    <p>.U-future alone                            nobody here can tell how much of the log it has: left alone, and told
    <p> in two directories                        neither is touched, the partition is set aside, and both are named

Our own moves never leave the last: it takes a disk that failed in the middle of one and came back, an operator who put
an old disk in, or an Apache broker that died between its two renames. Apache's refuses to start then. Here the other
partitions go on, and nobody guesses: which of the two has what was acknowledged is not written on them.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tidelog.model.ids import TopicPartition
from tidelog.model.lazy_dataclass import dataclass, field
from tidelog.ports.errors import StorageFault, TooManyOpenFiles
from tidelog.ports.paths import join
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.errors import DuplicateLogError, InvalidNameError
from tidelog.storage.log.group_commit import survives
from tidelog.storage.names import DirectoryState, parse_partition_directory, partition_directory, unique_of

METADATA_LOG = "__cluster_metadata-0"  # the quorum loads it for itself


class FoundDirectory(NamedTuple):
    directory: LogDirectory
    name: str
    partition: TopicPartition
    state: DirectoryState

    @property
    def path(self) -> str:
        return join(self.directory.path, self.name)

    @property
    def identity(self) -> tuple[TopicPartition, str]:
        """The partition and the unique part of the name, which the two directories of one move have in common."""
        return self.partition, unique_of(self.name)


@dataclass(slots=True)
class Partitions:
    """The decision about each directory that was found."""

    logs: list[FoundDirectory] = field(default_factory=list)
    futures: list[FoundDirectory] = field(default_factory=list)  # each has a log among `logs`
    to_delete: list[str] = field(default_factory=list)
    set_aside: list[str] = field(default_factory=list)  # stray, or of no known use: left alone
    problems: list[str] = field(default_factory=list)


def find_directories(directory: LogDirectory, problems: list[str]) -> list[FoundDirectory]:
    found = []
    for name in directory.fs.list_directory(directory.path):
        try:
            partition, state = parse_partition_directory(name)
        except InvalidNameError as error:
            if directory.fs.stat(join(directory.path, name)).is_directory:
                problems.append(f"{error}; left alone")
            continue
        if name != METADATA_LOG:
            found.append(FoundDirectory(directory, name, partition, state))
    return found


def resolve(directories: Sequence[LogDirectory], found: Sequence[FoundDirectory]) -> Partitions:
    """Decide which directory is each partition's log. Waits for the disk where a move has to be completed; a fault
    takes that directory offline. TooManyOpenFiles is raised: a start can be repeated."""
    result = Partitions()
    by_state = {state: [each for each in found if each.state is state] for state in DirectoryState}
    logs = _by_partition(by_state[DirectoryState.CURRENT])
    futures = by_state[DirectoryState.FUTURE]
    for future, old in _committed(futures, by_state[DirectoryState.DELETE]):
        promoted = _promote(future, old, result) if future.partition not in logs else None
        if promoted is not None:
            logs[future.partition] = [promoted]
            futures = [each for each in futures if each is not future]
    for partition, candidates in logs.items():
        if len(candidates) == 1:
            result.logs += candidates
        else:
            _set_aside(partition, candidates, result)
    _sort_futures(futures, logs, result)
    _sort_deleted(by_state[DirectoryState.DELETE], logs, all(each.is_online for each in directories), result)
    result.set_aside += [each.path for each in by_state[DirectoryState.STRAY]]
    return result


def _by_partition(found: Sequence[FoundDirectory]) -> dict[TopicPartition, list[FoundDirectory]]:
    grouped: dict[TopicPartition, list[FoundDirectory]] = {}
    for each in found:
        grouped.setdefault(each.partition, []).append(each)
    return grouped


def _committed(
    futures: Sequence[FoundDirectory], deleted: Sequence[FoundDirectory]
) -> list[tuple[FoundDirectory, FoundDirectory]]:
    originals = {each.identity: each for each in deleted}
    return [(each, originals[each.identity]) for each in futures if each.identity in originals]


def _promote(future: FoundDirectory, old: FoundDirectory, result: Partitions) -> FoundDirectory | None:
    """Give the copy of a committed move the plain name. First the original's new name is made durable, or a power loss
    could leave the plain name twice. Without room for the plain name the copy is the log under the name that it has,
    and the original stays: the two names together are what tells the next start."""
    promoted = future._replace(name=partition_directory(*future.partition), state=DirectoryState.CURRENT)
    for directory, rename in ((old.directory, False), (future.directory, True)):
        try:
            if rename:
                directory.fs.rename(future.path, promoted.path)
            directory.fs.sync_directory(directory.path)
        except TooManyOpenFiles:
            raise
        except StorageFault as fault:
            if survives(fault):
                result.set_aside.append(old.path)
                result.problems.append(
                    f"{future.path}: the log of {future.partition}, which gets its name later: {fault}"
                )
                return future._replace(state=DirectoryState.CURRENT)
            directory.take_offline(fault)
            result.problems.append(f"{directory.path} is offline: {fault}")
            return None
    result.problems.append(f"{future.partition}: its move to {promoted.path} was committed, and is completed")
    return promoted


def _set_aside(partition: TopicPartition, candidates: Sequence[FoundDirectory], result: Partitions) -> None:
    error = DuplicateLogError(partition, [each.path for each in candidates])
    for each in candidates:
        each.directory.corrupt[partition] = error
    result.problems.append(str(error))


def _sort_futures(
    futures: Sequence[FoundDirectory], logs: dict[TopicPartition, list[FoundDirectory]], result: Partitions
) -> None:
    """Keep one copy of each partition whose log is there, and delete further ones: each is only a copy."""
    seen: dict[TopicPartition, None] = {}
    for each in futures:
        if len(logs.get(each.partition, ())) != 1:
            result.set_aside.append(each.path)
            result.problems.append(f"{each.path}: the copy of a log that is not here (any more); left alone")
        elif each.partition in seen or logs[each.partition][0].directory is each.directory:
            result.to_delete.append(each.path)
            result.problems.append(f"{each.path}: a copy that nobody needs; deleted")
        else:
            seen[each.partition] = None
            result.futures.append(each)


def _sort_deleted(
    deleted: Sequence[FoundDirectory],
    logs: dict[TopicPartition, list[FoundDirectory]],
    all_online: bool,
    result: Partitions,
) -> None:
    """List the deleted directories for removal. With a log directory offline, the original of a move may be all that is
    left of a partition, because its copy is there and may never come back: it is kept. One that was set aside already
    is left alone."""
    for each in deleted:
        if each.path in result.set_aside:
            continue
        if all_online or each.partition in logs:
            result.to_delete.append(each.path)
        else:
            result.set_aside.append(each.path)
            result.problems.append(f"{each.path}: kept as long as a log directory is offline")
