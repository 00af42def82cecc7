"""The small files of a log directory against those that Apache's own classes wrote (golden/README.md): read to the same
facts, and written to the same bytes."""

from pathlib import Path

import pytest

from tidelog.model.ids import NodeId, TopicPartition, parse_uuid
from tidelog.storage.checkpoints.clean_shutdown import CleanShutdown, decode_clean_shutdown, encode_clean_shutdown
from tidelog.storage.checkpoints.meta_properties import MetaProperties, decode_meta_properties, encode_meta_properties
from tidelog.storage.checkpoints.partition_metadata import (
    PartitionMetadata,
    decode_partition_metadata,
    encode_partition_metadata,
)
from tidelog.storage.checkpoints.text import EpochEntry, decode_epochs, decode_offsets, encode_epochs, encode_offsets
from tidelog.storage.producers.entry import BatchMetadata, ProducerEntry
from tidelog.storage.producers.snapshot import decode_snapshot, encode_snapshot

APACHE = Path(__file__).parents[1] / "golden" / "apache"
MAX_INT16, MAX_INT32, MAX_INT64 = 2**15 - 1, 2**31 - 1, 2**63 - 1


def apache(name: str) -> bytes:
    return (APACHE / name).read_bytes()


@pytest.mark.parametrize(
    ("name", "offsets"),
    [
        (
            "recovery-point-offset-checkpoint",
            {
                TopicPartition("orders", 0): 42,
                TopicPartition("orders", 11): 0,
                TopicPartition("a.b_c-d", MAX_INT32): MAX_INT64,
            },
        ),
        ("replication-offset-checkpoint", {}),
    ],
)
def test_offset_checkpoint(name: str, offsets: dict[TopicPartition, int]) -> None:
    assert decode_offsets(apache(name), name) == offsets
    assert encode_offsets(offsets) == apache(name)


def test_an_offset_checkpoint_that_the_broker_has_made_and_never_written() -> None:
    assert decode_offsets(apache("cleaner-offset-checkpoint"), "cleaner-offset-checkpoint") == {}


def test_leader_epoch_checkpoint() -> None:
    entries = [EpochEntry(0, 0), EpochEntry(3, 17), EpochEntry(MAX_INT32, MAX_INT64)]
    assert decode_epochs(apache("leader-epoch-checkpoint"), "it") == entries
    assert encode_epochs(entries) == apache("leader-epoch-checkpoint")


def test_partition_metadata() -> None:
    topic_id = parse_uuid("JgxuGe9URy-E-ceaL04lEw")
    assert decode_partition_metadata(apache("partition.metadata"), "it") == PartitionMetadata(0, topic_id)
    assert encode_partition_metadata(topic_id) == apache("partition.metadata")


def test_clean_shutdown_marker() -> None:
    assert decode_clean_shutdown(apache(".kafka_cleanshutdown"), "it") == CleanShutdown(7_000_000_000)
    assert encode_clean_shutdown(7_000_000_000) == apache(".kafka_cleanshutdown")


@pytest.mark.parametrize(
    ("name", "properties"),
    [
        (
            "meta.properties",
            MetaProperties(1, "H3KKO4NTRPaCWtEmm3vW7A", NodeId(5), parse_uuid("UgKgSvIBSB2kmnBgAZQ5rw")),
        ),
        ("meta.properties.v0", MetaProperties(0, "a=b:c d\\e#!", NodeId(0))),
    ],
)
def test_meta_properties(name: str, properties: MetaProperties) -> None:
    """Java writes a date into the file, and the keys in the order of a hash, so the lines are the same but the file is
    not."""
    assert decode_meta_properties(apache(name), name) == properties
    lines = [line for line in apache(name).splitlines() if not line.startswith(b"#")]
    if name == "meta.properties":
        assert sorted(encode_meta_properties(properties).splitlines()) == sorted(lines)
    assert decode_meta_properties(encode_meta_properties(properties), name) == properties


def test_producer_snapshot() -> None:
    name = "00000000000000000200.snapshot"
    entries = [
        ProducerEntry(1, 3, 9, 1006, 40, (BatchMetadata(69, 160, 9, 1006),)),
        ProducerEntry(2),
        ProducerEntry(
            MAX_INT64, MAX_INT16, MAX_INT32, MAX_INT64, None, (BatchMetadata(1, MAX_INT64 - 1, 4, MAX_INT64),)
        ),
    ]
    assert decode_snapshot(apache(name), name) == entries
    assert encode_snapshot(reversed(entries)) == apache(name)


def test_producer_snapshot_of_nobody() -> None:
    name = "00000000000000000000.snapshot"
    assert decode_snapshot(apache(name), name) == []
    assert encode_snapshot([]) == apache(name)
