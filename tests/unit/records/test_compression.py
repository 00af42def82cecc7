"""The codecs and their levels; and nothing inflates beyond the limit."""

import tracemalloc
import zlib

import cramjam
import pytest
from tests.unit.records.raw import BASE_OFFSET, batch, content, record, varint

from tidelog.records.batch import batches
from tidelog.records.compression import LEVELS, CompressionType, compress, decompress
from tidelog.records.errors import CorruptRecordCompressionError, DecompressedSizeError
from tidelog.records.fetched import decode_fetched

CODECS = [codec for codec in CompressionType if codec is not CompressionType.NONE]
TEXT = b"".join(b"the tide comes in, the tide goes out: %d. " % i for i in range(5000))  # several blocks of each codec


@pytest.mark.parametrize("data", [b"", b"x", TEXT], ids=["empty", "one byte", "long"])
@pytest.mark.parametrize("codec", list(CompressionType))
@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_there_and_back(codec: CompressionType, data: bytes, wrap: type[bytes]) -> None:
    compressed = compress(codec, wrap(data))
    assert decompress(codec, wrap(compressed), 0, len(data)) == data


@pytest.mark.parametrize("codec", LEVELS)
def test_levels(codec: CompressionType) -> None:
    lowest, highest = LEVELS[codec][0], LEVELS[codec][-1]
    sizes = []
    text = TEXT[:40000]  # the highest level of zstd is slow
    for level in (lowest, highest):
        compressed = compress(codec, text, level)
        assert decompress(codec, compressed, 0) == text
        sizes.append(len(compressed))
    assert sizes[1] < sizes[0]
    for level in (lowest - 1 if codec is not CompressionType.GZIP else 0, highest + 1):
        with pytest.raises(ValueError, match=f"no compression level {level}"):
            compress(codec, TEXT, level)


def test_default_levels_are_kafkas() -> None:
    assert compress(CompressionType.GZIP, TEXT) == compress(CompressionType.GZIP, TEXT, 6)
    assert compress(CompressionType.GZIP, TEXT) == compress(CompressionType.GZIP, TEXT, -1)
    assert compress(CompressionType.ZSTD, TEXT) == compress(CompressionType.ZSTD, TEXT, 3)
    # lz4's 9 means the fast compressor, which is why the "lower" 8 compresses better
    assert len(compress(CompressionType.LZ4, TEXT, 8)) < len(compress(CompressionType.LZ4, TEXT, 9))


def test_snappy_has_no_levels() -> None:
    with pytest.raises(ValueError, match="snappy has no compression level 1"):
        compress(CompressionType.SNAPPY, TEXT, 1)


def test_lz4_frames_are_what_java_accepts() -> None:
    frame = compress(CompressionType.LZ4, TEXT)
    version, independent, content_size, content_checksum, reserved = (
        frame[4] >> 6,
        frame[4] >> 5 & 1,
        frame[4] >> 3 & 1,
        frame[4] >> 2 & 1,
        frame[4] & 3,
    )
    assert (version, independent, content_size, content_checksum, reserved) == (1, 1, 0, 0, 0)


def test_snappy_is_framed_for_java_and_blocks_are_its_size() -> None:
    framed = compress(CompressionType.SNAPPY, TEXT)
    assert framed[:16] == b"\x82SNAPPY\0\0\0\0\1\0\0\0\1"
    length = int.from_bytes(framed[16:20])
    assert cramjam.snappy.decompress_raw_len(framed[20 : 20 + length]) == 32768


def test_concatenated_xerial_streams() -> None:
    twice = compress(CompressionType.SNAPPY, b"ab") + compress(CompressionType.SNAPPY, b"cd")
    assert bytes(decompress(CompressionType.SNAPPY, twice, 0)) == b"abcd"


@pytest.mark.parametrize("length", [-4, 0, 9])
def test_xerial_block_lengths(length: int) -> None:
    framed = b"\x82SNAPPY\0\0\0\0\1\0\0\0\1" + length.to_bytes(4, signed=True) + b"\0"
    with pytest.raises(CorruptRecordCompressionError, match=f"block length {length} with 1 bytes left"):
        decompress(CompressionType.SNAPPY, framed, 0)


@pytest.mark.parametrize("codec", CODECS)
def test_the_limit_is_exact(codec: CompressionType) -> None:
    compressed = compress(codec, TEXT)
    assert decompress(codec, compressed, 0, len(TEXT)) == TEXT
    with pytest.raises(DecompressedSizeError, match=f"more than the limit of {len(TEXT) - 1} bytes") as caught:
        decompress(codec, compressed, 33, len(TEXT) - 1)
    assert caught.value.base_offset == 33


BOMB_BYTES = 24 << 20
LIMIT_BYTES = 1 << 20


def bomb(codec: CompressionType) -> bytes:
    if codec is CompressionType.GZIP:
        return zlib.compress(bytes(BOMB_BYTES), 1, wbits=31)
    return compress(codec, bytes(BOMB_BYTES))


@pytest.mark.parametrize("codec", CODECS)
def test_a_bomb_does_not_go_off(codec: CompressionType) -> None:
    """The codecs write into our own buffers (`bytearray`s, which tracemalloc sees), and those stay small."""
    buffer = batch(bomb(codec), attributes=int(codec), count=1)
    tracemalloc.start()
    try:
        with pytest.raises(DecompressedSizeError) as caught:
            decode_fetched(buffer, limit_bytes=LIMIT_BYTES)
        (found,) = batches(buffer)
        with pytest.raises(DecompressedSizeError):
            found.validate(LIMIT_BYTES)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert caught.value.base_offset == BASE_OFFSET
    assert peak < 3 * LIMIT_BYTES


def test_a_raw_snappy_block_that_lies_about_its_size_allocates_nothing() -> None:
    claim = b"\x80\x80\x80\x20" + b"\0" * 10  # 64 MiB
    tracemalloc.start()
    try:
        with pytest.raises(CorruptRecordCompressionError, match="claim to hold"):
            decompress(CompressionType.SNAPPY, claim, 0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 20


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("cut", [1, 5, 20])
def test_cut_data_is_corrupt(codec: CompressionType, cut: int) -> None:
    with pytest.raises(CorruptRecordCompressionError):
        decompress(codec, compress(codec, TEXT)[:-cut], 0)


@pytest.mark.parametrize("codec", CODECS)
def test_a_compressed_batch_reads_like_a_plain_one(codec: CompressionType) -> None:
    records = [record(content(varint(delta))) for delta in range(100)]
    buffer = batch(compress(codec, b"".join(records)), attributes=int(codec), count=100, last_offset_delta=99)
    (found,) = batches(buffer)
    (plain,) = batches(batch(*records))
    assert list(found.records()) == list(plain.records())
