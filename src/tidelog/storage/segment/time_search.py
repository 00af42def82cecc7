"""From times to records within one segment, in steps.

The time index leads close to what is wanted, mostly. Where it does not (timestamps that stand still for a whole
segment, a log that starts in the middle of one) every header of the segment has to be looked at, which may take long
and may have to wait for the disk. So a search is a generator: it yields None where others may have a turn, a `ColdRead`
where what it needs next has to be warmed first, and a `HeavyLookup` where a batch takes longer than a turn to look into
and its answer has to be remembered first (`batch_times`). What it returns is the answer. `finish` is for those who may
wait for it.
"""

from collections.abc import Callable, Generator
from typing import TypeAlias, TypeVar

from tidelog.records.batch import RecordBatch, read_batch
from tidelog.records.errors import RecordError
from tidelog.records.header import MAX_INT64, NO_TIMESTAMP
from tidelog.storage.append.batch_times import HeavyLookup, TimeAnswer, ask_batch, look_up, remember
from tidelog.storage.errors import ColdRead, CorruptSegmentError
from tidelog.storage.segment.indexes import SegmentIndexes
from tidelog.storage.segment.search import FoundRecord, Frame, LogBytes, frame_steps

T = TypeVar("T")
Step: TypeAlias = ColdRead | HeavyLookup | None
Search: TypeAlias = Generator[Step, None, T]


def finish(search: Search[T]) -> T:
    """Return the answer of a search, at once: for callers that may wait for the disk, and for heavy batches."""
    try:
        while True:
            needed = next(search)
            if isinstance(needed, ColdRead):
                raise needed
            if needed is not None:
                remember(needed.job.question, look_up(needed.job))
    except StopIteration as stop:
        answer: T = stop.value
        return answer


def warm(look: Callable[[], T]) -> Search[T]:
    """Return what `look` returns, once everything that it reads is in the page cache."""
    while True:
        try:
            return look()
        except ColdRead as cold:
            yield cold


def first_at_time(
    log: LogBytes, indexes: SegmentIndexes, end: int, timestamp: int, from_offset: int
) -> Search[FoundRecord | None]:
    """Search for the first record at `from_offset` or later whose timestamp is not before `timestamp`. Only batches
    that can have one are read and inflated."""
    start = yield from warm(lambda: _start(indexes, timestamp, from_offset))
    for step in frame_steps(log, start, end, timestamp):
        if not isinstance(step, Frame):
            yield step
        elif step.last_offset >= from_offset:
            batch, answer = yield from _ask(log, step, timestamp, from_offset)
            if answer.offset >= 0:
                return FoundRecord(answer.timestamp, answer.offset, batch.header.partition_leader_epoch)
    return None


def _start(indexes: SegmentIndexes, timestamp: int, from_offset: int) -> int:
    """The position before which no batch has a record that is late enough. For the largest timestamp of the segment the
    indexes know the batch itself."""
    largest = indexes.largest()
    offset = largest.offset if timestamp == largest.timestamp else indexes.time.lookup(timestamp).offset
    return indexes.offset.lookup(max(offset, from_offset)).position


def latest_from(log: LogBytes, indexes: SegmentIndexes, end: int, from_offset: int) -> Search[int]:
    """Search for the largest timestamp of the records at `from_offset` or later; -1 where there is none. It is the
    segment's largest, unless that is of a record before `from_offset`, or of a batch from which compaction has removed
    all records: then every header behind is looked at."""
    largest = yield from warm(indexes.largest)
    if largest.offset >= from_offset:
        position = yield from warm(lambda: indexes.offset.lookup(largest.offset).position)
        for step in frame_steps(log, position, end, largest.timestamp):
            if not isinstance(step, Frame):
                yield step
            elif step.base_offset >= from_offset and not step.is_empty:
                return largest.timestamp
            else:
                break
    latest, start = NO_TIMESTAMP, (yield from warm(lambda: indexes.offset.lookup(from_offset).position))
    for step in frame_steps(log, start, end):
        if not isinstance(step, Frame):
            yield step
        elif step.max_timestamp > latest and step.last_offset >= from_offset and not step.is_empty:
            latest = max(latest, (yield from _latest_of(log, step, from_offset)))
    return latest


def _latest_of(log: LogBytes, frame: Frame, from_offset: int) -> Search[int]:
    """Return the largest timestamp that the batch has at `from_offset` or later. The batch that holds `from_offset` has
    to be looked into, because its header does not tell which of its records has that time."""
    if frame.base_offset >= from_offset:
        return frame.max_timestamp
    _batch, answer = yield from _ask(log, frame, MAX_INT64, from_offset)
    return answer.latest


def _ask(log: LogBytes, frame: Frame, timestamp: int, from_offset: int) -> Search[tuple[RecordBatch, TimeAnswer]]:
    """Look into one batch, in steps: read it, and ask again after a heavy lookup was answered."""
    data = yield from warm(lambda: log.read_at(frame.position, frame.size))
    try:
        batch = read_batch(data)
        if batch is None:
            raise CorruptSegmentError(log.path, frame.position, "the file ends within a batch")
        while True:
            try:
                return batch, ask_batch(batch, timestamp, from_offset)
            except HeavyLookup as heavy:
                yield heavy
    except RecordError as error:
        raise CorruptSegmentError(log.path, frame.position, error.reason) from error
