"""Requests that do not fit into a record of the offsets topic, or are larger than any client should send."""

from tests.interop.apache.differential.classic_group import ClassicGroup
from tests.interop.apache.differential.consumer_group import ConsumerGroup
from tests.interop.apache.differential.requests import assignment, commit, fetch, hello, subscription
from tests.interop.apache.differential.world import World, scenario

TOO_LARGE = 1_100_000  # bytes; message.max.bytes is a little less


@scenario(8, 9)
def large_metadata_of_offsets(world: World, version: int) -> None:
    client = world.client()
    client.ask(commit(world.name, {("orders", 0): 1}, metadata="m" * 32_767), version)
    client.ask(commit(world.name, {("orders", 0): 1}, metadata="\N{SNOWMAN}" * 4_096), version)
    client.ask(commit(world.name, {("orders", 0): 1}, metadata="\N{SNOWMAN}" * 4_097), version)
    client.ask(fetch(world.name, {"orders": [1]}, 7), 7)
    client.ask(commit(world.name, {("orders", partition): 1 for partition in range(-1, 100)}), version)


@scenario(0, 4, 9)
def a_large_assignment(world: World, version: int) -> None:
    group = ClassicGroup(world, version)
    leader = group.alone("a")
    leader.sync({leader.member_id: bytes(TOO_LARGE)})
    group.look_around(leader)
    leader.rejoin()
    leader.sync({leader.member_id: b"enough"})
    group.describe()


@scenario(0, 4, 9)
def a_large_subscription(world: World, version: int) -> None:
    group = ClassicGroup(world, version)
    leader = group.alone("a", protocols=[("range", subscription("orders") + bytes(TOO_LARGE))])
    leader.sync({leader.member_id: b""})
    leader.rejoin()
    leader.sync({leader.member_id: b"enough"})
    group.describe()


@scenario(5, 9)
def a_static_member_with_a_large_subscription(world: World, version: int) -> None:
    group = ClassicGroup(world, version)
    leader = group.alone("a", instance="static-a")
    leader.sync({leader.member_id: b"to a"})
    group.world.names[leader.member_id] = "the first"
    leader.member_id = ""
    leader.rejoin(protocols=[("range", subscription("orders") + bytes(TOO_LARGE))])
    group.describe()


@scenario(0, 1)
def a_consumer_of_many_topics(world: World, version: int) -> None:
    group, client = ConsumerGroup(world, version), world.client()
    names = [f"{number:0>200}" for number in range(TOO_LARGE // 200)]
    client.ask(hello(group.id, "a", subscribed_topic_names=names), version)
    group.describe()
    member = group.member("b")
    member.join("orders")
    member.beat(subscribed_topic_names=names)
    member.beat()  # Apache shows the member twice from here on, so it is not described


@scenario(0, 1)
def assignments_of_what_is_not_there(world: World, version: int) -> None:
    """A classic group assigns topics and partitions that do not exist, and is then upgraded."""
    classic, consumer = ClassicGroup(world, 9), ConsumerGroup(world, version)
    old = classic.alone("old")
    old.sync({old.member_id: assignment({"missing": [0, 1], "orders": [99, 0]})})
    new = consumer.member("~")
    new.join("orders", server_assignor="range")
    consumer.describe()
    old.beat()
    old.rejoin(protocols=[("range", subscription("orders", owned={"missing": [0], "orders": [0, 99]}))])
    consumer.describe()
    old.sync()
    consumer.describe()
