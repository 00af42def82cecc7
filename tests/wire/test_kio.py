"""`kio` as an oracle: a codec by other people, with a class for each message and version."""

import dataclasses
import datetime
import io
import re
from collections.abc import Callable
from typing import Any

import pytest
from kio.index import load_entity_schema
from kio.schema.errors import ErrorCode
from kio.schema.index import LoadableEntityType, schema_name_map
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType
from tests.support.declared_messages import declared_messages, versions_of
from tests.support.oracle import agrees, assert_agreement, known_versions

from tidelog.model.ids import ZERO_UUID, Uuid, format_uuid
from tidelog.protocol.schema import FieldSchema, Wire, schema_of

KINDS: dict[str, LoadableEntityType] = {
    "request": EntityType.request,
    "response": EntityType.response,
    "header": EntityType.header,
    "data": EntityType.data,
}
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
MILLISECOND = datetime.timedelta(milliseconds=1)


class Kio:
    def knows(self, cls: type[Any], version: int) -> bool:
        schema = schema_of(cls)
        return KINDS.get(schema.kind) in schema_name_map.get(_kio_name(cls), {}).get(version, {})

    def read(self, cls: type[Any], version: int, data: bytes) -> Any:
        theirs, size = entity_reader(_kio_class(cls, version))(data, 0)
        assert size == len(data)
        return theirs

    def values(self, cls: type[Any], version: int, theirs: Any) -> dict[str, Any]:
        ours = [field for field in schema_of(cls).fields if version in field.versions]
        names = [field.name for field in dataclasses.fields(theirs)]
        assert [_spelling(name) for name in names] == [_spelling(field.name) for field in ours]
        return {
            field.name: self._value(field, version, getattr(theirs, name))
            for field, name in zip(ours, names, strict=True)
        }

    def _value(self, field: FieldSchema, version: int, value: Any) -> Any:
        if isinstance(value, tuple):
            return [self._value(field, version, element) for element in value]
        if dataclasses.is_dataclass(value):
            assert field.struct is not None
            return self.values(field.struct, version, value)
        return _plain(field, value)

    def write(self, cls: type[Any], version: int, theirs: Any) -> bytes:
        buffer = io.BytesIO()
        entity_writer(_kio_class(cls, version))(buffer, theirs)
        return buffer.getvalue()


def representable(field: FieldSchema) -> list[Any] | None:
    """Return the values of a field that kio can hold: it turns error codes, dates and durations into Python's own
    types, which do not hold every number."""
    if _is_error_code(field):
        return [int(code) for code in ErrorCode]
    if _is_time(field):
        return [0, 1_700_000_000_000]
    return None


def _is_error_code(field: FieldSchema) -> bool:
    return field.wire is Wire.INT16 and field.name.endswith("error_code")


def _is_time(field: FieldSchema) -> bool:
    return field.wire is Wire.INT64 and re.search("time|period", field.name) is not None


def _plain(field: FieldSchema, value: Any) -> Any:
    if value is None and field.is_array:
        return None
    if field.wire is Wire.UUID:
        return format_uuid(ZERO_UUID if value is None else Uuid(value.bytes))
    if isinstance(value, datetime.timedelta):
        return value // MILLISECOND
    if isinstance(value, datetime.datetime):
        return (value - EPOCH) // MILLISECOND
    if field.wire in (Wire.BYTES, Wire.RECORDS) and value is not None:
        return bytes(value).hex()
    return value


def _kio_class(cls: type[Any], version: int) -> type[Any]:
    return load_entity_schema(_kio_name(cls), version, KINDS[schema_of(cls).kind])


def _kio_name(cls: type[Any]) -> str:
    stem = re.sub("(?<!Header)(Request|Response)$", "", cls.__name__)
    return re.sub("(?<=[a-z])(?=[A-Z])|(?<=K)(?=Raft)", "_", stem).lower()


def _spelling(name: str) -> str:
    """Return the name as kio spells it: durations without their unit, and no underscores."""
    return name.removesuffix("_ms").replace("_", "")


KIO = Kio()
ALL = declared_messages()
KNOWN = sorted(name for name, cls in ALL.items() if known_versions(KIO, cls))


def test_kio_knows_every_message_that_is_sent() -> None:
    sent = {name for name, cls in ALL.items() if schema_of(cls).kind in ("request", "response", "header")}
    assert sent <= set(KNOWN)


@pytest.mark.parametrize("name", KNOWN)
def test_agrees_with_kio(name: str) -> None:
    versions = known_versions(KIO, ALL[name])
    assert versions == list(versions_of(ALL[name]))
    for version in versions:
        assert_agreement(KIO, ALL[name], version, representable)


@pytest.mark.parametrize(
    ("name", "limited"), [("HeartbeatResponse", _is_error_code), ("RenewDelegationTokenResponse", _is_time)]
)
def test_the_limits_of_kio_are_still_needed(name: str, limited: Callable[[FieldSchema], bool]) -> None:
    def without_limit(field: FieldSchema) -> list[Any] | None:
        return None if limited(field) else representable(field)

    assert agrees(KIO, ALL[name], representable)
    assert not agrees(KIO, ALL[name], without_limit)
