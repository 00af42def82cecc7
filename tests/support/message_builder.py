"""Messages with arbitrary content, from a seed: what a declaration allows at one version, and nothing else.

The same seed gives the same message, so a failure can be repeated. Values lean to the edges: the ends of the integer
ranges, empty and null, one and many, text of one to four bytes a character.
"""

import dataclasses
import zlib
from collections.abc import Callable
from random import Random
from typing import Any

from tidelog.protocol.schema import FieldSchema, Wire, schema_of

INTEGER_BITS = {Wire.INT8: 8, Wire.INT16: 16, Wire.INT32: 32, Wire.INT64: 64}
UNSIGNED_BITS = {Wire.UINT16: 16, Wire.UINT32: 32}
TEXTS = ["", "a", "orders", "tide.log_1-2", "höchst", "潮", "🌊 high water", "x" * 126, "y" * 127, "z" * 300]
FLOATS = [0.0, -0.0, 1.5, -1e300, 5e-324]
SIZES = [0, 1, 1, 2, 3]

# The values that a field may take, for codecs that do not take every value; None for any.
Choices = Callable[[FieldSchema], list[Any] | None]


def any_value(_: FieldSchema) -> list[Any] | None:
    return None


def seed_of(*parts: object) -> int:
    """Return a seed that is the same in every process, which `hash` of a string is not."""
    return zlib.crc32(repr(parts).encode())


class MessageBuilder:
    def __init__(self, version: int, seed: int, choices: Choices = any_value) -> None:
        self.version = version
        self.random = Random(seed)
        self.choices = choices

    def build(self, cls: type[Any], depth: int = 0) -> Any:
        carried = [field for field in schema_of(cls).fields if self.version in field.versions]
        return cls(**{field.name: self._field(field, depth) for field in carried if not self._leave_out(field)})

    def _leave_out(self, field: FieldSchema) -> bool:
        return self.version in field.tagged and self.random.random() < 0.4

    def _field(self, field: FieldSchema, depth: int) -> Any:
        if self.version in field.nullable and self.random.random() < 0.25:
            return None
        if not field.is_array:
            return self._single(field, depth)
        size = self.random.choice(SIZES) if depth < 2 else self.random.choice([0, 1])
        return [self._single(field, depth + 1) for _ in range(size)]

    def _single(self, field: FieldSchema, depth: int) -> Any:
        if field.struct is not None:
            return self.build(field.struct, depth)
        choices = self.choices(field)
        return self._primitive(field.wire) if choices is None else self.random.choice(choices)

    def _primitive(self, wire: Wire | None) -> Any:
        if wire in INTEGER_BITS:
            return self._integer(INTEGER_BITS[wire])
        if wire in UNSIGNED_BITS:
            return self.random.choice(
                [0, 1, (1 << UNSIGNED_BITS[wire]) - 1, self.random.getrandbits(UNSIGNED_BITS[wire])]
            )
        if wire is Wire.BOOL:
            return self.random.random() < 0.5
        if wire is Wire.FLOAT64:
            return self.random.choice(FLOATS)
        if wire is Wire.STRING:
            return self.random.choice(TEXTS)
        return self.random.randbytes(16 if wire is Wire.UUID else self.random.choice([0, 1, 20, 130]))

    def _integer(self, bits: int) -> int:
        half = 1 << (bits - 1)
        return self.random.choice([0, 1, -1, -half, half - 1, self.random.randrange(-half, half)])


ZEROS: dict[Wire, Any] = {Wire.BOOL: False, Wire.STRING: "", Wire.BYTES: b"", Wire.UUID: bytes(16), Wire.RECORDS: b""}


def smallest(cls: type[Any]) -> Any:
    """Return a message whose required fields are zero or empty, and all others at their defaults."""
    return cls(**{field.name: default_of(field) for field in schema_of(cls).fields})


def default_of(field: FieldSchema) -> Any:
    """Return the field's default in Kafka: where none is declared, it is zero or empty."""
    if field.default is not dataclasses.MISSING:
        return field.default() if field.default_is_factory else field.default
    if field.is_array:
        return []
    if field.struct is not None:
        return smallest(field.struct)
    assert field.wire is not None
    return ZEROS.get(field.wire, 0)
