"""What a cleaning is told and what it answers: plain values, because they travel between processes.

Everything that changes while the log lives on (producers, aborted transactions, offsets) was copied into the job when
it was made. All of it may be out of date by the time it is used, and only to the safe side: what was the last batch of
a producer is kept although there is a newer one, and what was stable stays stable.
"""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Final, NamedTuple

from tidelog.model.lazy_dataclass import dataclass, field
from tidelog.records.header import NO_TIMESTAMP
from tidelog.storage.cleaner.statistics import CleanerStats
from tidelog.storage.segment.indexes import IndexSettings
from tidelog.storage.segment.transaction_index import AbortedTxn

NO_OFFSET: Final = -1
NO_IO_LIMIT: Final = inf


class SegmentFacts(NamedTuple):
    """A closed segment, as its log knows it."""

    base_offset: int
    size_bytes: int
    largest_timestamp: int = NO_TIMESTAMP  # of its records, or of the file where they have none
    first_timestamp: int = NO_TIMESTAMP  # the max timestamp of its first batch
    offset_index_bytes: int = 0
    time_index_bytes: int = 0


def with_ends(segments: Sequence[SegmentFacts], end_offset: int) -> list[tuple[SegmentFacts, int]]:
    """Each segment with the first offset that is no longer its own; the last one's is `end_offset`."""
    ends = [segment.base_offset for segment in segments] + [end_offset]
    return list(zip(segments, ends[1:], strict=True))


class LastRecord(NamedTuple):
    """The last thing that a live producer wrote to this log. Without a data batch in its current epoch that is a
    marker."""

    last_data_offset: int  # -1: no data batch
    producer_epoch: int


@dataclass(slots=True)
class CleanerSettings:
    """The settings of one cleaning. `dedupe_buffer_bytes` and `io_buffer_bytes` are its share of what the broker
    has."""

    dedupe_buffer_bytes: int
    load_factor: float
    io_buffer_bytes: int
    index: IndexSettings
    segment_bytes_max: int
    delete_retention_ms: int
    io_bytes_per_second: float = NO_IO_LIMIT  # read and written together


@dataclass(slots=True)
class CleaningJob:
    directory: str
    segments: Sequence[SegmentFacts]  # all closed ones up to `first_uncleanable_offset`, in order
    first_dirty_offset: int
    first_uncleanable_offset: int  # a segment begins here, closed or active; nothing from here on is read
    now_ms: int
    seed: bytes  # 16 secret bytes, drawn for this job: see `records.kernels_compact`
    settings: CleanerSettings
    aborted_transactions: Sequence[AbortedTxn] = ()  # all that touch the segments, wherever their marker is
    last_records: Mapping[int, LastRecord] = field(default_factory=dict)  # by producer id
    generation: int = 0  # of the log; where the log has another one by then, nothing is swapped in


class BytesMoved(NamedTuple):
    """The bytes that were read and written since the last such step: time to rest, or to look whether the job is still
    wanted."""

    read: int
    written: int


@dataclass(slots=True)
class CleanedSegment:
    """A new segment that is durable as `.cleaned` and may be swapped in for the segments it replaces."""

    base_offset: int
    replaced: tuple[int, ...]  # base offsets, its own among them
    size_bytes: int
    max_timestamp: int


@dataclass(slots=True)
class CleaningResult:
    """The result of a whole cleaning. `end_offset` is the first dirty offset from now on, once the last segment was
    swapped in. Less than the first uncleanable offset means that not all keys fitted: another pass goes on from
    there."""

    end_offset: int
    stats: CleanerStats
