"""Requests with any number of array elements: one for each array of each API, at any version."""

import dataclasses
from collections.abc import Iterator
from typing import Any

from tests.support.message_builder import smallest

from tidelog.protocol.schema import FieldSchema, Wire, schema_of

Path = tuple[str, ...]
_VALUES: dict[Wire | None, Any] = {
    Wire.BOOL: False,
    Wire.FLOAT64: 0.0,
    Wire.UUID: bytes(16),
    Wire.BYTES: b"",
    Wire.RECORDS: None,
}

# Values that are accepted, for fields in which a running number would be refused.
SMALL_NUMBERS = {"num_partitions": 1, "replication_factor": 1, "resource_type": 2, "config_operation": 0}


def array_paths(cls: type, version: int) -> list[Path]:
    """Return every array of a request at this version, as the names of the fields down to it."""
    return list(_arrays(cls, version))


def _arrays(cls: type, version: int) -> Iterator[Path]:
    for field in schema_of(cls).fields:
        if version not in field.versions:
            continue
        if field.is_array:
            yield (field.name,)
        if field.struct is not None:
            yield from ((field.name, *rest) for rest in _arrays(field.struct, version))


def giant(cls: type, version: int, path: Path, count: int, *, distinct: bool = True, width: int = 0) -> Any:
    """Return a request whose array at `path` has `count` elements; the arrays around it have one. Names are numbered
    and filled up to `width` characters, or all the same."""
    made = smallest(cls)
    _Giant(version, distinct, width).fill(made, path, count)
    return made


def elements_each(cls: type, version: int, path: Path) -> int:
    """Return by how many elements the request grows with each one of the array at `path`: itself, and those inside
    it."""
    return element_count(giant(cls, version, path, 2)) - element_count(giant(cls, version, path, 1))


class _Giant:
    def __init__(self, version: int, distinct: bool, width: int) -> None:
        self._version = version
        self._distinct = distinct
        self._width = width

    def fill(self, made: Any, path: Path, count: int) -> None:
        for field in schema_of(type(made)).fields:
            if field.name == path[0]:
                size = count if len(path) == 1 else 1
                held = [self._element(field, index if self._distinct else 0) for index in range(size)]
                setattr(made, field.name, held if field.is_array else held[0])
                if len(path) > 1:
                    self.fill(held[0], path[1:], count)

    def _element(self, field: FieldSchema, index: int) -> Any:
        if field.struct is None:
            return self._value(field, index)
        made = smallest(field.struct)
        for inner in schema_of(field.struct).fields:
            is_there = self._version in inner.versions and self._version not in inner.tagged
            if not is_there or (inner.is_array and self._version in inner.nullable):
                continue
            if inner.is_array and inner.struct is not None:
                setattr(made, inner.name, [self._element(inner, index)])
            elif not inner.is_array and inner.struct is None and inner.wire is not Wire.RECORDS:
                setattr(made, inner.name, self._value(inner, index))
        return made

    def _value(self, field: FieldSchema, index: int) -> Any:
        if field.wire is Wire.STRING:
            return f"n{index}".ljust(self._width, "x")
        if field.name in SMALL_NUMBERS:
            return SMALL_NUMBERS[field.name]
        if field.wire in (Wire.INT32, Wire.INT64, Wire.UINT32):
            return index
        if field.wire in (Wire.INT8, Wire.INT16, Wire.UINT16):
            return index % 100
        return _VALUES.get(field.wire)


def element_count(value: Any) -> int:
    """Count the elements of every array of a message, nested ones too."""
    if isinstance(value, list):
        return len(value) + sum(element_count(each) for each in value)
    if dataclasses.is_dataclass(value):
        return sum(element_count(getattr(value, each.name)) for each in schema_of(type(value)).fields)
    return 0
