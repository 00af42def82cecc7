"""Batches of many pieces that inflate to nothing, or nearly: their cost lies in the bytes that go in. They are too
heavy for a turn, in any codec, and take no more memory than their output."""

import tracemalloc
import zlib
from struct import Struct

import cramjam
import pytest
from tests.unit.records.raw import field, record, varint
from tests.unit.storage.produce import NOW, body_of, rules

from tidelog.records.batch import RecordBatch, read_batch
from tidelog.records.builder import seal_batch
from tidelog.records.compression import CompressionType, Inflater, compress
from tidelog.records.header import BatchHeader
from tidelog.records.xerial import TURN_BLOCKS_MAX
from tidelog.storage.append.batch_times import HeavyLookup, ask_batch, look_up
from tidelog.storage.append.outcome import Refused, TooHeavy, Validated
from tidelog.storage.append.preparation import Prepared, preparation_job, prepare
from tidelog.storage.append.validation import validate_and_assign
from tidelog.storage.append.weight import INLINE_INFLATED_BYTES, INLINE_SENT_BYTES

MB = 1 << 20
BODY = body_of(1000, 0)
RAW = bytes(cramjam.snappy.compress_raw(BODY))
LZ4_HEAD = bytes.fromhex("04224d18604082")
XERIAL_HEAD = b"\x82SNAPPY\x00" + Struct(">ii").pack(1, 1)


def many(piece: bytes, size_bytes: int = MB) -> bytes:
    return piece * (size_bytes // len(piece) + 1)


def gzip_tables() -> bytes:
    """Return a gzip member of the two records, with many blocks before them whose table has only the end of the
    block."""
    block, bits = 0, 0
    fields = [(0, 1), (2, 2), (0, 5), (0, 5), (14, 4)]
    fields += [(int(each in (2, 17)), 3) for each in range(18)]  # lengths of the symbols 18 and 1
    fields += [(1, 1), (127, 7), (1, 1), (107, 7), (0, 1), (0, 1), (0, 1)]
    for value, width in fields:
        block |= value << bits
        bits += width
    eight = sum(block << (bits * each) for each in range(8)).to_bytes(bits, "little")
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    end = packer.compress(BODY) + packer.flush()
    sizes = zlib.crc32(BODY).to_bytes(4, "little") + len(BODY).to_bytes(4, "little")
    return bytes.fromhex("1f8b0800000000000003") + many(eight) + end + sizes


def lz4_block(data: bytes) -> bytes:
    return Struct("<I").pack(len(data) | 1 << 31) + data


# The bytes that are sent. Each inflates to the two records of `BODY` and nothing else.
PACKED = {
    "gzip members": (CompressionType.GZIP, many(zlib.compress(b"", 9, wbits=31)) + zlib.compress(BODY, 9, wbits=31)),
    "gzip tables": (CompressionType.GZIP, gzip_tables()),
    "xerial blocks": (
        CompressionType.SNAPPY,
        XERIAL_HEAD + many(b"\x00\x00\x00\x01\x00", MB // 8) + Struct(">i").pack(len(RAW)) + RAW,
    ),
    "xerial heads": (CompressionType.SNAPPY, many(XERIAL_HEAD, MB // 8) + Struct(">i").pack(len(RAW)) + RAW),
    "lz4 frames": (CompressionType.LZ4, many(LZ4_HEAD + bytes(4), 4 * MB) + compress(CompressionType.LZ4, BODY)),
    "zstd frames": (
        CompressionType.ZSTD,
        many(bytes.fromhex("28b52ffd2000010000")) + compress(CompressionType.ZSTD, BODY),
    ),
}


def batch(codec: CompressionType, packed: bytes, count: int = 2) -> bytes:
    header = BatchHeader(
        attributes=codec,
        last_offset_delta=count - 1,
        base_timestamp=NOW,
        max_timestamp=NOW + 1000,
        records_count=count,
    )
    return seal_batch(header, packed)


def inline(sent: bytes) -> Validated | Refused:
    buffer = memoryview(bytearray(sent))
    asked = rules(inflated_max=64 * MB, max_message_bytes=16 * MB)
    return validate_and_assign(buffer, 0, len(buffer), 0, NOW, 0, asked, is_inline=True)


def stored(sent: bytes) -> RecordBatch:
    found = read_batch(sent)
    assert found is not None
    return found


@pytest.mark.parametrize("name", PACKED)
def test_a_worker_looks_into_it(name: str) -> None:
    sent = batch(*PACKED[name])
    assert isinstance(inline(sent), TooHeavy)
    asked = rules(inflated_max=64 * MB, max_message_bytes=16 * MB)
    prepared = prepare(preparation_job(memoryview(sent), asked, NOW, allows_zstd=True))
    assert prepared == Prepared(None, NOW + 1000), "it is in order, as the Java codecs would find, too"


@pytest.mark.parametrize("name", PACKED)
def test_a_search_by_time_leaves_it_to_a_worker_too(name: str) -> None:
    with pytest.raises(HeavyLookup) as heavy:
        ask_batch(stored(batch(*PACKED[name])), NOW, 0)
    assert look_up(heavy.value.job).offset == 0


@pytest.mark.parametrize("name", PACKED)
def test_memory_goes_by_what_comes_out(name: str) -> None:
    codec, packed = PACKED[name]
    inflater = Inflater(MB)
    tracemalloc.start()
    try:
        assert inflater.inflate(codec, packed, 0) == BODY
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2 * MB


def test_lz4_of_tiny_blocks_is_left_to_the_decoder_for_frames() -> None:
    """Decoding block by block took 250 ms for each megabyte, and an object for each block."""
    sent = LZ4_HEAD + b"".join(lz4_block(bytes(1)) for _ in range(200_000)) + bytes(4)
    inflater = Inflater(2 * MB)
    tracemalloc.start()
    try:
        assert inflater.inflate(CompressionType.LZ4, sent, 0) == bytes(200_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * MB


def test_framed_snappy_may_have_as_many_blocks_as_a_turn_has_time_for() -> None:
    block, limit_bytes = Struct(">i").pack(len(RAW)) + RAW, INLINE_INFLATED_BYTES[CompressionType.SNAPPY]
    sent = XERIAL_HEAD + b"\x00\x00\x00\x01\x00" * (TURN_BLOCKS_MAX - 2) + block
    assert Inflater().inflate(CompressionType.SNAPPY, sent, 0, limit_bytes) == BODY
    assert isinstance(inline(batch(CompressionType.SNAPPY, sent)), Validated)
    assert isinstance(
        inline(batch(CompressionType.SNAPPY, sent.replace(block, b"\x00\x00\x00\x01\x00" + block))), TooHeavy
    )


def test_a_plain_batch_of_headers_alone_is_weighed_by_its_length() -> None:
    """A header takes two bytes; ten megabytes of them took 54 ms."""
    most = INLINE_SENT_BYTES[CompressionType.NONE]
    light, heavy = (
        record(b"\0" + varint(0) + varint(0) + field(b"k") + field(b"v") + varint(count) + b"\x00\x01" * count)
        for count in (1000, most // 2)
    )
    assert isinstance(inline(batch(CompressionType.NONE, light, 1)), Validated)
    assert isinstance(inline(batch(CompressionType.NONE, heavy, 1)), TooHeavy)
