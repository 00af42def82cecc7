"""A message read at one version and written at another, as Apache Kafka does it.

A field that the other version does not carry is dropped where the declaration calls it ignorable, and refused
otherwise. Kafka's classes were asked which ones they refuse (see golden/README.md); here the same fields must be.
"""

import dataclasses
from typing import Any

import pytest
from tests.support.declared_messages import declared_messages, versions_of
from tests.support.golden import golden_lines
from tests.support.message_builder import default_of
from tests.support.message_values import camel_case

from tidelog.protocol.codec import decode_exact, encode
from tidelog.protocol.errors import UnsupportedField
from tidelog.protocol.schema import schema_of

ALL = declared_messages()
SEVERAL_VERSIONS = sorted(name for name, cls in ALL.items() if len(versions_of(cls)) > 1)


def full_message(name: str, version: int) -> Any:
    [line] = [line for line in golden_lines()[name] if line["version"] == version and line["shape"] == "full"]
    return decode_exact(ALL[name], bytes.fromhex(line["hex"]), version)


def reset(value: Any, field_name: str) -> None:
    """Set every field of that name back to its default, wherever it is."""
    for element in value if isinstance(value, list) else []:
        reset(element, field_name)
    for field in schema_of(type(value)).fields if dataclasses.is_dataclass(value) else ():
        if field.name == field_name:
            setattr(value, field_name, default_of(field))
        else:
            reset(getattr(value, field.name), field_name)


def write_with_refusals(message: Any, version: int) -> tuple[list[str], bytes]:
    """Return the fields that had to be reset before the message could be written, and its bytes."""
    refused: list[str] = []
    while True:
        try:
            return sorted(camel_case(name) for name in refused), encode(message, version)
        except UnsupportedField as error:
            name = error.what.rsplit(".", 1)[-1]
            assert name not in refused
            refused.append(name)
            reset(message, name)


@pytest.mark.parametrize("name", SEVERAL_VERSIONS)
def test_drops_and_refuses_what_kafka_drops_and_refuses(name: str) -> None:
    lines = golden_lines("apache_4_3_across.jsonl.gz")[name]
    assert len(lines) == 2 * len(versions_of(ALL[name])) - 2
    for line in lines:
        refused, data = write_with_refusals(full_message(name, line["from"]), line["to"])
        assert (refused, data.hex()) == (line["refused"], line["hex"]), (line["from"], line["to"])
