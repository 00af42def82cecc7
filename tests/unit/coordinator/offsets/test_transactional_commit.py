"""Offsets inside of transactions: staged, and then committed or dropped."""

from typing import Any

import pytest
from tests.support.offset_groups import NOON, Coordinated, topic_id
from tests.support.offset_requests import commit, delete, delete_groups, end, fetch, stage
from tests.unit.coordinator.offsets.conftest import OtherGroup, classic_group

from tidelog.coordinator.group.classic.state import ClassicState
from tidelog.coordinator.group.records.classic import OffsetCommitKey, OffsetCommitValue
from tidelog.coordinator.requests import TransactionalKeyValue, TransactionMarker
from tidelog.model.errors import ErrorCode

A0 = ("a", 0)
NONE = ErrorCode.NONE
UNSTABLE = ErrorCode.UNSTABLE_OFFSET_COMMIT


def test_a_staged_offset_is_seen_when_its_transaction_is_committed(at: Coordinated) -> None:
    assert stage(at, "g", {A0: 42}) == {A0: NONE}
    assert fetch(at, "g") == {}
    end(at)
    assert fetch(at, "g") == {A0: 42}
    key = OffsetCommitKey(group="g", topic="a", partition=0)
    value = OffsetCommitValue(offset=42, leader_epoch=4, metadata="staged", commit_timestamp=NOON)
    assert at.log == [TransactionalKeyValue(7, 0, key, value), TransactionMarker(7, 0, True, 0, 2)]
    at.validate_state()


def test_an_aborted_one_is_not(at: Coordinated) -> None:
    commit(at, "g", {A0: 1})
    stage(at, "g", {A0: 42})
    end(at, committed=False)
    assert fetch(at, "g", stable=True) == {A0: 1}
    at.validate_state()


@pytest.mark.parametrize("version", range(6))
def test_at_every_version(at: Coordinated, version: int) -> None:
    assert stage(at, "g", {A0: 42}, version=version) == {A0: NONE}


def test_a_marker_without_offsets_is_written_and_changes_nothing(at: Coordinated) -> None:
    end(at, producer=99)
    assert (len(at.log), fetch(at, "g")) == (1, {})


def test_the_later_commit_counts_and_not_the_later_marker(at: Coordinated) -> None:
    stage(at, "g", {A0: 10})
    commit(at, "g", {A0: 5})
    end(at)
    assert fetch(at, "g") == {A0: 5}
    stage(at, "g", {A0: 11})
    end(at)
    assert fetch(at, "g") == {A0: 11}
    at.validate_state()


def test_of_two_transactions_the_one_that_staged_later_counts(at: Coordinated) -> None:
    stage(at, "g", {A0: 10}, producer=1)
    stage(at, "g", {A0: 20}, producer=2)
    end(at, 2)
    end(at, 1)
    assert fetch(at, "g") == {A0: 20}


def test_of_one_transaction_the_last_one_counts(at: Coordinated) -> None:
    stage(at, "g", {A0: 10})
    stage(at, "g", {A0: 3})
    end(at)
    assert fetch(at, "g") == {A0: 3}


def test_who_insists_on_stable_offsets_is_told_to_wait(at: Coordinated) -> None:
    commit(at, "g", {A0: 1, ("a", 1): 1})
    stage(at, "g", {A0: 10}, producer=1)
    stage(at, "g", {A0: 20}, producer=2)
    for topics in (None, {"a": [0, 1]}):
        assert fetch(at, "g", topics, stable=True) == {A0: UNSTABLE, ("a", 1): 1}
        assert fetch(at, "g", topics) == {A0: 1, ("a", 1): 1}
    end(at, 1)
    assert fetch(at, "g", stable=True) == {A0: UNSTABLE, ("a", 1): 1}
    end(at, 2)
    assert fetch(at, "g", stable=True) == {A0: 20, ("a", 1): 1}


def test_a_first_offset_that_is_staged_is_unstable_too(at: Coordinated) -> None:
    stage(at, "g", {A0: 10})
    assert fetch(at, "g", {"a": [0, 1]}, stable=True) == {A0: UNSTABLE}


def test_deleting_an_offset_ends_what_is_staged_for_it(at: Coordinated) -> None:
    stage(at, "g", {A0: 10, ("b", 1): 1})
    assert delete(at, "g", A0) == {A0: NONE}
    end(at)
    assert fetch(at, "g", stable=True) == {("b", 1): 1}
    at.validate_state()


def test_deleting_a_group_ends_what_is_staged_for_it(at: Coordinated) -> None:
    commit(at, "g", {("b", 0): 1, A0: 1})
    stage(at, "g", {A0: 10, ("b", 1): 1}, producer=1)
    stage(at, "g", {A0: 11}, producer=2)
    before = len(at.log)
    assert delete_groups(at, "g") == {"g": NONE}
    assert len(at.log) - before == 3 + 1  # a tombstone for each partition, and for the group
    end(at, 1)
    end(at, 2)
    assert (fetch(at, "g", stable=True), at.shard.groups, at.shard.offsets.count) == ({}, {}, 0)
    at.validate_state()


def test_a_group_is_made_by_what_is_staged(at: Coordinated) -> None:
    stage(at, "g", {A0: 10})
    assert list(at.shard.groups) == ["g"]
    at.validate_state()


MEMBER: dict[str, Any] = {"member_id": "m", "generation_id": 3}


@pytest.mark.parametrize(
    ("state", "fields", "code"),
    [
        (ClassicState.STABLE, MEMBER, NONE),
        (ClassicState.COMPLETING_REBALANCE, MEMBER, NONE),  # the group's state does not matter here
        (ClassicState.STABLE, {}, NONE),  # older producers name no member
        (ClassicState.STABLE, {**MEMBER, "member_id": "x"}, ErrorCode.UNKNOWN_MEMBER_ID),
        (ClassicState.STABLE, {**MEMBER, "generation_id": 2}, ErrorCode.ILLEGAL_GENERATION),
        (ClassicState.STABLE, {"group_instance_id": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
        (ClassicState.DEAD, {}, ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (ClassicState.EMPTY, {}, NONE),
    ],
)
def test_classic_groups(at: Coordinated, state: ClassicState, fields: dict[str, Any], code: ErrorCode) -> None:
    classic_group(at, state)
    assert stage(at, "g", {A0: 42}, **fields) == {A0: code}
    assert len(at.log) == (code is NONE)


def test_a_generation_of_a_group_that_is_not_there(at: Coordinated) -> None:
    assert stage(at, "g", {A0: 42}, generation_id=1, member_id="m") == {A0: ErrorCode.ILLEGAL_GENERATION}


def test_a_group_needs_a_name(at: Coordinated) -> None:
    assert stage(at, "", {A0: 42}) == {A0: ErrorCode.INVALID_GROUP_ID}


def test_producers_do_not_know_member_epochs(at: Coordinated) -> None:
    group = at.shard.groups["g"] = OtherGroup(refusal=ErrorCode.STALE_MEMBER_EPOCH)
    assert stage(at, "g", {A0: 42}, member_id="m", generation_id=5) == {A0: ErrorCode.ILLEGAL_GENERATION}
    assert group.asked == ("m", None, 5, True, 5)
    at.shard.groups["g"] = OtherGroup(not_assigned=((topic_id("a"), 0),))
    assert stage(at, "g", {A0: 42}, member_id="m", generation_id=5) == {A0: ErrorCode.ILLEGAL_GENERATION}
    assert at.log == []


def test_each_partition_has_its_own_answer(at: Coordinated) -> None:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert stage(at, "g", {A0: 1, ("a", 9): 1, ("c", 0): 1}) == {A0: NONE, ("a", 9): unknown, ("c", 0): unknown}
    assert stage(at, "g", {A0: 1}, metadata="x" * 11) == {A0: ErrorCode.OFFSET_METADATA_TOO_LARGE}
    assert len(at.log) == 1


def test_after_a_reload_it_goes_on(at: Coordinated) -> None:
    stage(at, "g", {A0: 10})
    commit(at, "g", {("b", 0): 1})
    at.reload()
    assert fetch(at, "g", {"a": [0]}, stable=True) == {A0: UNSTABLE}
    end(at)
    assert fetch(at, "g") == {A0: 10, ("b", 0): 1}
