"""A fetch response of one partition, read where it lies: the records stay in the frame, as positions.

The codec would do, if it said where in the frame the records are: the kernels decode from positions in `bytes`, and a
copy of the records costs half as much as decoding them. Every version from 4 on has the same few fields in the same
order, so they are read by hand; a test holds every version against the codec.
"""

from struct import Struct, error
from typing import Final, NamedTuple

from tidelog.protocol.errors import CorrelationMismatch, MalformedMessage
from tidelog.records.aborted import AbortedTransaction

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_SESSION: Final = Struct(">hi")  # error code, session id
_PARTITION: Final = Struct(">ihqq")  # index, error code, high watermark, last stable offset
_INT64: Final = Struct(">q")
_ABORTED: Final = Struct(">qq")
_UUID_BYTES: Final = 16
_FLEXIBLE: Final = 12
_VARINT_BITS_MAX: Final = 35


class FetchReply(NamedTuple):
    error_code: int  # of the whole response, or of the partition
    throttle_time_ms: int = 0
    partition: int = -1
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    aborted: tuple[AbortedTransaction, ...] = ()
    preferred_read_replica: int = -1
    start: int = 0  # position of the records in the frame
    end: int = 0


def read_reply(frame: bytes, version: int, correlation_id: int) -> FetchReply:
    """Read a response frame, which comes without its size. MalformedMessage where it is not what it should be."""
    try:
        return _read(_Reader(frame, version >= _FLEXIBLE), version, correlation_id)
    except (error, IndexError):
        raise MalformedMessage(f"a fetch response (version {version}) is cut short", len(frame)) from None


def _read(reader: "_Reader", version: int, correlation_id: int) -> FetchReply:
    (answered,) = reader.read(_INT32)
    if answered != correlation_id:
        raise CorrelationMismatch(correlation_id, answered)
    reader.skip_tags()
    (throttle_time_ms,) = reader.read(_INT32)
    error_code, _session = reader.read(_SESSION) if version >= 7 else (0, 0)
    topics = reader.length()
    if error_code:
        return FetchReply(error_code, throttle_time_ms)
    if topics != 1:
        raise MalformedMessage(f"{topics} topics where one was asked for", reader.position)
    reader.skip(_UUID_BYTES if version >= 13 else reader.text_bytes())
    partitions = reader.length()
    if partitions != 1:
        raise MalformedMessage(f"{partitions} partitions where one was asked for", reader.position)
    return _partition(reader, version, throttle_time_ms)


def _partition(reader: "_Reader", version: int, throttle_time_ms: int) -> FetchReply:
    partition, error_code, high_watermark, last_stable_offset = reader.read(_PARTITION)
    (log_start_offset,) = reader.read(_INT64) if version >= 5 else (-1,)
    aborted = tuple(_aborted(reader) for _ in range(reader.length()))
    (preferred,) = reader.read(_INT32) if version >= 11 else (-1,)
    size = max(0, reader.length())
    start = reader.position
    reader.skip(size)
    return FetchReply(
        error_code,
        throttle_time_ms,
        partition,
        high_watermark,
        last_stable_offset,
        log_start_offset,
        aborted,
        preferred,
        start,
        reader.position,
    )


def _aborted(reader: "_Reader") -> AbortedTransaction:
    found = AbortedTransaction(*reader.read(_ABORTED))
    reader.skip_tags()
    return found


class _Reader:
    def __init__(self, data: bytes, is_flexible: bool) -> None:
        self.position = 0
        self._data = data
        self._is_flexible = is_flexible

    def read(self, layout: Struct) -> tuple[int, ...]:
        values = layout.unpack_from(self._data, self.position)
        self.position += layout.size
        return values

    def skip(self, count: int) -> None:
        if count < 0 or count > len(self._data) - self.position:
            raise IndexError(count)
        self.position += count

    def length(self) -> int:
        """Read the length of an array or of bytes; -1 for null."""
        return self._unsigned() - 1 if self._is_flexible else self.read(_INT32)[0]

    def text_bytes(self) -> int:
        return self._unsigned() - 1 if self._is_flexible else self.read(_INT16)[0]

    def skip_tags(self) -> None:
        if self._is_flexible:
            for _ in range(self._unsigned()):
                self._unsigned()  # the tag
                self.skip(self._unsigned())

    def _unsigned(self) -> int:
        value = 0
        for shift in range(0, _VARINT_BITS_MAX, 7):
            byte = self._data[self.position]
            self.position += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise MalformedMessage("a variable-length integer is longer than 5 bytes", self.position)
