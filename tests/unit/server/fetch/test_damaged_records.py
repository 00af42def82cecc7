"""A record that can not be loaded does as little harm as possible: one of an internal topic stops the coordinator of
its partition, one of the metadata log the node. A log line says which record it is and what to do about it."""

import logging
from typing import Any

import pytest
from tests.support.coordinating import commit, fetched, group_world, join, partition_of
from tests.support.serving import batch_of, create, produced
from tests.support.transactional import SimProducer, transactional_world

from tidelog.cli.node.running import REASONS, _next_step
from tidelog.coordinator.group.records.consumer import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
)
from tidelog.coordinator.record_framing import encode_key, encode_value
from tidelog.coordinator.transaction.records import TransactionLogKey, TransactionLogValue
from tidelog.metadata.record_framing import encode_metadata_record
from tidelog.metadata.records.topics import PartitionChangeRecord
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.ports.files import OpenMode
from tidelog.protocol.messages.find_coordinator import FindCoordinatorRequest
from tidelog.raft.quorum_state import CorruptQuorumStateError
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.server.hosting.partition import Partition
from tidelog.server.metadata_log.snapshots import CorruptMetadataSnapshotError
from tidelog.server.node.node import NodeFailed
from tidelog.sim.node_world import NodeWorld, SimClient
from tidelog.storage.checkpoints.errors import CorruptMetaPropertiesError, CorruptPartitionMetadataError

BAD, GOOD = "group-0", "group-1"  # groups of different partitions
NO_SUCH_STATE = 99
MEMBER = ConsumerGroupMemberMetadataValue(
    instance_id=None,
    rack_id=None,
    client_id="c",
    client_host="h",
    subscribed_topic_names=[],
    subscribed_topic_regex=None,
    server_assignor=None,
)


def write(world: NodeWorld, partition: Partition, *records: tuple[bytes, bytes | None]) -> int:
    """Write the records to an internal topic, as an administrator may; return the offset of the last one."""
    client = world.client()
    client._protocol.client_id = "__admin_client"
    topic_partition = partition.topic_partition
    for key, value in records:
        answer = produced(client, topic_partition.topic, batch_with(key, value), partition=topic_partition.partition)
        assert answer.error_code == 0
    return int(answer.base_offset)


def batch_with(key: bytes, value: bytes | None) -> bytes:
    builder = BatchBuilder()
    builder.append(1, key, value)
    return builder.build()


def record(key: Any, value: Any) -> tuple[bytes, bytes | None]:
    return encode_key(key), encode_value(value, 0)


def of_a_group() -> list[tuple[bytes, bytes | None]]:
    """Return records that can each be read, but that remove a group before its members."""
    return [
        record(ConsumerGroupMetadataKey(group_id=BAD), ConsumerGroupMetadataValue(epoch=1)),
        record(ConsumerGroupMemberMetadataKey(group_id=BAD, member_id="m"), MEMBER),
        record(ConsumerGroupMetadataKey(group_id=BAD), None),
    ]


def told(caplog: pytest.LogCaptureFixture) -> str:
    (line,) = (each.getMessage() for each in caplog.records if "coordinator is out" in each.getMessage())
    return line


def found(client: SimClient, key: str, key_type: int = 0) -> Any:
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
    return client.ask(request, 4).coordinators[0]


def restart(world: NodeWorld) -> SimClient:
    world.kill()
    world.start()
    world.run(500)
    return world.client()


@pytest.mark.parametrize(
    "records",
    [of_a_group(), [(b"\x00\x02\x00\x01g", b"\x00\x63")], [(b"\x00\x01\x00\x09g", b"\x00\x03")]],
    ids=["makes no sense", "version of a later release", "cut short"],
)
def test_a_record_of_a_group_costs_the_groups_of_its_partition(
    records: list[tuple[bytes, bytes | None]], caplog: pytest.LogCaptureFixture
) -> None:
    world = group_world(41)
    client = world.client()
    for group in (BAD, GOOD):
        assert commit(client, group, 7) is ErrorCode.NONE
    topic_partition = partition_of(world, BAD)
    assert topic_partition is not partition_of(world, GOOD)
    offset = write(world, topic_partition, *records)
    with caplog.at_level(logging.ERROR):
        client = restart(world)
    line = told(caplog)
    assert line.startswith(f"{topic_partition.topic_partition}: its coordinator is out: the record at offset {offset} ")
    assert f"tidelog log repair /disk/a --partition {topic_partition.log.directory.split('/')[-1]} --start-over" in line
    assert fetched(client, GOOD) == 7
    assert commit(client, GOOD, 8) is ErrorCode.NONE
    assert fetched(client, BAD) is ErrorCode.NOT_COORDINATOR, "which clients try again"
    assert commit(client, BAD, 8) is ErrorCode.NOT_COORDINATOR
    assert client.ask(join(BAD), 5).error_code == ErrorCode.NOT_COORDINATOR
    assert found(client, BAD).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert "the broker's log says which record" in found(client, BAD).error_message
    assert found(client, GOOD).error_code == ErrorCode.NONE
    world.stop()


def test_a_record_inside_a_slice_is_named_by_its_own_offset(caplog: pytest.LogCaptureFixture) -> None:
    world = group_world(42)
    for offset in range(5):
        assert commit(world.client(), BAD, offset) is ErrorCode.NONE
    offset = write(world, partition_of(world, BAD), *of_a_group())
    for later in range(5):
        assert commit(world.client(), BAD, later) is ErrorCode.NONE
    with caplog.at_level(logging.ERROR):
        restart(world)
    assert (
        f"the record at offset {offset} makes no sense: AssertionError: group 'group-0' is removed with members in it"
        in told(caplog)
    )


def test_a_record_of_a_transaction_costs_the_transactions_of_its_partition(caplog: pytest.LogCaptureFixture) -> None:
    world = transactional_world(43)
    family = world.running.broker.coordinators.transactions
    ids = {family.partition_for(name): name for name in ("a", "b", "c", "d")}
    bad, good = ids[0], ids[1]
    partition = family.partition_of(bad)
    assert partition is not None
    value = TransactionLogValue(
        producer_id=1,
        producer_epoch=0,
        transaction_timeout_ms=1_000,
        transaction_status=NO_SUCH_STATE,
        transaction_partitions=None,
        transaction_last_update_timestamp_ms=0,
        transaction_start_timestamp_ms=0,
    )
    offset = write(world, partition, record(TransactionLogKey(transactional_id=bad), value))
    with caplog.at_level(logging.ERROR):
        client = restart(world)
    assert f"{partition.topic_partition}: its coordinator is out: the record at offset {offset} " in told(caplog)
    assert found(client, bad, 1).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert SimProducer(world, good).init().producer_epoch == 0


def test_a_record_of_the_metadata_log_stops_the_node_and_is_named(caplog: pytest.LogCaptureFixture) -> None:
    world = group_world(44)
    log = world.running.control._loaded.log
    offset, epoch = log.end_offset, log.last_epoch
    builder = BatchBuilder(offset, options=BatchOptions(partition_leader_epoch=epoch))
    unknown = PartitionChangeRecord(partition_id=0, topic_id=Uuid(b"\x01" * 16))
    builder.append(world.clock.wall_ms(), None, encode_metadata_record(unknown, 0))
    log.append(builder.build(), epoch, world.clock.wall_ms())
    assert log.commit(world.clock.wall_ms())
    world.kill()
    with pytest.raises(NodeFailed) as failed:
        world.start()
    assert f"/disk/a/__cluster_metadata-0: the record at offset {offset} can not be taken over" in str(failed.value)
    assert "tidelog log dump /disk/a/__cluster_metadata-0" in str(failed.value)


SMALL_FILES = [
    "meta.properties",
    "bootstrap.checkpoint",
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "log-start-offset-checkpoint",
    "__cluster_metadata-0/quorum-state",
    "__cluster_metadata-0/partition.metadata",
    "__cluster_metadata-0/leader-epoch-checkpoint",
    "__cluster_metadata-0/recovery-point-offset-checkpoint",
    "t-0/leader-epoch-checkpoint",
    "t-0/partition.metadata",
    "__consumer_offsets-0/partition.metadata",
]
REFUSED = {
    "meta.properties": CorruptMetaPropertiesError,
    "bootstrap.checkpoint": CorruptMetadataSnapshotError,
    "__cluster_metadata-0/quorum-state": CorruptQuorumStateError,
    "__cluster_metadata-0/partition.metadata": CorruptPartitionMetadataError,
}


@pytest.mark.parametrize("contents", [b"", b"\xff" * 50, b"0\n1\nnonsense\n"], ids=["empty", "bits", "text"])
@pytest.mark.parametrize("name", SMALL_FILES)
def test_a_small_file_is_repaired_or_costs_a_partition_or_is_refused_with_a_next_step(
    name: str, contents: bytes
) -> None:
    world = transactional_world(45)
    create(world.client(), "t", partitions=2)
    assert produced(world.client(), "t", batch_of(b"x")).error_code == 0
    world.stop()
    file = world.fs.open(f"/disk/a/{name}", OpenMode.WRITE)
    file.truncate(0)
    if contents:
        file.write_at(0, [contents])
    file.close()
    if name in REFUSED:
        with pytest.raises(REFUSED[name]) as refused:
            world.start()
        assert issubclass(REFUSED[name], REASONS)
        assert _next_step(refused.value).startswith("; ")
        return
    world.start()
    answers = [produced(world.client(), "t", batch_of(b"y"), partition=index).error_code for index in (0, 1)]
    costs_it = name == "t-0/partition.metadata"
    assert answers == [ErrorCode.KAFKA_STORAGE_ERROR if costs_it else ErrorCode.NONE, ErrorCode.NONE]
