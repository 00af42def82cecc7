"""Static members of classic groups: those that come back under their group.instance.id."""

from tests.interop.apache.differential.classic_group import ClassicGroup, Member
from tests.interop.apache.differential.requests import beat, commit, join, leave, subscription, sync
from tests.interop.apache.differential.world import World, scenario

STATIC_VERSIONS = (5, 6, 7, 8, 9)
OTHER = [("other", subscription("orders"))]
BOTH = [("range", subscription("orders")), *OTHER]


def try_everything(world: World, group: ClassicGroup, member: Member, old_id: str, generation: int) -> None:
    """Send every request as the member that had the instance id before."""
    client, instance = world.client("old"), member.instance
    client.ask(beat(group.id, old_id, generation, instance), 4)
    client.ask(beat(group.id, old_id, generation), 4)
    client.ask(sync(group.id, old_id, generation, group_instance_id=instance), 5)
    client.ask(join(group.id, old_id, group_instance_id=instance), group.version)
    of_old = {"member_id": old_id, "generation_id_or_member_epoch": generation}
    client.ask(commit(group.id, {("orders", 0): 1}, group_instance_id=instance, **of_old), 9)
    client.ask(commit(group.id, {("orders", 0): 1}, **of_old), 9)
    client.ask(leave(group.id, 5, (old_id, instance)), 5)


def come_back(member: Member) -> str:
    """Make the member forget its member id, as a restarted process does; return the id that it had."""
    old_id, member.member_id = member.member_id, ""
    member.group.world.names[old_id] = f"old {member.name}"
    return old_id


@scenario(*STATIC_VERSIONS)
def a_static_leader_comes_back(world: World, version: int) -> None:
    group = ClassicGroup(world, version)
    leader = group.alone("a", instance="static-a")
    leader.sync({leader.member_id: b"to a"})
    group.look_around(leader)
    old_id = come_back(leader)
    leader.rejoin()
    group.describe()
    try_everything(world, group, leader, old_id, 1)
    leader.sync({leader.member_id: b"ignored"})
    group.look_around(leader)
    world.client().ask(join(group.id, "somebody", group_instance_id="static-a"), version)
    world.client().ask(join(group.id, "somebody", group_instance_id="static-b"), version)
    leader.leave()
    group.describe()


@scenario(*STATIC_VERSIONS)
def a_static_follower_comes_back(world: World, version: int) -> None:
    group = ClassicGroup(world, version)
    leader = group.alone("a", instance="static-a")
    leader.sync({leader.member_id: b"to a"})
    follower = group.joining("b", instance="static-b")
    leader.rejoin()
    follower.receive_join()
    leader.sync({leader.member_id: b"to a", follower.member_id: b"to b"})
    follower.sync()
    old_id = come_back(follower)
    follower.rejoin()
    follower.sync()
    try_everything(world, group, follower, old_id, 2)
    leader.beat()
    group.look_around(follower)
    come_back(follower)
    follower.send_join(protocols=BOTH)  # protocols that leave the chosen one as it is
    follower.receive_join()
    leader.beat()
    group.describe()
    client = world.client()
    client.ask(leave(group.id, 5, ("", "static-b"), ("", "static-c"), ("somebody", "static-a")), 5)
    leader.rejoin()
    group.describe()


@scenario(*STATIC_VERSIONS)
def a_static_member_comes_back_with_another_protocol(world: World, version: int) -> None:
    group = ClassicGroup(world, version)
    leader = group.alone("a", instance="static-a", protocols=BOTH)
    leader.sync({leader.member_id: b"to a"})
    old_id = come_back(leader)
    leader.rejoin(protocols=OTHER)
    group.describe()
    try_everything(world, group, leader, old_id, 1)
    leader.sync({leader.member_id: b"other"}, protocol_name="other")
    group.describe()
    come_back(leader)
    leader.rejoin(protocols=[("third", b"")])
    group.describe()


@scenario(*STATIC_VERSIONS)
def a_static_member_comes_back_while_the_group_rebalances(world: World, version: int) -> None:
    group = ClassicGroup(world, version)
    leader = group.alone("a", instance="static-a")
    old_id = come_back(leader)  # in CompletingRebalance
    leader.rejoin()
    try_everything(world, group, leader, old_id, 1)
    leader.sync({leader.member_id: b"to a"})
    follower = group.joining("b", instance="static-b")  # PreparingRebalance
    again = Member(group, "b again", "static-b")
    again.send_join()
    follower.client.receive()
    group.describe()
    leader.rejoin()
    again.receive_join()
    again.send_sync()  # CompletingRebalance
    third = Member(group, "b once more", "static-b")
    third.send_join()
    again.receive_sync()
    group.describe()
    leader.beat()
    leader.rejoin()
    third.receive_join()
    leader.sync({third.member_id: b"to b"})
    third.sync()
    group.look_around(third)


@scenario(5, 9)
def static_and_dynamic_members(world: World, version: int) -> None:
    group = ClassicGroup(world, version)
    static = group.alone("a", instance="static-a")
    static.sync({static.member_id: b"to a"})
    dynamic = group.joining("b")
    static.rejoin()
    dynamic.receive_join()
    static.sync({static.member_id: b"to a", dynamic.member_id: b"to b"})
    dynamic.sync()
    client = world.client()
    client.ask(beat(group.id, dynamic.member_id, 2, "static-a"), 4)
    client.ask(beat(group.id, static.member_id, 2), 4)
    client.ask(beat(group.id, static.member_id, 2, "static-b"), 4)
    client.ask(join(group.id, dynamic.member_id, group_instance_id="static-a"), version)
    client.ask(join(group.id, dynamic.member_id, group_instance_id="static-b"), version)
    client.ask(sync(group.id, dynamic.member_id, 2, group_instance_id="static-a"), 5)
    client.ask(leave(group.id, 5, (dynamic.member_id, "static-a"), static.member_id), 5)
    group.describe()
