"""Control records: what brokers say to each other and to consumers inside the log.

The key is `version i16 | type i16`. Transaction markers (COMMIT, ABORT) carry `version i16 | coordinator epoch i32` in
their value; the values of the quorum's own types are messages of the protocol layer and opaque here. A newer version
of key or marker is read as the one we know: fields are only ever added behind.
"""

from enum import IntEnum
from struct import Struct
from typing import Final

from tidelog.model.lazy_dataclass import dataclass
from tidelog.records.errors import CorruptRecordControlError
from tidelog.records.record import Record

_KEY: Final = Struct(">hh")
_MARKER: Final = Struct(">hi")
_VERSION: Final = 0


class ControlRecordType(IntEnum):
    UNKNOWN = -1  # from a newer broker: to be skipped
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


@dataclass(slots=True)
class EndTransactionMarker:
    """The end of one producer's transaction in one partition."""

    committed: bool
    coordinator_epoch: int

    @property
    def type(self) -> ControlRecordType:
        return ControlRecordType.COMMIT if self.committed else ControlRecordType.ABORT


def control_key(type_: ControlRecordType) -> bytes:
    if type_ is ControlRecordType.UNKNOWN:
        raise ValueError("a control record needs a type that exists")
    return _KEY.pack(_VERSION, type_)


def read_control_type(record: Record) -> ControlRecordType:
    if record.key is None or len(record.key) < _KEY.size:
        raise CorruptRecordControlError(record.offset, "a control record without a type in its key")
    version, type_ = _KEY.unpack_from(record.key)
    if version < _VERSION:
        raise CorruptRecordControlError(record.offset, f"control record key of version {version}")
    try:
        return ControlRecordType(type_)
    except ValueError:
        return ControlRecordType.UNKNOWN


def marker_record(marker: EndTransactionMarker, offset: int, timestamp: int) -> Record:
    return Record(offset, timestamp, control_key(marker.type), _MARKER.pack(_VERSION, marker.coordinator_epoch))


def read_marker(record: Record) -> EndTransactionMarker:
    """Return the marker in a record whose type is COMMIT or ABORT."""
    type_ = read_control_type(record)
    if type_ not in (ControlRecordType.COMMIT, ControlRecordType.ABORT):
        raise CorruptRecordControlError(record.offset, f"{type_.name} is not the end of a transaction")
    if record.value is None or len(record.value) < _MARKER.size:
        raise CorruptRecordControlError(record.offset, "a transaction marker without a coordinator epoch")
    version, coordinator_epoch = _MARKER.unpack_from(record.value)
    if version < _VERSION:
        raise CorruptRecordControlError(record.offset, f"transaction marker of version {version}")
    return EndTransactionMarker(type_ is ControlRecordType.COMMIT, coordinator_epoch)
