"""Requests with many elements are answered over several turns, with the same answer as in one, and other clients do not
wait for them."""

import pytest
from tests.support.raw_connection import Raw, raw_request
from tests.support.serving import batch_of
from tests.unit.server.conftest import COORDINATING

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.codec import encode
from tidelog.protocol.messages.api_versions import ApiVersionsRequest
from tidelog.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from tidelog.protocol.messages.list_groups import ListGroupsRequest
from tidelog.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.protocol.server_connection import MAX_HEADER_TAGS
from tidelog.protocol.varint import varint
from tidelog.server.requests import sliced_requests as slices
from tidelog.server.requests.element_limits import DECISION_ELEMENTS_MAX, ELEMENTS_MAX, WHOLE_ELEMENTS_MAX
from tidelog.sim.node_world import NodeWorld, SimClient

LOOK_NS = 1_000_000  # the time that each look at the clock takes: a slice is a few looks
MANY = 6_000
PARTITIONS = 3_000


@pytest.fixture(scope="module")
def slow() -> NodeWorld:
    """Return a node on which slices run out of time, with a topic of many partitions."""
    world = NodeWorld(seed=71, overrides={**COORDINATING, "auto.create.topics.enable": "false"}, look_ns=LOOK_NS)
    topic = CreatableTopic(name="wide", num_partitions=PARTITIONS, replication_factor=1, assignments=[], configs=[])
    created = world.client().ask(CreateTopicsRequest(topics=[topic], timeout_ms=60_000), 5)
    assert created.topics[0].error_code == ErrorCode.NONE
    world.wait_for(lambda: len(world.running.broker.hosted.by_topic_partition) >= PARTITIONS or None)
    return world


def names(count: int) -> MetadataRequest:
    topics = [MetadataRequestTopic(name=f"topic-{index}") for index in range(count)]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=False)


def offsets(count: int) -> ListOffsetsRequest:
    partitions = [ListOffsetsPartition(partition_index=index, timestamp=-1) for index in range(count)]
    return ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="wide", partitions=partitions)])


def versions(client: SimClient) -> None:
    client.send(ApiVersionsRequest(client_software_name="t", client_software_version="1"), 3)


def turns_until(world: NodeWorld, client: SimClient) -> int:
    began = world.turns
    assert client.receive() is not None
    return world.turns - began


def test_many_elements_take_many_turns_and_few_take_one(slow: NodeWorld) -> None:
    client = slow.client()
    client.send(names(10), 12)
    assert turns_until(slow, client) < 5
    client.send(names(MANY), 12)
    assert turns_until(slow, client) > MANY // 64 // 8  # a slice has at most 6 looks, each after 64 elements
    assert not len(slow.running.broker.slices)


def test_others_are_answered_between_two_slices(slow: NodeWorld) -> None:
    large, small = slow.client(), slow.client()
    large.send(names(MANY), 12)
    slow.wait_for(lambda: len(slow.running.broker.slices) or None)
    for _ in range(3):
        versions(small)
        small.receive()
        assert len(slow.running.broker.slices) == 1, "the large one is still at it"
    assert len(large.receive().topics) == MANY


def test_a_connection_gets_its_answers_in_order(slow: NodeWorld) -> None:
    client = slow.client()
    client.send(names(MANY), 12)
    versions(client)
    client.send(names(3), 12)
    assert len(client.receive().topics) == MANY
    assert client.receive().api_keys
    assert len(client.receive().topics) == 3


def test_the_partitions_of_one_topic_are_told_in_slices(slow: NodeWorld) -> None:
    """The request is short, but its answer is large."""
    client, other = slow.client(), slow.client()
    client.send(MetadataRequest(topics=None), 12)
    slow.wait_for(lambda: len(slow.running.broker.slices) or None)
    versions(other)
    other.receive()
    assert len(slow.running.broker.slices) == 1
    answered = next(topic for topic in client.receive().topics if topic.name == "wide")
    assert [each.partition_index for each in answered.partitions] == list(range(PARTITIONS))
    assert all(each.leader_id == 1 and each.replica_nodes == [1] for each in answered.partitions)


def test_a_partition_that_is_named_twice_is_noticed_across_slices(slow: NodeWorld) -> None:
    request = offsets(PARTITIONS)
    request.topics[0].partitions.append(ListOffsetsPartition(partition_index=0, timestamp=-1))
    answered = slow.client().ask(request, 7).topics[0].partitions
    repeated = [each.partition_index for each in answered if each.error_code == ErrorCode.INVALID_REQUEST]
    assert repeated == [0, 0]
    assert sum(each.error_code == ErrorCode.NONE for each in answered) == PARTITIONS - 1


def test_too_many_elements_are_an_error_and_the_connection_goes_on(slow: NodeWorld) -> None:
    client = slow.client()
    request = ListGroupsRequest(states_filter=[""] * (DECISION_ELEMENTS_MAX + 1), types_filter=[])
    before = slow.running.broker.slices.refused_total
    assert client.ask(request, 5).error_code == ErrorCode.INVALID_REQUEST
    assert slow.running.broker.slices.refused_total == before + 1
    versions(client)
    assert client.receive().api_keys


def test_too_many_in_nested_arrays_are_found_on_the_way(slow: NodeWorld) -> None:
    """No single array is too long: the count exceeds the limit after a part of them was built."""
    partition = ListOffsetsPartition(partition_index=0, timestamp=-1)
    topics = [ListOffsetsTopic(name="wide", partitions=[partition]) for _ in range(ELEMENTS_MAX // 2 + 1)]
    client = slow.client()
    client.send(ListOffsetsRequest(replica_id=-1, topics=topics), 7)
    with pytest.raises(EOFError):  # the response has an error for each partition, and none for all of them
        client.receive()
    assert not len(slow.running.broker.slices)


def test_as_many_as_are_allowed_are_answered(slow: NodeWorld) -> None:
    states = [""] * DECISION_ELEMENTS_MAX
    assert slow.client().ask(ListGroupsRequest(states_filter=states, types_filter=[]), 5).error_code == ErrorCode.NONE


def test_a_large_request_that_is_refused_as_a_whole(slow: NodeWorld) -> None:
    """One resource has a type that does not exist. Every resource gets the error, exactly once."""
    resources = [
        DescribeConfigsResource(resource_type=2, resource_name=f"n{index}", configuration_keys=None)
        for index in range(MANY)
    ]
    resources[MANY // 2].resource_type = 99
    answered = slow.client().ask(DescribeConfigsRequest(resources=resources), 4).results
    assert [each.resource_name for each in answered] == [f"n{index}" for index in range(MANY)]
    assert {each.error_code for each in answered} == {ErrorCode.INVALID_REQUEST}


def test_an_answer_has_a_limit_where_the_request_can_repeat_itself(
    slow: NodeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "RESPONSE_BYTES_MAX", 100_000)
    again = DescribeConfigsResource(resource_type=2, resource_name="wide", configuration_keys=None)
    client = slow.client()
    client.send(DescribeConfigsRequest(resources=[again] * MANY), 4)
    with pytest.raises(EOFError):
        client.receive()
    assert not len(slow.running.broker.slices)


def test_who_leaves_is_forgotten(slow: NodeWorld) -> None:
    client = slow.client()
    client.send(names(MANY), 12)
    slow.wait_for(lambda: len(slow.running.broker.slices) or None)
    client.close()
    slow.wait_for(lambda: not len(slow.running.broker.slices) or None)
    assert len(slow.client().ask(names(3), 12).topics) == 3


def test_what_may_be_built_at_once_has_a_limit(slow: NodeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other requests wait as bytes until the first is answered. (The third may come when the first is done
    already.)"""
    count = MANY // 2  # more would exhaust the client's patience, as each look at the clock takes time
    monkeypatch.setattr(slices, "ELEMENTS_AT_ONCE", count)
    under_way = slow.running.broker.slices
    clients = [slow.client() for _ in range(3)]
    for client in clients:
        client.send(names(count), 12)
    slow.wait_for(lambda: len(under_way) >= 2 or None)
    assert len(under_way._active) == 1
    for client in clients:
        assert len(client.receive().topics) == count


def test_the_memory_of_a_request_is_counted_until_it_is_answered() -> None:
    limit = 250_000
    overrides = {"socket.request.max.bytes": str(limit), "queued.max.request.bytes": str(limit)}
    world = NodeWorld(seed=73, overrides={**overrides, "auto.create.topics.enable": "false"}, look_ns=LOOK_NS)
    memory, under_way = world.running.broker.request_memory, world.running.broker.slices
    assert memory is not None
    clients = [world.client() for _ in range(3)]
    for client in clients[:2]:
        client.send(names(MANY), 12)
    world.wait_for(lambda: len(under_way) == 2 or None)
    assert memory.used_bytes > limit, "all of their bytes are here, and both are still under way"
    clients[2].send(names(MANY), 12)
    world.wait_for(lambda: memory.waiting_count or None)
    for client in clients:
        assert len(client.receive().topics) == MANY
    world.wait_for(lambda: not memory.used_bytes or None)


def test_a_medium_request_is_answered_at_once(slow: NodeWorld) -> None:
    """A request of few, long names is decoded by the counting decoder and handled like any other."""
    client = slow.client()
    topics = [MetadataRequestTopic(name="x" * 200 + str(index)) for index in range(100)]
    assert len(topics) < WHOLE_ELEMENTS_MAX
    client.send(MetadataRequest(topics=topics, allow_auto_topic_creation=False), 12)
    before = slow.turns
    assert len(client.receive().topics) == 100
    assert slow.turns - before < 5
    assert not len(slow.running.broker.slices)


def test_garbage_in_the_middle_ends_the_connection(slow: NodeWorld) -> None:
    body = encode(offsets(MANY), 5)
    raw = Raw(slow)
    raw.send(raw_request(2, 5, body[: len(body) // 2]))
    assert raw.frame() == b""
    assert not len(slow.running.broker.slices)


def test_batches_for_many_partitions_are_appended_over_several_turns(slow: NodeWorld) -> None:
    batch = bytes(batch_of(b"v"))
    data = [PartitionProduceData(index=index, records=batch) for index in range(PARTITIONS)]
    request = ProduceRequest(
        acks=-1, timeout_ms=60_000, topic_data=[TopicProduceData(name="wide", partition_data=data)]
    )
    by_topic_partition = slow.running.broker.hosted.by_topic_partition
    before = [by_topic_partition[TopicPartition("wide", index)].log.log_end_offset for index in range(PARTITIONS)]
    began = slow.turns
    answered = slow.client().ask(request, 9).responses[0].partition_responses
    assert [each.index for each in answered] == list(range(PARTITIONS))
    assert {each.error_code for each in answered} == {ErrorCode.NONE}
    assert slow.turns - began > 10
    after = [by_topic_partition[TopicPartition("wide", index)].log.log_end_offset for index in range(PARTITIONS)]
    assert after == [end + 1 for end in before]


def test_what_was_produced_without_acks_is_appended_although_the_client_has_left(slow: NodeWorld) -> None:
    """All that acks=0 promises is that a request which arrived whole is carried out."""
    by_topic_partition = slow.running.broker.hosted.by_topic_partition
    logs = [by_topic_partition[TopicPartition("wide", index)].log for index in range(PARTITIONS)]
    before = [log.log_end_offset for log in logs]
    data = [PartitionProduceData(index=index, records=bytes(batch_of(b"v"))) for index in range(PARTITIONS)]
    topic = TopicProduceData(name="wide", partition_data=data)
    client = slow.client()
    client.send(ProduceRequest(acks=0, timeout_ms=60_000, topic_data=[topic]), 9, expect_response=False)
    slow.wait_for(lambda: len(slow.running.broker.slices) or None)
    next(each for each in slow.running.broker.connections.all() if each.is_held).close()
    slow.wait_for(lambda: [log.log_end_offset - 1 for log in logs] == before or None)
    slow.wait_for(lambda: not len(slow.running.broker.slices) or None)


def test_millions_of_tagged_fields_in_the_header_end_the_connection(slow: NodeWorld) -> None:
    raw = Raw(slow)
    raw.send(raw_request(3, 12, varint(MAX_HEADER_TAGS + 1) + b"\x63\x00" * (MAX_HEADER_TAGS + 1)))
    assert raw.frame() == b""


def test_a_name_that_does_not_fit_into_the_text_of_its_error(slow: NodeWorld) -> None:
    """The error text quotes the name, and would be longer than a string may be."""
    topic = CreatableTopic(name="x" * 32_767, num_partitions=1, replication_factor=1, assignments=[], configs=[])
    answered = slow.client().ask(CreateTopicsRequest(topics=[topic], timeout_ms=1_000), 5)
    assert answered.topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
