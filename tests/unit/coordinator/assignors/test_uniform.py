"""`uniform` in common situations. The rules for all groups are in tests/property."""

import pytest

from tidelog.coordinator.group.assignors import ASSIGNORS
from tidelog.coordinator.group.assignors.assignor import Assignment, GroupSpec, MemberSpec, TopicsSpec
from tidelog.model.ids import Uuid

assign = ASSIGNORS["uniform"]
T1, T2, T3 = (Uuid(number.to_bytes(16, "big")) for number in (1, 2, 3))


def loads(assignment: Assignment) -> dict[str, int]:
    return {member_id: sum(map(len, held.values())) for member_id, held in assignment.items()}


def test_partitions_of_all_topics_count_alike() -> None:
    group = GroupSpec({each: MemberSpec([T2, T1]) for each in "ab"}, True)
    assert assign(group, TopicsSpec({T1: 3, T2: 1})) == {"a": {T1: [0, 1]}, "b": {T1: [2], T2: [0]}}


def test_the_one_more_stays_with_who_has_it() -> None:
    had = {"a": {T1: [0]}, "b": {T1: [1, 2]}}
    group = GroupSpec({each: MemberSpec([T1], had[each]) for each in "ab"}, True)
    assignment = assign(group, TopicsSpec({T1: 3}))
    assert all(assignment[each] is had[each] for each in "ab")


def test_new_partitions_go_to_those_with_room_and_nothing_moves() -> None:
    had = {"a": {T1: [0]}, "b": {T1: [1]}}
    group = GroupSpec({each: MemberSpec([T1], had[each]) for each in "ab"}, True)
    assert assign(group, TopicsSpec({T1: 4})) == {"a": {T1: [0, 2]}, "b": {T1: [1, 3]}}


@pytest.mark.parametrize("is_homogeneous", [True, False])
def test_what_is_gone_or_nobodys_business_is_forgotten(is_homogeneous: bool) -> None:
    had = {T1: [0, 7], T2: [0], T3: [0]}  # T1 has no 7, T2 is not subscribed to, T3 is deleted
    group = GroupSpec({"a": MemberSpec([T1, T3], had)}, is_homogeneous)
    assert assign(group, TopicsSpec({T1: 2, T2: 1})) == {"a": {T1: [0, 1]}}


@pytest.mark.parametrize("is_homogeneous", [True, False])
def test_a_partition_that_two_members_had_stays_with_one(is_homogeneous: bool) -> None:
    group = GroupSpec({each: MemberSpec([T1], {T1: [0, 1]}) for each in "ab"}, is_homogeneous)
    assignment = assign(group, TopicsSpec({T1: 4}))
    assert sorted(assignment["a"][T1] + assignment["b"][T1]) == [0, 1, 2, 3]  # type: ignore[operator]


def test_different_subscriptions_are_balanced_along_a_chain() -> None:
    """Kafka's own assignor leaves loads of 9, 10 and 11 here, because it balances each topic for itself."""
    had = {
        "a": {T1: list(range(9))},
        "b": {T1: list(range(9, 15)), T2: list(range(4))},
        "c": {T2: list(range(4, 15))},
    }
    subscribed = {"a": [T1], "b": [T1, T2], "c": [T2]}
    group = GroupSpec({each: MemberSpec(subscribed[each], had[each]) for each in "abc"}, False)
    assert loads(assign(group, TopicsSpec({T1: 15, T2: 15}))) == {"a": 10, "b": 10, "c": 10}


def test_a_member_that_must_take_more_takes_nothing_that_others_could() -> None:
    group = GroupSpec({"a": MemberSpec([T1, T2]), "b": MemberSpec([T2])}, False)
    assert assign(group, TopicsSpec({T1: 5, T2: 3})) == {"a": {T1: [0, 1, 2, 3, 4]}, "b": {T2: [0, 1, 2]}}


def test_no_more_moves_than_balance_needs() -> None:
    """Balancing one topic at a time would move two partitions from `a` to `b`, where one is enough."""
    had = {"a": {T1: [0, 1, 2, 3]}, "b": {}, "c": {T2: [0, 1, 2, 3]}}
    subscribed = {"a": [T1], "b": [T1, T2], "c": [T2]}
    group = GroupSpec({each: MemberSpec(subscribed[each], had[each]) for each in "abc"}, False)
    assert assign(group, TopicsSpec({T1: 4, T2: 4})) == {
        "a": {T1: [0, 1, 2]},
        "b": {T1: [3], T2: [3]},
        "c": {T2: [0, 1, 2]},
    }
