"""A log is cut at an offset, in steps that each leave a whole log behind, in memory and on the disk.

    the checkpoints are low enough on disk      `LogDirectory.lower`: what comes later must not count as durable
    the segments past the offset go             the last first, then the directory is synced
    the last one left is cut, synced            and only now something may be appended again

A power loss keeps any part of what is not synced. Were a segment's end cut before the later segments were gone for
good, one of them might come back behind the cut, with offsets too far away for recovery to see the hole. For the same
reason a log that begins anew elsewhere empties its last segment before it takes its name away.

Meanwhile the log is unsettled (`Log.is_unsettled`): it takes no appends. It may be read, since readers stop at its end
in memory, and that moves before the files do. The producers are rebuilt beside the old ones and take their place when
they are complete: in between, a reader would take an open transaction for none.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tidelog.ports.errors import StorageFault
from tidelog.storage.errors import UndoFault
from tidelog.storage.log import Log
from tidelog.storage.log_directory import LogDirectory
from tidelog.storage.operations import GIVE_WAY, Operation, Operations, Steps
from tidelog.storage.producer_replay import rebuild_steps
from tidelog.storage.producer_snapshots import truncate_fully
from tidelog.storage.segment import Segment


class Cut(NamedTuple):
    log: Log
    offset: int  # where it ends then
    is_whole: bool  # everything goes, and the log begins anew at the offset

    @property
    def takes_anything(self) -> bool:
        return self.is_whole or self.offset < self.log.log_end_offset


class Truncations:
    """Those of a log one after another, each in the order in which it was asked for."""

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
    """These logs of one directory, one after another, and `after` earlier cuts of the same logs. A fault in the middle
    of a cut can not be undone."""
    limits = {cut.log.topic_partition: cut.offset for cut in cuts}
    directory.start_limits.append(limits)  # from now on no checkpoint speaks of what is to go
    for cut in cuts:
        _unsettle(cut)
    try:
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


def _unsettle(cut: Cut) -> None:
    """No flush under way will speak of what is to go."""
    cut.log.abandon()
    cut.log.unsettled += 1
    cut.log.generation += 1
    _disclaim(cut)


def _disclaim(cut: Cut) -> None:
    limit = _durable_below(cut)
    cut.log.flush.truncate(limit, min(limit, cut.log.segments.holding(limit).base_offset))


def _durable_below(cut: Cut) -> int:
    """A log that begins anew may, after a power loss, have neither its old segments nor the new one."""
    return 0 if cut.is_whole else cut.log.end_if_truncated_to(cut.offset)


def _settled(log: Log) -> None:
    log.unsettled -= 1
    log.flush.ask(log)


def settle(log: Log) -> Steps:
    """After a commit that failed and was taken back (`Log.cut_back`): make that durable."""
    yield from _while_there(log, _sync(log))
    _settled(log)


def _sync(log: Log) -> Steps:
    yield [*log.segments.active.begin_flush(), log.fs.begin_sync_directory(log.directory)]


def _while_there(log: Log, steps: Steps) -> Steps:
    """A log that is deleted meanwhile needs no cut any more: its files have another name, and go. A fault of any other
    is final."""
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
    if log.swap is not None:  # it is past its point of no return, and its cleaner need not be there any more
        yield from log.swap.take_over()
    if cut.is_whole:
        yield from _begin_anew(log, cut.offset, now_ms)
    elif cut.offset < log.log_end_offset:
        yield from _cut(log, cut.offset, now_ms)


def _cut(log: Log, offset: int, now_ms: int) -> Steps:
    end_offset = log.end_if_truncated_to(offset)
    yield from _drop_segments(log, log.segments.beyond(offset))
    log.segments.active.truncate_to(offset)
    log.set_end(end_offset)
    yield from rebuild_steps(log, now_ms)
    yield [*log.segments.active.begin_flush_cut(), log.fs.begin_sync_directory(log.directory)]


def _begin_anew(log: Log, offset: int, now_ms: int) -> Steps:
    yield from _drop_segments(log, log.segments.beyond(log.segments.first.base_offset))
    last = log.segments.first
    last.truncate_to(last.base_offset)
    log.set_end(last.base_offset)
    yield last.begin_flush_cut()
    log.segments.remove(last)
    last.delete()
    log.segments.add(log.create_segment(offset, now_ms))
    truncate_fully(log.producers, log.snapshots, offset)
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
        log.snapshots.remove(segment.base_offset)
        segment.delete()
        yield GIVE_WAY
    yield [log.fs.begin_sync_directory(log.directory)]
