"""What was deleted goes after `file.delete.delay.ms`: a reader may still be at work in it.

That is directories of whole partitions, and segments that a log has got rid of (`deleted_segments`). On a disk that is
short of room nothing of it waits: room is what it was deleted for.

A directory for whose new name there was no room is removed at once, under its own name. A log that is made there
meanwhile would be removed with it, so until then the name is not free (`LogDirectory.leaving`). Whoever is at work in
such a directory meets NotFound, which is no fault of the disk (`explains`).
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from tidelog.model.ids import TopicPartition
from tidelog.ports.errors import NotEmpty, NotFound, StorageFault
from tidelog.ports.paths import parent_of
from tidelog.storage.directories.housekeeping import removal, segment_removal
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.directories.operations import GIVE_WAY, Operation, Steps
from tidelog.storage.log.group_commit import survives
from tidelog.storage.log.log import Log
from tidelog.storage.names import DELETED_SUFFIX, DirectoryState
from tidelog.storage.segment.descriptors import Descriptors

# The interval between two looks at the deleted segments of all logs, where there is room on the disk.
SEGMENTS_CHECK_MS: Final = 10_000

Begin = Callable[[str | None, Steps], Operation]


class DeletedDirectory(NamedTuple):
    path: str
    since_ms: int
    due_ms: int
    keeps_name_of: TopicPartition | None = None  # it has this log's plain name: there was no room for another name

    def is_due(self, now_ms: int) -> bool:
        """Tell whether the delay is over. It also counts as over after the clock was set back, which says nothing about
        how long the directory has waited."""
        return not self.since_ms <= now_ms < self.due_ms


class DeletedDirectories:
    __slots__ = ("_begin", "_descriptors", "_never_made", "_segments", "_segments_looked_ms", "_waiting")

    def __init__(self, descriptors: Descriptors, begin: Begin) -> None:
        self._descriptors = descriptors
        self._begin = begin
        self._waiting: list[DeletedDirectory] = []
        self._never_made: list[str] = []  # new names for which there was no room; their logs carry them all the same
        self._segments: dict[str, Operation] = {}  # by log directory: the last look at the deleted segments of its logs
        self._segments_looked_ms: int | None = None

    def add(self, path: str, now_ms: int, due_ms: int) -> None:
        self._waiting.append(DeletedDirectory(path, now_ms, due_ms))

    def begin_removal(self, directories: Iterable[LogDirectory], now_ms: int) -> None:
        """Begin to remove the directories whose delay is over and, now and then, deleted segments: finding those means
        looking at every log."""
        last_ms = self._segments_looked_ms
        looks = last_ms is None or not last_ms <= now_ms < last_ms + SEGMENTS_CHECK_MS
        if looks:
            self._segments_looked_ms = now_ms
        for directory in directories:
            is_urgent = directory.is_short_of_room(now_ms)
            if is_urgent or looks:
                self._begin_segments(directory, now_ms, is_urgent)
            if self._waiting:
                self._begin_directories(directory, now_ms, is_urgent)

    def _begin_segments(self, directory: LogDirectory, now_ms: int, is_urgent: bool) -> None:
        last = self._segments.get(directory.path)
        if last is None or last.is_done:
            steps = segment_removal(directory, now_ms, is_urgent=is_urgent)
            self._segments[directory.path] = self._begin(directory.path, steps)

    def _begin_directories(self, directory: LogDirectory, now_ms: int, is_urgent: bool) -> None:
        own = [each for each in self._waiting if parent_of(each.path) == directory.path]
        due = dict.fromkeys(each for each in own if is_urgent or each.is_due(now_ms))
        self._waiting = [each for each in self._waiting if each not in due]
        paths = [each.path for each in due if each.keeps_name_of is None]
        if paths:
            self._begin(directory.path, self._removal(directory.path, paths, now_ms))
        for each in due:
            if each.keeps_name_of is not None:
                self._remove_again(directory, each, each.keeps_name_of, now_ms)

    def remove_in_place(self, directory: LogDirectory, log: Log, never_made: str, now_ms: int) -> None:
        """Remove the log's directory at once; its name is free when that is durable. The log carries the name that it
        did not get, so that nobody who still has it writes to where the next log of its name will be."""
        self._never_made.append(never_made)
        self._begin_in_place(directory, log.topic_partition, log.directory, now_ms)
        log.directory_renamed(never_made)

    def _begin_in_place(self, directory: LogDirectory, partition: TopicPartition, path: str, now_ms: int) -> None:
        steps = self._removal_in_place(directory, partition, path, now_ms)
        directory.leaving[partition] = self._begin(directory.path, steps)

    def explains(self, fault: StorageFault) -> bool:
        """Tell whether the fault is that of somebody at work in a directory that was removed, in place or before its
        delay was over."""
        if not isinstance(fault, NotFound):
            return False
        is_deleted = fault.path.endswith(DELETED_SUFFIX) or parent_of(fault.path).endswith(DirectoryState.DELETE.value)
        return is_deleted or any(fault.path.startswith(f"{name}/") for name in self._never_made)

    def _remove_again(
        self, directory: LogDirectory, deleted: DeletedDirectory, partition: TopicPartition, now_ms: int
    ) -> None:
        """Repeat a removal in place that an earlier attempt did not finish. Where a log has the name by now, it has
        taken over what was left, and nothing is removed."""
        if partition in directory.futures or partition in directory.leaving:
            self._waiting.append(deleted)
        elif partition not in directory.logs:
            self._begin_in_place(directory, partition, deleted.path, now_ms)

    def _removal_in_place(self, directory: LogDirectory, partition: TopicPartition, path: str, now_ms: int) -> Steps:
        yield GIVE_WAY
        try:
            yield from removal(self._descriptors, directory.path, [path])
            yield [directory.fs.begin_sync_directory(directory.path)]
            yield from directory.forget([partition])
        except StorageFault as fault:
            is_in_use = isinstance(fault, NotEmpty)  # a cleaner has written into it meanwhile
            if is_in_use or survives(fault):
                self._waiting.append(DeletedDirectory(path, now_ms, now_ms, partition))
            if not is_in_use:
                raise
        finally:
            directory.leaving.pop(partition, None)

    def _removal(self, log_directory: str, paths: list[str], now_ms: int) -> Steps:
        try:
            yield from removal(self._descriptors, log_directory, paths)
        except StorageFault as fault:
            is_in_use = isinstance(fault, NotEmpty)  # a cleaner has written into it meanwhile
            if is_in_use or survives(fault):
                for path in paths:
                    self.add(path, now_ms, now_ms)  # removing a directory that is gone does no harm
            if not is_in_use:
                raise
