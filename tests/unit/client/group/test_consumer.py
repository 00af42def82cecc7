"""Members of a group against a node in the simulator: partitions are shared, offsets are committed, nothing is lost."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from tests.unit.client.simulated import COORDINATING, client_of, world_of

from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.group_offsets import CommittedOffset
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.client.group.consumer import GroupConsumer
from tidelog.client.producer.producer import Producer
from tidelog.client.record import EARLIEST
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.sim.node_world import NodeWorld


@pytest.fixture(scope="module")
def nodes() -> NodeWorld:
    return NodeWorld(seed=41, overrides=COORDINATING)


@pytest.fixture
def client(nodes: NodeWorld) -> Client:
    return client_of(nodes)


@pytest.fixture
def second(nodes: NodeWorld) -> Client:
    return client_of(nodes, seed=2)


@pytest.fixture
def group(request: pytest.FixtureRequest) -> str:
    return str(request.node.name)


def fill(client: Client, topic: str, count: int, partitions: int = 4) -> None:
    if topic not in [each.name for each in Admin(client).list_topics()]:
        Admin(client).create_topic(NewTopic(topic, partitions))
    with Producer(client) as producer:
        for index in range(count):
            producer.send(topic, b"%d" % index, partition=index % partitions)


def joined(client: Client, group: str, topic: str, **options: Any) -> GroupConsumer:
    consumer = GroupConsumer(client, group, start=EARLIEST, **options)
    consumer.subscribe([topic])
    return consumer


def read(consumer: GroupConsumer, count: int) -> list[bytes]:
    found: list[bytes] = []
    for _ in range(1_000):
        if len(found) >= count:
            return found
        found += [record.value or b"" for record in consumer.poll(100)]
    raise AssertionError(f"only {len(found)} of {count} records came")


def settle(*consumers: GroupConsumer, partitions: int = 4) -> list[bytes]:
    """Poll until each partition has its one owner; return the values that came in between."""
    found: list[bytes] = []
    for _ in range(1_000):
        topic_partitions = [topic_partition for consumer in consumers for topic_partition in consumer.assignment]
        has_share = all(len(each.assignment) == partitions // len(consumers) for each in consumers)
        if has_share and all(each.is_reconciled for each in consumers):
            assert len(set(topic_partitions)) == partitions
            return found
        found += [record.value or b"" for consumer in consumers for record in consumer.poll(20)]
    raise AssertionError([consumer.assignment for consumer in consumers])


def test_one_member_reads_all_and_the_next_goes_on_where_it_was(client: Client, group: str) -> None:
    fill(client, "all", 20)
    with joined(client, group, "all") as consumer:
        assert sorted(read(consumer, 20), key=int) == [b"%d" % each for each in range(20)]
        assert consumer.is_reconciled
        assert len(consumer.assignment) == 4
    offsets = Admin(client).list_group_offsets(group)
    assert offsets == {TopicPartition("all", index): CommittedOffset(5) for index in range(4)}
    fill(client, "all", 4)
    with joined(client, group, "all") as consumer:
        assert sorted(read(consumer, 4)) == [b"0", b"1", b"2", b"3"]


def test_two_share_and_one_takes_over(client: Client, second: Client, group: str) -> None:
    fill(client, "shared", 8)
    first = joined(client, group, "shared")
    assert len(read(first, 8)) == 8
    other = joined(second, group, "shared")
    assert settle(first, other) == []  # the first one committed what it had read before it gave partitions up
    assert len(first.assignment) == len(other.assignment) == 2
    members = {each.member_id: each.assignment for each in Admin(client).describe_group(group).members}
    assert members[first.group_metadata.member_id] == sorted(first.assignment)
    other.close()
    assert settle(first) == []
    first.close()
    assert not Admin(client).describe_group(group).is_live


def test_without_auto_commit_nothing_is_committed_but_by_the_caller(client: Client, group: str) -> None:
    fill(client, "manual", 8)
    with joined(client, group, "manual", auto_commit_ms=None) as consumer:
        read(consumer, 8)
        assert consumer.committed(consumer.assignment) == {}
        topic_partition = TopicPartition("manual", 1)
        consumer.commit({topic_partition: CommittedOffset(1, metadata="here")})
        assert consumer.committed([topic_partition]) == {topic_partition: CommittedOffset(1, metadata="here")}
    assert list(Admin(client).list_group_offsets(group)) == [topic_partition]


def test_who_goes_down_with_an_error_commits_nothing(client: Client, group: str) -> None:
    fill(client, "down", 4)
    with contextlib.suppress(RuntimeError), joined(client, group, "down") as consumer:
        read(consumer, 4)
        raise RuntimeError
    assert Admin(client).list_group_offsets(group) == {}
    assert not Admin(client).describe_group(group).members  # but the member has left


def test_a_member_that_was_not_heard_of_is_put_out_and_joins_again(client: Client, second: Client, group: str) -> None:
    fill(client, "late", 8)
    late = joined(client, group, "late", auto_commit_ms=None)
    read(late, 8)
    former = late.group_metadata
    other = joined(second, group, "late")
    world_of(client).clock.advance(60_000)  # longer than a session
    assert len(read(other, 8)) == 8  # uncommitted records are read again
    with pytest.raises(ClientError, match="went on without this member") as caught:
        late.commit()
    assert caught.value.code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH)
    settle(late, other)
    assert late.group_metadata.member_id == former.member_id
    assert late.group_metadata.generation != former.generation
    late.close()
    other.close()


def test_heartbeats_go_out_while_it_polls(client: Client, group: str) -> None:
    fill(client, "beating", 4)
    consumer = joined(client, group, "beating")
    read(consumer, 4)
    for _ in range(30):
        world_of(client).clock.advance(3_000)  # two sessions in all
        consumer.poll(20)
    assert len(Admin(client).describe_group(group).members) == 1
    assert len(consumer.assignment) == 4
    consumer.close()


def test_a_pattern_takes_in_topics_that_come_later(client: Client, group: str) -> None:
    fill(client, "pat-1", 4)
    consumer = GroupConsumer(client, group, start=EARLIEST)
    consumer.subscribe(pattern="pat-.*")
    assert len(read(consumer, 4)) == 4
    fill(client, "pat-2", 4)
    found = []
    for _ in range(50):
        world_of(client).clock.advance(1_000)  # the coordinator looks for new topics now and then
        found += [record.topic for record in consumer.poll(20)]
    assert found == ["pat-2"] * 4
    assert {topic_partition.topic for topic_partition in consumer.assignment} == {"pat-1", "pat-2"}
    consumer.close()


def test_a_pattern_that_is_none_is_refused(client: Client, group: str) -> None:
    consumer = GroupConsumer(client, group)
    consumer.subscribe(pattern="(")
    with pytest.raises(ClientError, match=r"INVALID_REGULAR_EXPRESSION.*RE2"):
        read(consumer, 1)


def test_an_assignor_that_the_broker_has_not_is_refused(client: Client, group: str) -> None:
    consumer = joined(client, group, "whatever", assignor="mine")
    with pytest.raises(ClientError, match=r"UNSUPPORTED_ASSIGNOR.*group\.consumer\.assignors"):
        read(consumer, 1)


def test_a_static_member_finds_its_partitions_again(client: Client, second: Client, group: str) -> None:
    fill(client, "static", 4)
    first, other = (
        joined(client, group, "static", instance_id="one"),
        joined(second, group, "static", instance_id="two"),
    )
    settle(first, other)
    had = sorted(first.assignment)
    first.close()
    for _ in range(20):
        other.poll(100)
    assert len(other.assignment) == 2
    again = joined(client, group, "static", instance_id="one")
    settle(again, other)
    assert sorted(again.assignment) == had
    other.close()
    again.close()


def test_who_assigns_its_partitions_commits_without_being_a_member(client: Client, group: str) -> None:
    fill(client, "simple", 4)
    consumer = GroupConsumer(client, group)
    consumer.assign({TopicPartition("simple", 0): 0})
    assert len(consumer.poll(1_000)) == 1
    consumer.commit()
    assert Admin(client).list_group_offsets(group) == {TopicPartition("simple", 0): CommittedOffset(1)}
    consumer.close()


def test_to_subscribe_to_nothing_is_a_mistake(client: Client, group: str) -> None:
    with pytest.raises(ValueError, match="subscribe to topics"):
        GroupConsumer(client, group).subscribe()


def test_a_node_that_comes_back_finds_its_members_again(group: str) -> None:
    nodes = NodeWorld(seed=43, overrides=COORDINATING)
    client = client_of(nodes)
    fill(client, "kept", 8)
    consumer = joined(client, group, "kept")
    read(consumer, 8)
    consumer.commit()
    nodes.kill()
    nodes.start()
    fill(client, "kept", 4)
    assert sorted(read(consumer, 4)) == [b"0", b"1", b"2", b"3"]
    assert consumer.group_metadata.generation > 0
    consumer.close()


@pytest.fixture(autouse=True)
def _no_bugs(nodes: NodeWorld) -> Iterator[None]:
    before = nodes.running.broker.dispatch.bugs
    yield
    assert nodes.running.broker.dispatch.bugs == before
