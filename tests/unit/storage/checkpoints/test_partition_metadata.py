"""The topic that a partition's directory belongs to."""

import pytest
from tests.unit.storage.power import DIRECTORY, machine, worlds_after_a_cut

from tidelog.model.ids import parse_uuid
from tidelog.storage.checkpoints.errors import CorruptPartitionMetadataError
from tidelog.storage.checkpoints.partition_metadata import (
    decode_partition_metadata,
    encode_partition_metadata,
    read_partition_metadata,
    write_partition_metadata,
)

ID = parse_uuid("JgxuGe9URy-E-ceaL04lEw")
TEXT = "JgxuGe9URy-E-ceaL04lEw"


def test_read_as_written() -> None:
    fs = machine()
    assert read_partition_metadata(fs, DIRECTORY) is None
    write_partition_metadata(fs, DIRECTORY, ID)
    assert read_partition_metadata(fs, DIRECTORY) == (0, ID)


def test_a_newer_version_is_read_as_ours() -> None:
    assert decode_partition_metadata(f"version: 3\ntopic_id: {TEXT}\nmore: x\n".encode(), "it") == (3, ID)


@pytest.mark.parametrize(
    "contents",
    [
        "",
        "version: 0",
        f"topic_id: {TEXT}",
        f"version: -1\ntopic_id: {TEXT}",
        f"version: x\ntopic_id: {TEXT}",
        f"version:0\ntopic_id: {TEXT}",
        f"version: 0\ntopic_id: {TEXT}x",
        "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA",
        "version: 0\ntopic_id:",
        "version: 0\n\n",
        "\0" * 43,
        "version: 0\ntopic_id: \u00e4\u00e4",
    ],
)
def test_a_damaged_one_is_a_typed_error(contents: str) -> None:
    with pytest.raises(CorruptPartitionMetadataError) as caught:
        decode_partition_metadata(contents.encode(), "/disk/partition.metadata")
    assert caught.value.path == "/disk/partition.metadata"


def test_the_line_is_named() -> None:
    with pytest.raises(CorruptPartitionMetadataError, match="line 2 does not name a topic id"):
        decode_partition_metadata(b"version: 0\n", "it")


def test_one_cut_at_any_byte_is_noticed() -> None:
    whole = encode_partition_metadata(ID)
    for size in range(len(whole)):
        with pytest.raises(CorruptPartitionMetadataError):
            decode_partition_metadata(whole[:size], "it")


def test_a_crash_leaves_nothing_or_all() -> None:
    worlds = worlds_after_a_cut(lambda fs: None, lambda fs: write_partition_metadata(fs, DIRECTORY, ID))
    for fs, completed in worlds:
        found = read_partition_metadata(fs, DIRECTORY)
        assert found == (0, ID) or (found is None and not completed)
