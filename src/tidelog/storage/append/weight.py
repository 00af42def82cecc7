"""How much work a produced batch may ask for within a turn; beyond that it is prepared beside the loop (`preparation`).

A turn takes requests for 15 ms and may last 50 ms, so one batch may take about 5 ms, and a bad case five times that.
What a batch takes is known before the work is done: its records are counted in its header, compressing goes by the
bytes that go in, and inflating is cut off at a number of bytes that come out. The figures below are the slowest of
text, random bytes, zeros and short periods, measured with cramjam 2.11 on one core, in nanoseconds a byte:

    inflating     gzip 5, snappy 6.5, lz4 1.3, zstd 0.7          a record looked at: 25 to 70 ns; a header 11
    compressing   gzip 12 at level 1, else 50; snappy 3; lz4 5, high 45;
                  zstd 8 up to level 3, 75 up to 9, 90 up to 12, 280 up to 15, 660 up to 22

A batch may also be made of pieces that inflate to nothing: members, frames, blocks, tables for symbols that never come.
Then the bytes that go in are what costs, at worst (nanoseconds a byte): gzip 290, zstd 30, lz4 8. Snappy makes at
least one byte of six; its framed blocks, and those of lz4, are counted by the codecs themselves (`TURN_BLOCKS_MAX`).
"""

from typing import Final

from tidelog.records.compression import DEFAULT_LEVEL, CompressionType

BUDGET_NS: Final = 5_000_000

# By the codec's number: what a batch may inflate to within a turn.
INLINE_INFLATED_BYTES: Final = (0, 1 << 20, 1 << 20, 4 << 20, 4 << 20)
# By the codec's number: how long a batch may be, as it was sent, to be looked into within a turn. The worst that can be
# made of it takes about 20 ms. For a plain one that is a record with nothing but headers, of two bytes each.
INLINE_SENT_BYTES: Final = (4 << 20, 64 << 10, 4 << 20, 2 << 20, 512 << 10)
INLINE_RECORDS: Final = 100_000
# Records that are given new offset deltas one by one, in interpreted code, at 2 microseconds each.
INLINE_RENUMBERED: Final = 2_500
# The limit where the target is no codec: nothing is compressed then, but everything is copied.
_PLAIN_BYTES: Final = 4 << 20
# Rows of (the highest level that the row is for, nanoseconds a byte).
_GZIP: Final = ((1, 12), (9, 50))
_ZSTD: Final = ((3, 8), (9, 75), (12, 90), (15, 280), (22, 660))
_LZ4_FAST_NS: Final = 5
_LZ4_HIGH_NS: Final = 45
_SNAPPY_NS: Final = 3


def inline_compressed_bytes(codec: CompressionType | None, level: int | None) -> int:
    """The number of bytes that may be compressed with this codec and level within a turn. With `codec` None a producer
    chooses the codec, at its default level: then the limit is that of the slowest one."""
    if codec is CompressionType.NONE:
        return _PLAIN_BYTES
    return BUDGET_NS // _compressing_ns(CompressionType.GZIP if codec is None else codec, level)


def _compressing_ns(codec: CompressionType, level: int | None) -> int:
    level = DEFAULT_LEVEL.get(codec, 0) if level is None else level
    match codec:
        case CompressionType.LZ4:
            return _LZ4_FAST_NS if level == DEFAULT_LEVEL[codec] else _LZ4_HIGH_NS
        case CompressionType.GZIP:
            return _row(_GZIP, 6 if level == DEFAULT_LEVEL[codec] else level)
        case CompressionType.ZSTD:
            return _row(_ZSTD, level)
        case _:
            return _SNAPPY_NS


def _row(rows: tuple[tuple[int, int], ...], level: int) -> int:
    return next(ns for highest, ns in rows if level <= highest)
