"""The frames of Java and librdkafka block by block, against the library's decoder for whole frames."""

from pathlib import Path

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.records.compression import CompressionType, decompress
from tidelog.records.errors import CorruptRecordCompressionError, DecompressedSizeError
from tidelog.records.lz4_frame import BLOCK_BYTES_MAX, USUAL_HEAD, inflate_usual

GOLDEN = Path(__file__).parents[2] / "wire" / "records" / "golden"
END_MARK = bytes(4)
LIMIT = 1 << 20


def block(plain: bytes, *, stored: bool) -> bytes:
    packed = plain if stored else bytes(cramjam.lz4.compress_block(plain, store_size=False))
    return (len(packed) | stored << 31).to_bytes(4, "little") + packed


def frame(*blocks: bytes) -> bytes:
    return USUAL_HEAD + b"".join(blocks) + END_MARK


def short_way(data: bytes, limit_bytes: int = LIMIT, scratch_bytes: int = BLOCK_BYTES_MAX) -> bytes | None:
    return inflate_usual(memoryview(data), bytearray(scratch_bytes), limit_bytes)


def long_way(data: bytes) -> bytes | None:
    try:
        return bytes(cramjam.lz4.decompress(data))
    except cramjam.DecompressionError:
        return None


texts = st.binary(min_size=1, max_size=60) | st.integers(1, 300).map(lambda n: b"tide %d " % n * n)
blocks = st.tuples(texts, st.booleans())


@given(st.lists(blocks, min_size=1, max_size=4))
def test_whole_frames(parts: list[tuple[bytes, bool]]) -> None:
    data = frame(*[block(plain, stored=stored) for plain, stored in parts])
    assert short_way(data) == long_way(data) == b"".join(plain for plain, _ in parts)


@given(st.lists(blocks, min_size=1, max_size=2), st.data())
def test_damaged_frames(parts: list[tuple[bytes, bool]], data: st.DataObject) -> None:
    damaged = bytearray(frame(*[block(plain, stored=stored) for plain, stored in parts]))
    for _ in range(data.draw(st.integers(0, 2))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    del damaged[data.draw(st.integers(0, len(damaged))) :]
    damaged += data.draw(st.binary(max_size=5))
    short = short_way(bytes(damaged))
    assert short is None or short == long_way(bytes(damaged))


@pytest.mark.parametrize("maker", ["java", "librdkafka"])
def test_producers_write_such_frames(maker: str) -> None:
    packed = (GOLDEN / f"{maker}-lz4.bin").read_bytes()[61:]
    inflated = short_way(packed)
    assert inflated is not None
    assert inflated == long_way(packed)


@pytest.mark.parametrize("larger_scratch", [False, True])
def test_a_block_beyond_its_size_is_refused(larger_scratch: bool) -> None:
    """The block is refused even when our buffer has grown larger for another: consumers have room for 64 KiB."""
    bomb = frame(block(bytes(BLOCK_BYTES_MAX + 1), stored=False))
    assert short_way(bomb, scratch_bytes=BLOCK_BYTES_MAX << larger_scratch) is None
    with pytest.raises(CorruptRecordCompressionError):
        decompress(CompressionType.LZ4, bomb, 0)


@pytest.mark.parametrize("stored", [False, True])
def test_the_limit_holds_over_all_blocks(stored: bool) -> None:
    data = frame(*[block(bytes(1000), stored=stored)] * 3)
    assert short_way(data, limit_bytes=3000) == bytes(3000)
    assert short_way(data, limit_bytes=2999) is None
    assert decompress(CompressionType.LZ4, data, 0, limit_bytes=3000) == bytes(3000)
    with pytest.raises(DecompressedSizeError):
        decompress(CompressionType.LZ4, data, 0, limit_bytes=2999)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        USUAL_HEAD,
        frame(),
        frame(block(b"x", stored=True))[:-1],
        frame(block(b"x", stored=True)) + b"\0",
        USUAL_HEAD + block(b"x", stored=True) + b"\1\0\0\0",
        USUAL_HEAD.replace(b"\x60", b"\x70") + block(b"x", stored=True) + END_MARK,
        frame(b"\0\0\0\x80"),
    ],
    ids=["nothing", "no end", "no block", "cut", "more behind it", "no end mark", "other flags", "an empty block"],
)
def test_what_is_left_to_the_decoder_for_frames(data: bytes) -> None:
    assert short_way(data) is None
