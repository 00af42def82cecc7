"""What admin tools ask about groups."""

from tests.interop.apache.differential.requests import commit, hello, join, sync
from tests.interop.apache.differential.world import World, scenario

from tidelog.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from tidelog.protocol.messages.describe_groups import DescribeGroupsRequest
from tidelog.protocol.messages.find_coordinator import FindCoordinatorRequest
from tidelog.protocol.messages.list_groups import ListGroupsRequest

FINDS_MANY = 4
STATES, TYPES = 4, 5
AUTHORIZED = 3
GROUP, TRANSACTION, SHARE = 0, 1, 2


@scenario(0, 1, 2, 3, 4, 5, 6)
def finds_of_coordinators(world: World, version: int) -> None:
    client = world.client()
    for key_type in (GROUP, TRANSACTION, SHARE, 3, -1) if version else (GROUP,):
        if version >= FINDS_MANY:
            client.ask(FindCoordinatorRequest(key_type=key_type, coordinator_keys=["a", "b", "", "a"]), version)
            client.ask(FindCoordinatorRequest(key_type=key_type, coordinator_keys=[]), version)
            client.ask(FindCoordinatorRequest(key_type=key_type, coordinator_keys=["x:y:z"]), version)
        else:
            client.ask(FindCoordinatorRequest(key_type=key_type, key="a"), version)
            client.ask(FindCoordinatorRequest(key_type=key_type, key=""), version)


@scenario(0, 1, 2, 3, 4, 5, 6)
def descriptions_of_what_is_not_a_classic_group(world: World, version: int) -> None:
    world.topic("orders")
    group, client = world.name, world.client()
    client.ask(commit(f"{group} simple", {("orders", 0): 5}), 9)
    client.ask(hello(f"{group} consumer", "member"), 1)
    names = [f"{group} unknown", f"{group} simple", f"{group} consumer", f"{group} simple"]
    client.ask(DescribeGroupsRequest(groups=names), version)
    client.ask(DescribeGroupsRequest(groups=[]), version)
    if version >= AUTHORIZED:
        client.ask(DescribeGroupsRequest(groups=names, include_authorized_operations=True), version)


@scenario(0, 1)
def descriptions_of_what_is_not_a_consumer_group(world: World, version: int) -> None:
    world.topic("orders")
    group, client = world.name, world.client()
    client.ask(commit(f"{group} simple", {("orders", 0): 5}), 9)
    names = [f"{group} unknown", f"{group} simple", "", f"{group} unknown"]
    client.ask(ConsumerGroupDescribeRequest(group_ids=names, include_authorized_operations=False), version)
    client.ask(ConsumerGroupDescribeRequest(group_ids=names, include_authorized_operations=True), version)
    client.ask(ConsumerGroupDescribeRequest(group_ids=[], include_authorized_operations=False), version)


@scenario(0, 1, 2, 3, 4, 5)
def lists_of_groups(world: World, version: int) -> None:
    world.topic("orders")
    group, client = world.name, world.client()
    client.ask(commit(f"{group} simple", {("orders", 0): 5}), 9)
    client.ask(hello(f"{group} consumer", "member"), 1)
    client.ask(hello(f"{group} gone", "member"), 1)
    client.ask(hello(f"{group} gone", "member", member_epoch=-1), 1)
    joined = client.ask(join(f"{group} completing", protocol_type="connect"), 0)
    world.call(joined.member_id, "completing")
    joined = client.ask(join(f"{group} stable"), 0)
    world.call(joined.member_id, "stable")
    client.ask(sync(f"{group} stable", joined.member_id, joined.generation_id, {joined.member_id: b""}), 3)
    client.list_groups(ListGroupsRequest(), version, group)
    filters: list[tuple[list[str], list[str]]] = []
    if version >= STATES:
        filters += [(["Stable"], []), (["stable", "EMPTY"], []), (["Nonsense"], []), ([""], []), (["Dead"], [])]
        filters += [(["CompletingRebalance"], []), (["completingrebalance", "Assigning"], [])]
    if version >= TYPES:
        filters += [([], ["classic"]), ([], ["Consumer"]), ([], ["nonsense"]), ([], ["share", "streams"])]
        filters += [(["Stable"], ["consumer", "classic"]), (["Empty"], ["CONSUMER"]), ([], [""])]
    for states, types in filters:
        client.list_groups(ListGroupsRequest(states_filter=states, types_filter=types), version, group)
