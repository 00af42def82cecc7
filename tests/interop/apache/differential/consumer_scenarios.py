"""KIP-848 groups: one request, ConsumerGroupHeartbeat, by which members join, own, give up and leave."""

from tests.interop.apache.differential.consumer_group import ConsumerGroup
from tests.interop.apache.differential.requests import (
    beat,
    commit,
    delete_offsets,
    fetch,
    heartbeat,
    hello,
    join,
    leave,
    owning,
    sync,
)
from tests.interop.apache.differential.world import World, scenario

from tidelog.protocol.messages.delete_groups import DeleteGroupsRequest

VERSIONS = (0, 1)
LEAVING, LEAVING_FOR_A_WHILE = -1, -2


@scenario(*VERSIONS)
def heartbeats_that_are_refused(world: World, version: int) -> None:
    topic_id, group, client = world.topic("orders"), world.name, world.client()
    refused = [
        hello("", "a"),
        hello("  ", "a"),
        hello(group, "  "),
        hello(group, "a", instance_id=""),
        hello(group, "a", rack_id=""),
        hello(group, "a", rebalance_timeout_ms=-1),
        hello(group, "a", topic_partitions=None),
        hello(group, "a", topic_partitions=owning({topic_id: [0]})),
        hello(group, "a", subscribed_topic_names=None),
        hello(group, "a", server_assignor="nonsense"),
        hello(group, "a", server_assignor=""),
        heartbeat(group, "", 1),
        heartbeat(group, "", LEAVING),
        heartbeat(group, "", LEAVING_FOR_A_WHILE, instance_id="i"),
        heartbeat(group, "a", LEAVING_FOR_A_WHILE),
        heartbeat(group, "a", -3),
        heartbeat(group, "a", 1),
        heartbeat(group, "a", LEAVING),
        heartbeat(group, "a", LEAVING_FOR_A_WHILE, instance_id="i"),
        heartbeat(group, "a", LEAVING, instance_id="i"),
        heartbeat(group, "a", 5, instance_id="i"),
    ]
    if version:
        refused += [
            hello(group, ""),
            hello(group, "a", subscribed_topic_names=None, subscribed_topic_regex="("),
            hello(group, "a", subscribed_topic_names=None, subscribed_topic_regex="(?=x)"),
        ]
    for request in refused:
        client.ask(request, version)
    ConsumerGroup(world, version).describe()
    living = ConsumerGroup(world, version, f"{group} living")
    living.member("a").join()
    for request in refused:
        request.group_id = living.id if request.group_id == group else request.group_id
        client.ask(request, version)
    living.describe()


@scenario(0)
def a_member_without_an_id(world: World, version: int) -> None:
    world.topic("orders")
    group = ConsumerGroup(world, version)
    member = group.member("")
    member.join("orders")
    member.beat()
    group.describe()
    member.leave()
    group.describe()


@scenario(*VERSIONS)
def a_consumer_group_of_one(world: World, version: int) -> None:
    topic_id, other_id = world.topic("orders"), world.topic("other")
    group = ConsumerGroup(world, version)
    member = group.member("a")
    member.join("orders")
    group.look_around(member)
    member.beat()
    member.beat(topic_partitions=owning({topic_id: [0, 1, 2, 3]}))
    member.beat(subscribed_topic_names=["other", "orders"])
    group.look_around(member)
    member.beat(topic_partitions=owning({topic_id: [0, 1, 2, 3], other_id: [0, 1, 2, 3]}))
    member.beat(subscribed_topic_names=["missing"])
    group.look_around(member)
    member.beat(topic_partitions=[])
    group.look_around(member)
    member.beat(subscribed_topic_names=["orders", "orders"], server_assignor="uniform", rack_id="rack")
    member.beat(server_assignor="range")
    member.join("orders")
    member.beat(rebalance_timeout_ms=1_000, subscribed_topic_names=["orders"], topic_partitions=[])
    group.look_around(member)
    member.leave()
    group.look_around(member)
    member.beat()
    member.join()
    group.describe()


@scenario(*VERSIONS)
def epochs_that_are_not_the_members(world: World, version: int) -> None:
    topic_id, client = world.topic("orders"), world.client()
    group = ConsumerGroup(world, version)
    member = group.member("a")
    member.join("orders")
    member.beat(subscribed_topic_names=["orders", "other"])
    for epoch in (member.epoch + 1, member.epoch - 1, 0, 1):
        client.ask(heartbeat(group.id, "a", epoch), version)
        client.ask(heartbeat(group.id, "a", epoch, topic_partitions=[]), version)
        client.ask(heartbeat(group.id, "a", epoch, topic_partitions=owning({topic_id: [0]})), version)
        client.ask(heartbeat(group.id, "a", epoch, topic_partitions=owning({topic_id: [9]})), version)
    group.describe()
    client.ask(heartbeat(group.id, "b", 1), version)
    client.ask(heartbeat(group.id, "b", LEAVING), version)
    client.ask(heartbeat(group.id, "b", LEAVING_FOR_A_WHILE, instance_id="i"), version)
    client.ask(heartbeat(group.id, "a", LEAVING, instance_id="i"), version)
    client.ask(heartbeat(group.id, "a", member.epoch, instance_id="i"), version)
    group.describe()


@scenario(*VERSIONS)
def partitions_are_handed_over(world: World, version: int) -> None:
    topic_id = world.topic("orders")
    group = ConsumerGroup(world, version)
    first, second, third = (group.member(name) for name in ("a", "b", "c"))
    first.join("orders", server_assignor="range")
    first.beat(topic_partitions=owning({topic_id: [0, 1, 2, 3]}))
    second.join("orders", server_assignor="range")
    group.look_around(second)
    second.beat(topic_partitions=[])
    first.beat()
    group.look_around(first)
    second.beat()
    first.beat(topic_partitions=owning({topic_id: [0, 1, 2, 3]}))
    first.beat(topic_partitions=owning({topic_id: [0, 1, 2]}))
    second.beat()
    first.beat(topic_partitions=owning({topic_id: [0, 1]}))
    group.look_around(first)
    second.beat()
    second.beat(topic_partitions=owning({topic_id: [2, 3]}))
    group.look_around(second)
    third.join("orders", server_assignor="range")
    second.beat()
    first.beat()
    second.beat(topic_partitions=owning({topic_id: [2]}))
    group.look_around(second)
    third.beat()
    first.leave()
    group.look_around(second)
    second.beat()
    third.beat()
    second.beat()
    third.beat()
    group.describe()
    second.leave()
    third.beat()
    group.look_around(third)


@scenario(*VERSIONS)
def a_member_asks_again_before_it_gave_up(world: World, version: int) -> None:
    """A member changes its subscription, or joins anew, while some of its partitions are being revoked."""
    topic_id = world.topic("orders")
    group = ConsumerGroup(world, version)
    first, second = group.member("a"), group.member("b")
    first.join("orders", server_assignor="range")
    second.join("orders", server_assignor="range")
    first.beat()
    first.beat(subscribed_topic_names=["orders", "other"])
    first.beat(topic_partitions=owning({topic_id: [0, 1, 2]}), subscribed_topic_names=["orders"])
    group.describe()
    first.join("orders")
    group.describe()
    first.beat()
    second.beat()
    group.describe()


@scenario(*VERSIONS)
def offsets_of_consumers(world: World, version: int) -> None:
    topic_id, client = world.topic("orders"), world.client()
    group = ConsumerGroup(world, version)
    client.ask(commit(group.id, {("orders", 3): 1}), 9)
    first, second = group.member("a"), group.member("b")
    first.join("orders", server_assignor="range")
    second.join("orders", server_assignor="range")
    first.beat()
    for commit_version in (2, 8, 9, 10):
        place = {(topic_id if commit_version > 9 else "orders", 0): 5}
        for epoch in (first.epoch, first.epoch - 1, first.epoch + 1, 0, -1):
            of = {"member_id": "a", "generation_id_or_member_epoch": epoch}
            client.ask(commit(group.id, place, **of), commit_version)
        client.ask(commit(group.id, place, member_id="c", generation_id_or_member_epoch=1), commit_version)
        client.ask(commit(group.id, place, generation_id_or_member_epoch=1), commit_version)
        client.ask(commit(group.id, place), commit_version)
        client.ask(commit(group.id, place, member_id="a"), commit_version)
    for fetch_version in (9, 10):
        topics = {topic_id: [0, 3]} if fetch_version > 9 else {"orders": [0, 3]}
        for member, epoch in (("a", first.epoch), ("a", 0), ("a", 99), ("c", 1), ("", -1), (None, -1), (None, 1)):
            request = fetch(group.id, topics, fetch_version, member_id=member, member_epoch=epoch)
            client.ask(request, fetch_version)
        client.ask(fetch(group.id, None, fetch_version, member_id="a", member_epoch=99), fetch_version)
        client.ask(fetch(group.id, None, fetch_version), fetch_version)
    client.ask(delete_offsets(group.id, {"orders": [0], "other": [0], "missing": [0]}), 0)
    client.ask(DeleteGroupsRequest(groups_names=[group.id]), 2)
    first.leave()
    second.leave()
    client.ask(commit(group.id, {("orders", 0): 9}, member_id="a", generation_id_or_member_epoch=1), 9)
    client.ask(commit(group.id, {("orders", 0): 9}), 9)
    client.ask(delete_offsets(group.id, {"orders": [0], "other": [0]}), 0)
    client.ask(DeleteGroupsRequest(groups_names=[group.id]), 2)
    group.describe()


@scenario(0, 9)
def classic_requests_to_consumers(world: World, version: int) -> None:
    """Classic requests reach a KIP-848 group, from members that are unknown or not classic ones."""
    world.topic("orders")
    client = world.client()
    group = ConsumerGroup(world, 1)
    first = group.member("a")
    first.join("orders")
    for member in ("a", "somebody", ""):
        client.ask(beat(group.id, member, first.epoch), 4)
        client.ask(sync(group.id, member, first.epoch), 5)
        client.ask(join(group.id, member, protocol_type="connect"), version)
        client.ask(join(group.id, member, protocols=[("other", b"")]), version)
        client.ask(join(group.id, member, protocols=[]), version)
        client.ask(leave(group.id, 5, member), 5)
        client.ask(leave(group.id, 2, member), 2)
    client.ask(join(group.id, "somebody"), version)
    group.describe()
