"""Committed offsets, at every version."""

from tests.interop.apache.differential.requests import (
    BY_TOPIC_ID,
    FETCHES_BY_GROUP,
    commit,
    delete_offsets,
    fetch,
    fetch_group,
)
from tests.interop.apache.differential.world import World, scenario

from tidelog.model.ids import Uuid
from tidelog.protocol.messages.delete_groups import DeleteGroupsRequest
from tidelog.protocol.messages.describe_groups import DescribeGroupsRequest
from tidelog.protocol.messages.offset_fetch import OffsetFetchRequest

NO_SUCH_ID = Uuid(b"no such topic id")
FETCHES_ALL = 2
COMMIT_VERSIONS = (2, 3, 4, 5, 6, 7, 8, 9, 10)
FETCH_VERSIONS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
STATIC_COMMITS = 7
MEMBER_FETCHES = 9


@scenario(*COMMIT_VERSIONS)
def simple_commits(world: World, version: int) -> None:
    topic_id, group, client = world.topic("orders"), world.name, world.client()
    topic = topic_id if version >= BY_TOPIC_ID else "orders"
    missing = NO_SUCH_ID if version >= BY_TOPIC_ID else "missing"
    client.ask(commit(group, {(topic, 0): 5}, leader_epoch=0), version)
    client.ask(commit(group, {(topic, 0): 3, (topic, 1): 7}, leader_epoch=9, metadata=None), version)
    client.ask(commit(group, {(topic, 0): 11, (missing, 0): 1, (topic, 99): 4}, metadata=""), version)
    client.ask(commit(group, {(missing, 0): 1}), version)
    client.ask(commit(group, {(topic, 2): -1}), version)
    client.ask(commit(group, {(topic, 3): -7}), version)
    client.ask(commit(group, {(topic, -1): 1}), version)
    client.ask(commit(group, {}), version)
    client.ask(commit(group, {(topic, 0): 1}, metadata="m" * 4096), version)
    client.ask(commit(group, {(topic, 0): 2, (topic, 1): 2}, metadata="m" * 4097), version)
    client.ask(fetch(group, None, 9), 9)


@scenario(*COMMIT_VERSIONS)
def commits_of_nobody(world: World, version: int) -> None:
    """Commits name members and generations in a group that has none, or that does not exist."""
    topic_id, group, client = world.topic("orders"), world.name, world.client()
    topic = topic_id if version >= BY_TOPIC_ID else "orders"
    place = {(topic, 0): 5}
    client.ask(commit(group, place, generation_id_or_member_epoch=0), version)
    client.ask(commit(group, place, generation_id_or_member_epoch=3, member_id="somebody"), version)
    client.ask(commit(group, place, member_id="somebody"), version)
    client.ask(commit(group, place), version)
    client.ask(commit(group, place, generation_id_or_member_epoch=0), version)
    client.ask(commit(group, place, generation_id_or_member_epoch=3, member_id="somebody"), version)
    client.ask(commit(group, place, member_id="somebody"), version)
    if version >= STATIC_COMMITS:
        client.ask(commit(group, place, group_instance_id="instance"), version)
        client.ask(commit(group, place, generation_id_or_member_epoch=0, group_instance_id="instance"), version)
    client.ask(fetch(group, None, 9), 9)


@scenario(*FETCH_VERSIONS)
def fetches(world: World, version: int) -> None:
    topic_id, other_id, group, client = world.topic("orders"), world.topic("other"), world.name, world.client()
    topic, other = (topic_id, other_id) if version >= BY_TOPIC_ID else ("orders", "other")
    missing = NO_SUCH_ID if version >= BY_TOPIC_ID else "missing"
    asked = {topic: [0, 1, 99], missing: [0], other: []}
    client.ask(fetch(group, asked, version), version)
    client.ask(commit(group, {("orders", 0): 5, ("orders", 2): 6, ("other", 0): 7}, leader_epoch=3), 9)
    client.ask(fetch(group, asked, version), version)
    client.ask(fetch(group, {topic: [0, 0]}, version), version)
    client.ask(fetch(group, {topic: [-1]}, version), version)
    client.ask(fetch(group, {}, version), version)
    client.ask(fetch("unknown", {topic: [0]}, version), version)
    if version >= FETCHES_ALL:
        client.ask(fetch(group, None, version), version)
        client.ask(fetch("unknown", None, version), version)
    if version >= FETCHES_BY_GROUP - 1:
        client.ask(fetch(group, {topic: [0]}, version, stable=True), version)


@scenario(8, 9, 10)
def fetches_of_several_groups(world: World, version: int) -> None:
    topic_id, group, client = world.topic("orders"), world.name, world.client()
    topic = topic_id if version >= BY_TOPIC_ID else "orders"
    client.ask(commit(f"{group} a", {("orders", 0): 5}), 9)
    client.ask(commit(f"{group} b", {("orders", 0): 6, ("orders", 1): 7}), 9)
    groups = [
        fetch_group(f"{group} a", {topic: [0, 1]}),
        fetch_group(f"{group} b"),
        fetch_group(f"{group} c", {topic: [0]}),
    ]
    client.ask(OffsetFetchRequest(groups=groups), version)
    client.ask(OffsetFetchRequest(groups=[]), version)
    client.ask(OffsetFetchRequest(groups=[groups[0], groups[0]], require_stable=True), version)
    if version >= MEMBER_FETCHES:
        of_members = [
            fetch_group(f"{group} a", {topic: [0]}, member_id="somebody", member_epoch=1),
            fetch_group(f"{group} b", {topic: [0]}, member_id="", member_epoch=-1),
            fetch_group(f"{group} c", {topic: [0]}, member_id="somebody", member_epoch=0),
        ]
        client.ask(OffsetFetchRequest(groups=of_members), version)


@scenario(9, 10)
def offsets_of_a_topic_that_was_deleted(world: World, version: int) -> None:
    topic = world.name.replace(" ", "-")
    first, group, client = world.topic(topic), world.name, world.client()
    client.ask(commit(group, {(topic, 0): 5}), 9)
    client.ask(commit(f"{group} by id", {(first, 0): 6}), 10)
    client.ask(commit(f"{group} of both", {(topic, 0): 6, ("orders", 0): 7}), 9)
    world.delete_topic(topic)
    second = world.topic(topic)
    world.until(lambda: not client.quietly(fetch(f"{group} by id", None, 9), 9).groups[0].topics)
    for each in (group, f"{group} by id", f"{group} of both"):
        client.ask(fetch(each, {second if version >= BY_TOPIC_ID else topic: [0]}, version), version)
        client.ask(fetch(each, None, version), version)
        client.ask(DescribeGroupsRequest(groups=[each]), 6)
    client.ask(commit(group, {(first, 0): 5}), 10)
    client.ask(fetch(group, {first: [0]}, 10), 10)
    client.ask(commit(group, {(second, 0): 5}), 10)


@scenario(0)
def deletes_of_offsets(world: World, version: int) -> None:
    world.topic("orders")
    group, client = world.name, world.client()
    client.ask(delete_offsets(group, {"orders": [0]}), version)
    client.ask(commit(group, {("orders", 0): 5, ("orders", 1): 5, ("orders", 2): 5}), 9)
    client.ask(delete_offsets(group, {"orders": [0, 3, 99], "missing": [0]}), version)
    client.ask(delete_offsets(group, {"orders": [0]}), version)
    client.ask(delete_offsets(group, {}), version)
    client.ask(delete_offsets("", {"orders": [0]}), version)
    client.ask(fetch(group, None, 9), 9)
    client.ask(delete_offsets(group, {"orders": [1, 2]}), version)
    client.ask(fetch(group, None, 9), 9)
    client.ask(commit(group, {("orders", 1): 5}), 9)


@scenario(0, 1, 2)
def deletes_of_groups(world: World, version: int) -> None:
    world.topic("orders")
    group, client = world.name, world.client()
    client.ask(DeleteGroupsRequest(groups_names=[]), version)
    client.ask(DeleteGroupsRequest(groups_names=[group]), version)
    client.ask(commit(group, {("orders", 0): 5}), 9)
    client.ask(DeleteGroupsRequest(groups_names=[group, f"{group} unknown", group]), version)
    client.ask(fetch(group, None, 9), 9)
    client.ask(DeleteGroupsRequest(groups_names=[group]), version)
    client.ask(commit(group, {("orders", 0): 6}), 9)
    client.ask(fetch(group, None, 9), 9)


@scenario(*COMMIT_VERSIONS[-1:])
def the_empty_group_id(world: World, _version: int) -> None:
    """The group id is the empty string: one scenario covers all versions, since there is only one such group."""
    topic_id, client = world.topic("orders"), world.client()
    client.ask(DescribeGroupsRequest(groups=[""]), 5)
    client.ask(DeleteGroupsRequest(groups_names=[""]), 2)
    for version in COMMIT_VERSIONS:
        topic = topic_id if version >= BY_TOPIC_ID else "orders"
        client.ask(commit("", {(topic, 0): version}), version)
        client.ask(fetch("", {topic_id if version >= BY_TOPIC_ID else "orders": [0, 1]}, version), version)
        client.ask(fetch("", None, version), version)
    for version in range(7):
        client.ask(DescribeGroupsRequest(groups=[""]), version)
    client.ask(delete_offsets("", {"orders": [0]}), 0)
    client.ask(DeleteGroupsRequest(groups_names=["", ""]), 2)
    client.ask(fetch("", None, 9), 9)
    client.ask(DeleteGroupsRequest(groups_names=[""]), 2)
