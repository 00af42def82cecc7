"""Classic groups over their lifetime: members join, share partitions, fall silent and leave."""

import time

from tests.interop.apache.differential.classic_group import ClassicGroup
from tests.interop.apache.differential.requests import (
    delete_offsets,
    join,
    subscription,
)
from tests.interop.apache.differential.world import World, scenario

JOIN_VERSIONS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
SYNC_VERSIONS = (0, 1, 2, 3, 4, 5)
BEAT_VERSIONS = (0, 1, 2, 3, 4)
LEAVE_VERSIONS = (0, 1, 2, 3, 4, 5)
STATIC_JOINS, STATIC_SYNCS, STATIC_BEATS = 5, 3, 3
TWO_PROTOCOLS = [("range", subscription("orders")), ("roundrobin", subscription("orders"))]


@scenario(*JOIN_VERSIONS)
def a_group_of_one(world: World, version: int) -> None:
    """A group of one member goes through every state, and every request is made in each."""
    group = ClassicGroup(world, version)
    leader = group.alone("a", protocols=TWO_PROTOCOLS)
    group.look_around(leader)
    leader.sync({leader.member_id: b"everything"})
    group.look_around(leader)
    leader.rejoin()
    group.look_around(leader)
    leader.sync({leader.member_id: b"again", "nobody": b"nothing"})
    leader.leave()
    group.look_around(leader)
    group.alone("b")
    group.describe()


@scenario(*JOIN_VERSIONS)
def a_group_of_two(world: World, version: int) -> None:
    group = ClassicGroup(world, version)
    first = group.alone("a", protocols=TWO_PROTOCOLS)
    first.sync({first.member_id: b"alone"})
    second = group.joining("b", protocols=list(reversed(TWO_PROTOCOLS)))
    group.look_around(first)
    first.rejoin(protocols=TWO_PROTOCOLS)
    second.receive_join()
    group.look_around(first)
    second.send_sync()
    group.look_around(second)
    first.sync({first.member_id: b"to a", second.member_id: b"to b"})
    second.receive_sync()
    group.look_around(second)
    second.rejoin(protocols=list(reversed(TWO_PROTOCOLS)))
    second.sync()
    first.send_join(protocols=TWO_PROTOCOLS)
    group.look_around(second)
    second.rejoin(protocols=list(reversed(TWO_PROTOCOLS)))
    first.receive_join()
    first.sync({first.member_id: b"to a"})
    second.sync()
    group.look_around(second)
    first.leave()
    group.look_around(second)
    second.rejoin()
    second.sync({second.member_id: b"to b"})
    group.describe()


@scenario(*JOIN_VERSIONS)
def a_follower_with_a_new_subscription(world: World, version: int) -> None:
    group = ClassicGroup(world, version)
    first, second = group.pair()
    changed = [("range", subscription("other"))]
    second.send_join(protocols=changed)
    group.look_around(first)
    first.rejoin()
    second.receive_join()
    first.sync({second.member_id: b"new"})
    second.sync()
    group.describe()
    second.client.ask(delete_offsets(group.id, {"orders": [0], "other": [0], "missing": [0]}), 0)


@scenario(0, 4, 9)
def requests_that_are_sent_again(world: World, version: int) -> None:
    """A member has waited too long for an answer and sends the request again on a new connection; nobody reads the
    first answer any more."""
    group = ClassicGroup(world, version)
    first, second = group.pair()
    changed = [("range", subscription("other"))]
    second.send_join(protocols=changed)
    second.client = world.client("again")
    second.send_join(protocols=changed)
    group.look_around(second)
    first.rejoin()
    second.receive_join()
    second.send_sync()
    second.client = world.client("once more")
    second.send_sync()
    first.sync({second.member_id: b"to b"})
    second.receive_sync()
    first.sync({second.member_id: b"ignored"})
    group.look_around(second)


@scenario(0, 4, 9)
def three_members_come_and_go(world: World, version: int) -> None:
    group = ClassicGroup(world, version)
    first, second = group.pair()
    third = group.joining("c")
    first.send_join()
    second.rejoin()
    first.receive_join()
    third.receive_join()
    second.send_sync()
    third.send_sync()
    first.sync({each.member_id: each.name.encode() for each in (first, second, third)})
    second.receive_sync()
    third.receive_sync()
    group.look_around(third)
    second.leave()
    first.beat()
    third.beat()
    first.send_join()
    third.rejoin()
    first.receive_join()
    third.send_sync()
    first.sync({third.member_id: b"more"})
    third.receive_sync()
    group.describe()


@scenario(0, 4, 5, 9)
def a_full_group(world: World, version: int) -> None:
    """The group has its four members, which is the limit; a fifth is refused."""
    group = ClassicGroup(world, version)
    members = [group.joining(name) if number else group.alone(name) for number, name in enumerate("abcd")]
    members[0].rejoin()
    for member in members[1:]:
        member.receive_join()
    members[0].sync({each.member_id: each.name.encode() for each in members})
    for member in members[1:]:
        member.sync()
    world.client().ask(join(group.id), version)
    world.client().ask(join(group.id, "somebody"), version)
    if version >= STATIC_JOINS:
        world.client().ask(join(group.id, group_instance_id="instance"), version)
    group.look_around(members[3])


@scenario(0, 4, 9)
def sessions_that_end(world: World, version: int) -> None:
    """The session of a leader ends while a follower stays; then the sessions of all members end."""
    group = ClassicGroup(world, version, session_timeout_ms=1_500)
    first = group.alone("a")
    first.sync({first.member_id: b""})
    group.joining_with = {"session_timeout_ms": 30_000}
    second = group.joining("b")
    second.receive_join()
    group.look_around(first)
    second.sync({second.member_id: b""})
    group.joining_with = {"session_timeout_ms": 1_500}
    third = group.joining("c")
    second.rejoin()
    third.receive_join()
    second.sync({third.member_id: b"to c"})
    third.sync()
    time.sleep(2)
    second.beat()
    third.beat()
    second.rejoin()
    group.describe()


@scenario(1, 4, 9)
def rebalances_that_end_without_somebody(world: World, version: int) -> None:
    group = ClassicGroup(world, version, rebalance_timeout_ms=1_500)
    first, second = group.pair()
    third = group.joining("c")
    first.send_join()
    third.receive_join()
    first.receive_join()
    group.look_around(second)
    third.sync()  # it waits for an assignment that the leader never sends
    group.describe()
    first.beat()
    third.beat()
