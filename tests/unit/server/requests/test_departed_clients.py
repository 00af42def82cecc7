"""Large requests whose client has left: requests that change something are carried out, mere questions are abandoned,
and neither can pile up."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.support.transactional import SMALL, SimProducer, with_coordinators
from tests.unit.server.conftest import COORDINATING

from tidelog.model.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from tidelog.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.describe_transactions import DescribeTransactionsRequest
from tidelog.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tidelog.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.protocol.messages.offset_fetch import OffsetFetchRequest
from tidelog.server.node.node import Phase
from tidelog.server.requests.connection import ClientConnection
from tidelog.server.requests.questions import QUESTIONS
from tidelog.server.requests.registry import HANDLERS
from tidelog.sim.node_world import NodeWorld

LOOK_NS = 1_000_000  # the time that each look at the clock takes: a slice is a few looks
PARTITIONS = 3_000
SETTINGS = {
    **COORDINATING,
    **SMALL,
    "auto.create.topics.enable": "false",
    "queued.max.request.bytes": "104857600",
}


def wide_world(seed: int) -> NodeWorld:
    world = NodeWorld(seed=seed, overrides=SETTINGS, look_ns=LOOK_NS)
    topic = CreatableTopic(name="wide", num_partitions=PARTITIONS, replication_factor=1, assignments=[], configs=[])
    created = world.client().ask(CreateTopicsRequest(topics=[topic], timeout_ms=60_000), 5)
    assert created.topics[0].error_code == ErrorCode.NONE
    world.wait_for(lambda: len(world.running.broker.hosted.by_topic_partition) >= PARTITIONS or None)
    with_coordinators(world)
    return world


@pytest.fixture(scope="module")
def slow() -> NodeWorld:
    return wide_world(73)


def leave(world: NodeWorld, request: Any, version: int) -> ClientConnection:
    """Send a large request, and end the connection while the request is under way."""
    slices = world.running.broker.slices
    assert not len(slices)
    world.client().send(request, version)
    world.wait_for(lambda: len(slices) or None)
    connection = next(each for each in world.running.broker.connections.all() if each.is_held)
    connection.close()
    assert len(slices) == 1
    return connection


def commit_of(group: str) -> OffsetCommitRequest:
    partitions = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=index, committed_metadata="")
        for index in range(PARTITIONS)
    ]
    topics = [OffsetCommitRequestTopic(name="wide", partitions=partitions)]
    return OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=-1, member_id="", topics=topics)


def committed(world: NodeWorld, group: str) -> int:
    topics = world.client().ask(OffsetFetchRequest(group_id=group, topics=None), 7).topics
    return sum(len(topic.partitions) for topic in topics)


def question() -> MetadataRequest:
    topics = [MetadataRequestTopic(name=f"topic-{index}") for index in range(PARTITIONS)]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=False)


def test_a_commit_is_carried_out(slow: NodeWorld) -> None:
    leave(slow, commit_of("left"), 8)
    slow.wait_for(lambda: not len(slow.running.broker.slices) or None)
    assert slow.wait_for(lambda: committed(slow, "left") or None) == PARTITIONS


def test_partitions_are_added_to_a_transaction(slow: NodeWorld) -> None:
    producer = SimProducer(slow, "left").init()
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="left",
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.producer_epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(name="wide", partitions=list(range(PARTITIONS)))],
    )
    leave(slow, request, 3)
    client = slow.client()

    def added() -> int | None:
        (state,) = client.ask(DescribeTransactionsRequest(transactional_ids=["left"]), 0).transaction_states
        return sum(len(topic.partitions) for topic in state.topics) or None

    assert slow.wait_for(added) == PARTITIONS


def test_a_question_is_abandoned(slow: NodeWorld) -> None:
    leave(slow, question(), 12)
    turns = slow.turns
    slow.wait_for(lambda: not len(slow.running.broker.slices) or None)
    assert slow.turns - turns < 5


@pytest.mark.parametrize("request_of", [lambda: commit_of("counted"), question])
def test_the_connection_counts_until_its_request_is_done(slow: NodeWorld, request_of: Callable[[], Any]) -> None:
    broker = slow.running.broker
    memory = broker.request_memory
    assert memory is not None
    counted, used_bytes, hosts = broker.connections.counted, memory.used_bytes, dict(broker.connections._by_host)
    request = request_of()
    connection = leave(slow, request, 12 if isinstance(request, MetadataRequest) else 8)
    assert connection not in broker.connections.all()
    assert broker.connections.counted == counted + 1
    assert memory.used_bytes > used_bytes, "its bytes are still there"
    slow.wait_for(lambda: not len(broker.slices) or None)
    assert (broker.connections.counted, memory.used_bytes) == (counted, used_bytes)
    assert broker.connections._by_host == hosts


def test_who_comes_and_goes_is_refused_while_too_much_is_under_way(
    slow: NodeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = slow.running.broker
    monkeypatch.setattr(broker.connections, "budget", broker.connections.counted + 1)
    leave(slow, commit_of("crowd"), 8)
    refused = broker.connections.refused_total
    early = slow.client()
    slow.wait_for(lambda: early.is_closed or None)
    assert broker.connections.refused_total == refused + 1
    slow.wait_for(lambda: not len(broker.slices) or None)
    assert slow.client().ask(OffsetFetchRequest(group_id="nobody", topics=None), 7).error_code == ErrorCode.NONE


def test_a_stop_does_not_wait_for_it() -> None:
    world = wide_world(74)
    leave(world, commit_of("late"), 8)
    node = world.running
    node.begin_stop()
    world.wait_for(lambda: node.phase is Phase.STOPPED or None)
    assert (len(node.broker.slices), node.broker.connections.counted) == (0, 0)


def test_every_api_is_a_question_or_changes_something() -> None:
    """A new API has to be put on one of the two lists: this one, or `QUESTIONS`."""
    assert {ApiKey(key) for key in HANDLERS} - QUESTIONS == {
        ApiKey.PRODUCE,
        ApiKey.FETCH,  # it holds ranges of files
        ApiKey.DELETE_RECORDS,
        ApiKey.OFFSET_COMMIT,
        ApiKey.OFFSET_DELETE,
        ApiKey.JOIN_GROUP,
        ApiKey.SYNC_GROUP,
        ApiKey.HEARTBEAT,
        ApiKey.LEAVE_GROUP,
        ApiKey.DELETE_GROUPS,
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        ApiKey.INIT_PRODUCER_ID,
        ApiKey.ADD_PARTITIONS_TO_TXN,
        ApiKey.ADD_OFFSETS_TO_TXN,
        ApiKey.END_TXN,
        ApiKey.WRITE_TXN_MARKERS,
        ApiKey.TXN_OFFSET_COMMIT,
        ApiKey.ALTER_REPLICA_LOG_DIRS,
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.UPDATE_FEATURES,
        ApiKey.UNREGISTER_BROKER,
    }
