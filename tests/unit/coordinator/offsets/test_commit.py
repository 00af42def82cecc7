"""OffsetCommit: which clients may commit, what is written, and the answer for each partition."""

from typing import Any

import pytest
from tests.support.offset_groups import NOON, Coordinated, topic_id
from tests.support.offset_requests import commit, fetch, fetch_groups
from tests.unit.coordinator.offsets.conftest import OtherGroup, classic_group

from tidelog.coordinator.group.classic.state import ClassicState
from tidelog.coordinator.group.records.classic import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from tidelog.coordinator.group.shard import GroupType
from tidelog.coordinator.requests import KeyValue
from tidelog.model.errors import ErrorCode

A0 = ("a", 0)
NONE = ErrorCode.NONE


def test_a_commit_is_one_record_with_all_that_was_said(at: Coordinated) -> None:
    assert commit(at, "g", {A0: 42}, metadata="note") == {A0: NONE}
    key = OffsetCommitKey(group="g", topic="a", partition=0)
    value = OffsetCommitValue(offset=42, leader_epoch=3, metadata="note", commit_timestamp=NOON, topic_id=topic_id("a"))
    assert at.log == [KeyValue(key, value)]
    assert at.versions == [4]
    at.validate_state()


@pytest.mark.parametrize("version", range(2, 11))
def test_at_every_version(at: Coordinated, version: int) -> None:
    assert commit(at, "g", {A0: 42}, version) == {A0: NONE}
    assert fetch(at, "g") == {A0: 42}


def test_a_retention_of_its_own_is_written_in_the_one_version_that_can_say_it(at: Coordinated) -> None:
    commit(at, "g", {A0: 42}, 4, retention_time_ms=1000)
    (message,) = at.log
    assert isinstance(message, KeyValue)
    assert (message.value.expire_timestamp, at.versions) == (NOON + 1000, [1])


def test_metadata_that_is_null_is_empty(at: Coordinated) -> None:
    commit(at, "g", {A0: 42}, metadata=None)
    assert fetch_groups(at, {"g": None}).groups[0].topics[0].partitions[0].metadata == ""


@pytest.mark.parametrize(
    ("metadata", "fits"), [("x" * 10, True), ("x" * 11, False), ("\U0001f30a" * 5, True), ("\U0001f30a" * 6, False)]
)
def test_metadata_is_as_long_as_java_says(at: Coordinated, metadata: str, fits: bool) -> None:
    expected = NONE if fits else ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert commit(at, "g", {A0: 42}, metadata=metadata) == {A0: expected}
    assert len(at.log) == fits


def test_what_does_not_exist_is_refused_and_the_rest_committed(at: Coordinated) -> None:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    expected = {("a", 9): unknown, ("c", 0): unknown, ("b", 1): NONE}
    assert commit(at, "g", {("a", 9): 1, ("c", 0): 1, ("b", 1): 1}) == expected
    assert fetch(at, "g") == {("b", 1): 1}


def test_nothing_that_exists_is_no_matter_for_the_group(at: Coordinated) -> None:
    at.shard.groups["g"] = OtherGroup(refusal=ErrorCode.UNKNOWN_MEMBER_ID)
    assert commit(at, "g", {("c", 0): 1}) == {("c", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_a_topic_id_that_nobody_knows(at: Coordinated) -> None:
    at.delete_topic("b")
    assert commit(at, "g", {A0: 1, ("b", 0): 2}, 10) == {A0: NONE, ("", 0): ErrorCode.UNKNOWN_TOPIC_ID}


def test_no_member_makes_a_simple_group(at: Coordinated) -> None:
    commit(at, "g", {A0: 42})
    group = at.shard.groups["g"]
    assert (group.type, group.is_empty, group.protocol_type) == (GroupType.CLASSIC, True, "")


@pytest.mark.parametrize(("version", "code"), [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)])
def test_a_member_of_a_group_that_is_not_there(at: Coordinated, version: int, code: ErrorCode) -> None:
    assert commit(at, "g", {A0: 42}, version, generation_id_or_member_epoch=1, member_id="m") == {A0: code}
    assert at.log == []


MEMBER: dict[str, Any] = {"member_id": "m", "generation_id_or_member_epoch": 3}


@pytest.mark.parametrize(
    ("state", "fields", "code"),
    [
        (ClassicState.STABLE, MEMBER, NONE),
        (ClassicState.PREPARING_REBALANCE, MEMBER, NONE),
        (ClassicState.COMPLETING_REBALANCE, MEMBER, ErrorCode.REBALANCE_IN_PROGRESS),
        (ClassicState.STABLE, {**MEMBER, "member_id": "x"}, ErrorCode.UNKNOWN_MEMBER_ID),
        (ClassicState.STABLE, {**MEMBER, "generation_id_or_member_epoch": 2}, ErrorCode.ILLEGAL_GENERATION),
        (ClassicState.STABLE, {**MEMBER, "generation_id_or_member_epoch": -1}, ErrorCode.ILLEGAL_GENERATION),
        (ClassicState.STABLE, {}, ErrorCode.UNKNOWN_MEMBER_ID),
        (ClassicState.EMPTY, {}, NONE),
        (ClassicState.EMPTY, MEMBER, ErrorCode.UNKNOWN_MEMBER_ID),
        (ClassicState.DEAD, MEMBER, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)  # fmt: skip
def test_classic_groups(at: Coordinated, state: ClassicState, fields: dict[str, Any], code: ErrorCode) -> None:
    classic_group(at, state)
    assert commit(at, "g", {A0: 42, ("b", 0): 1}, **fields) == {A0: code, ("b", 0): code}
    assert len(at.log) == (2 if code is NONE else 0)


def test_a_static_member_that_was_replaced_is_fenced(at: Coordinated) -> None:
    classic_group(at, ClassicState.STABLE, instance="i")
    fields: dict[str, Any] = {**MEMBER, "member_id": "before", "group_instance_id": "i"}
    assert commit(at, "g", {A0: 42}, **fields) == {A0: ErrorCode.FENCED_INSTANCE_ID}
    assert commit(at, "g", {A0: 42}, **MEMBER, group_instance_id="i") == {A0: NONE}


def test_who_commits_is_alive(at: Coordinated) -> None:
    group = at.shard.groups["g"] = OtherGroup()
    at.now_ms = 77
    commit(at, "g", {A0: 42}, 9, member_id="m", generation_id_or_member_epoch=5)
    assert group.asked == ("m", None, 5, False, 9)
    assert group.heard_of == (77, "m")


def test_one_partition_that_the_member_may_not_commit_refuses_them_all(at: Coordinated) -> None:
    """Kafka does so, too, also for partitions whose metadata would have been refused."""
    at.shard.groups["g"] = OtherGroup(not_assigned=((topic_id("b"), 1),))
    stale = ErrorCode.STALE_MEMBER_EPOCH
    assert commit(at, "g", {A0: 1, ("b", 1): 1, ("c", 0): 1}, member_id="m", generation_id_or_member_epoch=5) == {
        A0: stale,
        ("b", 1): stale,
        ("c", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert at.log == []
    assert commit(at, "g", {A0: 1}, member_id="m", generation_id_or_member_epoch=5) == {A0: NONE}


def test_more_than_a_batch_can_hold_is_refused_whole() -> None:
    """A commit that just fits is accepted: where the estimate is in doubt, the bytes are counted."""
    name = "ä" * 100
    at = Coordinated({name: 40}, max_record_bytes=4_000)
    few = {(name, partition): 1 for partition in range(8)}
    assert set(commit(at, "g", few).values()) == {NONE}
    many = {(name, partition): 1 for partition in range(40)}
    assert set(commit(at, "g", many).values()) == {ErrorCode.UNKNOWN_SERVER_ERROR}
    assert len(at.log) == 8


def test_the_empty_group_id_has_offsets_too(at: Coordinated) -> None:
    assert commit(at, "", {A0: 42}) == {A0: NONE}
    assert fetch(at, "") == {A0: 42}


def test_offsets_of_the_oldest_brokers_are_read(at: Coordinated) -> None:
    key = LegacyOffsetCommitKey(group="g", topic="a", partition=0)
    at.machine.replay(KeyValue(key, LegacyOffsetCommitValue(offset=5, metadata="", commit_timestamp=1)))
    assert fetch(at, "g") == {A0: 5}
    at.machine.replay(KeyValue(key, None))
    assert fetch(at, "g") == {}


def test_commits_are_counted(at: Coordinated) -> None:
    commit(at, "g", {A0: 42, ("b", 0): 1, ("c", 0): 1})
    assert at.shard.counters == {"offset-commits": 2}
