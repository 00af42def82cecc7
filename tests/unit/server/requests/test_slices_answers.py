"""Answers with many elements to requests of a few bytes: encoded over several turns, while other clients are served."""

from typing import Any

import pytest
from tests.support.serving import batch_of
from tests.unit.server.conftest import COORDINATING

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.api_versions import ApiVersionsRequest
from tidelog.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from tidelog.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from tidelog.protocol.messages.describe_transactions import DescribeTransactionsRequest
from tidelog.protocol.messages.find_coordinator import FindCoordinatorRequest
from tidelog.protocol.messages.list_groups import ListGroupsRequest
from tidelog.protocol.messages.metadata import MetadataRequest
from tidelog.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.server.handlers import describe_configs
from tidelog.server.requests import element_limits
from tidelog.server.requests.response_arrays import in_order
from tidelog.sim.node_world import NodeWorld, SimClient

LOOK_NS = 1_000_000  # the time that each look at the clock takes: a slice is a few looks
PARTITIONS = 2 * element_limits.WHOLE_ELEMENTS_MAX


@pytest.fixture(scope="module")
def slow() -> NodeWorld:
    """Return a node on which slices run out of time, with a topic of many partitions."""
    world = NodeWorld(seed=91, overrides={**COORDINATING, "auto.create.topics.enable": "false"})
    client = world.client()
    topic = CreatableTopic(name="wide", num_partitions=PARTITIONS, replication_factor=1, assignments=[], configs=[])
    assert client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=60_000), 5).topics[0].error_code == 0
    world.wait_for(lambda: len(world.running.broker.hosted.by_topic_partition) >= PARTITIONS or None)
    for key_type in (0, 1):
        client.ask(FindCoordinatorRequest(key="g", key_type=key_type), 3)
    world.run(1_000)
    world.clock.look_ns = LOOK_NS
    return world


def answer_in_slices(world: NodeWorld, request: Any, version: int) -> Any:
    """Return the answer, after checking that another client was served while it was made."""
    client, other = world.client(), world.client()
    client.send(request, version)
    world.wait_for(lambda: len(world.running.broker.slices) or None)
    other.ask(ApiVersionsRequest(client_software_name="t", client_software_version="1"), 3)
    assert len(world.running.broker.slices) == 1, "it is still at it"
    answered = client.receive()
    assert not len(world.running.broker.slices)
    client.send(request, version)
    client.send(ApiVersionsRequest(client_software_name="t", client_software_version="1"), 3)
    assert client.receive() == answered
    assert client.receive().api_keys, "and the connection goes on"
    return answered


def commit(client: SimClient, group: str, partitions: int) -> None:
    committed = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=index, committed_metadata="")
        for index in range(partitions)
    ]
    topics = [OffsetCommitRequestTopic(name="wide", partitions=committed)]
    request = OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=-1, member_id="", topics=topics)
    answered = client.ask(request, 9).topics[0].partitions
    assert [(each.partition_index, each.error_code) for each in answered] == [(index, 0) for index in range(partitions)]


@pytest.mark.parametrize("version", [7, 9])
def test_all_offsets_of_a_group(slow: NodeWorld, version: int) -> None:
    commit(slow.client(), "many-offsets", PARTITIONS)
    if version == 7:
        request = OffsetFetchRequest(group_id="many-offsets", topics=None)
        (topic,) = answer_in_slices(slow, request, version).topics
    else:
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="many-offsets", topics=None)])
        (topic,) = answer_in_slices(slow, request, version).groups[0].topics
    assert {each.partition_index: each.committed_offset for each in topic.partitions} == {
        index: index for index in range(PARTITIONS)
    }


def test_a_commit_of_many_partitions_is_decided_over_several_turns(slow: NodeWorld) -> None:
    began = slow.turns
    commit(slow.client(), "another", PARTITIONS)
    assert slow.turns - began > 2 * PARTITIONS // 500


def test_all_groups() -> None:
    world = NodeWorld(seed=92, overrides={**COORDINATING})
    client = world.client()
    topic = CreatableTopic(name="wide", num_partitions=1, replication_factor=1, assignments=[], configs=[])
    client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=60_000), 5)
    client.ask(FindCoordinatorRequest(key="g", key_type=0), 3)
    world.run(1_000)
    names = [f"group-{number}" for number in range(element_limits.WHOLE_ELEMENTS_MAX + 10)]
    for name in names:
        commit(client, name, 1)
    world.clock.look_ns = LOOK_NS
    answered = answer_in_slices(world, ListGroupsRequest(states_filter=[], types_filter=[]), 5)
    assert sorted(each.group_id for each in answered.groups) == sorted(names)


def test_producers_of_one_partition(slow: NodeWorld) -> None:
    client = slow.client()
    count = element_limits.WHOLE_ELEMENTS_MAX + 10
    for number in range(count):
        batch = batch_of(b"x", producer_id=5_000 + number, producer_epoch=0, base_sequence=0)
        data = [PartitionProduceData(index=0, records=batch)]
        topics = [TopicProduceData(name="wide", partition_data=data)]
        client.ask(ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=topics), 9)
    request = DescribeProducersRequest(topics=[TopicRequest(name="wide", partition_indexes=[0])])
    found = answer_in_slices(slow, request, 0).topics[0].partitions[0].active_producers
    assert sorted(each.producer_id for each in found) == [5_000 + number for number in range(count)]


def test_batches_for_many_partitions_are_answered_over_several_turns(
    slow: NodeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = slow.client()
    data = [PartitionProduceData(index=index, records=bytes(batch_of(b"v"))) for index in range(1, PARTITIONS)]
    topics = [TopicProduceData(name="wide", partition_data=data)]
    continued: list[int] = []
    go_on = slow.running.broker.slices.go_on

    def note(context: Any, body: Any, steps: Any) -> Any:
        continued.append(slow.turns)
        return go_on(context, body, steps)

    monkeypatch.setattr(slow.running.broker.slices, "go_on", note)
    answered = client.ask(ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=topics), 9)
    (began,) = continued
    assert slow.turns - began > PARTITIONS // 64 // 8
    results = answered.responses[0].partition_responses
    assert [(each.index, each.error_code) for each in results] == [(index, 0) for index in range(1, PARTITIONS)]


def test_a_transaction_that_does_not_exist_is_told_at_once(slow: NodeWorld) -> None:
    answered = slow.client().ask(DescribeTransactionsRequest(transactional_ids=["none"]), 0)
    assert answered.transaction_states[0].error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def test_a_resource_that_is_named_again_and_again_is_described_once(
    slow: NodeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    described: list[str] = []
    describe = describe_configs._describe

    def note(broker: Any, asked: Any) -> Any:
        described.append(asked.resource_name)
        return describe(broker, asked)

    monkeypatch.setattr(describe_configs, "_describe", note)
    again = DescribeConfigsResource(resource_type=2, resource_name="wide", configuration_keys=["flush.ms"])
    other = DescribeConfigsResource(resource_type=2, resource_name="wide", configuration_keys=["flush.messages"])
    results = slow.client().ask(DescribeConfigsRequest(resources=[again, other] * 2_000), 4).results
    assert [each.configs[0].name for each in results] == ["flush.ms", "flush.messages"] * 2_000
    assert len(described) == 2


def test_many_topics_are_looked_up_over_several_turns() -> None:
    world = NodeWorld(seed=93)
    names = [f"t{number:05}" for number in range(element_limits.WHOLE_ELEMENTS_MAX + 10)]
    topics = [
        CreatableTopic(name=name, num_partitions=1, replication_factor=1, assignments=[], configs=[]) for name in names
    ]
    world.client().ask(CreateTopicsRequest(topics=topics, timeout_ms=60_000), 5)
    world.clock.look_ns = LOOK_NS
    answered = answer_in_slices(world, MetadataRequest(topics=None), 12)
    assert [each.name for each in answered.topics] == names


def test_names_come_in_order_as_they_are_taken() -> None:
    names = ["b", "a", "ü", "c", ""]
    taken = in_order(names)
    assert next(taken) == ""
    assert list(taken) == sorted(names)[1:]
