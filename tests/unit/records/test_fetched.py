"""A fetch response to columns: bounds, control batches, mixed codecs, the size limit, and the offset to go on at."""

import pytest
from tests.wire.records.rows import header_rows, rows

from tidelog.records.aborted import AbortedFilter, AbortedTransaction, is_abort_marker
from tidelog.records.batch import batches
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.records.compression import CompressionType
from tidelog.records.control import EndTransactionMarker
from tidelog.records.errors import (
    BufferTooLargeError,
    CorruptRecordCrcError,
    DecompressedSizeError,
    TimestampRangeError,
)
from tidelog.records.fetched import MICROSECONDS, decode_fetched
from tidelog.records.kernels_decode import decode, decode_headers
from tidelog.records.kernels_walk import walk
from tidelog.records.record import Header


def data(base_offset: int, count: int = 3, options: BatchOptions | None = None) -> bytes:
    builder = BatchBuilder(base_offset, options=options or BatchOptions())
    for offset in range(base_offset, base_offset + count):
        builder.append(1000 + offset, b"key%d" % offset, b"value%d" % offset)
    return builder.build()


def transactional(base_offset: int, producer_id: int, compression: CompressionType = CompressionType.NONE) -> bytes:
    options = BatchOptions(
        compression, producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    return data(base_offset, 3, options)


def marker(offset: int, producer_id: int, committed: bool) -> bytes:
    options = BatchOptions(producer_id=producer_id, producer_epoch=0, is_transactional=True, is_control=True)
    builder = BatchBuilder(offset, options=options)
    builder.append_marker(2000, EndTransactionMarker(committed, 0))
    return builder.build()


def offsets(buffer: bytes, lower: int = 0, upper: int = 2**63 - 1, aborted: AbortedFilter | None = None) -> list[int]:
    return list(decode_fetched(buffer, lower=lower, upper=upper, aborted=aborted).columns.offsets)


ZSTD = BatchOptions(CompressionType.ZSTD)


@pytest.mark.parametrize("options", [BatchOptions(), ZSTD], ids=["plain", "zstd"])
@pytest.mark.parametrize(
    ("lower", "upper", "expected", "next_offset", "batches_used"),
    [
        (0, 100, range(10, 19), 19, 3),
        (11, 100, range(11, 19), 19, 3),
        (13, 100, range(13, 19), 19, 3),
        (14, 17, range(14, 17), 17, 3),
        (10, 13, range(10, 13), 13, 1),
        (10, 10, [], 10, 0),
        (19, 100, [], 19, 3),
        (40, 100, [], 40, 3),
    ],
)
def test_bounds(
    lower: int, upper: int, expected: range, next_offset: int, batches_used: int, options: BatchOptions
) -> None:
    parts = [data(10, 3, options), data(13, 3, options), data(16, 3, options)]
    fetched = decode_fetched(b"".join(parts), lower=lower, upper=upper)
    assert list(fetched.columns.offsets) == list(expected)
    assert fetched.next_offset == next_offset
    assert fetched.next_position == len(b"".join(parts[:batches_used]))


def test_control_batches_are_passed_over_and_still_advance() -> None:
    buffer = data(0) + marker(3, 7, committed=True)
    fetched = decode_fetched(buffer)
    assert list(fetched.columns.offsets) == [0, 1, 2]
    assert (fetched.next_offset, fetched.next_position) == (4, len(buffer))


@pytest.mark.parametrize("compression", [CompressionType.NONE, CompressionType.LZ4])
def test_aborted_transactions(compression: CompressionType) -> None:
    buffer = b"".join(
        (
            transactional(0, 7, compression),  # aborted
            transactional(3, 8, compression),  # another producer, committed
            data(6),  # not transactional
            transactional(9, 7, compression),  # aborted, same transaction
            marker(12, 7, committed=False),
            marker(13, 8, committed=True),
            transactional(14, 7, compression),  # the same producer again, committed
            marker(17, 7, committed=True),
            transactional(18, 7, compression),  # aborted
            marker(21, 7, committed=False),
        )
    )
    aborted = [AbortedTransaction(7, 18), AbortedTransaction(7, 0)]  # in any order
    assert offsets(buffer, aborted=AbortedFilter(aborted)) == [3, 4, 5, 6, 7, 8, 14, 15, 16]
    assert offsets(buffer) == [*range(12), 14, 15, 16, 18, 19, 20]
    fetched = decode_fetched(buffer, aborted=AbortedFilter(aborted))
    assert (fetched.next_offset, fetched.next_position) == (22, len(buffer))


def test_a_transaction_opens_at_its_first_offset_only() -> None:
    buffer = transactional(0, 7) + transactional(3, 7)
    assert offsets(buffer, aborted=AbortedFilter([AbortedTransaction(7, 3)])) == [0, 1, 2]


def test_only_an_abort_marker_ends_an_aborted_transaction() -> None:
    assert [is_abort_marker(batch) for batch in batches(marker(0, 7, True) + marker(1, 7, False) + data(2))] == [
        False,
        True,
        False,
    ]


def test_mixed_codecs_in_order() -> None:
    buffer = b"".join(data(3 * codec, 3, BatchOptions(codec)) for codec in CompressionType)
    fetched = decode_fetched(buffer)
    assert rows(fetched.columns) == [
        (offset, 1000 + offset, b"key%d" % offset, b"value%d" % offset) for offset in range(15)
    ]


@pytest.mark.parametrize("options", [BatchOptions(), ZSTD], ids=["plain", "zstd"])
def test_the_checksum_is_verified_unless_asked_not_to(options: BatchOptions) -> None:
    damaged = bytearray(data(0, 3, options))
    damaged[20] ^= 1  # in the checksum itself: the records are still good
    with pytest.raises(CorruptRecordCrcError):
        decode_fetched(bytes(damaged))
    assert list(decode_fetched(bytes(damaged), verify_crc=False).columns.offsets) == [0, 1, 2]


def test_the_limit_ends_a_call_early_and_the_next_goes_on() -> None:
    parts = [data(3 * i, 3, ZSTD) for i in range(4)]
    buffer = b"".join(parts)
    first = decode_fetched(buffer, limit_bytes=150)
    assert list(first.columns.offsets) == [0, 1, 2, 3, 4, 5]
    assert (first.next_position, first.next_offset) == (len(parts[0] + parts[1]), 6)
    second = decode_fetched(buffer, position=first.next_position, limit_bytes=150)
    assert list(second.columns.offsets) == [6, 7, 8, 9, 10, 11]
    with pytest.raises(DecompressedSizeError):
        decode_fetched(buffer, limit_bytes=20)


def test_a_filter_remembers_across_calls() -> None:
    parts = [transactional(3 * i, 7, CompressionType.ZSTD) for i in range(4)]
    buffer = b"".join((*parts, marker(12, 7, False), transactional(13, 7, CompressionType.ZSTD)))
    aborted = AbortedFilter([AbortedTransaction(7, 0)])
    head = decode_fetched(buffer, upper=6, aborted=aborted)
    rest = decode_fetched(buffer, position=head.next_position, lower=6, aborted=aborted)
    assert (list(head.columns.offsets), list(rest.columns.offsets)) == ([], [13, 14, 15])


def test_microseconds() -> None:
    assert list(decode_fetched(data(5, 1), time_factor=MICROSECONDS).columns.timestamps) == [1_005_000]


@pytest.mark.parametrize("timestamp", [2**63 // 1000 + 1, 2**62])
def test_a_time_that_microseconds_cannot_tell(timestamp: int) -> None:
    builder = BatchBuilder()
    builder.append(timestamp, None, None)
    assert list(decode_fetched(builder.build()).columns.timestamps) == [timestamp]
    with pytest.raises(TimestampRangeError, match=str(timestamp)):
        decode_fetched(builder.build(), time_factor=MICROSECONDS)


def test_the_last_time_that_microseconds_can_tell() -> None:
    builder = BatchBuilder()
    builder.append((2**63 - 1) // 1000, None, None)
    columns = decode_fetched(builder.build(), time_factor=MICROSECONDS).columns
    assert list(columns.timestamps) == [(2**63 - 1) // 1000 * 1000]


def test_nulls_are_counted_and_marked() -> None:
    builder = BatchBuilder()
    fields = [(None, b"a"), (b"b", None), (None, None), (b"", b""), (b"c", b"d"), (None, b"e"), (b"f", None)]
    for key, value in fields:
        builder.append(0, key, value)
    columns = decode_fetched(builder.build()).columns
    assert [row[2:] for row in rows(columns)] == fields
    assert (columns.null_keys, columns.null_values) == (3, 3)


def test_headers() -> None:
    lists = [(), (Header("a", b"1"), Header("a", None)), (Header("", b""),), (), (Header("ü", None),)]
    builder = BatchBuilder()
    for headers in lists:
        builder.append(0, b"k", b"v", headers)
    columns = decode_fetched(builder.build()).columns
    assert header_rows(columns) == [[(h.key_bytes(), h.value) for h in headers] for headers in lists]
    assert columns.headers_count == 4
    assert decode_headers(columns).null_values == 2


def test_walk() -> None:
    options = BatchOptions(producer_id=7, producer_epoch=2, base_sequence=5, partition_leader_epoch=3)
    first, second = data(0, 2, options), marker(2, 9, True)
    index = walk(b"pad" + first + second + first[:70], 3, 3 + len(first + second) + 70)
    assert list(index.positions) == [3, 3 + len(first)]
    assert list(index.base_offsets) == [0, 2]
    assert list(index.last_offsets) == [1, 2]
    assert list(index.counts) == [2, 1]
    assert list(index.attributes) == [0, 0x30]
    assert list(index.max_timestamps) == [1001, 2000]
    assert list(index.leader_epochs) == [3, -1]
    assert list(index.producer_ids) == [7, 9]
    assert list(index.producer_epochs) == [2, 0]
    assert list(index.base_sequences) == [5, -1]
    assert (index.attributes_seen, index.end, len(index)) == (0x30, 3 + len(first + second), 2)


@pytest.mark.parametrize(("position", "end"), [(-1, 1), (0, 3), (2, 1)])
def test_ranges_are_checked(position: int, end: int) -> None:
    with pytest.raises(ValueError, match="of a buffer of 2 bytes"):
        walk(b"xx", position, end)
    with pytest.raises(ValueError, match="of a buffer of 2 bytes"):
        decode(b"xx", position, end, 0, 1, 1, True)


@pytest.mark.parametrize("factor", [0, -1])
def test_the_time_factor_is_checked(factor: int) -> None:
    with pytest.raises(ValueError, match="time factor"):
        decode(b"", 0, 0, 0, 1, factor, True)


def test_positions_beyond_2_gib_are_refused() -> None:
    huge = bytes(2**31)  # zero pages: nothing is really allocated
    with pytest.raises(BufferTooLargeError):
        decode(huge, 0, len(huge), 0, 1, 1, True)


def test_an_empty_buffer() -> None:
    fetched = decode_fetched(b"", lower=5)
    assert (len(fetched.columns), fetched.next_position, fetched.next_offset) == (0, 0, 5)
    assert list(fetched.columns.positions) == [0]
