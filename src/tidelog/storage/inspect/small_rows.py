"""Checkpoints, properties, markers and producer snapshots as rows: files that are read whole."""

import json
from collections.abc import Callable, Iterator

from tidelog.model.ids import format_uuid
from tidelog.ports.files import FileSystem
from tidelog.storage.checkpoints.clean_shutdown import CLEAN_SHUTDOWN_MARKER, decode_clean_shutdown
from tidelog.storage.checkpoints.errors import CorruptCheckpointError
from tidelog.storage.checkpoints.meta_properties import META_PROPERTIES, decode_meta_properties
from tidelog.storage.checkpoints.partition_metadata import PARTITION_METADATA, decode_partition_metadata
from tidelog.storage.checkpoints.small_files import read_whole
from tidelog.storage.checkpoints.text import (
    CLEANER_OFFSET_CHECKPOINT,
    LEADER_EPOCH_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    decode_epochs,
    decode_offsets,
)
from tidelog.storage.inspect.findings import Finding
from tidelog.storage.inspect.log_files import QUORUM_STATE
from tidelog.storage.inspect.rows import Row
from tidelog.storage.producers.snapshot import decode_snapshot

SmallDump = Callable[[bytes, str], Iterator[Row | Finding]]


def dump_small_file(fs: FileSystem, path: str, name: str) -> Iterator[Row | Finding]:
    yield from SMALL_FILES[name](read_whole(fs, path), path)


def dump_snapshot(fs: FileSystem, path: str) -> Iterator[Row]:
    for entry in decode_snapshot(read_whole(fs, path), path):
        values: dict[str, object] = {
            "producer_id": entry.producer_id,
            "producer_epoch": entry.producer_epoch,
            "coordinator_epoch": entry.coordinator_epoch,
            "last_timestamp": entry.last_timestamp,
            "last_sequence": entry.last_sequence,
            "last_offset": entry.last_data_offset,
            "offset_delta": entry.last_offset_delta,
            "current_txn_first_offset": entry.current_txn_first_offset,
        }
        yield Row("producer", values)


def _dump_offsets(contents: bytes, path: str) -> Iterator[Row]:
    for (topic, partition), offset in decode_offsets(contents, path).items():
        yield Row("checkpoint entry", {"topic": topic, "partition": partition, "offset": offset})


def _dump_epochs(contents: bytes, path: str) -> Iterator[Row | Finding]:
    last = None
    for entry in decode_epochs(contents, path):
        yield Row("leader epoch", entry._asdict())
        if last is not None and (entry.epoch <= last.epoch or entry.start_offset <= last.start_offset):
            order = f"epoch {entry.epoch} from {entry.start_offset} comes after {last.epoch} from {last.start_offset}"
            yield Finding(path, order)
        last = entry


def _dump_partition_metadata(contents: bytes, path: str) -> Iterator[Row]:
    metadata = decode_partition_metadata(contents, path)
    yield Row("partition metadata", {"version": metadata.version, "topic_id": format_uuid(metadata.topic_id)})


def _dump_meta_properties(contents: bytes, path: str) -> Iterator[Row]:
    found = decode_meta_properties(contents, path)
    directory_id = None if found.directory_id is None else format_uuid(found.directory_id)
    values: dict[str, object] = {"version": found.version, "cluster_id": found.cluster_id, "node_id": found.node_id}
    yield Row("meta properties", values | {"directory_id": directory_id})


def _dump_clean_shutdown(contents: bytes, path: str) -> Iterator[Row]:
    yield Row("clean shutdown", {"broker_epoch": decode_clean_shutdown(contents, path).broker_epoch})


def _dump_quorum_state(contents: bytes, path: str) -> Iterator[Row]:
    """Show the JSON as it is: its fields are the quorum's business."""
    try:
        state = json.loads(contents)
    except ValueError as error:
        raise CorruptCheckpointError(path, f"not JSON: {error}") from error
    yield Row("quorum state", {"state": state})


SMALL_FILES: dict[str, SmallDump] = {
    RECOVERY_POINT_CHECKPOINT: _dump_offsets,
    REPLICATION_OFFSET_CHECKPOINT: _dump_offsets,
    LOG_START_OFFSET_CHECKPOINT: _dump_offsets,
    CLEANER_OFFSET_CHECKPOINT: _dump_offsets,
    LEADER_EPOCH_CHECKPOINT: _dump_epochs,
    PARTITION_METADATA: _dump_partition_metadata,
    META_PROPERTIES: _dump_meta_properties,
    CLEAN_SHUTDOWN_MARKER: _dump_clean_shutdown,
    QUORUM_STATE: _dump_quorum_state,
}
