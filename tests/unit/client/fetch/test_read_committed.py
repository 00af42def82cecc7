"""read_committed: transactions in the aborted list are hidden, markers are never records, and the offset passes
both."""

from tidelog.client.fetch.assigned import AssignedPartition
from tidelog.model.ids import ZERO_UUID, TopicPartition
from tidelog.records.aborted import AbortedFilter, AbortedTransaction
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.records.compression import CompressionType
from tidelog.records.control import EndTransactionMarker
from tidelog.records.header import MAX_INT64

PLACE = TopicPartition("t", 0)


def data(base: int, producer: int, *values: bytes, codec: CompressionType = CompressionType.NONE) -> bytes:
    options = BatchOptions(
        compression=codec, producer_id=producer, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    builder = BatchBuilder(base, options=options)
    for value in values:
        builder.append(1, None, value)
    return builder.build()


def marker(base: int, producer: int, *, committed: bool) -> bytes:
    options = BatchOptions(producer_id=producer, producer_epoch=0, is_transactional=True, is_control=True)
    builder = BatchBuilder(base, options=options)
    builder.append_marker(1, EndTransactionMarker(committed, 0))
    return builder.build()


LOG = b"".join(
    [
        data(0, 1, b"aborted", b"aborted"),
        data(2, 2, b"kept", codec=CompressionType.LZ4),
        marker(3, 1, committed=False),
        data(4, 1, b"later"),
        marker(5, 2, committed=True),
        marker(6, 1, committed=True),
    ]
)


def read(aborted: AbortedFilter | None, upper: int = MAX_INT64) -> tuple[list[tuple[int, bytes | None]], int]:
    state = AssignedPartition(PLACE, ZERO_UUID, 0, verify_crc=True)
    state.upper = upper
    state.received(LOG, aborted)
    assert state.fetch_offset == 7
    found = []
    while records := state.next_records(2):
        found += [(record.offset, record.value) for record in records]
    return found, state.position


def test_aborted_records_are_hidden_and_the_position_passes_the_markers() -> None:
    filtered = AbortedFilter([AbortedTransaction(1, 0)])
    assert read(filtered) == ([(2, b"kept"), (4, b"later")], 7)


def test_uncommitted_shows_them() -> None:
    assert read(None) == ([(0, b"aborted"), (1, b"aborted"), (2, b"kept"), (4, b"later")], 7)


def test_it_stops_at_the_end_that_was_asked_for() -> None:
    assert read(None, upper=2) == ([(0, b"aborted"), (1, b"aborted")], 2)
    assert read(AbortedFilter([AbortedTransaction(1, 0)]), upper=2) == ([], 2)
