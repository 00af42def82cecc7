"""The end of a transaction, read out of its control batch where the batch is looked at anyway."""

from tidelog.records.batch import read_batch
from tidelog.records.control import ControlRecordType, EndTransactionMarker, read_control_type, read_marker
from tidelog.records.header import BytesLike

_ENDS = (ControlRecordType.ABORT, ControlRecordType.COMMIT)


def marker_of(control_batch: BytesLike) -> EndTransactionMarker | None:
    """None where it ends no transaction: the quorum's own control records, types from a newer broker, and what
    compaction leaves of a marker. CorruptRecordError where the control record makes no sense."""
    batch = read_batch(control_batch)
    assert batch is not None, "the whole batch"
    record = next(batch.records(), None)
    if record is None or read_control_type(record) not in _ENDS:
        return None
    return read_marker(record)
