"""The dumb twin of the codec: it reads the declaration anew for every value, one primitive at a time, with no regard to
speed."""

import dataclasses
import struct
from typing import Any

from tidelog.protocol.schema import FieldSchema, Wire, schema_of

FIXED = {
    Wire.BOOL: ">?",
    Wire.INT8: ">b",
    Wire.INT16: ">h",
    Wire.UINT16: ">H",
    Wire.INT32: ">i",
    Wire.UINT32: ">I",
    Wire.INT64: ">q",
    Wire.FLOAT64: ">d",
}


def write_varint(value: int) -> bytes:
    return bytes((value,)) if value < 128 else bytes((value % 128 + 128,)) + write_varint(value // 128)


def write_length(length: int | None, form: str, compact: bool) -> bytes:
    if compact:
        return write_varint(0 if length is None else length + 1)
    return struct.pack(form, -1 if length is None else length)


def write_message(message: Any, version: int) -> bytes:
    schema = schema_of(type(message))
    return write_struct(message, version, version in schema.flexible)


def write_struct(value: Any, version: int, flexible: bool) -> bytes:
    out = b""
    tagged: dict[int, bytes] = {}
    for field in schema_of(type(value)).fields:
        item = getattr(value, field.name)
        if version not in field.versions:
            continue
        if version not in field.tagged:
            out += write_field(field, item, version, flexible, is_tagged=False)
        elif item != default_of(field):
            assert field.tag is not None
            tagged[field.tag] = write_field(field, item, version, flexible, is_tagged=True)
    if flexible:
        out += write_varint(len(tagged))
        for tag in sorted(tagged):
            out += write_varint(tag) + write_varint(len(tagged[tag])) + tagged[tag]
    return out


def write_field(field: FieldSchema, value: Any, version: int, flexible: bool, is_tagged: bool) -> bytes:
    compact = flexible if field.flexible is None else version in field.flexible
    if field.is_array:
        if value is None:
            return write_length(None, ">i", compact)
        items = [write_value(field, item, version, flexible, compact) for item in value]
        return write_length(len(value), ">i", compact) + b"".join(items)
    if field.struct is not None and version in field.nullable:
        if value is None:
            return b"\x00" if is_tagged else b"\xff"
        return b"\x01" + write_struct(value, version, flexible)
    return write_value(field, value, version, flexible, compact)


def write_value(field: FieldSchema, value: Any, version: int, flexible: bool, compact: bool) -> bytes:
    if field.struct is not None:
        return write_struct(value, version, flexible)
    assert field.wire is not None
    if field.wire in FIXED:
        return struct.pack(FIXED[field.wire], value)
    if field.wire is Wire.UUID:
        return bytes(value)
    form = ">h" if field.wire is Wire.STRING else ">i"
    if value is None:
        return write_length(None, form, compact)
    raw = value.encode() if isinstance(value, str) else bytes(value)
    return write_length(len(raw), form, compact) + raw


def default_of(field: FieldSchema) -> Any:
    assert field.default is not dataclasses.MISSING
    return field.default() if field.default_is_factory else field.default
