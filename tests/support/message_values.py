"""Messages as plain values, so that they can be compared with what another codec reads from the same bytes.

UUIDs are text, bytes and records hex, structs dicts by field name.
"""

import dataclasses
import re
from typing import Any

from tidelog.model.ids import Uuid, format_uuid
from tidelog.protocol.schema import FieldSchema, Wire, schema_of

# Where Kafka's own spelling is not the plain camel case of ours.
SPELLINGS = {"enable_2pc": "enable2Pc", "kraft_version": "kRaftVersion", "kraft_version_feature": "kRaftVersionFeature"}


def all_values(message: Any) -> dict[str, Any]:
    """Return every field by Kafka's own name, also those that a version does not carry."""
    fields = schema_of(type(message)).fields
    return {camel_case(field.name): plain(field, getattr(message, field.name), None) for field in fields}


def carried_values(message: Any, version: int) -> dict[str, Any]:
    """Return the fields that the version carries, by name."""
    fields = [field for field in schema_of(type(message)).fields if version in field.versions]
    return {field.name: plain(field, getattr(message, field.name), version) for field in fields}


def camel_case(name: str) -> str:
    return SPELLINGS.get(name) or re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), name)


def plain(field: FieldSchema, value: Any, version: int | None) -> Any:
    if isinstance(value, list):
        return [plain(field, element, version) for element in value]
    if dataclasses.is_dataclass(value):
        return all_values(value) if version is None else carried_values(value, version)
    if value is None:
        return None
    if field.wire is Wire.UUID:
        return format_uuid(Uuid(bytes(value)))
    if field.wire in (Wire.BYTES, Wire.RECORDS):
        return bytes(value).hex()
    return value
