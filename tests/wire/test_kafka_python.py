"""`kafka-python` as an oracle: a codec by other people that reads Kafka's schemas as it goes."""

import warnings
from importlib import import_module
from typing import Any

import pytest
from tests.support.declared_messages import declared_messages
from tests.support.message_builder import Choices, default_of
from tests.support.message_values import plain
from tests.support.oracle import agrees, assert_agreement, known_versions

from tidelog.model.ids import Uuid, format_uuid
from tidelog.protocol.schema import FieldSchema, Wire, schema_of

PACKAGES = ["admin", "consumer", "producer", "metadata", "sasl"]


def kafka_python_messages() -> dict[str, type[Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its schemas by a deprecated function
        packages = [import_module(f"kafka.protocol.{package}") for package in PACKAGES]
    return {name: getattr(package, name) for package in packages for name in package.__all__}


MESSAGES = kafka_python_messages()


# kafka-python gives a few fields names of its own.
NAMES = {
    "enable_2pc": "enable2_pc",
    "cluster_authorized_operations": "authorized_operations",
    "topic_authorized_operations": "authorized_operations",
}
NO_OPERATIONS = -(2**31)


class KafkaPython:
    def knows(self, cls: type[Any], version: int) -> bool:
        theirs = MESSAGES.get(cls.__name__) if schema_of(cls).kind in ("request", "response") else None
        return theirs is not None and theirs.min_version <= version <= theirs.max_version

    def read(self, cls: type[Any], version: int, data: bytes) -> Any:
        return MESSAGES[cls.__name__].decode(data, version=version)

    def values(self, cls: type[Any], version: int, theirs: Any) -> dict[str, Any]:
        fields = [field for field in schema_of(cls).fields if version in field.versions]
        values = [_attribute(theirs, field.name) for field in fields]
        return {field.name: self._value(field, version, value) for field, value in zip(fields, values, strict=True)}

    def _value(self, field: FieldSchema, version: int, value: Any) -> Any:
        if field.is_array and value is not None:
            return [self._single(field, version, element) for element in value]
        return self._single(field, version, value)

    def _single(self, field: FieldSchema, version: int, value: Any) -> Any:
        if field.struct is not None and value is not None:
            return self.values(field.struct, version, value)
        if isinstance(value, set) or (value is None and field.name.endswith("authorized_operations")):
            return _from_bits(value)
        if field.wire is Wire.UUID and value is not None:
            return format_uuid(Uuid(value.bytes))
        if field.wire in (Wire.BYTES, Wire.RECORDS) and value is not None:
            return bytes(value).hex()
        if value is None and version not in field.nullable:
            return plain(field, default_of(field), version)  # a tagged struct that was not sent
        return value

    def write(self, cls: type[Any], version: int, theirs: Any) -> bytes:
        theirs._header = None  # `decode` leaves it unset, and some of its encoders look
        return bytes(theirs.encode())


def _attribute(theirs: Any, name: str) -> Any:
    return getattr(theirs, name) if hasattr(theirs, name) else getattr(theirs, NAMES[name])


def _from_bits(bits: set[int] | None) -> int:
    """Return the number for a set of bits. kafka-python decodes such fields to a set, and the value for 'not asked' to
    None."""
    if bits is None:
        return NO_OPERATIONS
    number = sum(1 << bit for bit in bits)
    return number - (1 << 32) if number >= 1 << 31 else number


KAFKA_PYTHON = KafkaPython()
ALL = declared_messages()
KNOWN = sorted(name for name, cls in ALL.items() if known_versions(KAFKA_PYTHON, cls))

# Where kafka-python breaks the protocol: a field, the values that do work, and what goes wrong with others. The
# test below fails when an entry is no longer needed.
LIMITS = {"ApiVersionsResponse": ("error_code", [0], "any error is taken for a body of version 0, not only error 35")}


def limited(name: str) -> Choices:
    field_name, values, _ = LIMITS.get(name, ("", [], ""))
    return lambda field: values if field.name == field_name else None


def test_kafka_python_knows_the_apis_of_clients() -> None:
    assert {"FetchRequest", "ProduceRequest", "MetadataResponse", "SaslHandshakeRequest", "EndTxnResponse"} <= set(
        KNOWN
    )
    assert len(KNOWN) > 100


@pytest.mark.parametrize("name", KNOWN)
def test_agrees_with_kafka_python(name: str) -> None:
    for version in known_versions(KAFKA_PYTHON, ALL[name]):
        assert_agreement(KAFKA_PYTHON, ALL[name], version, limited(name))


@pytest.mark.parametrize("name", sorted(LIMITS))
def test_the_limits_of_kafka_python_are_still_needed(name: str) -> None:
    assert not agrees(KAFKA_PYTHON, ALL[name])
