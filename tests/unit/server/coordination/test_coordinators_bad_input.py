"""Bad input to a coordinator, over the wire: it is answered with Kafka's error, and the node goes on."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.sim.coordinator_state import shards_of
from tests.support.coordinating import commit, fetched, heartbeat, join, sync, until_loaded
from tests.support.recorded_frames import framed
from tests.support.serving import create
from tests.support.transactional import SimProducer, committed_offset, committed_values, state_of, transactional_world
from tests.unit.coordinator.consumer.classic_client import assignment

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions
from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest
from tidelog.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.sim.node_world import NodeWorld, SimClient

TEN_MEGABYTES = 10 << 20


@pytest.fixture
def world() -> Iterator[NodeWorld]:
    found = transactional_world(71, group_initial_rebalance_delay_ms="0")
    create(found.client(), "t", partitions=2)
    yield found
    broker = found.running.broker
    assert (broker.dispatch.bugs, broker.events.coordinator_bugs) == (0, 0)
    assert commit(found.client(), "witness", 1) is ErrorCode.NONE, "and others are served"


def member_of(client: SimClient, group: str) -> str:
    """Join as the only member of the group, in generation 1; return the member id."""
    member_id: str = client.ask(join(group), 3).member_id
    assert client.ask(sync(group, member_id, 1, **{member_id: b"all"}), 3).error_code == ErrorCode.NONE
    return member_id


def commit_as(client: SimClient, group: str, member_id: str, generation: int, offset: int, **more: Any) -> ErrorCode:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="", **more)
    request = OffsetCommitRequest(
        group_id=group,
        member_id=member_id,
        generation_id_or_member_epoch=generation,
        topics=[OffsetCommitRequestTopic(name="t", partitions=[partition])],
    )
    return ErrorCode(client.ask(request, 8).topics[0].partitions[0].error_code)


@pytest.mark.parametrize("generation", [0, 2, 2**31 - 1])
def test_a_generation_that_is_not_the_group_s(world: NodeWorld, generation: int) -> None:
    client = world.client()
    member_id = member_of(client, "g")
    assert commit_as(client, "g", member_id, 1, 5) is ErrorCode.NONE
    assert commit_as(client, "g", member_id, generation, 6) is ErrorCode.ILLEGAL_GENERATION
    assert client.ask(heartbeat("g", member_id, generation), 3).error_code == ErrorCode.ILLEGAL_GENERATION
    assert client.ask(sync("g", member_id, generation), 3).error_code == ErrorCode.ILLEGAL_GENERATION
    assert fetched(client, "g") == 5


def test_a_member_that_the_group_does_not_know(world: NodeWorld) -> None:
    client = world.client()
    member_of(client, "g")
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert commit_as(client, "g", "stranger", 1, 6) is unknown
    assert client.ask(heartbeat("g", "stranger", 1), 3).error_code == unknown
    assert client.ask(sync("g", "stranger", 1), 3).error_code == unknown
    assert client.ask(join("g", "stranger"), 3).error_code == unknown
    assert commit_as(client, "g", "", -1, 6) is unknown, "a group with members takes no commits but theirs"


def test_a_member_of_another_group(world: NodeWorld) -> None:
    client = world.client()
    one, other = member_of(client, "one"), member_of(client, "other")
    assert commit_as(client, "one", one, 1, 5) is ErrorCode.NONE
    assert commit_as(client, "one", other, 1, 6) is ErrorCode.UNKNOWN_MEMBER_ID
    assert (fetched(client, "one"), fetched(client, "other")) == (5, -1)


def test_more_metadata_than_is_kept(world: NodeWorld) -> None:
    client = world.client()
    assert commit(client, "g", 5, metadata="kept") is ErrorCode.NONE
    assert commit(client, "g", 6, metadata="x" * 32_767) is ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert fetched(client, "g") == 5


def test_ten_megabytes_of_metadata_are_no_request(world: NodeWorld) -> None:
    """No string of the protocol is that long, so the connection is closed."""
    assert commit(world.client(), "g", 5) is ErrorCode.NONE
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=6, committed_metadata="x" * 100)
    topics = [OffsetCommitRequestTopic(name="t", partitions=[partition])]
    small = framed(OffsetCommitRequest(group_id="g", member_id="", topics=topics), 8)[4:]
    body = small.replace(encoded_length(100) + b"x" * 100, encoded_length(TEN_MEGABYTES) + b"x" * TEN_MEGABYTES)
    assert len(body) > TEN_MEGABYTES
    client = world.client()
    client.send_bytes(len(body).to_bytes(4, "big") + body)
    with pytest.raises(EOFError):
        client.receive()
    assert fetched(world.client(), "g") == 5


def encoded_length(size: int) -> bytes:
    """Return the length of a compact string as it is encoded: one more, as an unsigned varint."""
    left, found = size + 1, bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*found, left])


def test_an_assignment_of_partitions_that_do_not_exist(world: NodeWorld) -> None:
    """A classic coordinator hands on the leader's assignment without reading it. A KIP-848 coordinator ignores
    partitions that a member claims without having been assigned them."""
    client = world.client()
    member_id = client.ask(join("g"), 3).member_id
    nonsense = assignment({"t": [7, -1], "no such topic": [0]})
    answer = client.ask(sync("g", member_id, 1, **{member_id: nonsense}), 3)
    assert (answer.error_code, bytes(answer.assignment)) == (ErrorCode.NONE, nonsense)
    unknown = [TopicPartitions(topic_id=Uuid(b"u" * 16), partitions=[0])]
    first = ConsumerGroupHeartbeatRequest(
        group_id="k",
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=1_000,
        subscribed_topic_names=["t", "no such topic"],
        topic_partitions=[],
    )
    answer = client.ask(first, 1)
    second = ConsumerGroupHeartbeatRequest(
        group_id="k", member_id="m", member_epoch=answer.member_epoch, topic_partitions=unknown
    )
    assert client.ask(second, 1).error_code == ErrorCode.NONE
    third = ConsumerGroupHeartbeatRequest(group_id="k", member_id="m", member_epoch=7, topic_partitions=unknown)
    assert client.ask(third, 1).error_code == ErrorCode.FENCED_MEMBER_EPOCH


@pytest.mark.parametrize("is_v2", [False, True], ids=["v1", "v2"])
@pytest.mark.parametrize("ends_first", [False, True])
def test_a_transaction_over_a_topic_that_is_deleted(world: NodeWorld, is_v2: bool, ends_first: bool) -> None:
    create(world.client(), "gone")
    one = SimProducer(world, "id", is_v2=is_v2).init()
    one.write(("gone", 0), ("t", 0), value=b"v")
    one.commit_offsets("g", {("t", 0): 4})
    deletion = DeleteTopicsRequest(topic_names=["gone"], timeout_ms=1_000)
    if ends_first:
        one.end()
    assert one.client.ask(deletion, 5).responses[0].error_code == ErrorCode.NONE
    world.run(100)
    if not ends_first:
        assert one.ask_produce(("gone", 0), b"w").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        one.end()
    client = world.client()
    world.wait_for(lambda: state_of(client, "id") == "CompleteCommit" or None)
    assert committed_values(client, ("t", 0)) == [b"v"]
    assert committed_offset(client, "g", ("t", 0), require_stable=True) == 4


def test_a_coordinator_that_is_loading_sends_everybody_away(world: NodeWorld) -> None:
    client = world.client()
    assert commit(client, "g", 5) is ErrorCode.NONE
    one = SimProducer(world, "id").init()
    one.write(("t", 0))
    shards: list[Any] = shards_of(world)
    for shard in shards:
        shard.drop()
        shard.replicated = shard._begin()
        shard.replicated._loading = iter(list[Any], None)  # a log that never ends
        shard._loading.is_waiting = True
    loading = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert fetched(client, "g") is loading
    assert commit(client, "g", 6) is loading
    assert one.ask_init().error_code == loading
    assert client.ask(one.end_request(commit=True), 5).error_code == loading
    assert one.ask_commit_offsets("g", {("t", 0): 9}) == [loading]
    for shard in shards:
        shard.drop()
        world.running.broker.coordinators.wake(shard.partition)
    until_loaded(world)
    assert fetched(client, "g") == 5
    one.end()
