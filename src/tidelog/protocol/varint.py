"""Unsigned varints: seven bits a byte, the low ones first, 32 bits at most.

The compiled codecs read and write the single byte form inline (nearly every length in real traffic is below 127) and
come here for the rest. As in Kafka, a padded form of up to five bytes is read: some writers leave room for a length
and fill it in later. A sixth byte, or a bit beyond the 32nd, is an error.
"""

from tidelog.protocol.errors import MalformedMessage
from tidelog.protocol.schema import Buffer

MAX_UNSIGNED = 0xFFFF_FFFF
MAX_LENGTH = 0x7FFF_FFFF  # lengths and counts are signed 32 bits to every other implementation
MAX_STRING_BYTES = 0x7FFF

# The single byte forms, ready to be appended.
SMALL = tuple(bytes((value,)) for value in range(128))


def read_varint(buffer: Buffer, position: int) -> tuple[int, int]:
    """Return (value, position after it). Raises IndexError where the buffer ends first: the compiled codec turns it
    into its own error."""
    value = shift = 0
    for index in range(position, position + 5):
        byte = buffer[index]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > MAX_UNSIGNED:
                break
            return value, index + 1
        shift += 7
    raise MalformedMessage("an unsigned varint beyond 32 bits", position)


def read_string_length(buffer: Buffer, position: int) -> tuple[int, int]:
    """Return what `read_varint` does, for the length + 1 of a string, which has a limit of its own."""
    length, after = read_varint(buffer, position)
    if length > MAX_STRING_BYTES + 1:
        raise MalformedMessage(f"a string of {length - 1} bytes, {MAX_STRING_BYTES} is the most", position)
    return length, after


def varint(value: int) -> bytes:
    """Return the shortest form. It is for the codec's length + 1, so beyond `MAX_LENGTH` + 1 is a ValueError: the
    compiled encoder makes an EncodeError of it that names the field."""
    if value < 0x80:
        return SMALL[value]
    if value > MAX_LENGTH + 1:
        raise ValueError(f"a length of {value - 1}, {MAX_LENGTH} is the most")
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def string_varint(value: int) -> bytes:
    """Return what `varint` does, for the length + 1 of a string."""
    if value > MAX_STRING_BYTES + 1:
        raise ValueError(f"a string of {value - 1} bytes, {MAX_STRING_BYTES} is the most")
    return varint(value)


def skip_tagged_fields(buffer: Buffer, position: int, end: int) -> int:
    """Return the position after tagged fields of which none is known. Their values are dropped."""
    count, position = read_varint(buffer, position)
    for _ in range(count):
        _, position = read_varint(buffer, position)
        size, position = read_varint(buffer, position)
        position += size
        if position > end:
            raise MalformedMessage(f"a tagged field of {size} bytes that ends after the message", position)
    return position
