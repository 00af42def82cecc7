"""A log is cut at an offset, in steps that each leave a whole log behind, in memory and on the disk.

    the checkpoints are low enough on disk      `LogDirectory.lower`: what comes later must not count as durable
    the segments past the offset go             the last first, then the directory is synced
    the last one left is cut, synced            and only now something may be appended again

A power loss keeps any part of what is not synced. Were a segment's end cut before the later segments were gone for
good, one of them might come back behind the cut, with offsets too far away for recovery to see the hole. For the same
reason a log that begins anew elsewhere empties its last segment before it takes its name away.

Meanwhile the log is unsettled (`Log.is_unsettled`): it takes no appends. What lacks room or a descriptor is repeated
until it succeeds: a cut can not be taken back, and the other logs of the directory have nothing to do with it.
The log may be read, since readers stop at its end in memory, and that moves before the files do. The producers are
rebuilt beside the old ones and take their place when they are complete: in between, a reader would take an open
transaction for none.
"""

from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple, TypeVar

from tidelog.ports.errors import AlreadyExists, DiskFull, StorageFault, TooManyOpenFiles
from tidelog.ports.files import Ticket
from tidelog.ports.paths import join
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.directories.operations import GIVE_WAY, PAUSE, Operation, Operations, Steps
from tidelog.storage.errors import UndoFault
from tidelog.storage.log.log import Log
from tidelog.storage.names import LOG_SUFFIX, segment_name
from tidelog.storage.producers.replay import rebuild_steps
from tidelog.storage.producers.snapshots import truncate_fully
from tidelog.storage.segment.segment import Segment

T = TypeVar("T")


class Cut(NamedTuple):
    log: Log
    offset: int  # where the log ends after the cut
    is_whole: bool  # everything goes, and the log begins anew at the offset

    @property
    def takes_anything(self) -> bool:
        return self.is_whole or self.offset < self.log.log_end_offset


class Truncations:
    """The truncations of a broker's logs. Those of one log run one after another, in the order in which they were asked
    for."""

    __slots__ = ("_latest", "_operations")

    def __init__(self, operations: Operations) -> None:
        self._operations = operations
        self._latest: dict[Log, Operation] = {}

    def begin(self, directory: LogDirectory, cuts: Sequence[Cut], now_ms: int) -> Operation:
        self._latest = {log: each for log, each in self._latest.items() if not each.is_done}
        earlier = dict.fromkeys(self._latest[cut.log] for cut in cuts if cut.log in self._latest)
        operation = self._operations.begin(directory.path, truncation(directory, cuts, now_ms, list(earlier)))
        self._latest.update(dict.fromkeys([cut.log for cut in cuts], operation))
        return operation


def truncation(directory: LogDirectory, cuts: Sequence[Cut], now_ms: int, after: Sequence[Operation]) -> Steps:
    """Cut these logs of one directory, one after another, and `after` earlier cuts of the same logs. A fault in the
    middle of a cut can not be undone."""
    limits = {cut.log.topic_partition: cut.offset for cut in cuts}
    directory.start_limits.append(limits)  # from now on no checkpoint has a log start beyond its cut
    for cut in cuts:
        _unsettle(cut.log)
    try:
        for cut in cuts:
            _disclaim(cut)
        yield from after
        cuts = [cut_of(cut.log, cut.offset, is_whole=cut.is_whole) for cut in cuts]
        for cut in cuts:
            _disclaim(cut)
        yield from directory.lower({cut.log.topic_partition: _durable_below(cut) for cut in cuts}, limits)
        for cut in cuts:
            if directory.has(cut.log):
                yield from _while_there(cut.log, _carry_out(cut, now_ms))
            yield GIVE_WAY
    finally:
        directory.start_limits = [each for each in directory.start_limits if each is not limits]
        for cut in cuts:
            _settled(cut.log)


def cut_of(log: Log, offset: int, *, is_whole: bool) -> Cut:
    return Cut(log, offset, is_whole or offset < log.segments.first.base_offset)


def _unsettle(log: Log) -> None:
    log.abandon()
    log.unsettled += 1
    log.generation += 1


def _disclaim(cut: Cut) -> None:
    """Make sure that no flush under way will call durable what is to be cut."""
    limit = _durable_below(cut)
    cut.log.flush.truncate(limit, min(limit, cut.log.segments.holding(limit).base_offset))


def _durable_below(cut: Cut) -> int:
    """The highest recovery point that may be on disk during the cut: 0 for a log that begins anew, which after a power
    loss may have neither its old segments nor the new one."""
    return 0 if cut.is_whole else cut.log.end_if_truncated_to(cut.offset)


def _settled(log: Log) -> None:
    log.unsettled -= 1
    log.flush.ask(log)


def settle(log: Log) -> Steps:
    """Make durable that a failed commit was taken back (`Log.cut_back`)."""
    yield from _while_there(log, _sync(log))
    _settled(log)


def _sync(log: Log) -> Steps:
    if log.is_to_be_cut_back:
        yield from _insisting(log, log.cut_back)
        log.is_to_be_cut_back = False
    yield from _flushed(log, log.segments.active.begin_flush)


def _flushed(log: Log, begin: Callable[[list[Ticket]], None]) -> Steps:
    """Begin the syncs and wait for them; repeat that after a shortage of descriptors. The syncs that were begun before
    the shortage are waited for as well, since one of them may be the one that fails."""
    is_begun = False
    while not is_begun:
        tickets: list[Ticket] = []
        try:
            begin(tickets)
            is_begun = True
        except TooManyOpenFiles:
            pass  # the directory's sync has a helper wait until there is a descriptor again
        yield [*tickets, log.fs.begin_sync_directory(log.directory)]


def _insisting(log: Log, act: Callable[[], T]) -> Generator[Sequence[Ticket] | Operation, None, T]:
    """Repeat `act` until there is room and a descriptor for it; return what it returns."""
    while True:
        try:
            return act()
        except (DiskFull, TooManyOpenFiles) as shortage:
            yield _until_over(log, shortage)


def _until_over(log: Log, shortage: StorageFault) -> Sequence[Ticket]:
    """Return what to wait for before the next attempt. Without a descriptor that is a sync of the directory, for which
    a helper waits until there is one."""
    return PAUSE if isinstance(shortage, DiskFull) else [log.fs.begin_sync_directory(log.directory)]


def _while_there(log: Log, steps: Steps) -> Steps:
    """Run the steps until the log is deleted: then it needs no cut any more, because its files have another name, and
    go. A fault while the log is there is final."""
    directory = log.directory
    try:
        for waits_for in steps:
            yield waits_for
            if log.directory != directory:
                return
    except StorageFault as fault:
        if log.directory == directory:
            raise UndoFault(directory, fault, fault) from fault


def _carry_out(cut: Cut, now_ms: int) -> Steps:
    log = cut.log
    if log.swap is not None:  # a swap that has begun must be completed, and its cleaner may be gone
        yield from log.swap.take_over()
    if cut.is_whole:
        yield from _begin_anew(log, cut.offset, now_ms)
    elif cut.offset < log.log_end_offset:
        yield from _cut(log, cut.offset, now_ms)


def _cut(log: Log, offset: int, now_ms: int) -> Steps:
    end_offset = yield from _insisting(log, lambda: log.end_if_truncated_to(offset))
    yield from _drop_segments(log, log.segments.beyond(offset))
    log.set_end(end_offset)
    yield from _insisting(log, lambda: log.segments.active.truncate_to(offset))
    yield from _rebuilt(log, now_ms)
    yield from _flushed(log, log.segments.active.begin_flush_cut)


def _begin_anew(log: Log, offset: int, now_ms: int) -> Steps:
    yield from _drop_segments(log, log.segments.beyond(log.segments.first.base_offset))
    last = log.segments.first
    log.set_end(last.base_offset)
    yield from _insisting(log, lambda: last.truncate_to(last.base_offset))
    yield from _flushed(log, last.begin_flush_cut)
    yield from _insisting(log, last.delete)
    new = yield from _insisting(log, lambda: _create(log, offset, now_ms))
    log.segments.remove(last)
    log.segments.add(new)
    yield from _insisting(log, lambda: truncate_fully(log.producers, log.snapshots, offset))
    log.begin_at(offset)
    yield [log.fs.begin_sync_directory(log.directory)]
    log.flush.begin_at(offset)


def _drop_segments(log: Log, segments: Sequence[Segment]) -> Steps:
    if not segments:
        return
    for segment in segments:
        log.segments.remove(segment)
    log.set_end(min(log.log_end_offset, segments[0].base_offset))
    for segment in reversed(segments):
        yield from _insisting(log, lambda segment=segment: _delete(log, segment))  # type: ignore[misc]
        yield GIVE_WAY
    yield [log.fs.begin_sync_directory(log.directory)]


def _create(log: Log, offset: int, now_ms: int) -> Segment:
    """Make the only segment of a log that begins anew. One that is there is of an earlier attempt, without a record."""
    try:
        return log.create_segment(offset, now_ms)
    except AlreadyExists:
        log.descriptors.remove(join(log.directory, segment_name(offset, LOG_SUFFIX)))
        return log.create_segment(offset, now_ms)


def _delete(log: Log, segment: Segment) -> None:
    log.snapshots.remove(segment.base_offset)
    segment.delete()


def _rebuilt(log: Log, now_ms: int) -> Steps:
    """Rebuild the producers from the log as it is now; after a shortage, from the beginning again."""
    while True:
        try:
            return (yield from rebuild_steps(log, now_ms))
        except (DiskFull, TooManyOpenFiles) as shortage:
            wait = _until_over(log, shortage)
        yield wait
