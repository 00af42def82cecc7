"""How the serializers of a schema registry frame a value: a zero byte, the schema's id in four bytes, then the data.

Before Protobuf data there is a path as well, because a schema is a file that may hold several messages: the number of
steps, then each step, which is the index of a message in the file or in the message of the step before. All are zigzag
varints. A path of no steps is short for the first message of the file.
"""

from typing import Final, NamedTuple

from pyspark_tidelog.decoding.errors import BadValue

MAGIC: Final = 0
HEAD_BYTES: Final = 5
STEPS_MAX: Final = 64  # messages are not nested deeper; random bytes may ask for any number of steps
VARINT_BYTES_MAX: Final = 5


class Framed(NamedTuple):
    schema_id: int
    data: bytes


class FramedMessage(NamedTuple):
    schema_id: int
    path: tuple[int, ...]
    data: bytes


def unframe(value: bytes) -> Framed:
    """Split a value into the schema's id and the data; BadValue where it is not framed."""
    if len(value) < HEAD_BYTES:
        raise BadValue(f"{len(value)} byte(s) are too few for the head of a framed value")
    if value[0] != MAGIC:
        raise BadValue(f"it begins with byte {value[0]}, not with 0 and the id of a schema")
    return Framed(int.from_bytes(value[1:HEAD_BYTES], "big"), value[HEAD_BYTES:])


def unframe_message(value: bytes) -> FramedMessage:
    """Split a Protobuf value into the schema's id, the path of its message and the data; BadValue as of `unframe`."""
    schema_id, data = unframe(value)
    count, position = _varint(data, 0)
    if not 0 <= count <= STEPS_MAX:
        raise BadValue(f"the path to its message cannot have {count} steps")
    path = []
    for _ in range(count):
        step, position = _varint(data, position)
        if step < 0:
            raise BadValue(f"the path to its message has a step {step}")
        path.append(step)
    return FramedMessage(schema_id, tuple(path) or (0,), data[position:])


def _varint(data: bytes, position: int) -> tuple[int, int]:
    found = 0
    for index in range(VARINT_BYTES_MAX):
        if position + index >= len(data):
            raise BadValue("it ends within the path to its message")
        byte = data[position + index]
        found |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return (found >> 1) ^ -(found & 1), position + index + 1
    raise BadValue("the path to its message has a number that is too long")
