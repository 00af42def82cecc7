"""What is done to the logs of one directory from time to time, in pieces that a turn can spare (`operations`).

Most logs have nothing to do, and finding that out is cheap: several of them are a piece of work. A segment that is
renamed or removed is one by itself, because that is a handful of calls which may wait for the file system's journal.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from tidelog.ports.errors import NotFound, StorageFault
from tidelog.ports.paths import join
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.directories.operations import GIVE_WAY, Steps
from tidelog.storage.log.group_commit import survives
from tidelog.storage.log.log import Log
from tidelog.storage.log.retention import apply_retention, delete_old_segment
from tidelog.storage.segment.deleted_segments import delete_expired
from tidelog.storage.segment.descriptors import Descriptors

LOGS_A_PIECE: Final = 32


def retention(directory: LogDirectory, now_ms: int, shortages: list[str]) -> Steps:
    """Delete what is due in all logs of the directory; see `log.retention` for the order. A full disk is what retention
    is there for: where there is no room to roll a log or to write the checkpoint, the rest is deleted all the same, and
    `shortages` says what was left out."""
    for pieces, log in _pieces(directory):
        with _noting(shortages, f"{log.directory}: its active segment can not be rolled, and is kept for now"):
            apply_retention(log, now_ms)
        if pieces:
            yield GIVE_WAY
    is_in_checkpoint = False
    with _noting(shortages, f"{directory.path}: the log start offsets can not be written down; deleting in order"):
        yield from directory.checkpoint_log_starts()
        is_in_checkpoint = True
    for pieces, log in _pieces(directory):
        with _noting(shortages, f"{log.directory}: an old segment can not be deleted, and is kept for now"):
            yield from _delete_old(directory, log, now_ms, is_in_checkpoint)
        if pieces:
            yield GIVE_WAY


def _delete_old(directory: LogDirectory, log: Log, now_ms: int, is_in_checkpoint: bool) -> Steps:
    """Delete the old segments of one log. Without a checkpoint each removal is durable before the next one: a log that
    a power loss leaves without its first segments begins where the next one does, but a hole among them would be taken
    for damage."""
    durable_log_start = directory.durable_log_start(log.topic_partition) if is_in_checkpoint else log.log_start_offset
    while True:
        if delete_old_segment(log, durable_log_start, now_ms):
            yield GIVE_WAY if is_in_checkpoint else [log.fs.begin_sync_directory(log.directory)]
        elif delete_expired(log, now_ms):
            yield GIVE_WAY
        else:
            return


def segment_removal(directory: LogDirectory, now_ms: int, *, is_urgent: bool) -> Steps:
    """Remove the files of deleted segments whose delay is over; where that is urgent, the files of all deleted
    segments. A shortage ends the removal in one log, and is raised when the others are done."""
    shortage: StorageFault | None = None
    for pieces, log in _pieces(directory):
        try:
            while log.deleted and directory.has(log) and delete_expired(log, now_ms, is_urgent=is_urgent):
                yield GIVE_WAY
        except StorageFault as fault:
            if not survives(fault):
                raise
            shortage = fault
        if pieces:
            yield GIVE_WAY
    if shortage is not None:
        raise shortage


@contextmanager
def _noting(shortages: list[str], what: str) -> Iterator[None]:
    """Catch a shortage of room or descriptors in the block: it ends the block alone, and is noted in `shortages`."""
    try:
        yield
    except StorageFault as fault:
        if not survives(fault):
            raise
        shortages.append(f"{what}: {fault}")


def producer_expiry(directory: LogDirectory, now_ms: int) -> Steps:
    for pieces, log in _pieces(directory):
        had_many = len(log.producers.producers) > LOGS_A_PIECE
        if not log.producers.is_empty:
            log.producers.expire(now_ms)
        if pieces or had_many:
            yield GIVE_WAY


def _pieces(directory: LogDirectory) -> Iterator[tuple[bool, Log]]:
    """Yield each log that is still there when its turn comes, and whether a piece of work ends with it."""
    for count, (partition, log) in enumerate(list(directory.logs.items()), 1):
        if directory.logs.get(partition) is log:
            yield count % LOGS_A_PIECE == 0, log


def removal(descriptors: Descriptors, log_directory: str, paths: Sequence[str]) -> Steps:
    """Remove whole directories, file by file, once their new names are durable: a power loss that gave one its old name
    back must not find half a log there."""
    yield [descriptors.fs.begin_sync_directory(log_directory)]
    for path in paths:
        yield from _removal(descriptors, path)


def _removal(descriptors: Descriptors, path: str) -> Steps:
    """Remove one directory. It may be gone already: one that the start found, and listed to be deleted."""
    try:
        for name in descriptors.fs.list_directory(path):
            descriptors.remove(join(path, name))
            yield GIVE_WAY
        descriptors.fs.remove_directory(path)
    except NotFound:
        return
