"""Values as JSON has them: messages become objects, UUIDs their usual text, bytes text where they are text.

Bytes that are not UTF-8 become `{"base64": "..."}`, so that nothing is lost and nobody takes it for text.
"""

import base64
from collections.abc import Mapping
from enum import Enum
from typing import Any

from tidelog.model.ids import Uuid, format_uuid
from tidelog.protocol.schema import FieldSchema, Wire, schema_of


def to_plain(value: Any) -> Any:
    """Return a value as JSON has it."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _plain_bytes(bytes(value))
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, Mapping):
        return {str(key): to_plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_plain(each) for each in value]
    if hasattr(type(value), "__schema__"):
        return message_to_plain(value)
    return value


def message_to_plain(message: Any) -> dict[str, Any]:
    return {each.name: _plain_field(each, getattr(message, each.name)) for each in schema_of(type(message)).fields}


def _plain_field(field: FieldSchema, value: Any) -> Any:
    if field.wire is Wire.UUID and value is not None:
        return [format_uuid(Uuid(each)) for each in value] if field.is_array else format_uuid(Uuid(value))
    return to_plain(value)


def _plain_bytes(value: bytes) -> str | dict[str, str]:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode("ascii")}
