"""Snappy as it travels in Kafka: framed by Java's xerial library, or one raw block from everyone else.

    magic 8 bytes | version i32 | oldest compatible version i32 | (block length i32 | raw snappy block)*

The two are told apart by the magic: its first byte read as a raw block's size would be followed by an impossible tag.
Streams may be concatenated, each with a head of its own.
"""

from struct import Struct
from typing import Final

import cramjam

from tidelog.records.header import MAX_INT64, BytesLike

MAGIC: Final = b"\x82SNAPPY\x00"
_HEAD: Final = MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
_BLOCK_BYTES: Final = 32 * 1024  # what the Java library writes
_LENGTH: Final = Struct(">i")
# A raw block opens with the size that it claims to have. The format's densest element is a copy of 64 bytes in 3, so
# a claim beyond this ratio is a lie, and nothing is allocated for it.
_MAX_RATIO: Final = 22


# How many blocks are inflated within a turn of a broker: each takes 2.5 microseconds, however little it holds. A
# megabyte in Java's blocks has 32.
TURN_BLOCKS_MAX: Final = 512


class BadFraming(Exception):
    """The bytes do not follow their codec's framing."""


class LimitExceeded(Exception):
    """Inflating would pass the caller's limit."""


def compress(data: BytesLike) -> bytes:
    parts = [_HEAD]
    view = memoryview(data)
    for start in range(0, len(view), _BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + _BLOCK_BYTES]))
        parts += (_LENGTH.pack(len(block)), block)
    return b"".join(parts)


def decompress(data: BytesLike, limit_bytes: int, blocks_max: int = MAX_INT64) -> bytes:
    """Return the inflated bytes. Raises LimitExceeded beyond `limit_bytes` or `blocks_max` blocks; a head counts as a
    block."""
    view = memoryview(data)
    if bytes(view[: len(MAGIC)]) != MAGIC:
        return bytes(_inflate_block(view, limit_bytes))
    inflated = bytearray()  # and no list of blocks: ten megabytes may hold two million of them, all empty
    position = 0
    while position < len(view):
        blocks_max -= 1
        if blocks_max < 0:
            raise LimitExceeded
        if bytes(view[position : position + len(MAGIC)]) == MAGIC:
            position += len(_HEAD)
            continue
        block, position = _next_block(view, position)
        inflated += _inflate_block(block, limit_bytes - len(inflated))
    if position != len(view):
        raise BadFraming("the stream ends within its head")
    return bytes(inflated)


def _next_block(view: memoryview, position: int) -> tuple[memoryview, int]:
    start = position + _LENGTH.size
    if start > len(view):
        raise BadFraming("the stream ends within a block length")
    (length,) = _LENGTH.unpack_from(view, position)
    if not 0 < length <= len(view) - start:
        raise BadFraming(f"block length {length} with {len(view) - start} bytes left")
    return view[start : start + length], start + length


def _inflate_block(block: memoryview, limit_bytes: int) -> bytearray:
    size = cramjam.snappy.decompress_raw_len(block)
    if size > len(block) * _MAX_RATIO:
        raise BadFraming(f"{len(block)} bytes claim to hold {size}")
    if size > limit_bytes:
        raise LimitExceeded
    out = bytearray(size)
    if cramjam.snappy.decompress_raw_into(block, out) != size:
        raise BadFraming("a block is shorter than it claims")
    return out
