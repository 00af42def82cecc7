"""Everything that a stop has to bring to the disk, begun for many logs at once, so that closing them waits for nothing.

One sync after another is some milliseconds each, and a log that was written to takes seven: ten thousand logs would be
minutes. Many at a time share the commits of the file system's journal, so they are begun as fast as there are
descriptors for them, and completed in any order: nothing is written any more that could rest on it.

A log that never had a record needs no sync at all. If a power loss takes it, the next start makes it anew.
"""

from collections.abc import Callable

from tidelog.model.lazy_dataclass import dataclass
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.directories.operations import GIVE_WAY, Steps
from tidelog.storage.log.flush import Begun
from tidelog.storage.log.log import Log
from tidelog.storage.producers.replay import snapshot_at_roll


@dataclass(slots=True)
class ClosingProgress:
    logs_total: int = 0
    logs_begun: int = 0


def closing(directory: LogDirectory, begin_flush: Callable[[Log], None], progress: ClosingProgress) -> Steps:
    """Begin the last flush of every log of the directory. Nothing may be appended from here on.

    The names of new logs are in the log directory, which is synced once for all of them: no log is made any more.
    """
    last: Log | None = None
    logs = [*directory.logs.values(), *directory.futures.values()]
    if any(directory.path in log.flush.unsynced_names and not log.is_untouched for log in logs):
        yield [directory.fs.begin_sync_directory(directory.path)]
        for log in logs:
            log.flush.unsynced_names.pop(directory.path, None)
    for log in logs:
        if not log.is_untouched and not log.is_unsettled and log.swap is None:
            while not log.descriptors.may_sync and last is not None and last.flush.begun is not None:
                yield from _next_sync(last.flush.begun)
            while log.flush.begun is not None:  # by its policy, between two steps of this
                yield from _next_sync(log.flush.begun)
            _prepare(log)
            begin_flush(log)
            last = log
        progress.logs_begun += 1
        yield GIVE_WAY


def _next_sync(begun: Begun) -> Steps:
    """Wait until a flush has come a step further. The flush hears of a completion after the operations do, hence the
    yield."""
    yield list(begun.tickets)
    yield GIVE_WAY


def _prepare(log: Log) -> None:
    """Write, without a sync, what the next start would otherwise have to scan for: indexes, and the producers."""
    log.abandon()
    producers = log.producers
    if producers.map_end_offset > producers.snapshot_offset:
        snapshot_at_roll(log, producers.map_end_offset)
    log.segments.active.seal()
