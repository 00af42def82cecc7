"""`partition.metadata`: which topic, by id, a directory belongs to.

    version: 0
    topic_id: <22 characters>

A topic that is deleted and made again under the same name has another id; this file keeps its old records from being
taken for the new topic's.
"""

import re
from typing import Final, NamedTuple

from tidelog.model.ids import ZERO_UUID, Uuid, format_uuid, parse_uuid
from tidelog.ports.durable import replace_durably
from tidelog.ports.files import FileSystem
from tidelog.ports.paths import join
from tidelog.storage.checkpoints.errors import CorruptPartitionMetadataError
from tidelog.storage.checkpoints.small_files import read_if_present

PARTITION_METADATA: Final = "partition.metadata"
VERSION: Final = 0
_FIELD_LINE: Final = re.compile(r"[^:]*:\s+(\S+)\s*")


class PartitionMetadata(NamedTuple):
    version: int
    topic_id: Uuid


def read_partition_metadata(fs: FileSystem, directory: str) -> PartitionMetadata | None:
    """Return what `partition.metadata` says, or None when there is no such file. Raises CorruptPartitionMetadataError
    when the file can not be believed."""
    path = join(directory, PARTITION_METADATA)
    contents = read_if_present(fs, path)
    return None if contents is None else decode_partition_metadata(contents, path)


def write_partition_metadata(fs: FileSystem, directory: str, topic_id: Uuid) -> None:
    replace_durably(fs, join(directory, PARTITION_METADATA), encode_partition_metadata(topic_id))


def encode_partition_metadata(topic_id: Uuid) -> bytes:
    """Return the contents of the file, without a newline at the end, as Kafka writes it."""
    return f"version: {VERSION}\ntopic_id: {format_uuid(topic_id)}".encode("ascii")


def decode_partition_metadata(contents: bytes, path: str) -> PartitionMetadata:
    """Decode the file. A higher version is read as ours: later versions only add fields at the end."""
    lines = contents.decode("latin-1").splitlines()
    version = _value(lines, 0, "a version", path)
    if not re.fullmatch(r"[0-9]{1,9}", version):
        raise CorruptPartitionMetadataError(path, f"version {version!r} is not a number")
    try:
        topic_id = parse_uuid(_value(lines, 1, "a topic id", path))
    except ValueError as error:
        raise CorruptPartitionMetadataError(path, str(error)) from error
    if topic_id == ZERO_UUID:
        raise CorruptPartitionMetadataError(path, "the topic id is zero, which no topic has")
    return PartitionMetadata(int(version), topic_id)


def _value(lines: list[str], index: int, what: str, path: str) -> str:
    match = _FIELD_LINE.fullmatch(lines[index]) if index < len(lines) else None
    if match is None:
        raise CorruptPartitionMetadataError(path, f"line {index + 1} does not name {what}")
    return match[1]
