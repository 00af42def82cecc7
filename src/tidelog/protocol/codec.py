"""Messages to bytes and back: the public face of the codec.

A codec is compiled when a (message, version) is first used, and kept. `decode` and `encode` are for everyone;
`decoder` hands the compiled function to a caller that reads many of one kind.

What comes back: strings from strict UTF-8, `bytes` for byte strings and UUIDs, and for records a memoryview of the
input, not a copy. The input may be bytes, a bytearray or a memoryview (of bytes).
"""

from typing import Any, TypeVar

from tidelog.protocol.compile_decoder import Decoder, compile_decoder
from tidelog.protocol.compile_encoder import Encoder, compile_encoder, split_at_records
from tidelog.protocol.compile_sliced_decoder import SlicedDecoder, compile_sliced_decoder
from tidelog.protocol.compile_sliced_encoder import SlicedEncoder, compile_sliced_encoder
from tidelog.protocol.errors import EncodeError, MalformedMessage
from tidelog.protocol.layout import message_layout
from tidelog.protocol.schema import Buffer

T = TypeVar("T")


_decoders: dict[tuple[type, int], Decoder] = {}
_view_decoders: dict[tuple[type, int], Decoder] = {}
_sliced_decoders: dict[tuple[type, int], SlicedDecoder] = {}
_encoders: dict[tuple[type, int], Encoder] = {}
_sliced_encoders: dict[tuple[type, int], SlicedEncoder] = {}


def decoder(cls: type, version: int) -> Decoder:
    """Return the compiled `(buffer, position, end) -> (message, position after it)` over bytes or a bytearray. The
    caller sees to it that 0 <= position <= end <= len(buffer)."""
    compiled = _decoders.get((cls, version))
    if compiled is None:
        compiled = compile_decoder(message_layout(cls, version), version, over_view=False)
        _decoders[cls, version] = compiled
    return compiled


def view_decoder(cls: type, version: int) -> Decoder:
    """Return what `decoder` returns, over a memoryview of bytes."""
    compiled = _view_decoders.get((cls, version))
    if compiled is None:
        compiled = compile_decoder(message_layout(cls, version), version, over_view=True)
        _view_decoders[cls, version] = compiled
    return compiled


def sliced_decoder(cls: type, version: int) -> SlicedDecoder:
    """Return a decoder that works in slices and limits the number of elements: see `compile_sliced_decoder`."""
    compiled = _sliced_decoders.get((cls, version))
    if compiled is None:
        compiled = _sliced_decoders[cls, version] = compile_sliced_decoder(message_layout(cls, version), version)
    return compiled


def sliced_encoder(cls: type, version: int) -> SlicedEncoder:
    """Return the compiled `message -> parts`, in slices: see `compile_sliced_encoder`."""
    compiled = _sliced_encoders.get((cls, version))
    if compiled is None:
        compiled = _sliced_encoders[cls, version] = compile_sliced_encoder(message_layout(cls, version), version)
    return compiled


def encoder(cls: type, version: int) -> Encoder:
    """Return the compiled `message -> (pieces, indexes of the pieces that are records)`."""
    compiled = _encoders.get((cls, version))
    if compiled is None:
        compiled = _encoders[cls, version] = compile_encoder(message_layout(cls, version), version)
    return compiled


def decode(cls: type[T], buffer: Buffer, version: int, position: int = 0, end: int | None = None) -> tuple[T, int]:
    """Return the message that begins at `position` and ends not after `end`, and the position after it."""
    compiled = decoder
    if isinstance(buffer, memoryview):
        compiled = view_decoder
        if buffer.format != "B" or buffer.ndim != 1:
            buffer = buffer.cast("B")
    limit = len(buffer) if end is None else end
    if not 0 <= position <= limit <= len(buffer):
        raise ValueError(f"bytes {position} to {limit} of a buffer of {len(buffer)}")
    return compiled(cls, version)(buffer, position, limit)


def decode_exact(cls: type[T], buffer: Buffer, version: int, position: int = 0, end: int | None = None) -> T:
    """Return the message that begins at `position` and has to take all the bytes up to `end`."""
    message, after = decode(cls, buffer, version, position, end)
    limit = len(buffer) if end is None else end
    if after != limit:
        raise MalformedMessage(f"{cls.__name__} v{version}: {limit - after} bytes are left over", after)
    return message


def encode(message: object, version: int) -> bytes:
    pieces, _ = encoder(type(message), version)(message)
    try:
        return b"".join(pieces)
    except TypeError as error:
        raise EncodeError(type(message).__name__, f"holds what is not bytes ({error})") from error


def encode_parts(message: object, version: int) -> list[Any]:
    """Return the bytes of `encode` in parts: each `records` field that is not empty is a part of its own, untouched. It
    may be anything with a length, and need not be bytes: whoever sends the parts knows what to do with it."""
    pieces, marks = encoder(type(message), version)(message)
    return split_at_records(pieces, marks)
