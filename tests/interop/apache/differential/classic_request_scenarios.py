"""Classic groups, request by request: which requests are refused, in which state of the group."""

from tests.interop.apache.differential.classic_group import ClassicGroup, known_id
from tests.interop.apache.differential.requests import (
    beat,
    commit,
    delete_offsets,
    fetch,
    join,
    leave,
    subscription,
    sync,
)
from tests.interop.apache.differential.world import World, scenario

from tidelog.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from tidelog.protocol.messages.delete_groups import DeleteGroupsRequest
from tidelog.protocol.messages.describe_groups import DescribeGroupsRequest
from tidelog.protocol.messages.list_groups import ListGroupsRequest

JOIN_VERSIONS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
SYNC_VERSIONS = (0, 1, 2, 3, 4, 5)
BEAT_VERSIONS = (0, 1, 2, 3, 4)
LEAVE_VERSIONS = (0, 1, 2, 3, 4, 5)
STATIC_JOINS, STATIC_SYNCS, STATIC_BEATS = 5, 3, 3
TWO_PROTOCOLS = [("range", subscription("orders")), ("roundrobin", subscription("orders"))]


@scenario(*JOIN_VERSIONS)
def joins_that_are_refused(world: World, version: int) -> None:
    group, client = world.name, world.client()
    client.ask(join("", protocols=[]), version)
    client.ask(join(group, session_timeout_ms=100), version)
    client.ask(join(group, session_timeout_ms=60_001), version)
    client.ask(join(group, session_timeout_ms=-1), version)
    client.ask(join(group, protocol_type=""), version)
    client.ask(join(group, protocols=[]), version)
    client.ask(join(group, protocol_type="", protocols=[]), version)
    client.ask(join(group, "somebody"), version)
    if version >= STATIC_JOINS:
        for number, instance in enumerate(("", "not valid", "i" * 250)):  # clients refuse them, brokers do not
            known_id(world, client.ask(join(f"{group} {number}", group_instance_id=instance), version), instance)
        client.ask(join(group, "somebody", group_instance_id="instance"), version)
    client.ask(DescribeGroupsRequest(groups=[group]), 6)


@scenario(*JOIN_VERSIONS)
def joins_of_a_living_group_that_are_refused(world: World, version: int) -> None:
    group = ClassicGroup(world, version)
    leader = group.alone("a")
    client = world.client()
    client.ask(join(group.id, "somebody"), version)
    client.ask(join(group.id, leader.member_id, protocol_type="connect"), version)
    client.ask(join(group.id, leader.member_id, protocols=[("other", b"")]), version)
    client.ask(join(group.id, protocol_type="connect"), version)
    client.ask(join(group.id, protocols=[("other", b"")]), version)
    client.ask(join(group.id, protocols=[]), version)
    client.ask(join(group.id, session_timeout_ms=100), version)
    if version >= STATIC_JOINS:
        client.ask(join(group.id, leader.member_id, group_instance_id="instance"), version)
    group.describe()


@scenario(4, 5, 9)
def pending_members(world: World, version: int) -> None:
    """A member was given its id, and has not come back with it yet."""
    group = ClassicGroup(world, version)
    client = world.client("pending")
    pending = known_id(world, client.ask(join(group.id), version), "pending")
    client.ask(DescribeGroupsRequest(groups=[group.id]), 6)
    client.list_groups(ListGroupsRequest(), 5, group.id)
    client.ask(beat(group.id, pending, -1), 4)
    client.ask(beat(group.id, pending, 0), 4)
    client.ask(sync(group.id, pending, 0), 5)
    client.ask(commit(group.id, {("orders", 0): 1}, member_id=pending, generation_id_or_member_epoch=0), 9)
    client.ask(commit(group.id, {("orders", 0): 1}), 9)
    client.ask(DeleteGroupsRequest(groups_names=[f"{group.id} other"]), 2)
    client.ask(leave(group.id, 5, pending), 5)
    client.ask(join(group.id, pending), version)
    first = group.alone("a")
    first.sync({first.member_id: b""})
    second = known_id(world, client.ask(join(group.id), version), "second pending")
    first.beat()
    group.look_around(first)
    client.ask(leave(group.id, 3, second, "somebody"), 3)
    client.ask(leave(group.id, 3, second), 3)


@scenario(*SYNC_VERSIONS)
def syncs(world: World, version: int) -> None:
    group = ClassicGroup(world, 9)
    client = world.client()
    client.ask(sync("", "somebody", 1), version)
    client.ask(sync(group.id, "somebody", 1), version)
    client.ask(sync(group.id, "", -1), version)
    leader = group.alone("a")
    client.ask(sync(group.id, "somebody", 1), version)
    client.ask(sync(group.id, leader.member_id, 7), version)
    client.ask(sync(group.id, leader.member_id, 1, protocol_type="connect"), version)
    client.ask(sync(group.id, leader.member_id, 1, protocol_name="other"), version)
    if version >= 5:
        client.ask(sync(group.id, leader.member_id, 1, protocol_name=None), version)
        client.ask(sync(group.id, leader.member_id, 1, protocol_type=None), version)
    if version >= STATIC_SYNCS:
        client.ask(sync(group.id, leader.member_id, 1, group_instance_id="instance"), version)
    client.ask(sync(group.id, leader.member_id, 1, {"somebody": b"x"}), version)
    client.ask(sync(group.id, leader.member_id, 1, {leader.member_id: b"ignored"}), version)
    second = group.joining("b")
    client.ask(sync(group.id, leader.member_id, 1), version)
    client.ask(sync(group.id, leader.member_id, 2), version)
    leader.rejoin()
    second.receive_join()
    client.ask(sync(group.id, leader.member_id, 1), version)
    follower = world.client()
    follower.wait(sync(group.id, second.member_id, 2), version)
    follower.wait(sync(group.id, leader.member_id, 7), version)
    client.ask(sync(group.id, leader.member_id, 2, {second.member_id: b"to b"}), version)
    follower.receive()
    follower.receive()


@scenario(*BEAT_VERSIONS)
def beats(world: World, version: int) -> None:
    group = ClassicGroup(world, 9)
    client = world.client()
    client.ask(beat("", "somebody", 1), version)
    client.ask(beat(group.id, "somebody", 1), version)
    client.ask(beat(group.id, "", -1), version)
    leader = group.alone("a")
    asked = [beat(group.id, "somebody", 1), beat(group.id, leader.member_id, 7), beat(group.id, "", 1)]
    asked += [beat(group.id, leader.member_id, 1), beat(group.id, leader.member_id, 0)]
    if version >= STATIC_BEATS:
        asked += [beat(group.id, leader.member_id, 1, "instance")]
    for each in asked:
        client.ask(each, version)
    leader.sync({leader.member_id: b""})
    for each in asked:
        client.ask(each, version)
    group.joining("b")
    for each in asked:
        client.ask(each, version)
    leader.leave()
    for each in asked:
        client.ask(each, version)


@scenario(*LEAVE_VERSIONS)
def leaves(world: World, version: int) -> None:
    group = ClassicGroup(world, 9)
    client = world.client()
    client.ask(leave("", version, "somebody"), version)
    client.ask(leave(group.id, version, "somebody"), version)
    client.ask(leave(group.id, version, ""), version)
    first, second = group.pair()
    client.ask(leave(group.id, version, "somebody"), version)
    if version >= 3:
        client.ask(leave(group.id, version, (first.member_id, "instance"), ("", "instance"), ("", None)), version)
        client.ask(leave(group.id, version), version)
        client.ask(leave(group.id, version, second.member_id, second.member_id, "somebody"), version)
    else:
        client.ask(leave(group.id, version, second.member_id), version)
    first.beat()
    group.describe()
    client.ask(leave(group.id, version, first.member_id), version)
    group.describe()
    client.ask(leave(group.id, version, first.member_id), version)


@scenario(4, 9)
def commits_of_members(world: World, version: int) -> None:
    group = ClassicGroup(world, version)
    client = world.client()
    leader = group.alone("a")
    place = {("orders", 0): 5}
    client.ask(commit(group.id, place, member_id=leader.member_id, generation_id_or_member_epoch=1), 9)
    leader.sync({leader.member_id: b""})
    for commit_version in (2, 5, 7, 9):
        client.ask(commit(group.id, place, member_id=leader.member_id, generation_id_or_member_epoch=1), commit_version)
        client.ask(commit(group.id, place, member_id=leader.member_id, generation_id_or_member_epoch=2), commit_version)
        client.ask(commit(group.id, place, member_id=leader.member_id, generation_id_or_member_epoch=0), commit_version)
        client.ask(commit(group.id, place, member_id="somebody", generation_id_or_member_epoch=1), commit_version)
        client.ask(commit(group.id, place, generation_id_or_member_epoch=1), commit_version)
        client.ask(commit(group.id, place), commit_version)
        client.ask(commit(group.id, place, member_id=leader.member_id), commit_version)
    client.ask(commit(group.id, place, member_id=leader.member_id, group_instance_id="i"), 9)
    client.ask(fetch(group.id, {"orders": [0]}, 9, member_id="somebody", member_epoch=4), 9)
    client.ask(fetch(group.id, {"orders": [0]}, 9, member_id=leader.member_id, member_epoch=1), 9)
    client.ask(fetch(group.id, {"orders": [0]}, 9, stable=True), 9)
    client.ask(delete_offsets(group.id, {"orders": [0, 1], "other": [0]}), 0)
    client.ask(DeleteGroupsRequest(groups_names=[group.id]), 2)
    leader.leave()
    client.ask(commit(group.id, place, member_id=leader.member_id, generation_id_or_member_epoch=1), 9)
    client.ask(commit(group.id, place), 9)
    client.ask(delete_offsets(group.id, {"orders": [0, 1], "other": [0]}), 0)
    client.ask(DeleteGroupsRequest(groups_names=[group.id]), 2)
    client.ask(DescribeGroupsRequest(groups=[group.id]), 6)
    client.ask(ConsumerGroupDescribeRequest(group_ids=[group.id], include_authorized_operations=False), 1)


@scenario(0, 9)
def a_group_of_another_protocol_type(world: World, version: int) -> None:
    """The group is, say, Kafka Connect's: the broker does not know which topics its members read."""
    group = ClassicGroup(world, version, protocol_type="connect", protocols=[("compatible", b"\x01")])
    leader = group.alone("worker")
    leader.sync({leader.member_id: b"\x02"}, protocol_type="connect", protocol_name="compatible")
    client = world.client()
    client.ask(commit(group.id, {("orders", 0): 5}, member_id=leader.member_id, generation_id_or_member_epoch=1), 9)
    client.ask(delete_offsets(group.id, {"orders": [0]}), 0)
    group.look_around(leader)
    leader.leave()
    client.ask(delete_offsets(group.id, {"orders": [0]}), 0)
    group.describe()
