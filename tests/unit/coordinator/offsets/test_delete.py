"""OffsetDelete."""

import pytest
from tests.support.offset_groups import Coordinated
from tests.support.offset_requests import commit, delete, fetch
from tests.unit.coordinator.offsets.conftest import OtherGroup, classic_group

from tidelog.coordinator.group.classic.state import ClassicState
from tidelog.coordinator.group.records.classic import OffsetCommitKey
from tidelog.coordinator.requests import KeyValue
from tidelog.model.errors import ErrorCode

A0 = ("a", 0)
NONE = ErrorCode.NONE


def test_an_offset_is_gone(at: Coordinated) -> None:
    commit(at, "g", {A0: 1, ("a", 1): 2})
    assert delete(at, "g", A0) == {A0: NONE}
    assert at.log[-1] == KeyValue(OffsetCommitKey(group="g", topic="a", partition=0), None)
    assert fetch(at, "g") == {("a", 1): 2}
    assert at.shard.offsets.count == 1
    at.validate_state()


def test_one_that_is_not_there_needs_no_record(at: Coordinated) -> None:
    commit(at, "g", {A0: 1})
    assert delete(at, "g", ("a", 1), ("b", 0)) == {("a", 1): NONE, ("b", 0): NONE}
    assert len(at.log) == 1


def test_topics_that_do_not_exist(at: Coordinated) -> None:
    commit(at, "g", {A0: 1})
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert delete(at, "g", ("a", 9), ("c", 0), A0) == {("a", 9): unknown, ("c", 0): unknown, A0: NONE}


def test_what_the_members_read_stays(at: Coordinated) -> None:
    commit(at, "g", {A0: 1, ("b", 0): 1})
    at.shard.groups["g"] = OtherGroup(subscribed=("a",))
    assert delete(at, "g", A0, ("b", 0)) == {A0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, ("b", 0): NONE}
    assert fetch(at, "g") == {A0: 1}


@pytest.mark.parametrize("group", ["", "none"])
def test_a_group_that_is_none(at: Coordinated, group: str) -> None:
    assert delete(at, group, A0) == (ErrorCode.GROUP_ID_NOT_FOUND if group else ErrorCode.INVALID_GROUP_ID)


def test_members_of_a_protocol_that_is_not_the_consumers(at: Coordinated) -> None:
    group = classic_group(at, ClassicState.STABLE)
    group.protocol_type_or_none = "connect"
    assert delete(at, "g", A0) == ErrorCode.NON_EMPTY_GROUP


def test_a_group_without_offsets_is_still_a_group(at: Coordinated) -> None:
    commit(at, "g", {A0: 1})
    delete(at, "g", A0)
    assert list(at.shard.groups) == ["g"]
    assert at.shard.offsets.committed == {}
    at.validate_state()


def test_deletions_are_counted(at: Coordinated) -> None:
    commit(at, "g", {A0: 1})
    delete(at, "g", A0, ("a", 1))
    assert at.shard.counters["offset-deletions"] == 1
