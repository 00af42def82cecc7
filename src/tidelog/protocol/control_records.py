"""Control records: what a log says to its readers rather than to its consumers.

Their key is a version and a type, both int16; the type says what the value is. A transaction marker's value begins with
its version, as other stored messages do. The quorum's do not: their version is the first field of the message.
"""

from enum import IntEnum
from typing import Any

from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.codec import decode, decode_exact, encode
from tidelog.protocol.errors import MalformedMessage
from tidelog.protocol.schema import Buffer, field, int16, int32, int64, record, string, struct, uint16, uuid
from tidelog.protocol.stored import PREFIX_BYTES, check_version, encode_prefixed, read_prefix

CONTROL_RECORD_KEY_VERSION = 0
CONTROL_RECORD_KEY_BYTES = 4


class ControlRecordType(IntEnum):
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


@record("data", versions="0", flexible="none")
class EndTxnMarker:
    """The value of a commit or abort marker: by which coordinator epoch it was decided."""

    coordinator_epoch: int32


@struct
class LeaderChangeMessageVoter:
    voter_id: int32
    voter_directory_id: uuid = field("1+", default=ZERO_UUID)


@record("data", versions="0-1", flexible="0+")
class LeaderChangeMessage:
    """A leader of the metadata quorum begins its epoch. 1 names voters with their directories."""

    version: int16
    leader_id: int32
    voters: list[LeaderChangeMessageVoter]
    granting_voters: list[LeaderChangeMessageVoter]


@record("data", versions="0", flexible="0+")
class SnapshotHeaderRecord:
    """The first record of a snapshot of the metadata log."""

    version: int16
    last_contained_log_timestamp: int64


@record("data", versions="0", flexible="0+")
class SnapshotFooterRecord:
    """The last record of a snapshot: without it the snapshot is incomplete."""

    version: int16


@record("data", versions="0", flexible="0+")
class KRaftVersionRecord:
    """The feature level of the quorum itself, which must be known before any metadata record is read."""

    version: int16
    kraft_version: int16


@struct
class Endpoint:
    name: string
    host: string
    port: uint16


@struct
class KRaftVersionFeature:
    min_supported_version: int16
    max_supported_version: int16


@struct
class VotersRecordVoter:
    voter_id: int32
    voter_directory_id: uuid
    endpoints: list[Endpoint]
    kraft_version_feature: KRaftVersionFeature


@record("data", versions="0", flexible="0+")
class VotersRecord:
    """The voters of the metadata quorum, all of them."""

    version: int16
    voters: list[VotersRecordVoter]


CONTROL_RECORDS: dict[ControlRecordType, type[Any]] = {
    ControlRecordType.ABORT: EndTxnMarker,
    ControlRecordType.COMMIT: EndTxnMarker,
    ControlRecordType.LEADER_CHANGE: LeaderChangeMessage,
    ControlRecordType.SNAPSHOT_HEADER: SnapshotHeaderRecord,
    ControlRecordType.SNAPSHOT_FOOTER: SnapshotFooterRecord,
    ControlRecordType.KRAFT_VERSION: KRaftVersionRecord,
    ControlRecordType.KRAFT_VOTERS: VotersRecord,
}


def decode_control_record_key(key: Buffer) -> ControlRecordType | None:
    """Return the type of a control record; None for a type of a later release, which a reader passes over.

    Later versions of the key may only append to it, so more bytes than these are no error.
    """
    if len(key) < CONTROL_RECORD_KEY_BYTES:
        raise MalformedMessage(f"a control record key of {len(key)} bytes", len(key))
    version = int.from_bytes(key[:2], "big", signed=True)
    if version < 0:
        raise MalformedMessage(f"a control record key of version {version}", 0)
    try:
        return ControlRecordType(int.from_bytes(key[2:4], "big", signed=True))
    except ValueError:
        return None


def encode_control_record_value(message: Any, version: int = 0) -> bytes:
    """Encode the value. Version 0 is what Kafka 4.3 writes of every type."""
    return encode_prefixed(message, version) if isinstance(message, EndTxnMarker) else encode(message, version)


def decode_control_record_value(record_type: ControlRecordType, value: Buffer) -> Any:
    cls = CONTROL_RECORDS[record_type]
    version = read_prefix(value)
    if cls is EndTxnMarker:
        return _decode_marker(value, version)
    check_version(cls, version)
    return decode_exact(cls, value, version)


def _decode_marker(value: Buffer, version: int) -> EndTxnMarker:
    """Decode a marker. One of a later version begins as one of version 0 does, and a reader must not stumble over
    it."""
    if version < 0:
        raise MalformedMessage(f"a transaction marker of version {version}", 0)
    marker, end = decode(EndTxnMarker, value, 0, PREFIX_BYTES)
    if version == 0 and end != len(value):
        raise MalformedMessage("bytes after a transaction marker", end)
    return marker
