"""Why a message could not be written: the slow second look, after packing has failed.

It goes through the message as the encoder does and names the first value that the version cannot carry, with its
path, so that the error says more than `struct.error` does.
"""

import struct
from typing import Any

from tidelog.protocol.errors import EncodeError
from tidelog.protocol.layout import FORMATS, FieldLayout, StructLayout
from tidelog.protocol.schema import Wire
from tidelog.protocol.varint import MAX_STRING_BYTES


def explain(layout: StructLayout, message: object, error: Exception) -> EncodeError:
    fault = _struct_fault(layout, message, layout.path)
    return fault or EncodeError(layout.path, f"cannot be written: {error}")


def _struct_fault(layout: StructLayout, value: object, path: str) -> EncodeError | None:
    if not isinstance(value, layout.cls):
        return EncodeError(path, f"{_shown(value)} where a {layout.cls.__name__} is expected")
    for field in (*layout.fields, *layout.tagged):
        fault = _field_fault(field, getattr(value, field.name, None), f"{path}.{field.name}")
        if fault is not None:
            return fault
    return None


def _field_fault(field: FieldLayout, value: Any, path: str) -> EncodeError | None:
    if value is None:
        return None if field.nullable else EncodeError(path, "null, which this version does not allow")
    if not field.is_array:
        return _value_fault(field, value, path)
    if not isinstance(value, (list, tuple)):
        return EncodeError(path, f"{_shown(value)} where a list is expected")
    faults = (_value_fault(field, item, f"{path}[{index}]") for index, item in enumerate(value))
    return next((fault for fault in faults if fault is not None), None)


def _value_fault(field: FieldLayout, value: Any, path: str) -> EncodeError | None:
    if field.struct is not None:
        return _struct_fault(field.struct, value, path)
    assert field.wire is not None
    reason = _primitive_fault(field.wire, value)
    return EncodeError(path, reason) if reason else None


def _primitive_fault(wire: Wire, value: Any) -> str | None:
    if wire is Wire.STRING:
        return _string_fault(value)
    if wire in (Wire.BYTES, Wire.RECORDS):
        return None if hasattr(value, "__len__") else f"{_shown(value)} has no length"
    if wire is Wire.UUID and not (isinstance(value, (bytes, bytearray)) and len(value) == 16):
        return f"{_shown(value)} where the 16 bytes of a UUID are expected"
    try:
        struct.pack(">" + FORMATS[wire], value)
    except struct.error:
        return f"{_shown(value)} is not an {wire.value}"
    return None


def _string_fault(value: Any) -> str | None:
    if not isinstance(value, str):
        return f"{_shown(value)} where a string is expected"
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        return f"{_shown(value)} has no form in UTF-8"
    return f"{size} bytes in UTF-8, {MAX_STRING_BYTES} is the most" if size > MAX_STRING_BYTES else None


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
