"""The one lz4 frame that nearly everybody sends, block by block.

The library's decoder for frames sets up a context for each and moves every block through it: for a batch of 16 KB that
takes as long again as the inflating itself. Java's producer and librdkafka both write the same seven bytes in front:
version 1, independent blocks of up to 64 KiB, no checksums (the batch has one), no sizes. After exactly those bytes
the blocks are given to the library one by one. Everything else, and whatever turns out not to be in order, is left to
the decoder for frames, which alone says what is wrong. It would have inflated to the same bytes what is inflated here.
"""

from struct import Struct
from typing import Final

import cramjam

from tidelog.records.header import BytesLike

# Magic, flags, block size, and the checksum of these two.
USUAL_HEAD: Final = bytes.fromhex("04224d18 60 40 82")
BLOCK_BYTES_MAX: Final = 1 << 16
_HEAD_BYTES: Final = len(USUAL_HEAD)
_SIZE: Final = Struct("<I")
_SIZE_BYTES: Final = _SIZE.size
_END_MARK: Final = bytes(_SIZE_BYTES)
_ONE_BLOCK_BYTES: Final = _HEAD_BYTES + 2 * _SIZE_BYTES  # the frame around a single block, which most batches are
# Beyond so many blocks the decoder for frames is the quicker one: tiny blocks take 1.5 microseconds each here, and a
# hundredth of that there. 64 MiB in full blocks has as many.
BLOCKS_MAX: Final = 1024
_STORED: Final = 1 << 31  # set in a block's size: the block is not compressed


def inflate_usual(data: BytesLike, scratch: bytearray, limit_bytes: int) -> bytes | None:
    """Inflate the usual frame; None where the decoder for frames has to decide: another kind of frame, damage, or more
    than `limit_bytes` or BLOCKS_MAX. Blocks are inflated into `scratch`; None also for a block that does not fit
    there."""
    if data[:_HEAD_BYTES] != USUAL_HEAD or len(data) < _ONE_BLOCK_BYTES:
        return None
    try:
        if _SIZE.unpack_from(data, _HEAD_BYTES)[0] == len(data) - _ONE_BLOCK_BYTES and data[-_SIZE_BYTES:] == _END_MARK:
            size = cramjam.lz4.decompress_block_into(data[_HEAD_BYTES + _SIZE_BYTES : -_SIZE_BYTES], scratch)
            return bytes(memoryview(scratch)[:size]) if 0 < size <= min(BLOCK_BYTES_MAX, limit_bytes) else None
        return _inflate_blocks(memoryview(data), memoryview(scratch), limit_bytes)
    except cramjam.DecompressionError:
        return None


def _inflate_blocks(data: memoryview, scratch: memoryview, limit_bytes: int) -> bytes | None:
    blocks: list[bytes] = []
    position, inflated_bytes, end_mark = _HEAD_BYTES, 0, len(data) - _SIZE_BYTES
    while position < end_mark:
        (size,) = _SIZE.unpack_from(data, position)
        start = position + _SIZE_BYTES
        position = start + (size & ~_STORED)
        if position > end_mark:
            return None
        block = data[start:position] if size & _STORED else _inflate_block(data[start:position], scratch)
        inflated_bytes += len(block)
        if not 0 < len(block) <= BLOCK_BYTES_MAX or inflated_bytes > limit_bytes or len(blocks) >= BLOCKS_MAX:
            return None
        blocks.append(bytes(block))  # a copy: the next block is inflated into the same memory
    if position != end_mark or not blocks or _SIZE.unpack_from(data, end_mark)[0]:
        return None
    return blocks[0] if len(blocks) == 1 else b"".join(blocks)


def _inflate_block(block: memoryview, scratch: memoryview) -> memoryview:
    return scratch[: cramjam.lz4.decompress_block_into(block, scratch)]
