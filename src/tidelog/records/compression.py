"""The four codecs, as Kafka's clients write and read them.

- gzip: one member; levels 1 to 9, or -1 for the codec's default.
- snappy: Java frames its blocks as the xerial library does, librdkafka sends one raw block; both are read, xerial is
  written. See `xerial`.
- lz4: the frame format. Java refuses blocks that depend on each other, so we write independent ones, and refuse the
  others when reading: a batch that we let in must be readable by every consumer.
- zstd: any frame; levels -131072 to 22.

Inflating is bounded by construction: the codec writes into a buffer that we allocate, which starts small, grows on
demand, and never passes the limit, whatever sizes the data claim for themselves.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Final

import cramjam

from tidelog.records import xerial
from tidelog.records.errors import CorruptRecordCompressionError, DecompressedSizeError
from tidelog.records.header import MAX_INT64, BytesLike
from tidelog.records.lz4_frame import BLOCK_BYTES_MAX, inflate_usual

# What one batch may inflate to unless the caller says otherwise. Kafka has no such limit; a batch is at most
# `max.message.bytes` on the wire (1 MiB by default), so 64 MiB is far from anything that a producer means.
DEFAULT_LIMIT_BYTES: Final = 64 * 1024 * 1024

_FIRST_GUESS: Final = 8  # the buffer's first size, in times the compressed size
_GROWTH: Final = 4  # so that what wrong guesses inflate in vain adds up to a third at most
_MIN_GUESS_BYTES: Final = 4096

# cramjam has one exception for everything; this is the text that says that the output buffer was too small.
_OUTPUT_FULL: Final = "failed to write whole buffer"

_LZ4_DESCRIPTOR_POSITION: Final = 4
_LZ4_INDEPENDENT_BLOCKS: Final = 0x20
_LZ4_FAST: Final = 0
_LZ4_MIN_HIGH: Final = 3
_LZ4_MAX_HIGH: Final = 12


class CompressionType(IntEnum):
    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


# Kafka's settings compression.{gzip,lz4,zstd}.level: the default and what else is valid.
DEFAULT_LEVEL: Final = {CompressionType.GZIP: -1, CompressionType.LZ4: 9, CompressionType.ZSTD: 3}
LEVELS: Final = {
    CompressionType.GZIP: range(1, 10),
    CompressionType.LZ4: range(1, 18),
    CompressionType.ZSTD: range(-131072, 23),
}


def compression_type(compression_id: int, base_offset: int) -> CompressionType:
    try:
        return CompressionType(compression_id)
    except ValueError:
        raise CorruptRecordCompressionError(base_offset, f"unknown compression type {compression_id}") from None


def compress(codec: CompressionType, data: BytesLike, level: int | None = None) -> bytes:
    """Compress `data`. With `level` None the level is Kafka's default for the codec; snappy and none have no levels."""
    level = _checked_level(codec, level)
    match codec:
        case CompressionType.NONE:
            return bytes(data)
        case CompressionType.GZIP:
            return bytes(cramjam.gzip.compress(data, level=6 if level == -1 else level))
        case CompressionType.SNAPPY:
            return xerial.compress(data)
        case CompressionType.LZ4:
            return _compress_lz4(data, level)
        case CompressionType.ZSTD:
            return bytes(cramjam.zstd.compress(data, level=level))


def _checked_level(codec: CompressionType, level: int | None) -> int:
    default = DEFAULT_LEVEL.get(codec, 0)
    if level is None or level == default:
        return default
    if level not in LEVELS.get(codec, ()):
        raise ValueError(f"{codec.name.lower()} has no compression level {level}")
    return level


def _compress_lz4(data: BytesLike, level: int) -> bytes:
    """Compress as Java does: the default level is the fast compressor and any other the high one. Its levels end at 12
    in the C library, where Java's go on to 17 without compressing better."""
    high = max(_LZ4_MIN_HIGH, min(level, _LZ4_MAX_HIGH))
    effort = _LZ4_FAST if level == DEFAULT_LEVEL[CompressionType.LZ4] else high
    compressor = cramjam.lz4.Compressor(level=effort, content_checksum=False, block_linked=False)
    compressor.compress(bytes(data))  # the compressor takes nothing but bytes
    return bytes(compressor.finish())


class Inflater:
    """A decompressor of one batch after another, each to `limit_bytes` at most. The buffer that the codecs write into
    is kept from one to the next, so that its size need not be guessed again. For one thread: cramjam lets others run
    meanwhile."""

    def __init__(self, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self._limit_bytes = limit_bytes  # of the batch at hand
        self._blocks_max = MAX_INT64
        self._scratch = bytearray()

    def inflate(self, codec: CompressionType, data: BytesLike, base_offset: int, limit_bytes: int = 0) -> bytes:
        """Return the inflated bytes. Raises DecompressedSizeError where they would be more than the limit, which is
        that of the inflater or, where it is less, `limit_bytes`. A caller that gives `limit_bytes` has little time:
        framed snappy blocks beyond TURN_BLOCKS_MAX pass the limit, too. `base_offset` is for the errors only."""
        self._limit_bytes = min(limit_bytes, self.limit_bytes) if limit_bytes else self.limit_bytes
        self._blocks_max = xerial.TURN_BLOCKS_MAX if limit_bytes else MAX_INT64
        try:
            return _INFLATE[codec](self, data)
        except xerial.LimitExceeded:
            raise DecompressedSizeError(base_offset, self._limit_bytes) from None
        except (cramjam.DecompressionError, xerial.BadFraming) as error:
            raise CorruptRecordCompressionError(base_offset, f"{codec.name.lower()}: {error}") from None

    def _inflate_lz4(self, data: BytesLike) -> bytes:
        if len(self._scratch) < BLOCK_BYTES_MAX:
            self._grow_to(BLOCK_BYTES_MAX)
        inflated = inflate_usual(data, self._scratch, self._limit_bytes)
        if inflated is not None:
            return inflated
        _check_independent_blocks(data)
        return self._inflate(cramjam.lz4.decompress_into, data)

    def _inflate(self, into: Callable[[BytesLike, memoryview], int], data: BytesLike) -> bytes:
        self._grow_to(max(_MIN_GUESS_BYTES, len(data) * _FIRST_GUESS))
        while True:
            room = memoryview(self._scratch)[: self._limit_bytes]
            try:
                size = into(data, room)
                return bytes(room[:size])
            except cramjam.DecompressionError as error:
                if str(error) != _OUTPUT_FULL:
                    raise
            if len(room) >= self._limit_bytes:
                raise xerial.LimitExceeded
            self._grow_to(len(room) * _GROWTH)

    def _grow_to(self, size: int) -> None:
        size = min(size, self._limit_bytes)
        if size > len(self._scratch):
            self._scratch = bytearray()  # the old one is freed first: the two together could pass the limit
            self._scratch = bytearray(size)


# By the codec's number: a tuple is entered faster than a dict of enumerators or a chain of comparisons with them.
_INFLATE: Final[tuple[Callable[[Inflater, BytesLike], bytes], ...]] = (
    lambda _inflater, data: bytes(data),
    lambda inflater, data: inflater._inflate(cramjam.gzip.decompress_into, data),
    lambda inflater, data: xerial.decompress(data, inflater._limit_bytes, inflater._blocks_max),
    Inflater._inflate_lz4,
    lambda inflater, data: inflater._inflate(cramjam.zstd.decompress_into, data),
)


def decompress(
    codec: CompressionType, data: BytesLike, base_offset: int, limit_bytes: int = DEFAULT_LIMIT_BYTES
) -> bytes:
    """Inflate one batch; see `Inflater.inflate`."""
    return Inflater(limit_bytes).inflate(codec, data, base_offset)


def _check_independent_blocks(data: BytesLike) -> None:
    if len(data) <= _LZ4_DESCRIPTOR_POSITION or not data[_LZ4_DESCRIPTOR_POSITION] & _LZ4_INDEPENDENT_BLOCKS:
        raise xerial.BadFraming("blocks that depend on each other, which Java consumers cannot read")
