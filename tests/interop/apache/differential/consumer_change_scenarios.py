"""KIP-848 groups, and what changes around them: static members, time, topics, expressions, assignors."""

import time

from tests.interop.apache.differential.consumer_group import ConsumerGroup
from tests.interop.apache.differential.requests import (
    heartbeat,
    hello,
    leave,
    owning,
)
from tests.interop.apache.differential.world import World, scenario

VERSIONS = (0, 1)
LEAVING, LEAVING_FOR_A_WHILE = -1, -2


@scenario(*VERSIONS)
def static_consumers(world: World, version: int) -> None:
    topic_id, client = world.topic("orders"), world.client()
    group = ConsumerGroup(world, version)
    first, second = group.member("a", instance="static-a"), group.member("b", instance="static-b")
    first.join("orders", server_assignor="range")
    second.join("orders", server_assignor="range")
    first.beat(topic_partitions=owning({topic_id: [0, 1]}))
    second.beat()
    client.ask(hello(group.id, "a2", instance_id="static-a"), version)
    client.ask(heartbeat(group.id, "a2", first.epoch, instance_id="static-a"), version)
    client.ask(heartbeat(group.id, "a", first.epoch, instance_id="static-b"), version)
    client.ask(heartbeat(group.id, "a2", LEAVING_FOR_A_WHILE, instance_id="static-a"), version)
    client.ask(heartbeat(group.id, "a2", LEAVING, instance_id="static-a"), version)
    client.ask(heartbeat(group.id, "a2", LEAVING_FOR_A_WHILE, instance_id="static-c"), version)
    first.beat(member_epoch=LEAVING_FOR_A_WHILE)
    group.look_around(first)
    second.beat()
    client.ask(heartbeat(group.id, "a", first.epoch, instance_id="static-a"), version)
    again = group.member("a2", instance="static-a")
    again.join("orders", server_assignor="range")
    group.look_around(again)
    first.beat()
    second.beat()
    again.beat(member_epoch=LEAVING_FOR_A_WHILE)
    third = group.member("a3", instance="static-a")
    third.join("other")
    second.beat()
    group.look_around(third)
    third.beat(member_epoch=LEAVING)
    group.look_around(second)
    second.beat()
    client.ask(leave(group.id, 5, ("", "static-b")), 5)
    group.describe()


@scenario(*VERSIONS)
def consumers_that_are_not_heard_of(world: World, version: int) -> None:
    world.topic("orders")
    group = ConsumerGroup(world, version)
    world.configure_group(group.id, consumer_session_timeout_ms="1500", consumer_heartbeat_interval_ms="100")
    first = group.member("a")
    first.join("orders")
    group.describe()
    time.sleep(2.5)
    group.describe()
    first.beat()
    static = group.member("b", instance="static-b")
    static.join("orders")
    static.beat(member_epoch=LEAVING_FOR_A_WHILE)
    group.describe()
    time.sleep(2.5)
    group.describe()
    static.join("orders")


@scenario(*VERSIONS)
def consumers_that_do_not_give_up(world: World, version: int) -> None:
    world.topic("orders")
    group = ConsumerGroup(world, version)
    first, second = group.member("a"), group.member("b")
    first.join("orders", rebalance_timeout_ms=1_500, server_assignor="range")
    second.join("orders", server_assignor="range")
    first.beat()
    group.describe()
    time.sleep(2.5)
    group.describe()
    first.beat()
    second.beat()


@scenario(1)
def regular_expressions(world: World, version: int) -> None:
    for name in ("regex-a", "regex-b", "other-regex"):
        world.topic(name, 1)
    group = ConsumerGroup(world, version)
    first, second = group.member("a"), group.member("b")
    first.join(subscribed_topic_names=None, subscribed_topic_regex="regex-.*")
    group.settled(first)
    group.describe()
    first.beat(subscribed_topic_regex="(")
    first.beat(subscribed_topic_regex="other-.*")
    group.settled(first)
    first.beat(subscribed_topic_regex="")
    group.settled(first)
    first.beat(subscribed_topic_names=["regex-a"], subscribed_topic_regex="other-r.*")
    group.settled(first)
    second.join(subscribed_topic_names=None, subscribed_topic_regex="nothing at all", server_assignor="range")
    group.describe()
    first.leave()
    group.describe()


@scenario(*VERSIONS)
def assignments_that_are_gathered(world: World, version: int) -> None:
    """No second assignment is made within the assignment interval."""
    group = ConsumerGroup(world, version)
    world.configure_group(group.id, consumer_assignment_interval_ms="15000")
    first, second = group.member("a"), group.member("b")
    first.join("orders", server_assignor="range")
    second.join("orders", server_assignor="range")
    group.look_around(second)
    first.beat()
    first.beat(subscribed_topic_names=["other"])
    group.look_around(first)
    second.leave()
    group.look_around(first)


@scenario(*VERSIONS)
def topics_that_come_and_go(world: World, version: int) -> None:
    topic = world.name.replace(" ", "-")
    group = ConsumerGroup(world, version)
    member = group.member("a")
    member.join(topic, "orders")
    group.settled(member)
    world.topic(topic, 2)
    group.settled(member)
    group.describe()
    world.delete_topic(topic)
    group.settled(member)
    world.topic(topic, 3)
    group.settled(member)
    member.leave()


@scenario(*VERSIONS)
def assignors(world: World, version: int) -> None:
    """Members name different assignors, and the group uses the one that most of them name."""
    world.topic("orders")
    group = ConsumerGroup(world, version)
    first, second, third = (group.member(name) for name in ("a", "b", "c"))
    first.join("orders", server_assignor="uniform")
    group.describe()
    second.join("orders", server_assignor="range")
    third.join("orders", server_assignor="range")
    group.describe()
    second.leave()
    group.describe()


@scenario(*VERSIONS)
def uniform_assignment(world: World, version: int) -> None:
    world.topic("orders")
    group = ConsumerGroup(world, version)
    first, second = group.member("a"), group.member("b")
    first.join("orders")
    second.join("orders")
    group.counted()
    group.member("c").join("missing")
    group.member("d").join("orders")
    group.counted()
    world.client().ask(hello(group.id, "e"), version)
    world.client().ask(hello(group.id, "e", instance_id="i"), version)
    first.leave()
    second.client.quietly(heartbeat(group.id, "b", second.epoch), version)
    group.counted()
