"""A topic of many partitions while they are created: which requests are served first, and what may happen meanwhile."""

from collections.abc import Callable

import pytest
from tests.support.serving import batch_of, create, fetch_values, produce, produced

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.ports.files import Ticket
from tidelog.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from tidelog.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest
from tidelog.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.server.hosting.awaited_logs import WAIT_MAX_MS
from tidelog.server.node.node import Phase
from tidelog.sim.node_world import NodeWorld, SimClient

COUNT = 200
MANY = 1_000
TOPIC = 2
LOOK_NS = 100_000  # a slice is a hundred partitions


def begin(world: NodeWorld, name: str = "t", partitions: int = COUNT) -> SimClient:
    """Ask for a topic, and do not wait for its partitions."""
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, assignments=[], configs=[])
    client = world.client()
    client.send(CreateTopicsRequest(topics=[topic]), 7)
    return client


def hosted(world: NodeWorld, topic: str = "t") -> list[int]:
    return [
        topic_partition.partition
        for topic_partition in world.running.broker.hosted.by_topic_partition
        if topic_partition.topic == topic
    ]


def until(world: NodeWorld, is_so: Callable[[], bool]) -> None:
    world.wait_for(lambda: is_so() or None)


def all_are_there(world: NodeWorld, topic: str = "t") -> bool:
    return len(hosted(world, topic)) == COUNT and not world.running.broker.hosted.is_behind


def test_partitions_are_served_in_their_order_as_they_come() -> None:
    world = NodeWorld(seed=1, look_ns=LOOK_NS)
    client = world.client()
    begin(world)
    until(world, lambda: len(hosted(world)) > 5)
    assert produce(client, "t", b"early") == 0
    assert len(hosted(world)) < COUNT, "the others are still to come"
    while not all_are_there(world):
        assert hosted(world) == list(range(len(hosted(world))))
        world.run(1)


def test_who_creates_a_topic_is_answered_when_its_last_partition_is_served() -> None:
    world = NodeWorld(seed=8, look_ns=LOOK_NS)
    client = world.client()
    topic = CreatableTopic(name="t", num_partitions=COUNT, replication_factor=1, assignments=[], configs=[])
    client.ask(CreateTopicsRequest(topics=[topic]), 7)
    assert produced(client, "t", batch_of(b"x"), partition=COUNT - 1).error_code == ErrorCode.NONE
    grown = CreatePartitionsTopic(name="t", count=2 * COUNT, assignments=None)
    client.ask(CreatePartitionsRequest(topics=[grown], timeout_ms=1_000, validate_only=False), 3)
    assert produced(client, "t", batch_of(b"x"), partition=2 * COUNT - 1).error_code == ErrorCode.NONE


def test_but_does_not_wait_for_ever() -> None:
    world = NodeWorld(seed=9)
    creator = begin(world)
    until(world, lambda: len(hosted(world)) > 5)
    world.running.broker.hosted.stop()
    world.run(WAIT_MAX_MS + 10)
    assert creator.receive().topics[0].error_code == ErrorCode.NONE
    assert len(hosted(world)) < COUNT


def test_and_a_topic_that_is_only_validated_is_not_waited_for() -> None:
    world = NodeWorld(seed=10)
    topic = CreatableTopic(name="t", num_partitions=1, replication_factor=1, assignments=[], configs=[])
    client = world.client()
    before_ms = world.clock.monotonic_ms()
    client.ask(CreateTopicsRequest(topics=[topic], validate_only=True), 7)
    assert world.clock.monotonic_ms() - before_ms < WAIT_MAX_MS


def test_a_small_topic_does_not_wait_for_a_large_one() -> None:
    world = NodeWorld(seed=2, look_ns=LOOK_NS)
    begin(world)
    until(world, lambda: len(hosted(world)) > 5)
    begin(world, "small", 1)
    until(world, lambda: len(hosted(world, "small")) == 1)
    assert len(hosted(world)) < COUNT


def test_a_change_of_settings_meanwhile_reaches_every_partition() -> None:
    world = NodeWorld(seed=3)
    client = world.client()
    begin(world)
    until(world, lambda: len(hosted(world)) > 5)
    config = AlterableConfig(name="retention.ms", config_operation=0, value="777")
    resource = AlterConfigsResource(resource_type=TOPIC, resource_name="t", configs=[config])
    client.ask(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1)
    assert len(hosted(world)) < COUNT
    until(world, lambda: all_are_there(world))
    logs = [each.log for each in world.running.broker.hosted.by_topic_partition.values()]
    assert {log.config.retention_ms for log in logs} == {777}


def test_a_topic_that_is_deleted_and_made_again_meanwhile_is_the_new_one() -> None:
    world = NodeWorld(seed=4, look_ns=LOOK_NS)
    client = world.client()
    begin(world)
    until(world, lambda: len(hosted(world)) > 5)
    client.ask(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1_000), 1)
    topic_id = begin(world).receive().topics[0].topic_id
    until(world, lambda: all_are_there(world))
    logs = world.running.broker.logs
    found = [logs.get(TopicPartition("t", index)) for index in range(COUNT)]
    assert {log.topic_id for log in found if log is not None} == {topic_id}
    assert None not in found
    assert not logs.failures
    assert not world.running.broker.hosted.refused
    for index in (0, 6, COUNT - 1):
        assert produce(client, "t", b"new", partition=index) == 0
    world.kill()
    world.start()
    assert fetch_values(world.client(), "t", partition=6) == [b"new"]


def test_a_stop_does_not_wait_for_partitions_that_are_not_begun() -> None:
    world = NodeWorld(seed=5, look_ns=LOOK_NS)
    begin(world)
    until(world, lambda: len(hosted(world)) > 5)
    world.stop()
    made = [name for name in world.fs.list_directory("/disk/a") if name.startswith("t-")]
    assert 5 < len(made) < COUNT
    world.start()
    until(world, lambda: all_are_there(world))
    assert produced(world.client(), "t", batch_of(b"x"), partition=COUNT - 1).error_code == ErrorCode.NONE


def test_a_stop_answers_who_waits_for_partitions_once() -> None:
    """The partitions may be created while the node stops."""
    for meanwhile in range(30):
        world = NodeWorld(seed=3)
        begin(world, partitions=3)
        world.run(meanwhile)
        world.stop()


def test_a_stop_closes_its_logs_over_several_turns() -> None:
    world = NodeWorld(seed=6, look_ns=1_000_000)
    create(world.client(), "t", COUNT)
    world.running.begin_stop()
    until(world, lambda: world.running.broker.logs.is_closing)
    before = world.turns
    until(world, lambda: world.running.phase is Phase.STOPPED)
    assert world.turns - before > COUNT // 20, "about fifteen a turn"


def test_a_broker_is_not_fenced_while_its_controller_owes_it_an_answer() -> None:
    """The heartbeat waits behind the records of a large topic for longer than the session. Once, the broker was fenced
    and unfenced with all its partitions, which took longer still, so that it was fenced again."""
    world = NodeWorld(seed=7)
    client = world.client()
    create(client, "t")
    settings = world.fs.disk("/disk").settings
    settings.sync_ms_min = settings.sync_ms_max = 12_000
    topic = CreatableTopic(name="large", num_partitions=COUNT, replication_factor=1, assignments=[], configs=[])
    client.send(CreateTopicsRequest(topics=[topic], timeout_ms=60_000), 7)
    world.run(40_000)
    assert client.receive().topics[0].error_code == ErrorCode.NONE
    partition = world.running.broker.image.topics.by_name["t"].partitions[0]
    assert (partition.leader, partition.leader_epoch) == (1, 0)
    assert produce(world.client(), "t", b"x") == 0


def deleting_world(seed: int) -> tuple[NodeWorld, SimClient]:
    """Return a world that is in the middle of deleting a topic with many partitions."""
    world = NodeWorld(seed=seed, look_ns=LOOK_NS)
    client = world.client()
    begin(world, partitions=MANY)
    until(world, lambda: len(hosted(world)) == MANY)
    client.send(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1_000), 5)
    until(world, lambda: len(hosted(world)) < MANY)
    assert len(hosted(world)) > MANY // 2, "in slices"
    return world, client


def test_a_deleted_topic_is_not_served_from_its_deletion_on_although_its_logs_go_in_slices() -> None:
    world, client = deleting_world(31)
    other = world.client()
    answered = produced(other, "t", batch_of(b"late"), partition=MANY - 1)
    assert answered.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert hosted(world), "and not because it is gone"
    assert client.receive().responses[0].error_code == ErrorCode.NONE
    create(client, "t", partitions=MANY)
    assert produced(other, "t", batch_of(b"new"), partition=MANY - 1).base_offset == 0
    assert fetch_values(other, "t", partition=MANY - 1) == [b"new"]
    until(world, lambda: len(hosted(world)) == MANY and not world.running.broker.hosted.is_behind)


def test_a_stop_deletes_all_of_a_deleted_topic() -> None:
    """The next start would take a partition that is left over for a stray one, and keep it for ever."""
    world, _ = deleting_world(32)
    world.stop()
    world.start()
    left = [name for name in world.fs.list_directory("/disk/a") if name.startswith("t-")]
    assert len(left) == MANY
    assert all(name.endswith("-delete") for name in left)


def test_a_stop_syncs_the_log_directory_once_for_all_new_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    world = NodeWorld(seed=33)
    client = world.client()
    create(client, "t", partitions=20)
    for index in range(20):
        assert produced(client, "t", batch_of(b"x"), partition=index).error_code == ErrorCode.NONE
    begin_sync_directory, synced = world.fs.begin_sync_directory, list[str]()

    def note(path: str) -> Ticket:
        synced.append(path)
        return begin_sync_directory(path)

    monkeypatch.setattr(world.fs, "begin_sync_directory", note)
    world.stop()
    assert synced.count("/disk/a") == 1
    assert all(f"/disk/a/t-{index}" in synced for index in range(20))
    world.lose_power()
    world.start()
    assert [fetch_values(world.client(), "t", partition=index) for index in range(20)] == [[b"x"]] * 20
