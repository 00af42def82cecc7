"""Both protocols in one group: rolling upgrades and downgrades, and what can prevent them."""

import time

from tests.interop.apache.differential.classic_group import ClassicGroup, Member
from tests.interop.apache.differential.consumer_group import ConsumerGroup
from tests.interop.apache.differential.requests import (
    assignment,
    beat,
    commit,
    fetch,
    heartbeat,
    hello,
    join,
    leave,
    owning,
    subscription,
    sync,
)
from tests.interop.apache.differential.world import World, scenario

from tidelog.protocol.messages.delete_groups import DeleteGroupsRequest

RANGE = "range"
LEAVING, LEAVING_FOR_A_WHILE = -1, -2
ORDERS = [("range", subscription("orders"))]


def look(world: World, classic: ClassicGroup, consumer: ConsumerGroup, member: Member) -> None:
    consumer.describe()
    client = world.client("looking")
    client.ask(beat(classic.id, member.member_id, member.generation, member.instance), 4)
    client.ask(beat(classic.id, member.member_id, member.generation + 5, member.instance), 4)
    client.ask(sync(classic.id, member.member_id, member.generation + 5), 5)
    client.ask(sync(classic.id, member.member_id, member.generation, protocol_name="other"), 5)
    client.ask(sync(classic.id, member.member_id, member.generation, protocol_type="connect"), 5)
    for generation in (member.generation, member.generation + 5):
        of_member = {"member_id": member.member_id, "generation_id_or_member_epoch": generation}
        client.ask(commit(classic.id, {("orders", 0): 5}, **of_member), 8)
    client.ask(commit(classic.id, {("orders", 0): 5}), 8)
    client.ask(fetch(classic.id, {"orders": [0]}, 7), 7)


@scenario(0, 1)
def a_consumer_meets_an_empty_classic_group(world: World, version: int) -> None:
    consumer, client = ConsumerGroup(world, version), world.client()
    client.ask(commit(consumer.id, {("orders", 0): 5}), 9)
    client.ask(heartbeat(consumer.id, "a", 1), version)
    client.ask(heartbeat(consumer.id, "a", LEAVING), version)
    member = consumer.member("a")
    member.join("orders")
    consumer.look_around(member)
    member.leave()
    classic = ClassicGroup(world, 9)
    old = classic.alone("old")
    old.sync({old.member_id: assignment({"orders": [0, 1, 2, 3]})})
    consumer.describe()
    old.leave()
    consumer.describe()
    member.join("orders")
    consumer.look_around(member)
    old.beat()
    old.rejoin()


@scenario(0, 4, 9)
def a_classic_member_meets_an_empty_consumer_group(world: World, version: int) -> None:
    consumer, classic, client = ConsumerGroup(world, 1), ClassicGroup(world, version), world.client()
    member = consumer.member("a")
    member.join("orders")
    of_member = {"member_id": "a", "generation_id_or_member_epoch": member.epoch}
    client.ask(commit(classic.id, {("orders", 0): 5}, **of_member), 9)
    member.leave()
    client.ask(beat(classic.id, "a", 1), 4)
    client.ask(sync(classic.id, "a", 1), 5)
    client.ask(leave(classic.id, 5, "a"), 5)
    client.ask(join(classic.id, "somebody"), version)
    consumer.describe()
    old = classic.alone("old", protocol_type="connect", protocols=[("compatible", b"")])
    consumer.describe()
    classic.look_around(old)
    client.ask(fetch(classic.id, None, 9), 9)
    old.leave()
    client.ask(DeleteGroupsRequest(groups_names=[classic.id]), 2)


@scenario(0, 4, 9)
def an_upgrade_and_back(world: World, version: int) -> None:
    """A group has one classic member and one of the new protocol; the new one takes over, and then leaves."""
    topic_id = world.topic("orders")
    classic, consumer = ClassicGroup(world, version), ConsumerGroup(world, 1)
    old = classic.alone("old")
    old.sync({old.member_id: assignment({"orders": [0, 1, 2, 3]})})
    new = consumer.member("zzz")
    new.join("orders", server_assignor=RANGE)
    consumer.counted()
    old.beat()
    old.beat()
    client = world.client()
    client.ask(leave(classic.id, 5, "somebody"), 5)
    old.rejoin(protocols=[("range", subscription("orders", owned={"orders": [0, 1, 2, 3]}))])
    old.client.quietly(sync(classic.id, old.member_id, old.generation), 5)  # brokers may assign different ones
    old.beat()
    new.epoch = new.client.quietly(heartbeat(consumer.id, "zzz", new.epoch), 1).member_epoch
    old.beat()
    consumer.counted()
    of_new = {"member_id": "zzz", "generation_id_or_member_epoch": new.epoch}
    client.ask(commit(classic.id, {(topic_id, 0): 5}, **of_new), 10)
    of_old = {"member_id": old.member_id, "generation_id_or_member_epoch": old.generation}
    client.ask(commit(classic.id, {("orders", 0): 6}, **of_old), 8)
    client.ask(commit(classic.id, {("orders", 0): 6}, **of_old), 9)
    new.leave()
    consumer.describe()
    old.beat()
    classic.look_around(old)
    old.rejoin()
    old.sync({old.member_id: b"\x00\x01\x00\x00\x00\x00\xff\xff\xff\xff"})
    classic.look_around(old)


@scenario(0, 4, 9)
def the_last_classic_member_leaves(world: World, version: int) -> None:
    classic, consumer = ClassicGroup(world, version), ConsumerGroup(world, 1)
    old = classic.alone("old")
    old.sync({old.member_id: assignment({"orders": [0, 1, 2, 3]})})
    new = consumer.member("zzz")
    new.join("orders", server_assignor=RANGE)
    old.leave()
    consumer.look_around(new)
    new.beat()
    consumer.look_around(new)
    old.beat()
    new.leave()
    consumer.describe()


@scenario(0, 4, 9)
def a_classic_member_in_a_consumer_group(world: World, version: int) -> None:
    topic_id = world.topic("orders")
    classic, consumer, client = ClassicGroup(world, version), ConsumerGroup(world, 1), world.client()
    new = consumer.member("0 new")
    new.join("orders", server_assignor=RANGE)
    client.ask(join(classic.id, "somebody", protocol_type="connect"), version)
    client.ask(join(classic.id, "somebody", session_timeout_ms=100), version)
    client.ask(join(classic.id, "somebody", protocols=[("range", b"")]), version)
    old = Member(classic, "old")
    old.member_id = "1 old"  # a name that sorts as `range` needs it
    old.rejoin()
    look(world, classic, consumer, old)
    old.sync()
    old.beat()
    new.beat()
    new.beat(topic_partitions=owning({topic_id: [0, 1]}))
    look(world, classic, consumer, old)
    old.rejoin()
    look(world, classic, consumer, old)
    old.sync()
    look(world, classic, consumer, old)
    old.rejoin(protocols=[("range", subscription("other", owned={"orders": [2, 3]}))])
    old.beat()
    old.sync()
    look(world, classic, consumer, old)
    old.rejoin(protocols=[("sticky", subscription("orders")), ("range", subscription("orders"))])
    old.sync(protocol_name="sticky")
    second = Member(classic, "second")
    second.member_id = "2 second"
    second.rejoin(protocols=[("roundrobin", subscription("orders"))])
    second.rejoin(protocols=[("roundrobin", subscription("orders")), ("range", subscription("orders"))])
    consumer.describe()
    second.leave()
    old.leave()
    consumer.describe()


@scenario(4, 9)
def a_consumer_meets_a_classic_group_that_rebalances(world: World, version: int) -> None:
    classic, consumer = ClassicGroup(world, version), ConsumerGroup(world, 1)
    old = classic.alone("old")  # CompletingRebalance
    new = consumer.member("zzz")
    new.join("orders", server_assignor=RANGE)
    consumer.counted()
    old.sync({old.member_id: assignment({"orders": [0, 1, 2, 3]})})
    old.beat()
    consumer.counted()
    new.leave()
    old.beat()
    classic.describe()


@scenario(4, 9)
def a_consumer_meets_a_classic_group_that_waits(world: World, version: int) -> None:
    """Classic members wait in JoinGroup and SyncGroup, and are told to join again."""
    classic, consumer = ClassicGroup(world, version), ConsumerGroup(world, 1)
    first, second = classic.pair()
    second.send_join(protocols=[("range", subscription("other"))])
    new = consumer.member("zzz")
    new.join("orders", server_assignor=RANGE)
    second.receive_join()
    first.beat()
    consumer.counted()


@scenario(0, 1)
def a_consumer_meets_a_classic_group_that_it_can_not_take_over(world: World, version: int) -> None:
    other, consumer = ClassicGroup(world, 9, protocol_type="connect"), ConsumerGroup(world, version)
    worker = other.alone("worker")
    worker.sync({worker.member_id: b""}, protocol_type="connect")
    client = world.client()
    client.ask(hello(consumer.id, "a", subscribed_topic_names=["orders"]), version)
    client.ask(heartbeat(consumer.id, "a", 1), version)
    client.ask(heartbeat(consumer.id, "a", LEAVING), version)
    client.ask(heartbeat(consumer.id, worker.member_id, LEAVING), version)
    client.ask(heartbeat(consumer.id, "a", LEAVING_FOR_A_WHILE, instance_id="i"), version)
    consumer.describe()


@scenario(0, 1)
def a_consumer_meets_a_classic_group_that_can_not_be_read(world: World, version: int) -> None:
    """The classic group's assignment is not in the format that the Java client's assignors write."""
    classic, consumer = ClassicGroup(world, 9), ConsumerGroup(world, version)
    old = classic.alone("old")
    old.sync({old.member_id: b"what is this"})
    world.client().ask(hello(consumer.id, "a", subscribed_topic_names=["orders"]), version)
    classic.look_around(old)
    old.rejoin()
    with_data = b"\x00\x01" + b"\x00\x00\x00\x00" + b"\x00\x00\x00\x01x"
    old.sync({old.member_id: with_data})
    world.client().ask(hello(consumer.id, "a", subscribed_topic_names=["orders"]), version)
    classic.look_around(old)


@scenario(5, 9)
def a_static_member_changes_its_protocol(world: World, version: int) -> None:
    topic_id = world.topic("orders")
    classic, consumer, client = ClassicGroup(world, version), ConsumerGroup(world, 1), world.client()
    old = classic.alone("old", instance="static")
    old.sync({old.member_id: assignment({"orders": [0, 1, 2, 3]})})
    client.ask(hello(consumer.id, "new", instance_id="static", subscribed_topic_names=["orders"]), 1)
    consumer.describe()
    old.beat()
    old.leave()
    new = consumer.member("new", instance="static")
    new.join("orders")
    new.beat(topic_partitions=owning({topic_id: [0, 1, 2, 3]}))
    consumer.describe()
    client.ask(join(classic.id, group_instance_id="static"), version)
    new.beat(member_epoch=LEAVING_FOR_A_WHILE)
    old.member_id = ""
    old.rejoin()
    consumer.describe()
    old.sync()
    classic.describe()
    old.beat()


@scenario(9)
def classic_sessions_in_a_consumer_group(world: World, version: int) -> None:
    classic, consumer = ClassicGroup(world, version, session_timeout_ms=1_500), ConsumerGroup(world, 1)
    new = consumer.member("0 new")
    new.join("orders", server_assignor=RANGE)
    old = Member(classic, "old")
    old.member_id = "1 old"
    old.rejoin()
    old.sync()
    consumer.describe()
    time.sleep(2.5)
    consumer.describe()
    old.beat()
    new.beat()
