"""The end of a transaction, read out of its control batch where the batch is looked at anyway."""

from struct import Struct
from typing import Final

from tidelog.records.batch import read_batch
from tidelog.records.control import ControlRecordType, EndTransactionMarker, read_control_type, read_marker
from tidelog.records.header import BytesLike

_ENDS = (ControlRecordType.ABORT, ControlRecordType.COMMIT)

# Nearly all markers are of one form, byte for byte: a plain batch with one record, of the first versions, without
# headers. Comparing the bytes with it costs a small part of what parsing the batch costs.
_USUAL_BYTES: Final = 78
_RECORDS_COUNT_AT: Final = 57
# The number of records; what precedes the key, the key (version and type), a length, the value (version and
# coordinator epoch), and the number of headers, which is 0.
_USUAL: Final = Struct(">i5shhchic")
_ATTRIBUTES_AT: Final = 22  # their low byte
_CODEC: Final = 0x07


def marker_of(control_batch: BytesLike) -> EndTransactionMarker | None:
    """Return the end of a transaction that the batch says; None where it ends none: the quorum's own control records,
    types from a newer broker, and what compaction leaves of a marker. Raises CorruptRecordError where the control
    record makes no sense."""
    if len(control_batch) == _USUAL_BYTES:
        found = _usual_marker(control_batch)
        if found is not None:
            return found
    batch = read_batch(control_batch)
    assert batch is not None, "the whole batch"
    record = next(batch.records(), None)
    if record is None or read_control_type(record) not in _ENDS:
        return None
    return read_marker(record)


def _usual_marker(batch: BytesLike) -> EndTransactionMarker | None:
    count, head, key_version, type_, length, version, epoch, headers = _USUAL.unpack_from(batch, _RECORDS_COUNT_AT)
    is_usual = (count, head, key_version, length, version, headers) == (1, b"\x20\0\0\0\x08", 0, b"\x0c", 0, b"\0")
    if not is_usual or type_ not in _ENDS or batch[_ATTRIBUTES_AT] & _CODEC:
        return None
    return EndTransactionMarker(type_ == ControlRecordType.COMMIT, epoch)
