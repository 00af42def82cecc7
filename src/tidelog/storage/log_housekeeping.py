"""What is done to the logs of one directory from time to time, in pieces that a turn can spare (`operations`).

Most logs have nothing to do, and finding that out is cheap: several of them are a piece of work. A segment that is
renamed or removed is one by itself, because that is a handful of calls which may wait for the file system's journal.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from tidelog.ports.errors import NotFound
from tidelog.ports.paths import join
from tidelog.storage.descriptors import Descriptors
from tidelog.storage.log import Log
from tidelog.storage.log_directory import LogDirectory
from tidelog.storage.operations import GIVE_WAY, Steps
from tidelog.storage.retention import apply_retention, delete_old_segment

LOGS_A_PIECE: Final = 32


def retention(directory: LogDirectory, now_ms: int) -> Steps:
    """Delete what is due; see `retention` for the order."""
    for pieces, log in _pieces(directory):
        apply_retention(log, now_ms)
        if pieces:
            yield GIVE_WAY
    yield from directory.checkpoint_log_starts()
    for pieces, log in _pieces(directory):
        durable_log_start = directory.durable_log_start(log.topic_partition)
        while delete_old_segment(log, durable_log_start, now_ms) or log.delete_expired_file(now_ms):
            yield GIVE_WAY
        if pieces:
            yield GIVE_WAY


def producer_expiry(directory: LogDirectory, now_ms: int) -> Steps:
    for pieces, log in _pieces(directory):
        had_many = len(log.producers.producers) > LOGS_A_PIECE
        if not log.producers.is_empty:
            log.producers.expire(now_ms)
        if pieces or had_many:
            yield GIVE_WAY


def _pieces(directory: LogDirectory) -> Iterator[tuple[bool, Log]]:
    """The logs that are still there when their turn comes, and whether a piece of work ends with this one."""
    for count, (partition, log) in enumerate(list(directory.logs.items()), 1):
        if directory.logs.get(partition) is log:
            yield count % LOGS_A_PIECE == 0, log


def removal(descriptors: Descriptors, log_directory: str, paths: Sequence[str]) -> Steps:
    """Of whole directories, file by file; once their new names are durable: a power loss that gave one its old name
    back must not find half a log there."""
    yield [descriptors.fs.begin_sync_directory(log_directory)]
    for path in paths:
        yield from _removal(descriptors, path)


def _removal(descriptors: Descriptors, path: str) -> Steps:
    """It may be gone already: a directory that was loaded as to be deleted."""
    try:
        for name in descriptors.fs.list_directory(path):
            descriptors.remove(join(path, name))
            yield GIVE_WAY
        descriptors.fs.remove_directory(path)
    except NotFound:
        return
