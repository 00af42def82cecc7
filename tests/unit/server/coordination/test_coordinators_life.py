"""Group coordinators in a whole node: what was acknowledged is there after every kind of end, and while coordinators
load, fail or stop, no request is answered from an incomplete state."""

from collections.abc import Callable

import pytest
from tests.support.coordinating import (
    commit,
    fetched,
    group_world,
    heartbeat,
    join,
    leave,
    partition_of,
    sync,
    until_loaded,
)
from tests.support.serving import batch_of, create, produced

from tidelog.model.errors import ErrorCode
from tidelog.ports.errors import DiskFull
from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest
from tidelog.protocol.messages.list_groups import ListGroupsRequest
from tidelog.server.cluster.internal_topics import CONSUMER_OFFSETS
from tidelog.server.coordination.loading import MESSAGES_A_SLICE
from tidelog.sim.disk import DiskSettings
from tidelog.sim.faults import Op
from tidelog.sim.node_world import NodeWorld, SimClient

EVERY_END = pytest.mark.parametrize("end", [NodeWorld.stop, NodeWorld.kill, NodeWorld.lose_power])
SYNCED = {"log.flush.interval.messages": "1"}  # so that no power loss takes what was acknowledged
TWO_DISKS = {"/disk": DiskSettings(), "/other": DiskSettings()}
GROUPS = [f"group-{number}" for number in range(8)]  # spread over both partitions


@EVERY_END
def test_what_was_acknowledged_is_there_after_every_end(end: Callable[[NodeWorld], None]) -> None:
    world = group_world(21, SYNCED)
    client = world.client()
    for offset, group in enumerate(GROUPS):
        assert commit(client, group, offset) is ErrorCode.NONE
    end(world)
    world.start()
    until_loaded(world)
    client = world.client()
    assert [fetched(client, group) for group in GROUPS] == list(range(len(GROUPS)))
    assert commit(client, GROUPS[0], 100) is ErrorCode.NONE
    assert fetched(client, GROUPS[0]) == 100


def test_one_turn_from_the_request_to_the_answer() -> None:
    world = group_world(22)
    client = world.client()
    commit(client, "g", 1)
    world.run(1_000)
    before = world.turns
    assert commit(client, "g", 2) is ErrorCode.NONE
    assert world.turns == before + 1


def admin_client(world: NodeWorld) -> SimClient:
    """Return a client that may write to internal topics."""
    client = world.client()
    client._protocol.client_id = "__admin_client"
    return client


def loading_world(seed: int, *, look_ns: int = 0) -> NodeWorld:
    """Return a node that was restarted with more in one partition than a turn has time to load."""
    world = group_world(seed)
    client = world.client()
    for number in range(3):
        assert commit(client, "g", number, metadata="first") is ErrorCode.NONE
    topic_partition = partition_of(world, "g").topic_partition
    batch = batch_of(*([b"\0\0"] * 50 * MESSAGES_A_SLICE), key=b"\x7f\x7f")  # of an unknown type, which is skipped
    assert (
        produced(admin_client(world), topic_partition.topic, batch, partition=topic_partition.partition).error_code == 0
    )
    assert commit(client, "g", 77) is ErrorCode.NONE
    world.kill()
    world.clock.look_ns = look_ns
    world.start()
    return world


def test_while_loading_nobody_hears_that_there_is_no_offset() -> None:
    world = loading_world(23, look_ns=4_000_000)
    client = world.client()
    seen = [fetched(client, "g")]
    while seen[-1] is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        if len(seen) == 1:
            assert client.ask(ListGroupsRequest(), 4).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            assert commit(client, "g", 1) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            assert client.ask(join("g"), 5).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
            assert client.ask(heartbeat("g", "m", 1), 3).error_code == ErrorCode.NONE, "as Kafka does"
        seen.append(fetched(client, "g"))
    assert len(seen) > 1
    assert seen[-1] == 77


def test_what_is_not_in_the_page_cache_is_warmed_first() -> None:
    """The simulated disk fails a read that would make a turn wait."""
    world = group_world(24, SYNCED)
    client = world.client()
    commit(client, "g", 5)
    world.stop()
    world.start(until_running=False)
    world.fs.disk("/disk").evict()
    world.wait_for(lambda: world.running.broker.coordinators.groups.machines() or None)
    until_loaded(world)
    assert fetched(world.client(), "g") == 5


def test_a_deleted_topic_takes_its_offsets_along() -> None:
    world = group_world(25)
    client = world.client()
    commit(client, "g", 5)
    client.ask(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1_000), 5)
    world.run(50)
    create(client, "t", partitions=2)
    assert fetched(client, "g") == -1
    world.kill()
    world.start()
    until_loaded(world)
    assert fetched(world.client(), "g") == -1, "and not only in memory"


def test_without_its_topic_there_is_no_coordinator_until_it_is_made_anew() -> None:
    world = group_world(26)
    client = world.client()
    member = client.ask(join("g"), 3)
    client.ask(sync("g", member.member_id, 1, **{member.member_id: b"all"}), 3)
    waiting = world.client()
    waiting.send(join("g"), 3)
    world.run(20)
    client.ask(DeleteTopicsRequest(topic_names=[CONSUMER_OFFSETS], timeout_ms=1_000), 5)
    assert waiting.receive().error_code == ErrorCode.NOT_COORDINATOR
    world.run(50)
    assert fetched(client, "g") is ErrorCode.NOT_COORDINATOR
    assert world.running.broker.coordinators.groups.partitions() == []
    world.running.broker.internal_topics.create(CONSUMER_OFFSETS)
    until_loaded(world)
    assert fetched(client, "g") == -1
    assert commit(client, "g", 6) is ErrorCode.NONE


# Disks


def test_a_full_disk_costs_the_commit_and_the_coordinator_starts_over() -> None:
    world = group_world(27)
    client = world.client()
    commit(client, "g", 5)
    world.fs.disk("/disk").faults.fail(Op.WRITE, partition_of(world, "g").log.directory, fault=DiskFull)
    assert commit(client, "g", 6) is ErrorCode.NOT_COORDINATOR
    until_loaded(world)
    assert fetched(client, "g") == 5, "what was not written was not believed"
    assert commit(client, "g", 7) is ErrorCode.NONE
    assert fetched(client, "g") == 7


def test_a_failed_directory_takes_its_coordinators_along_and_no_others() -> None:
    world = group_world(28, {"log.dirs": "/disk/a,/other/b"}, disks=TWO_DISKS)
    client = world.client()
    by_disk = {partition_of(world, group).log.directory.split("/")[1]: group for group in GROUPS}
    assert len(by_disk) == 2, "the partitions lie in both"
    for group in by_disk.values():
        commit(client, group, 5)
    world.fs.disk("/other").faults.fail(Op.WRITE, times=None)
    assert commit(client, by_disk["other"], 6) is ErrorCode.NOT_COORDINATOR
    world.run(300)
    assert fetched(client, by_disk["other"]) is ErrorCode.NOT_COORDINATOR
    assert (fetched(client, by_disk["disk"]), commit(client, by_disk["disk"], 7)) == (5, ErrorCode.NONE)


def test_a_log_that_can_not_be_read_serves_nobody_and_the_node_goes_on() -> None:
    world = group_world(29)
    client = world.client()
    commit(client, "g", 5)
    topic_partition = partition_of(world, "g").topic_partition
    assert (
        produced(
            admin_client(world),
            topic_partition.topic,
            batch_of(b"\0\0", key=b"\0"),
            partition=topic_partition.partition,
        ).error_code
        == 0
    )
    world.kill()
    world.start()
    world.run(100)
    client = world.client()
    assert fetched(client, "g") is ErrorCode.NOT_COORDINATOR
    sound = next(each for each in GROUPS if partition_of(world, each).topic_partition != topic_partition)
    assert commit(client, sound, 5) is ErrorCode.NONE


def test_below_the_minimum_of_replicas_nothing_is_decided() -> None:
    world = group_world(30)
    client = world.client()
    commit(client, "g", 5)
    partition = partition_of(world, "g")
    partition.isr_size = 0
    assert commit(client, "g", 6) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert fetched(client, "g") == 5
    partition.isr_size = 1
    assert commit(client, "g", 7) is ErrorCode.NONE


def test_a_new_leader_epoch_loads_anew() -> None:
    world = group_world(31)
    client = world.client()
    commit(client, "g", 5)
    coordinators, partition = world.running.broker.coordinators, partition_of(world, "g")
    before = dict(coordinators.groups.machines())[partition.topic_partition.partition]
    coordinators.look(partition)
    assert dict(coordinators.groups.machines())[partition.topic_partition.partition] is before
    partition.leader_epoch += 1
    coordinators.look(partition)
    assert fetched(client, "g") in (5, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    until_loaded(world)
    assert dict(coordinators.groups.machines())[partition.topic_partition.partition] is not before
    assert fetched(client, "g") == 5


# Members


def test_members_come_and_go() -> None:
    world = group_world(32)
    one, two = world.client(), world.client()
    first = one.ask(join("g"), 3)
    assert (first.error_code, first.generation_id, first.leader) == (0, 1, first.member_id)
    assert one.ask(sync("g", first.member_id, 1, **{first.member_id: b"all"}), 3).assignment == b"all"
    two.send(join("g"), 3)
    world.run(20)
    assert one.ask(heartbeat("g", first.member_id, 1), 3).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    again, second = one.ask(join("g", first.member_id), 3), two.receive()
    assert {again.generation_id, second.generation_id} == {2}
    two.send(sync("g", second.member_id, 2), 3)
    parts = {first.member_id: b"1", second.member_id: b"2"}
    assert one.ask(sync("g", first.member_id, 2, **parts), 3).assignment == b"1"
    assert two.receive().assignment == b"2"
    assert two.ask(leave("g", second.member_id), 3).error_code == ErrorCode.NONE
    assert one.ask(heartbeat("g", first.member_id, 2), 3).error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_who_is_not_heard_of_is_gone_without_anybody_asking() -> None:
    """The node wakes for the coordinator's deadline alone."""
    world = group_world(33)
    client = world.client()
    member = client.ask(join("g"), 3)
    client.ask(sync("g", member.member_id, 1, **{member.member_id: b"all"}), 3)
    end_offset = partition_of(world, "g").log.log_end_offset
    world.run(5_900)
    assert partition_of(world, "g").log.log_end_offset == end_offset
    world.run(200)
    assert partition_of(world, "g").log.log_end_offset > end_offset
    assert client.ask(heartbeat("g", member.member_id, 1), 3).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_survives_a_restart_of_the_node() -> None:
    world = group_world(34)
    client = world.client()
    member = client.ask(join("g"), 3)
    client.ask(sync("g", member.member_id, 1, **{member.member_id: b"all"}), 3)
    world.kill()
    world.start()
    until_loaded(world)
    assert world.client().ask(heartbeat("g", member.member_id, 1), 3).error_code == ErrorCode.NONE


def test_a_stop_does_not_wait_for_members_that_wait_for_each_other() -> None:
    world = group_world(35)
    one, two = world.client(), world.client()
    member = one.ask(join("g"), 3)
    one.ask(sync("g", member.member_id, 1, **{member.member_id: b"all"}), 3)
    two.send(join("g"), 3)
    world.run(20)
    began_ms = world.clock.monotonic_ms()
    world.stop()
    assert world.clock.monotonic_ms() - began_ms < 4_000
    assert two.poll().error_code == ErrorCode.NOT_COORDINATOR


def test_the_log_says_what_the_machines_believe() -> None:
    world = group_world(36)
    client = world.client()
    for offset, group in enumerate(GROUPS):
        commit(client, group, offset)
    member = client.ask(join("members"), 3)
    client.ask(sync("members", member.member_id, 1, **{member.member_id: b"all"}), 3)
    live = {
        index: machine.printed()["offsets"] for index, machine in world.running.broker.coordinators.groups.machines()
    }
    world.kill()
    world.start()
    until_loaded(world)
    groups = world.running.broker.coordinators.groups
    assert {index: machine.printed()["offsets"] for index, machine in groups.machines()} == live
