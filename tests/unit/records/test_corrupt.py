"""Every way in which a batch can be wrong, against both readers: the same typed error, with the base offset."""

import pickle
from collections.abc import Callable

import cramjam
import pytest
from tests.unit.records.raw import BASE_OFFSET, GOOD, batch, content, field, record, varint

from tidelog.records.batch import batches
from tidelog.records.errors import (
    CorruptRecordCompressionError,
    CorruptRecordCountError,
    CorruptRecordCrcError,
    CorruptRecordLengthError,
    CorruptRecordMagicError,
    CorruptRecordOffsetError,
    CorruptRecordTimestampError,
    CorruptRecordVarintError,
    RecordError,
    UnsupportedMagicError,
)
from tidelog.records.fetched import decode_fetched
from tidelog.records.kernels_decode import decode

Reader = Callable[[bytes], object]
OTHER = batch(record(content()), base_offset=BASE_OFFSET + 10)  # so that the buffer goes on after the damage


def read_objects(buffer: bytes) -> object:
    for found in batches(buffer):
        found.validate()
    return None


def read_columns(buffer: bytes) -> object:
    return decode_fetched(buffer)


READERS = pytest.mark.parametrize("read", [read_objects, read_columns], ids=["objects", "columns"])


def one(**parts: bytes) -> bytes:
    return batch(record(content(**parts)))


def flipped(buffer: bytes, position: int) -> bytes:
    return buffer[:position] + bytes([buffer[position] ^ 1]) + buffer[position + 1 :]


ELEVEN = b"\x80" * 10 + b"\0"
HEADER = field(b"h") + field(b"x")

CORRUPT: dict[str, tuple[bytes, type[RecordError]]] = {
    "checksum wrong": (batch(record(content()), crc=1), CorruptRecordCrcError),
    "bit flipped in attributes": (flipped(GOOD, 22), CorruptRecordCrcError),
    "bit flipped in the last byte": (flipped(GOOD, len(GOOD) - 1), CorruptRecordCrcError),
    "batch length below the minimum": (batch(length=48), CorruptRecordLengthError),
    "batch length zero": (batch(length=0), CorruptRecordLengthError),
    "batch length negative": (batch(length=-1), CorruptRecordLengthError),
    "magic 0": (batch(record(content()), magic=0), UnsupportedMagicError),
    "magic 1": (batch(record(content()), magic=1), UnsupportedMagicError),
    "magic 3": (batch(record(content()), magic=3), CorruptRecordMagicError),
    "magic -1": (batch(record(content()), magic=-1), CorruptRecordMagicError),
    "count negative": (batch(record(content()), count=-1), CorruptRecordCountError),
    "count negative, no records": (batch(count=-1), CorruptRecordCountError),
    "last offset delta negative, no records": (batch(last_offset_delta=-1), CorruptRecordOffsetError),
    "count beyond the bytes": (batch(record(content()), count=2**31 - 1), CorruptRecordCountError),
    "count one too many": (batch(*[record(content(value=field(b"v" * 9)))], count=2), CorruptRecordLengthError),
    "count one too few": (batch(record(content()), record(content(varint(1))), count=1), CorruptRecordCountError),
    "count zero with records": (batch(record(content()), count=0), CorruptRecordCountError),
    "bytes after the last record": (batch(record(content()), b"\0", count=1), CorruptRecordCountError),
    "last offset delta negative": (batch(record(content()), last_offset_delta=-1), CorruptRecordOffsetError),
    "last offset beyond 64 bits": (
        batch(record(content()), base_offset=2**63 - 1, last_offset_delta=1),
        CorruptRecordOffsetError,
    ),
    "offset delta beyond the last": (one(offset_delta=varint(1)), CorruptRecordOffsetError),
    "offset delta negative": (one(offset_delta=varint(-1)), CorruptRecordOffsetError),
    "offset repeated": (batch(record(content()), record(content())), CorruptRecordOffsetError),
    "offsets decrease": (
        batch(record(content(varint(1))), record(content()), last_offset_delta=1),
        CorruptRecordOffsetError,
    ),
    "offset delta overlong": (one(offset_delta=varint(0, pad_to=6)), CorruptRecordVarintError),
    "timestamp delta overlong": (one(timestamp_delta=ELEVEN), CorruptRecordVarintError),
    "timestamp above 64 bits": (one(timestamp_delta=varint(2**63 - 1)), CorruptRecordTimestampError),
    "timestamp below 64 bits": (
        batch(record(content(timestamp_delta=varint(-(2**63)))), base_timestamp=-1),
        CorruptRecordTimestampError,
    ),
    "record length negative": (batch(record(content(), length=-1)), CorruptRecordLengthError),
    "record length zero": (batch(record(content(), length=0)), CorruptRecordLengthError),
    "record length overlong": (batch(b"\x80" * 6 + record(content())), CorruptRecordVarintError),
    "record length beyond the batch": (batch(record(content(), length=10)), CorruptRecordLengthError),
    "record length 2^31 - 1": (batch(record(content(), length=2**31 - 1)), CorruptRecordLengthError),
    "record length one too long": (
        batch(record(content(), length=9), record(content(varint(1)))),
        CorruptRecordLengthError,
    ),
    "record length one too short": (batch(record(content(), length=7)), CorruptRecordLengthError),
    "bytes left over inside a record": (batch(record(content() + b"\0")), CorruptRecordLengthError),
    "record ends within the timestamp": (batch(record(b"\0\x80"), b"\0" * 9, count=1), CorruptRecordLengthError),
    "record ends before its offset": (batch(record(b"\0\0"), b"\0" * 9, count=1), CorruptRecordLengthError),
    "record ends before its headers": (one(headers=b""), CorruptRecordLengthError),
    "batch ends within a record length": (
        batch(record(content()), b"\x80" * 4 + b"\x80" * 3),
        CorruptRecordVarintError,
    ),
    "key length -2": (one(key=varint(-2)), CorruptRecordLengthError),
    "key length overlong": (one(key=varint(1, pad_to=6) + b"k"), CorruptRecordVarintError),
    "key beyond the record": (one(key=varint(5) + b"k"), CorruptRecordLengthError),
    "key length 2^31 - 1": (one(key=varint(2**31 - 1) + b"k"), CorruptRecordLengthError),
    "value length -2": (one(value=varint(-2)), CorruptRecordLengthError),
    "value beyond the record": (one(value=varint(3) + b"v"), CorruptRecordLengthError),
    "value length -2^31": (one(value=varint(-(2**31))), CorruptRecordLengthError),
    "header count negative": (one(headers=varint(-1)), CorruptRecordCountError),
    "header count beyond the record": (one(headers=varint(6) + HEADER), CorruptRecordCountError),
    "header count 2^31 - 1": (one(headers=varint(2**31 - 1) + HEADER), CorruptRecordCountError),
    "header count one too many": (one(headers=varint(2) + HEADER), CorruptRecordLengthError),
    "header count one too few": (one(headers=varint(1) + HEADER + HEADER), CorruptRecordLengthError),
    "header key null": (one(headers=varint(1) + varint(-1) + field(b"x")), CorruptRecordLengthError),
    "header key -2": (one(headers=varint(1) + varint(-2) + field(b"x")), CorruptRecordLengthError),
    "header key beyond the record": (one(headers=varint(1) + varint(9) + b"h"), CorruptRecordLengthError),
    "header value -2": (one(headers=varint(1) + field(b"h") + varint(-2)), CorruptRecordLengthError),
    "header value beyond the record": (one(headers=varint(1) + field(b"h") + varint(1)), CorruptRecordLengthError),
    "unknown codec 5": (batch(record(content()), attributes=5), CorruptRecordCompressionError),
    "unknown codec 7": (batch(record(content()), attributes=7), CorruptRecordCompressionError),
    "gzip of nothing": (batch(attributes=1), CorruptRecordCompressionError),
    "snappy of nothing": (batch(attributes=2), CorruptRecordCompressionError),
    "lz4 of nothing": (batch(attributes=3), CorruptRecordCompressionError),
    "zstd of nothing": (batch(attributes=4), CorruptRecordCompressionError),
    "gzip that is not": (batch(record(content()), attributes=1), CorruptRecordCompressionError),
    "snappy that is not": (batch(b"\xff" * 20, attributes=2), CorruptRecordCompressionError),
    "lz4 that is not": (batch(record(content()), attributes=3), CorruptRecordCompressionError),
    "zstd that is not": (batch(record(content()), attributes=4), CorruptRecordCompressionError),
    "xerial cut in its head": (batch(b"\x82SNAPPY\0\0\0\0\1", attributes=2), CorruptRecordCompressionError),
    "xerial cut in a block length": (
        batch(b"\x82SNAPPY\0\0\0\0\1\0\0\0\1\0\0", attributes=2),
        CorruptRecordCompressionError,
    ),
    "xerial block of negative length": (
        batch(b"\x82SNAPPY\0\0\0\0\1\0\0\0\1\xff\xff\xff\xff", attributes=2),
        CorruptRecordCompressionError,
    ),
    "xerial block beyond the batch": (
        batch(b"\x82SNAPPY\0\0\0\0\1\0\0\0\1\0\0\0\x09\0", attributes=2),
        CorruptRecordCompressionError,
    ),
    "snappy that claims 4 GiB": (
        batch(b"\xff\xff\xff\xff\x0f" + b"\0" * 9, attributes=2),
        CorruptRecordCompressionError,
    ),
    "lz4 with dependent blocks": (
        batch(bytes(cramjam.lz4.compress(record(content()))), attributes=3, count=1),
        CorruptRecordCompressionError,
    ),
    "inside gzip: count one too many": (
        batch(bytes(cramjam.gzip.compress(record(content()))), attributes=1, count=2),
        CorruptRecordCountError,
    ),
    "inside zstd: trailing byte": (
        batch(bytes(cramjam.zstd.compress(record(content()) + b"\0")), attributes=4, count=1),
        CorruptRecordCountError,
    ),
    "zstd cut short": (
        batch(bytes(cramjam.zstd.compress(record(content()) * 50))[:-4], attributes=4, count=50),
        CorruptRecordCompressionError,
    ),
    "bytes after the gzip member": (
        batch(bytes(cramjam.gzip.compress(record(content()))), b"junk", attributes=1, count=1),
        CorruptRecordCompressionError,
    ),
}


@READERS
@pytest.mark.parametrize("name", CORRUPT)
@pytest.mark.parametrize("rest", [b"", OTHER], ids=["alone", "followed"])
def test_corrupt(name: str, rest: bytes, read: Reader) -> None:
    damaged, error = CORRUPT[name]
    with pytest.raises(RecordError) as caught:
        read(damaged + rest)
    assert type(caught.value) is error
    expected = 2**63 - 1 if name == "last offset beyond 64 bits" else BASE_OFFSET
    assert caught.value.base_offset == expected
    assert str(caught.value) == f"record batch at offset {expected}: {caught.value.reason}"


@READERS
@pytest.mark.parametrize("magic", [0, 1])
def test_an_old_format_is_named(magic: int, read: Reader) -> None:
    with pytest.raises(UnsupportedMagicError, match=f"message format {magic} is not supported") as caught:
        read(batch(record(content()), magic=magic))
    assert caught.value.magic == magic


@READERS
def test_a_cut_batch_of_an_old_format_is_noticed(read: Reader) -> None:
    with pytest.raises(UnsupportedMagicError):
        read(batch(record(content()), magic=1)[:17])


@READERS
def test_a_cut_batch_with_an_impossible_length_is_noticed(read: Reader) -> None:
    with pytest.raises(CorruptRecordLengthError):
        read(batch(record(content()), length=48)[:30])


@READERS
def test_a_batch_length_that_cuts_the_last_record(read: Reader) -> None:
    with pytest.raises(CorruptRecordCrcError):
        read(batch(record(content()), length=56)[:68])


@READERS
def test_a_record_that_goes_on_behind_its_batch(read: Reader) -> None:
    """All bytes of the record are there and fit together, but the last three are outside of its batch."""
    whole = record(content(value=field(b"v" * 9)))
    with pytest.raises(CorruptRecordLengthError):
        read(batch(whole[:-3]) + whole[-3:])


@READERS
def test_good_batches_pass(read: Reader) -> None:
    read(GOOD + OTHER)


def test_the_first_records_of_a_corrupt_batch_can_be_read() -> None:
    """Reading is lazy: an error is raised when its record is reached."""
    (damaged,) = batches(batch(record(content()), record(content())))
    records = damaged.records()
    assert next(records).offset == BASE_OFFSET
    with pytest.raises(CorruptRecordOffsetError):
        next(records)


def test_the_kernel_refuses_a_compressed_batch() -> None:
    compressed = batch(bytes(cramjam.zstd.compress(record(content()))), attributes=4, count=1)
    with pytest.raises(CorruptRecordCompressionError, match="has to be inflated first"):
        decode(compressed, 0, len(compressed), 0, 2**62, 1, True)


@pytest.mark.parametrize("error", [RecordError(5, "why"), UnsupportedMagicError(5, 1)])
def test_errors_survive_a_process_boundary(error: RecordError) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.base_offset) == (type(error), str(error), 5)
