"""Apache's DumpLogSegments over the coordinators' topics, record by record, and the same records in our own words."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.interop.apache.printed import apache_dump
from tests.support.message_values import camel_case

from tidelog.coordinator.record_framing import RecordTypesById, decode_record
from tidelog.model.ids import Uuid, format_uuid
from tidelog.protocol.schema import Wire, schema_of
from tidelog.records.batch import batches

LINE = re.compile(r"\| offset: (\d+) .* key: (.*) payload: (.*)")
# Fields of bytes that the tool decodes: what the members of a consumer group send each other.
TAKEN_APART = ("subscription", "assignment")

Printed = dict[int, tuple[Any, Any]]  # key and value by offset


def by_apache(jars: Path, directory: Path, decoder: str) -> Printed:
    found: Printed = {}
    for lines in apache_dump(jars, _files(directory), decoder, "--print-data-log", compacted=True).values():
        for offset, key, value in (match.groups() for match in map(LINE.match, lines) if match):
            found[int(offset)] = (json.loads(key), None if value == "<DELETE>" else _without(json.loads(value)))
    return found


def by_us(directory: Path, types: RecordTypesById) -> Printed:
    return {offset: record for path in _files(directory) for offset, record in _records(path, types)}


def _files(directory: Path) -> list[Path]:
    return sorted(directory.glob("*.log"))


def _records(path: Path, types: RecordTypesById) -> Iterator[tuple[int, tuple[Any, Any]]]:
    for batch in batches(path.read_bytes()):
        for record in () if batch.header.is_control else batch.records():
            decoded = decode_record(types, record.key or b"", record.value)
            key = {"type": str(schema_of(type(decoded.key)).api_key), "data": _json(decoded.key, 0)}
            value = None
            if decoded.value is not None:
                version = decoded.value_version or 0
                value = _without({"version": str(version), "data": _json(decoded.value, version)})
            yield record.offset, (key, value)


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without(each) for name, each in value.items() if name not in TAKEN_APART}
    return [_without(each) for each in value] if isinstance(value, list) else value


def _json(message: Any, version: int) -> dict[str, Any]:
    """Return the message as Kafka's own JSON converters write it: a tagged field with its default value is left out."""
    found = {}
    for field in schema_of(type(message)).fields:
        value = getattr(message, field.name)
        default = field.default() if field.default_is_factory else field.default
        if version in field.versions and not (field.tag is not None and value == default):
            found[camel_case(field.name)] = _plain(value, field.wire, version)
    return found


def _plain(value: Any, wire: Any, version: int) -> Any:
    if isinstance(value, list):
        return [_plain(each, wire, version) for each in value]
    if hasattr(value, "__dataclass_fields__"):
        return _json(value, version)
    if value is not None and wire is Wire.UUID:
        return format_uuid(Uuid(bytes(value)))
    if value is not None and wire is Wire.BYTES:
        return base64.b64encode(bytes(value)).decode()
    return value
