"""Messages that are stored, or carried inside others, rather than sent: what they have in common.

Nothing around such a message says what it is, so it says so itself, in an int16 in front: its version, or for the key
of a coordinator record its type.
"""

from typing import Any

from tidelog.protocol.codec import decode_exact, encode
from tidelog.protocol.errors import MalformedMessage, ProtocolError
from tidelog.protocol.schema import Buffer, schema_of

PREFIX_BYTES = 2


class UnknownRecordType(ProtocolError):
    """A record of a type that this release does not know. Whether it may be skipped is the reader's decision."""

    def __init__(self, record_type: int) -> None:
        super().__init__(f"unknown record type {record_type}")
        self.record_type = record_type


class UnknownRecordVersion(ProtocolError):
    """A record of a known type in a version that this release does not know: a newer one wrote it."""

    def __init__(self, name: str, version: int) -> None:
        super().__init__(f"unknown version {version} of {name}")
        self.name = name
        self.version = version


def encode_prefixed(message: Any, version: int) -> bytes:
    """Return the version, and the message encoded in that version."""
    return version.to_bytes(PREFIX_BYTES, "big") + encode(message, version)


def decode_prefixed(cls: type[Any], buffer: Buffer) -> tuple[Any, int]:
    """Return (message, version), the inverse of `encode_prefixed`."""
    version = read_prefix(buffer)
    check_version(cls, version)
    return decode_exact(cls, buffer, version, PREFIX_BYTES), version


def read_prefix(buffer: Buffer) -> int:
    if len(buffer) < PREFIX_BYTES:
        raise MalformedMessage("ends within the int16 in front", len(buffer))
    return int.from_bytes(buffer[:PREFIX_BYTES], "big", signed=True)


def check_version(cls: type[Any], version: int) -> None:
    schema = schema_of(cls)
    if version not in schema.versions:
        raise UnknownRecordVersion(schema.name, version)
