"""ListGroups, DescribeGroups, DeleteGroups; and groups of protocols that this coordinator does not serve."""

from typing import Any

import pytest
from tests.support.offset_groups import Coordinated
from tests.support.offset_requests import commit, delete, delete_groups, fetch, fetch_groups, stage
from tests.unit.coordinator.offsets.conftest import OtherGroup, classic_group

from tidelog.coordinator.group.classic.state import ClassicState
from tidelog.coordinator.group.records.share import (
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
)
from tidelog.coordinator.group.records.streams import (
    StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
)
from tidelog.coordinator.requests import KeyValue
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.describe_groups import DescribeGroupsRequest
from tidelog.protocol.messages.list_groups import ListGroupsRequest

A0 = ("a", 0)
NONE = ErrorCode.NONE


def listed(at: Coordinated, states: list[str] | None = None, types: list[str] | None = None) -> list[str]:
    response = at.handle(ListGroupsRequest(states_filter=states or [], types_filter=types or []), 5)
    assert response.error_code == 0
    return [group.group_id for group in response.groups]


def described(at: Coordinated, group: str, version: int = 6) -> Any:
    return at.handle(DescribeGroupsRequest(groups=[group]), version).groups[0]


def replay(at: Coordinated, key: Any, value: Any) -> None:
    at.log.append(KeyValue(key, value))
    at.machine.replay(at.log[-1])


def share_group(at: Coordinated, group_id: str = "s", *, has_member: bool = False) -> None:
    if has_member:
        member = ShareGroupMemberMetadataValue(rack_id=None, client_id="", client_host="", subscribed_topic_names=[])
        replay(at, ShareGroupMemberMetadataKey(group_id=group_id, member_id="m"), member)
    replay(at, ShareGroupMetadataKey(group_id=group_id), ShareGroupMetadataValue(epoch=1, metadata_hash=0))


def streams_group(at: Coordinated, group_id: str = "s", *, has_member: bool = False) -> None:
    if has_member:
        member = StreamsGroupMemberMetadataValue(
            instance_id=None,
            rack_id=None,
            client_id="",
            client_host="",
            topology_epoch=0,
            process_id="",
            client_tags=[],
        )
        replay(at, StreamsGroupMemberMetadataKey(group_id=group_id, member_id="m"), member)
    replay(at, StreamsGroupMetadataKey(group_id=group_id), StreamsGroupMetadataValue(epoch=1, metadata_hash=0))


# ListGroups


def test_all_groups_with_their_state_and_type(at: Coordinated) -> None:
    commit(at, "simple", {A0: 1})
    classic_group(at, ClassicState.PREPARING_REBALANCE, "g")
    at.shard.groups["c"] = OtherGroup("c")
    groups = at.handle(ListGroupsRequest(), 5).groups
    assert [(each.group_id, each.protocol_type, each.group_state, each.group_type) for each in groups] == [
        ("simple", "", "Empty", "classic"),
        ("g", "consumer", "PreparingRebalance", "classic"),
        ("c", "consumer", "Stable", "consumer"),
    ]


def test_filters(at: Coordinated) -> None:
    commit(at, "simple", {A0: 1})
    classic_group(at, ClassicState.STABLE, "g")
    at.shard.groups["c"] = OtherGroup("c")
    assert listed(at, ["sTABLE"]) == ["g", "c"]
    assert listed(at, [" empty ", "Dead"]) == ["simple"]
    assert listed(at, types=["CONSUMER"]) == ["c"]
    assert listed(at, ["stable"], ["classic", "consumer"]) == ["g", "c"]
    assert listed(at, ["no such state"]) == []
    assert listed(at, types=["no such type"]) == []


# DescribeGroups


def test_a_classic_group(at: Coordinated) -> None:
    group = classic_group(at, ClassicState.STABLE)
    group.protocol_name = "range"
    answer = described(at, "g")
    assert (answer.error_code, answer.group_state, answer.protocol_type, answer.protocol_data) == (
        0, "Stable", "consumer", "range",
    )  # fmt: skip
    assert [(member.member_id, member.client_id) for member in answer.members] == [("m", "client")]


@pytest.mark.parametrize(("version", "code"), [(0, NONE), (5, NONE), (6, ErrorCode.GROUP_ID_NOT_FOUND)])
def test_one_that_is_not_there_or_not_classic(at: Coordinated, version: int, code: ErrorCode) -> None:
    at.shard.groups["c"] = OtherGroup("c")
    for group_id in ("none", "c"):
        answer = described(at, group_id, version)
        assert (answer.error_code, answer.group_state, answer.members) == (code, "Dead", [])
        assert (answer.error_message is None) == (version < 6)


# DeleteGroups


def test_a_group_is_gone_with_its_offsets(at: Coordinated) -> None:
    commit(at, "g", {A0: 1, ("b", 0): 1})
    commit(at, "h", {A0: 1})
    assert delete_groups(at, "g", "none", "g") == {"g": NONE, "none": ErrorCode.GROUP_ID_NOT_FOUND}
    assert (listed(at), fetch(at, "g"), fetch(at, "h")) == (["h"], {}, {A0: 1})
    assert at.shard.counters["offset-deletions"] == 2
    at.validate_state()


@pytest.mark.parametrize(
    "state", [ClassicState.STABLE, ClassicState.PREPARING_REBALANCE, ClassicState.COMPLETING_REBALANCE]
)
def test_one_with_members_stays(at: Coordinated, state: ClassicState) -> None:
    commit(at, "g", {A0: 1})
    classic_group(at, state)
    before = len(at.log)
    assert delete_groups(at, "g") == {"g": ErrorCode.NON_EMPTY_GROUP}
    assert len(at.log) == before


# Groups of protocols that this coordinator does not serve


def test_they_are_listed_and_belong_to_nobody_else(at: Coordinated) -> None:
    share_group(at, "s", has_member=True)
    streams_group(at, "t")
    groups = at.handle(ListGroupsRequest(), 5).groups
    assert [(each.group_id, each.protocol_type, each.group_state, each.group_type) for each in groups] == [
        ("s", "share", "Stable", "share"),
        ("t", "streams", "Empty", "streams"),
    ]
    assert described(at, "s").error_code == ErrorCode.GROUP_ID_NOT_FOUND
    at.validate_state()


def test_a_share_group_has_no_offsets(at: Coordinated) -> None:
    share_group(at)
    missing = ErrorCode.GROUP_ID_NOT_FOUND
    assert commit(at, "s", {A0: 1}) == {A0: missing}
    assert stage(at, "s", {A0: 1}) == {A0: missing}
    assert delete(at, "s", A0) == missing
    assert fetch(at, "s") == {}


def test_a_streams_group_has(at: Coordinated) -> None:
    streams_group(at)
    assert commit(at, "s", {A0: 1}) == {A0: NONE}
    assert fetch(at, "s") == {A0: 1}
    streams_group(at, has_member=True)
    assert commit(at, "s", {A0: 2}) == {A0: ErrorCode.UNKNOWN_MEMBER_ID}
    assert stage(at, "s", {A0: 2}) == {A0: NONE}
    assert fetch_groups(at, {"s": None}, member_id="m", member_epoch=1).groups[0].error_code == (
        ErrorCode.UNKNOWN_MEMBER_ID
    )
    assert delete_groups(at, "s") == {"s": ErrorCode.NON_EMPTY_GROUP}
    at.validate_state()


def test_an_empty_one_is_deleted_whole(at: Coordinated) -> None:
    streams_group(at, has_member=True)
    commit(at, "s", {A0: 1}, member_id="")
    replay(at, StreamsGroupMemberMetadataKey(group_id="s", member_id="m"), None)
    commit(at, "s", {A0: 1})
    assert delete_groups(at, "s") == {"s": NONE}
    assert (at.shard.groups, fetch(at, "s")) == ({}, {})
    at.validate_state()


def test_a_share_group_with_delivery_state_is_not(at: Coordinated) -> None:
    """The delivery state lies with another coordinator, and the next group of this name would find it."""
    share_group(at)
    state = ShareGroupStatePartitionMetadataValue(initializing_topics=[], initialized_topics=[], deleting_topics=[])
    replay(at, ShareGroupStatePartitionMetadataKey(group_id="s"), state)
    assert delete_groups(at, "s") == {"s": ErrorCode.UNSUPPORTED_VERSION}


def test_offsets_that_come_before_their_groups_record(at: Coordinated) -> None:
    """A compacted log may have them in any order."""
    commit(at, "s", {A0: 1})
    assert listed(at, types=["classic"]) == ["s"]
    streams_group(at)
    assert listed(at, types=["streams"]) == listed(at) == ["s"]
    assert fetch(at, "s") == {A0: 1}


def test_a_group_that_is_alive_does_not_become_another(at: Coordinated) -> None:
    noted: list[str] = []
    at.shard.note = noted.append
    group = classic_group(at, ClassicState.STABLE, "s")
    share_group(at)
    assert at.shard.groups["s"] is group
    assert len(noted) == 1
    replay(at, ShareGroupMetadataKey(group_id="s"), None)
    assert at.shard.groups["s"] is group
