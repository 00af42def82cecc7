"""Produce 0 to 2: advertised, because librdkafka switches compression off otherwise, and refused.

They carry message formats that Kafka dropped long ago. Who sends one all the same gets UNSUPPORTED_VERSION for each
partition, in the layout of its own version, and can say so to its user; a closed connection would be retried for ever.
"""

from struct import Struct, error
from typing import Final

from tidelog.model.errors import ErrorCode
from tidelog.protocol.errors import MalformedMessage

NEWEST: Final = 2
_ACKS = Struct(">hi")  # and the timeout
_INT16 = Struct(">h")
_INT32 = Struct(">i")
_ANSWER = Struct(">ihq")  # partition, error, offset
_NO_TIME = Struct(">q").pack(-1)
_NO_OFFSET: Final = -1


def refuse_old_produce(correlation_id: int, version: int, body: memoryview) -> bytes | None:
    """Return the whole response frame; None for acks=0, which expects none. MalformedMessage when the body is no such
    request."""
    try:
        acks, answers = _read(bytes(body), version)
    except (error, UnicodeDecodeError, IndexError):
        raise MalformedMessage(f"a Produce request of version {version} that ends too early", 0) from None
    if acks == 0:
        return None
    throttle = _INT32.pack(0) if version >= 1 else b""
    payload = _INT32.pack(correlation_id) + answers + throttle
    return _INT32.pack(len(payload)) + payload


def _read(body: bytes, version: int) -> tuple[int, bytes]:
    """Return the acks of the request, and the answers for its partitions, encoded."""
    acks, _timeout = _ACKS.unpack_from(body, 0)
    count, position = _not_negative(_INT32, body, _ACKS.size), _ACKS.size + 4
    parts = [_INT32.pack(count)]
    for _ in range(count):
        length = _not_negative(_INT16, body, position)
        name = body[position : position + 2 + length]
        position += 2 + length
        partitions = _not_negative(_INT32, body, position)
        position += 4
        parts += [name, _INT32.pack(partitions)]
        for _ in range(partitions):
            index, size = Struct(">ii").unpack_from(body, position)
            position += 8 + size
            if size < 0 or position > len(body):
                raise IndexError
            parts.append(_ANSWER.pack(index, ErrorCode.UNSUPPORTED_VERSION, _NO_OFFSET))
            if version >= NEWEST:
                parts.append(_NO_TIME)
    return acks, b"".join(parts)


def _not_negative(kind: Struct, body: bytes, position: int) -> int:
    """Read a length. A negative one would lead back to where the reading has been, and so around for ever."""
    value: int = kind.unpack_from(body, position)[0]
    if value < 0:
        raise IndexError
    return value
