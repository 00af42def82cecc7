"""A log of one partition for the cleaner's tests: batches written one after another, cut into segments at will, cleaned
and swapped, and read back as a consumer would."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tidelog.ports.files import OpenMode
from tidelog.records.batch import RecordBatch, batches
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.records.compression import CompressionType
from tidelog.records.control import EndTransactionMarker
from tidelog.records.record import Record
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.files import SimFileSystem
from tidelog.storage.append.outcome import AppendedBatch
from tidelog.storage.cleaner.cleaning import clean_log
from tidelog.storage.cleaner.job import (
    CleanedSegment,
    CleanerSettings,
    CleaningJob,
    CleaningResult,
    LastRecord,
    SegmentFacts,
)
from tidelog.storage.cleaner.swap import swap
from tidelog.storage.names import LOG_SUFFIX, NO_SUFFIX, parse_segment_name, segment_name
from tidelog.storage.segment.descriptors import Descriptors
from tidelog.storage.segment.indexes import IndexSettings
from tidelog.storage.segment.segment import Segment
from tidelog.storage.segment.transaction_index import AbortedTxn

DIRECTORY = "/disk/topic-0"
SEED = bytes(range(16))
Row = tuple[bytes | None, bytes | None]


def machine(seed: int = 1) -> SimFileSystem:
    fs = SimFileSystem(SimClock(), seed, {"/disk": DiskSettings()})
    fs.make_directory(DIRECTORY)
    fs.sync_directory("/disk")
    return fs


def settings(
    *,
    dedupe_buffer_bytes: int = 1 << 16,
    load_factor: float = 0.9,
    io_buffer_bytes: int = 512,
    segment_bytes_max: int = 1 << 20,
    delete_retention_ms: int = 1000,
) -> CleanerSettings:
    index = IndexSettings(interval_bytes=64, max_bytes=1 << 16)
    return CleanerSettings(
        dedupe_buffer_bytes, load_factor, io_buffer_bytes, index, segment_bytes_max, delete_retention_ms
    )


@dataclass(slots=True)
class ToyLog:
    fs: SimFileSystem = field(default_factory=machine)
    next_offset: int = 0
    now_ms: int = 1_000_000
    first_dirty_offset: int = 0
    aborted: list[AbortedTxn] = field(default_factory=list)
    producers: dict[int, LastRecord] = field(default_factory=dict)
    open_transactions: dict[int, int] = field(default_factory=dict)
    sequences: dict[int, int] = field(default_factory=dict)
    base_offsets: list[int] = field(default_factory=list)  # closed and active, in order
    descriptors: Descriptors = field(init=False)
    active: Segment = field(init=False)

    def __post_init__(self) -> None:
        self.descriptors = Descriptors(self.fs)
        self._start_segment()

    def _start_segment(self) -> None:
        self.base_offsets.append(self.next_offset)
        self.active = Segment.create(self.descriptors, DIRECTORY, self.next_offset, settings().index)

    def roll(self) -> None:
        if self.active.size_bytes:
            self.active.seal()
            self.active.flush()
            self._start_segment()

    def data(
        self,
        rows: Sequence[Row],
        *,
        producer: int = -1,
        transactional: bool = False,
        codec: CompressionType = CompressionType.NONE,
        log_append_time: int | None = None,
    ) -> int:
        """Append a data batch; return its base offset."""
        options = BatchOptions(codec, log_append_time=log_append_time, partition_leader_epoch=3)
        if producer >= 0:
            sequence = self.sequences.get(producer, 0)
            self.sequences[producer] = sequence + len(rows)
            options = BatchOptions(
                codec,
                log_append_time=log_append_time,
                producer_id=producer,
                producer_epoch=0,
                base_sequence=sequence,
                is_transactional=transactional,
                partition_leader_epoch=3,
            )
        if transactional:
            self.open_transactions.setdefault(producer, self.next_offset)
        builder = BatchBuilder(self.next_offset, options=options)
        for key, value in rows:
            self.now_ms += 1
            builder.append(self.now_ms, key, value)
        first = self.next_offset
        self._append(builder.build())
        if producer >= 0:
            self.producers[producer] = LastRecord(self.next_offset - 1, 0)
        return first

    def marker(self, producer: int, *, committed: bool) -> int:
        self.now_ms += 1
        options = BatchOptions(
            producer_id=producer, producer_epoch=0, is_transactional=True, is_control=True, partition_leader_epoch=3
        )
        builder = BatchBuilder(self.next_offset, options=options)
        builder.append_marker(self.now_ms, EndTransactionMarker(committed, 0))
        first = self.open_transactions.pop(producer, None)
        offset = self.next_offset
        self._append(builder.build())
        self.producers.setdefault(producer, LastRecord(-1, 0))
        if first is not None and not committed:
            aborted = AbortedTxn(producer, first, offset, self.last_stable_offset)
            self.aborted.append(aborted)
            self.active.append_aborted(aborted)
        return offset

    def _append(self, data: bytes) -> None:
        header = next(iter(batches(data))).header
        batch = AppendedBatch(header.base_offset, header.last_offset, header.max_timestamp, len(data))
        self.active.append([data], [batch])
        self.next_offset = header.last_offset + 1

    @property
    def last_stable_offset(self) -> int:
        return min(self.open_transactions.values(), default=self.next_offset)

    # Cleaning

    def cleanable_end(self) -> int:
        """Return the base offset of the segment that holds the last stable offset, or of the active one."""
        return max(
            base for base in self.base_offsets if base <= self.last_stable_offset or base == self.base_offsets[0]
        )

    def facts(self, end: int) -> list[SegmentFacts]:
        return [SegmentFacts(base, self.fs.stat(self.path(base)).size) for base in self.base_offsets if base < end]

    def job(self, now_ms: int, cleaner: CleanerSettings, producers: dict[int, LastRecord] | None = None) -> CleaningJob:
        end = self.cleanable_end()
        live = self.producers if producers is None else producers
        return CleaningJob(
            DIRECTORY, self.facts(end), self.first_dirty_offset, end, now_ms, SEED, cleaner, self.aborted, live
        )

    def clean(
        self,
        now_ms: int | None = None,
        cleaner: CleanerSettings | None = None,
        producers: dict[int, LastRecord] | None = None,
    ) -> CleaningResult:
        """Run one cleaning, swapping segments in as they are ready."""
        job = self.job(self.now_ms if now_ms is None else now_ms, cleaner or settings(), producers)
        steps = clean_log(self.fs, job)
        while True:
            try:
                step = next(steps)
            except StopIteration as end:
                result: CleaningResult = end.value
                self.first_dirty_offset = result.end_offset
                return result
            if isinstance(step, CleanedSegment):
                self.swap_in(step)

    def swap_in(self, cleaned: CleanedSegment) -> None:
        swap(self.descriptors, DIRECTORY, cleaned.base_offset, cleaned.replaced)
        self.base_offsets = [
            base for base in self.base_offsets if base == cleaned.base_offset or base not in cleaned.replaced
        ]

    # Reading

    def path(self, base_offset: int, kind: str = LOG_SUFFIX) -> str:
        return f"{DIRECTORY}/{segment_name(base_offset, kind)}"

    def batches(self) -> list[RecordBatch]:
        return read_batches(self.fs)

    def records(self) -> list[Record]:
        """Return all data records, aborted ones too."""
        return [record for batch in self.batches() if not batch.header.is_control for record in batch.records()]

    def committed(self) -> list[Record]:
        """Return what a read_committed consumer gets up to the last stable offset, by the aborted transactions in the
        segments' own indexes."""
        aborted = self.indexed_aborted()
        return [
            record
            for batch in self.batches()
            if not batch.header.is_control and not (batch.header.is_transactional and is_aborted(batch, aborted))
            for record in batch.records()
            if record.offset < self.last_stable_offset
        ]

    def indexed_aborted(self) -> list[AbortedTxn]:
        found = []
        for base in self.base_offsets[:-1]:
            found += Segment.open(self.descriptors, DIRECTORY, base).collect_aborted(0, 2**62)[0]
        return found + self.active.collect_aborted(0, 2**62)[0]


def is_aborted(batch: RecordBatch, aborted: Sequence[AbortedTxn]) -> bool:
    header = batch.header
    return any(
        each.producer_id == header.producer_id and each.first_offset <= header.base_offset <= each.last_offset
        for each in aborted
    )


def segment_bases(fs: SimFileSystem) -> list[int]:
    parsed = [parse_segment_name(name) for name in fs.list_directory(DIRECTORY)]
    return [name.base_offset for name in parsed if name and name.kind == LOG_SUFFIX and name.state == NO_SUFFIX]


def read_batches(fs: SimFileSystem) -> list[RecordBatch]:
    """Return every batch of every segment, with its checksum verified and no bytes left over."""
    found: list[RecordBatch] = []
    for base in segment_bases(fs):
        data = read_file(fs, f"{DIRECTORY}/{segment_name(base, LOG_SUFFIX)}")
        inside = list(batches(data))
        assert sum(len(batch.view) for batch in inside) == len(data)
        for batch in inside:
            batch.validate()
        found += inside
    offsets = [batch.header.base_offset for batch in found]
    assert offsets == sorted(set(offsets))
    return found


def read_file(fs: SimFileSystem, path: str) -> bytes:
    file = fs.open(path, OpenMode.READ)
    try:
        return file.read_at(0, file.size())
    finally:
        file.close()


def state_of(records: Sequence[Record]) -> dict[bytes | None, bytes]:
    """Return what a table built from the log holds in the end."""
    table: dict[bytes | None, bytes] = {}
    for record in records:
        if record.value is None:
            table.pop(record.key, None)
        else:
            table[record.key] = record.value
    return table
