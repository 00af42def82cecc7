"""Apache Kafka's own bytes, for every message and version, and what its own classes read from them.

See golden/README.md for how they were made. `full` sets every field to a value of its own, `bare` none, `mixed` takes
the ends of the ranges, nulls and lists of any length.
"""

from typing import Any

import pytest
from tests.support.declared_messages import declared_messages, versions_of
from tests.support.golden import golden_lines
from tests.support.message_values import all_values

from tidelog.coordinator.group.records.consumer import ConsumerGroupMemberMetadataValue
from tidelog.protocol.codec import decode_exact, encode

# Fields that Kafka's classes still have though no version carries them any more: our declarations leave them out.
GONE = {"ShareFetchRequest": "partitionMaxBytes"}


def without(gone: str | None, value: Any) -> Any:
    if isinstance(value, list):
        return [without(gone, element) for element in value]
    if isinstance(value, dict):
        return {name: without(gone, inner) for name, inner in value.items() if name != gone}
    return value


def test_every_declared_message_and_version_has_golden_bytes() -> None:
    golden = {name: sorted({entry["version"] for entry in entries}) for name, entries in golden_lines().items()}
    assert golden == {name: list(versions_of(cls)) for name, cls in declared_messages().items()}


@pytest.mark.parametrize("name", sorted(declared_messages()))
def test_reads_and_writes_what_kafka_writes(name: str) -> None:
    cls = declared_messages()[name]
    for entry in golden_lines()[name]:
        data = bytes.fromhex(entry["hex"])
        message = decode_exact(cls, data, entry["version"])
        assert all_values(message) == without(GONE.get(name), entry["fields"]), (entry["version"], entry["shape"])
        assert encode(message, entry["version"]) == data, (entry["version"], entry["shape"])
        assert decode_exact(cls, memoryview(data), entry["version"]) == message


def test_null_in_a_tagged_struct_that_has_a_default() -> None:
    """Java writes null for such a struct (setClassicMemberMetadata) as tag 0 of one byte, a varint 0 rather than int8
    -1."""
    data = bytes.fromhex("010101010101ffffffff0101000100")
    message = decode_exact(ConsumerGroupMemberMetadataValue, data, 0)
    assert message.classic_member_metadata is None
    assert encode(message, 0) == data
