"""The rules for every declaration, whatever its fields are."""

import dataclasses
from collections.abc import Iterator
from typing import Any, get_type_hints

import pytest
from tests.support.declared_messages import declared_messages

from tidelog.protocol.schema import FieldSchema, schema_of
from tidelog.protocol.versions import ALL_VERSIONS, Versions

ALL = declared_messages()
NAMES = sorted(ALL)


def fields_of(name: str) -> Iterator[tuple[type[Any], FieldSchema, Versions]]:
    """Return (struct, field, versions that carry the field) for every field of the whole message."""
    return _walk(ALL[name], schema_of(ALL[name]).versions)


def _walk(cls: type[Any], versions: Versions) -> Iterator[tuple[type[Any], FieldSchema, Versions]]:
    for field in schema_of(cls).fields:
        carried = field.versions.intersection(versions)
        yield cls, field, carried
        if field.struct is not None:
            yield from _walk(field.struct, carried)


@pytest.mark.parametrize("name", NAMES)
def test_no_field_is_declared_for_versions_that_are_gone(name: str) -> None:
    assert [field.name for _, field, carried in fields_of(name) if not carried] == []


@pytest.mark.parametrize("name", NAMES)
def test_a_field_may_be_none_exactly_where_a_version_can_say_null(name: str) -> None:
    for cls, field, carried in fields_of(name):
        optional = type(None) in getattr(get_type_hints(cls)[field.name], "__args__", ())
        assert optional == bool(field.nullable.intersection(carried)), field.name
        if field.default is None:
            assert field.nullable.covers(carried), field.name


@pytest.mark.parametrize("name", NAMES)
def test_tags_count_up_from_zero_in_flexible_versions(name: str) -> None:
    tags: dict[type[Any], set[int]] = {}
    for cls, field, carried in fields_of(name):
        if field.tag is not None:
            tags.setdefault(cls, set()).add(field.tag)
            assert field.tagged.intersection(carried), field.name
            assert schema_of(ALL[name]).flexible.covers(field.tagged.intersection(carried)), field.name
    assert all(numbers == set(range(len(numbers))) for numbers in tags.values())


@pytest.mark.parametrize("name", NAMES)
def test_what_has_to_be_given_is_in_every_version(name: str) -> None:
    """Otherwise a message of a version without the field could not be built from its bytes."""
    for cls, field, _ in fields_of(name):
        if field.default is dataclasses.MISSING:
            assert field.tag is None, field.name
            assert field.versions == ALL_VERSIONS, f"{cls.__name__}.{field.name}"
