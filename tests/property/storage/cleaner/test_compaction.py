"""Whole histories of a compacted log against a dumb twin: the log is a list, and compaction keeps the last record of
each key. Appends, transactions, rolls and cleanings in any order, tables too small for the keys, every codec."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from tests.unit.storage.cleaner.toylog import Row, ToyLog, settings, state_of

from tidelog.records.batch import RecordBatch
from tidelog.records.compression import CompressionType
from tidelog.records.record import Record
from tidelog.storage.cleaner.job import LastRecord

RETENTION_MS = 1000
PLAIN, IDEMPOTENT, TRANSACTIONAL = (-1,), (1, 2), (11, 12)


@dataclass(slots=True)
class Data:
    producer: int
    rows: list[Row]
    codec: CompressionType
    stamped: bool


@dataclass(slots=True)
class Marker:
    producer: int
    committed: bool


@dataclass(slots=True)
class Roll:
    pass


@dataclass(slots=True)
class Clean:
    later_ms: int
    dedupe_buffer_bytes: int
    segment_bytes_max: int
    io_buffer_bytes: int
    producers_live: bool


rows = st.lists(
    st.tuples(st.sampled_from([b"a", b"b", b"c", b"d", b"e"]), st.none() | st.binary(max_size=3)),
    min_size=1,
    max_size=4,
)
producers = st.sampled_from(PLAIN + IDEMPOTENT + TRANSACTIONAL)
data = st.builds(Data, producers, rows, st.sampled_from(CompressionType), st.booleans())
markers = st.builds(Marker, st.sampled_from(TRANSACTIONAL), st.booleans())
cleanings = st.builds(
    Clean,
    st.sampled_from([0, 1, RETENTION_MS - 1, RETENTION_MS, 5 * RETENTION_MS]),
    st.sampled_from([72, 120, 4096]),
    st.sampled_from([1, 300, 10_000]),
    st.sampled_from([100, 10_000]),
    st.booleans(),
)
steps_of_history = st.one_of(data, data, markers, st.builds(Roll), st.builds(Roll), cleanings)
histories = st.lists(steps_of_history, min_size=8, max_size=40)


@dataclass(slots=True)
class TwinBatch:
    """A data batch as it was appended."""

    producer: int
    transactional: bool
    records: list[Record]
    aborted: bool = False
    horizon_ms: int | None = None


@dataclass(slots=True)
class Transaction:
    producer: int
    first_offset: int
    marker_offset: int
    committed: bool
    empty_since_ms: int | None = None  # when a cleaning first found none of its records


@dataclass(slots=True)
class Twin:
    batches: list[TwinBatch] = field(default_factory=list)
    transactions: list[Transaction] = field(default_factory=list)
    dropped: set[int] = field(default_factory=set)  # offsets of tombstones whose horizon had passed

    def kept(self, end: int, stable: int) -> list[Record]:
        """Return the records that a committed reader gets once everything before `end` is compacted."""
        committed = [r for batch in self.batches if not batch.aborted for r in batch.records]
        last = {record.key: record.offset for record in committed if record.offset < end}
        return [
            record
            for record in committed
            if record.offset < stable
            and (record.offset >= end or (last[record.key] == record.offset and record.offset not in self.dropped))
        ]

    def clean(self, now_ms: int, end: int, stable: int, uncleanable: int) -> None:
        kept = {record.offset for record in self.kept(end, stable)}
        for batch in self.batches:
            tombstones = [r.offset for r in batch.records if r.value is None and r.offset in kept and r.offset < end]
            if batch.horizon_ms is not None and now_ms >= batch.horizon_ms:
                self.dropped.update(offset for offset in tombstones if offset != uncleanable - 1)
            elif batch.horizon_ms is None and tombstones and batch.records[-1].offset < end and not batch.aborted:
                batch.horizon_ms = now_ms + RETENTION_MS


class History:
    def __init__(self) -> None:
        self.log = ToyLog()
        self.twin = Twin()

    def run(self, steps: Sequence[object]) -> None:
        for step in steps:
            match step:
                case Data():
                    self.append(step)
                case Marker(producer, committed):
                    self.end_transaction(producer, committed)
                case Roll():
                    self.log.roll()
                case Clean():
                    self.clean(step)

    def append(self, step: Data) -> None:
        log, transactional = self.log, step.producer in TRANSACTIONAL
        time = log.now_ms + 5 if step.stamped else None
        first_time = log.now_ms
        first = log.data(
            step.rows, producer=step.producer, transactional=transactional, codec=step.codec, log_append_time=time
        )
        records = [
            Record(first + i, first_time + 1 + i if time is None else time, key, value)
            for i, (key, value) in enumerate(step.rows)
        ]
        self.twin.batches.append(TwinBatch(step.producer, transactional, records))

    def end_transaction(self, producer: int, committed: bool) -> None:
        first = self.log.open_transactions.get(producer)
        if first is None:
            return
        offset = self.log.marker(producer, committed=committed)
        self.twin.transactions.append(Transaction(producer, first, offset, committed))
        for batch in self.twin.batches:
            if batch.producer == producer and batch.records[0].offset >= first:
                batch.aborted = not committed

    def clean(self, step: Clean) -> None:
        log = self.log
        log.now_ms += step.later_ms
        before = log.batches()
        live: dict[int, LastRecord] | None = None if step.producers_live else {}
        uncleanable = log.cleanable_end()
        cleaner = settings(
            dedupe_buffer_bytes=step.dedupe_buffer_bytes,
            segment_bytes_max=step.segment_bytes_max,
            io_buffer_bytes=step.io_buffer_bytes,
        )
        dirty = log.first_dirty_offset
        end = log.clean(cleaner=cleaner, producers=live).end_offset
        assert end > dirty or end == uncleanable
        assert end <= uncleanable
        self.twin.clean(log.now_ms, end, log.last_stable_offset, uncleanable)
        after = log.batches()
        self.check_records(end)
        self.check_untouched(before, after, uncleanable)
        self.check_markers(before, after)
        if step.producers_live:
            self.check_producers(before, after)

    def check_records(self, end: int) -> None:
        log, twin = self.log, self.twin
        kept = twin.kept(end, log.last_stable_offset)
        assert log.committed() == kept
        everything = [r for batch in twin.batches if not batch.aborted for r in batch.records]
        assert state_of(kept) == state_of([r for r in everything if r.offset < log.last_stable_offset])
        aborted = {r.offset for batch in twin.batches if batch.aborted for r in batch.records}
        assert not [r.offset for r in log.records() if r.offset < end and r.offset in aborted]

    def check_untouched(self, before: list[RecordBatch], after: list[RecordBatch], uncleanable: int) -> None:
        """Check that the batches that may not be cleaned are the same to the byte, and that those before them still end
        there."""

        def tail(found: list[RecordBatch]) -> list[bytes]:
            return [bytes(batch.view) for batch in found if batch.header.base_offset >= uncleanable]

        assert tail(before) == tail(after)
        if uncleanable:
            last = max(b.header.last_offset for b in after if b.header.base_offset < uncleanable)
            assert last == uncleanable - 1

    def check_markers(self, before: list[RecordBatch], after: list[RecordBatch]) -> None:
        there = {batch.header.base_offset for batch in after if batch.header.is_control and batch.header.records_count}
        for each in self.twin.transactions:
            if any(belongs(batch, each) for batch in before):
                assert each.marker_offset in there
            elif each.empty_since_ms is None:
                assert each.marker_offset in there
                each.empty_since_ms = self.log.now_ms
            elif self.log.now_ms < each.empty_since_ms + RETENTION_MS:
                assert each.marker_offset in there

    def check_producers(self, before: list[RecordBatch], after: list[RecordBatch]) -> None:
        """Check that the last batch of each producer, if earlier cleanings had left it, still has its last sequence
        number."""

        def last_batches(found: list[RecordBatch]) -> list[tuple[int, int, int]]:
            lasts = {producer: last.last_data_offset for producer, last in self.log.producers.items()}
            headers = [batch.header for batch in found if not batch.header.is_control]
            return [
                (header.producer_id, header.last_offset, header.last_sequence)
                for header in headers
                if header.last_offset == lasts.get(header.producer_id)
            ]

        assert last_batches(after) == last_batches(before)


def belongs(batch: RecordBatch, transaction: Transaction) -> bool:
    header = batch.header
    return (
        not header.is_control
        and header.producer_id == transaction.producer
        and transaction.first_offset <= header.base_offset < transaction.marker_offset
    )


@given(histories)
@hypothesis_settings(max_examples=120, deadline=None, derandomize=True)
def test_a_compacted_log_is_the_last_record_of_each_key(steps: list[object]) -> None:
    history = History()
    history.run(steps)
    history.log.roll()
    # Clean to the end, with a table that holds two keys.
    while history.log.first_dirty_offset < history.log.cleanable_end():
        history.run([Clean(0, 72, 300, 100, True)])
    history.run([Clean(1, 4096, 10_000, 10_000, True), Clean(5 * RETENTION_MS, 4096, 10_000, 10_000, False)])
