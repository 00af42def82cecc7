"""OffsetFetch: all versions, all groups, and the answers where there is no offset."""

from typing import Any

import pytest
from tests.support.offset_groups import Coordinated, topic_id
from tests.support.offset_requests import commit, fetch, fetch_groups
from tests.unit.coordinator.offsets.conftest import OtherGroup, classic_group

from tidelog.coordinator.group.classic.state import ClassicState
from tidelog.coordinator.group.coordinator import GroupCoordinator
from tidelog.coordinator.group.offsets.fetch import PARTITIONS_A_SLICE
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)

A0 = ("a", 0)


def one(response: Any) -> Any:
    return response.topics[0].partitions[0]


def old_request(group: str, **topics: list[int]) -> OffsetFetchRequest:
    asked = [OffsetFetchRequestTopic(name=name, partition_indexes=indexes) for name, indexes in topics.items()]
    return OffsetFetchRequest(group_id=group, topics=asked)


@pytest.mark.parametrize("version", range(1, 8))
def test_one_group_at_the_old_versions(at: Coordinated, version: int) -> None:
    commit(at, "g", {A0: 42}, metadata="note")
    response = at.handle(old_request("g", a=[0, 1]), version)
    found, missing = response.topics[0].partitions
    assert (found.committed_offset, found.committed_leader_epoch, found.metadata, found.error_code) == (
        42,
        3,
        "note",
        0,
    )
    assert (missing.committed_offset, missing.committed_leader_epoch, missing.metadata) == (-1, -1, "")
    assert (response.error_code, response.groups) == (0, [])


def test_null_topics_are_all_of_them(at: Coordinated) -> None:
    commit(at, "g", {A0: 1, ("b", 1): 2})
    commit(at, "h", {A0: 9})
    assert fetch(at, "g") == {A0: 1, ("b", 1): 2}
    response = at.handle(OffsetFetchRequest(group_id="g", topics=None), 7)
    assert [topic.name for topic in response.topics] == ["a", "b"]


@pytest.mark.parametrize("version", [8, 9, 10])
def test_several_groups(at: Coordinated, version: int) -> None:
    commit(at, "g", {A0: 1})
    response = fetch_groups(at, {"g": {"a": [0]}, "none": {"a": [0]}, "none at all": None}, version)
    assert [(group.group_id, group.error_code) for group in response.groups] == [
        ("g", 0),
        ("none", 0),
        ("none at all", 0),
    ]
    assert [one(group).committed_offset for group in response.groups[:2]] == [1, -1]
    assert response.groups[2].topics == []


def test_a_dead_group_has_no_offsets(at: Coordinated) -> None:
    commit(at, "g", {A0: 1})
    classic_group(at, ClassicState.DEAD)
    assert fetch(at, "g", {"a": [0]}) == fetch(at, "g") == {}


def test_by_topic_id(at: Coordinated) -> None:
    commit(at, "g", {A0: 1, ("b", 0): 2})
    at.delete_topic("b")
    response = fetch_groups(at, {"g": {"b": [0], "a": [0]}}, 10)
    known, unknown = response.groups[0].topics
    assert (known.topic_id, known.partitions[0].committed_offset) == (topic_id("a"), 1)
    assert (unknown.topic_id, unknown.partitions[0].error_code) == (topic_id("b"), ErrorCode.UNKNOWN_TOPIC_ID)
    everything = fetch_groups(at, {"g": None}, 10).groups[0].topics
    assert [topic.topic_id for topic in everything] == [topic_id("a")]


def test_an_offset_of_the_topic_before_is_none_of_this_one(at: Coordinated) -> None:
    commit(at, "g", {A0: 1})
    at.delete_topic("a")
    at.create_topic("a", 4, made=1)
    asked = fetch_groups(at, {"g": {"a": [0]}}, 9)
    assert one(asked.groups[0]).committed_offset == 1  # a name does not tell the new topic from the old one
    new = OffsetFetchRequestTopics(topic_id=topic_id("a", 1), partition_indexes=[0])
    response = at.handle(OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=[new])]), 10)
    assert one(response.groups[0]).committed_offset == -1


def test_a_member_that_is_refused(at: Coordinated) -> None:
    commit(at, "g", {A0: 1})
    group = at.shard.groups["g"] = OtherGroup(refusal=ErrorCode.STALE_MEMBER_EPOCH)
    response = fetch_groups(at, {"g": {"a": [0]}}, 9, member_id="m", member_epoch=4)
    assert (response.groups[0].error_code, response.groups[0].topics) == (ErrorCode.STALE_MEMBER_EPOCH, [])
    assert group.asked == ("m", 4)


@pytest.mark.parametrize(("version", "in_partitions"), [(1, True), (2, False), (7, False)])
def test_a_refusal_at_the_old_versions(at: Coordinated, version: int, in_partitions: bool) -> None:
    at.shard.groups["g"] = OtherGroup(refusal=ErrorCode.UNKNOWN_MEMBER_ID)
    response = at.handle(old_request("g", a=[0, 1]), version)
    codes = [each.error_code for topic in response.topics for each in topic.partitions]
    assert codes == ([ErrorCode.UNKNOWN_MEMBER_ID] * 2 if in_partitions else [])
    assert response.error_code == (0 if in_partitions else ErrorCode.UNKNOWN_MEMBER_ID)


def test_many_partitions_are_read_in_slices(at: Coordinated) -> None:
    """A request for a hundred thousand partitions must not hold up all others."""
    partitions = list(range(3 * PARTITIONS_A_SLICE))
    machine: GroupCoordinator = at.machine
    steps: Any = machine.handle(0, CoordinatorRequest(old_request("g", a=partitions), 5, 0))
    assert len(list(steps)) == 3
