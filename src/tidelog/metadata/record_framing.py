"""How a metadata record is written into a batch of `__cluster_metadata`.

Three unsigned varints come first: the version of this frame (1), the record's type, and the version of the message that
follows. Frame version 0 belonged to a preview and is refused.
"""

from typing import Any, NamedTuple

from tidelog.metadata.records import METADATA_RECORDS
from tidelog.protocol.codec import decode_exact, encode
from tidelog.protocol.errors import MalformedMessage
from tidelog.protocol.schema import Buffer, schema_of
from tidelog.protocol.stored import UnknownRecordType, check_version
from tidelog.protocol.varint import read_varint, varint

FRAME_VERSION = 1
HIGHEST_NUMBER = 0x7FFF  # types and versions are int16


class MetadataRecord(NamedTuple):
    message: Any
    version: int


def encode_metadata_record(message: Any, version: int) -> bytes:
    head = varint(FRAME_VERSION) + varint(schema_of(type(message)).api_key) + varint(version)
    return head + encode(message, version)


def decode_metadata_record(buffer: Buffer) -> MetadataRecord:
    """Decode one record. Raises UnknownRecordType or UnknownRecordVersion for what a later release wrote,
    MalformedMessage for damage."""
    frame_version, position = _read_number(buffer, 0)
    if frame_version != FRAME_VERSION:
        raise MalformedMessage(f"a metadata record with frame version {frame_version}", 0)
    record_type, position = _read_number(buffer, position)
    version, position = _read_number(buffer, position)
    if record_type not in METADATA_RECORDS:
        raise UnknownRecordType(record_type)
    cls = METADATA_RECORDS[record_type]
    check_version(cls, version)
    return MetadataRecord(decode_exact(cls, buffer, version, position), version)


def _read_number(buffer: Buffer, position: int) -> tuple[int, int]:
    try:
        number, after = read_varint(buffer, position)
    except IndexError:
        raise MalformedMessage("a metadata record that ends within its frame", position) from None
    if number > HIGHEST_NUMBER:
        raise MalformedMessage(f"{number} in the frame of a metadata record", position)
    return number, after
