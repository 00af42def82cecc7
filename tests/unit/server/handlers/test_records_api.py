"""OffsetForLeaderEpoch, DeleteRecords, InitProducerId, DescribeProducers, and the log directories."""

from typing import Any

import pytest
from tests.support.serving import batch_of, create, fetch_values, produce, produced

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from tidelog.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest
from tidelog.protocol.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from tidelog.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from tidelog.protocol.messages.init_producer_id import InitProducerIdRequest
from tidelog.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tidelog.server.hosting.partition import Partition
from tidelog.sim.node_world import NodeWorld, SimClient


def hosted(node: NodeWorld, topic: str) -> Partition:
    return next(p for p in node.running.broker.hosted.by_topic_partition.values() if p.topic_partition.topic == topic)


def epoch_end(client: SimClient, topic: str, epoch: int, current: int = -1, index: int = 0, version: int = 4) -> Any:
    asked = OffsetForLeaderPartition(partition=index, current_leader_epoch=current, leader_epoch=epoch)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=topic, partitions=[asked])])
    found = client.ask(request, version).topics[0].partitions[0]
    return found.error_code, found.leader_epoch, found.end_offset


@pytest.mark.parametrize("version", [2, 3, 4])
def test_where_epochs_end(client: SimClient, node: NodeWorld, topic: str, version: int) -> None:
    create(client, topic)
    produce(client, topic, b"a", b"b")
    hosted(node, topic).log.assign_epoch(4, 2)
    hosted(node, topic).leader_epoch = 4
    produce(client, topic, b"c")
    for epoch, expected in ((0, (0, 0, 2)), (2, (0, 0, 2)), (4, (0, 4, 3)), (5, (0, -1, -1)), (-1, (0, -1, -1))):
        assert epoch_end(client, topic, epoch, version=version) == expected
    assert epoch_end(client, topic, 0, current=3) == (ErrorCode.FENCED_LEADER_EPOCH, -1, -1)
    assert epoch_end(client, topic, 0, current=5) == (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1)
    assert epoch_end(client, topic, 0, index=7) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)


def delete(client: SimClient, topic: str, offset: int, index: int = 0, version: int = 2) -> tuple[int, int]:
    wanted = DeleteRecordsTopic(name=topic, partitions=[DeleteRecordsPartition(partition_index=index, offset=offset)])
    found = client.ask(DeleteRecordsRequest(topics=[wanted], timeout_ms=1_000), version).topics[0].partitions[0]
    return found.error_code, found.low_watermark


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_log_begins_later(client: SimClient, topic: str, version: int) -> None:
    create(client, topic)
    for number in range(4):
        produce(client, topic, b"%d" % number)
    assert delete(client, topic, 2, version=version) == (ErrorCode.NONE, 2)
    assert fetch_values(client, topic, 2) == [b"2", b"3"]
    assert delete(client, topic, 1, version=version) == (ErrorCode.NONE, 2)  # the log start never goes back
    assert delete(client, topic, 5) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert delete(client, topic, -2) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert delete(client, topic, -1) == (ErrorCode.NONE, 4)


def test_records_that_are_not_to_be_deleted(client: SimClient, node: NodeWorld, topic: str) -> None:
    create(client, topic, configs={"cleanup.policy": "compact"})
    assert delete(client, topic, 0) == (ErrorCode.POLICY_VIOLATION, -1)
    assert delete(client, "absent", 0) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    if "__transaction_state" not in node.running.broker.image.topics.by_name:
        create(client, "__transaction_state")
    assert delete(client, "__transaction_state", 0) == (ErrorCode.INVALID_TOPIC_EXCEPTION, -1)


def producer_id(client: SimClient, version: int = 5, **kwargs: Any) -> Any:
    return client.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1_000, **kwargs), version)


@pytest.mark.parametrize("version", range(6))
def test_no_producer_id_is_given_twice(client: SimClient, node: NodeWorld, version: int) -> None:
    given = [producer_id(client, version) for _ in range(3)]
    assert [(each.error_code, each.producer_epoch) for each in given] == [(ErrorCode.NONE, 0)] * 3
    assert len({each.producer_id for each in given}) == 3


def test_blocks_are_asked_for_before_they_run_out(client: SimClient) -> None:
    ids = [producer_id(client).producer_id for _ in range(1_200)]
    assert ids == sorted(set(ids))


def test_half_an_identity_is_none(client: SimClient) -> None:
    for half in ({"producer_id": 5}, {"producer_epoch": 1}):
        response = producer_id(client, 3, **half)
        assert (response.error_code, response.producer_id, response.producer_epoch) == (42, -1, -1)
    assert producer_id(client, 3, producer_id=5, producer_epoch=1).error_code == ErrorCode.NONE


def producers(client: SimClient, topic: str, *indexes: int) -> Any:
    asked = [TopicRequest(name=topic, partition_indexes=list(indexes))]
    return client.ask(DescribeProducersRequest(topics=asked), 0).topics[0].partitions


def test_who_writes(client: SimClient, topic: str) -> None:
    create(client, topic)
    produced(client, topic, batch_of(b"a", b"b", producer_id=9, producer_epoch=3, base_sequence=0))
    known, unknown = producers(client, topic, 0, 8)
    (state,) = known.active_producers
    assert (state.producer_id, state.producer_epoch, state.last_sequence, state.last_timestamp) == (9, 3, 1, 1_001)
    assert (state.coordinator_epoch, state.current_txn_start_offset) == (-1, -1)
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert producers(client, "bad name", 0)[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize("version", range(1, 6))
def test_log_directories(client: SimClient, topic: str, version: int) -> None:
    create(client, topic, partitions=2)
    produce(client, topic, b"x")
    response = client.ask(DescribeLogDirsRequest(topics=None), version)
    assert response.error_code == ErrorCode.NONE
    (found,) = response.results
    assert (found.log_dir, found.error_code) == ("/disk/a", ErrorCode.NONE)
    assert (found.total_bytes > 0) == (version >= 4)
    sizes = {each.name: [one.partition_size > 0 for one in each.partitions] for each in found.topics}
    assert sizes[topic] == [True, False]
    asked = [DescribableLogDirTopic(topic=topic, partitions=[1])]
    (only,) = client.ask(DescribeLogDirsRequest(topics=asked), version).results
    assert [(each.name, [one.partition_index for one in each.partitions]) for each in only.topics] == [(topic, [1])]
    (none,) = client.ask(DescribeLogDirsRequest(topics=[]), version).results
    assert none.topics == []


def move(client: SimClient, path: str, topic: str, index: int = 0) -> int:
    wanted = AlterReplicaLogDir(path=path, topics=[AlterReplicaLogDirTopic(name=topic, partitions=[index])])
    return int(client.ask(AlterReplicaLogDirsRequest(dirs=[wanted]), 2).results[0].partitions[0].error_code)


def test_moves_that_can_not_be(client: SimClient, topic: str) -> None:
    create(client, topic)
    assert move(client, "/disk/nowhere", topic) == ErrorCode.LOG_DIR_NOT_FOUND
    assert move(client, "/disk/a", "absent") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert move(client, "/disk/a", topic) == ErrorCode.NONE  # the log is there already


def test_a_move_to_another_directory() -> None:
    world = NodeWorld(seed=31, overrides={"log.dirs": "/disk/a,/disk/b"})
    client = world.client()
    create(client, "t")
    produce(client, "t", b"kept")

    def topic_partition() -> str:
        results = client.ask(DescribeLogDirsRequest(topics=None), 5).results
        found = [r.log_dir for r in results for t in r.topics if not any(p.is_future_key for p in t.partitions)]
        return str(found[0])

    target = "/disk/b" if topic_partition() == "/disk/a" else "/disk/a"
    assert move(client, target, "t") == ErrorCode.NONE
    world.run(500)
    assert topic_partition() == target
    assert fetch_values(client, "t") == [b"kept"]


def test_the_state_of_producers_goes_with_the_topic(client: SimClient, topic: str) -> None:
    create(client, topic)
    batch: dict[str, Any] = {"producer_id": 4, "producer_epoch": 0}
    assert produced(client, topic, batch_of(b"a", base_sequence=0, **batch)).error_code == ErrorCode.NONE
    client.ask(DeleteTopicsRequest(topic_names=[topic], timeout_ms=1_000), 5)
    create(client, topic)
    assert producers(client, topic, 0)[0].active_producers == []
    again = produced(client, topic, batch_of(b"b", base_sequence=0, **batch))
    assert (again.error_code, again.base_offset) == (ErrorCode.NONE, 0)
    assert fetch_values(client, topic) == [b"b"]  # the batch is not taken for a duplicate
