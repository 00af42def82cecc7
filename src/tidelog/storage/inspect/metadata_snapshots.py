"""`.checkpoint` files: a snapshot of the cluster's metadata is batches between a header and a footer. One without a
footer was never finished, and whoever loads it believes in a cluster that never was."""

from collections.abc import Iterator

from tidelog.ports.files import FileSystem
from tidelog.records.batch import RecordBatch
from tidelog.records.control import ControlRecordType, read_control_type
from tidelog.records.errors import RecordError
from tidelog.storage.errors import CorruptSegmentError
from tidelog.storage.inspect.batches import read_batches
from tidelog.storage.inspect.findings import Finding


def check_metadata_snapshot(fs: FileSystem, path: str) -> Iterator[Finding]:
    control: list[ControlRecordType] = []
    try:
        for position, batch in read_batches(fs, path):
            try:
                batch.validate()
                control += _control_types(batch)
            except RecordError as error:
                yield Finding(path, error.reason, position)
    except CorruptSegmentError as damage:
        yield Finding(path, damage.reason, damage.position)
        return
    if ControlRecordType.SNAPSHOT_HEADER not in control[:1]:
        yield Finding(path, "does not begin with the header of a snapshot")
    if ControlRecordType.SNAPSHOT_FOOTER not in control[-1:]:
        yield Finding(path, "does not end with the footer of a snapshot")


def _control_types(batch: RecordBatch) -> list[ControlRecordType]:
    return [read_control_type(record) for record in batch.records()] if batch.header.is_control else []
