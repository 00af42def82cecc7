"""`range` as in Kafka: runs of neighbours, the same split of every topic, static members first."""

from tidelog.coordinator.group.assignors import ASSIGNORS
from tidelog.coordinator.group.assignors.assignor import GroupSpec, MemberSpec, TopicsSpec
from tidelog.model.ids import Uuid

assign = ASSIGNORS["range"]
T1, T2, T3 = (Uuid(number.to_bytes(16, "big")) for number in (1, 2, 3))


def group(*members: tuple[str, list[Uuid], str | None], is_homogeneous: bool = True) -> GroupSpec:
    return GroupSpec({name: MemberSpec(topics, {}, instance) for name, topics, instance in members}, is_homogeneous)


def test_topics_are_cut_at_the_same_places() -> None:
    given = group(("a", [T1, T2], None), ("b", [T2, T1], None))
    assert assign(given, TopicsSpec({T1: 3, T2: 3})) == {"a": {T1: [0, 1], T2: [0, 1]}, "b": {T1: [2], T2: [2]}}


def test_members_stand_in_the_order_of_their_ids_whatever_order_they_came_in() -> None:
    assert assign(group(("c", [T1], None), ("a", [T1], None)), TopicsSpec({T1: 2})) == {"c": {T1: [1]}, "a": {T1: [0]}}


def test_static_members_come_first_by_instance_id() -> None:
    given = group(("a", [T1], None), ("z", [T1], "i-1"), ("y", [T1], "i-2"))
    assert assign(given, TopicsSpec({T1: 4})) == {"z": {T1: [0, 1]}, "y": {T1: [2]}, "a": {T1: [3]}}


def test_a_static_member_that_comes_back_under_another_id_gets_its_old_run() -> None:
    first = assign(group(("x", [T1], "i-1"), ("b", [T1], None)), TopicsSpec({T1: 5}))
    again = assign(group(("q", [T1], "i-1"), ("b", [T1], None)), TopicsSpec({T1: 5}))
    assert (again["q"], again["b"]) == (first["x"], first["b"])


def test_different_subscriptions_are_cut_by_their_own_subscribers() -> None:
    given = group(("a", [T1, T2], None), ("b", [T1], None), ("c", [T2, T3], None), is_homogeneous=False)
    assert assign(given, TopicsSpec({T1: 3, T2: 3, T3: 2})) == {
        "a": {T1: [0, 1], T2: [0, 1]},
        "b": {T1: [2]},
        "c": {T2: [2], T3: [0, 1]},
    }


def test_more_members_than_partitions_leaves_the_last_without() -> None:
    given = group(("a", [T1], None), ("b", [T1], None), ("c", [T1], None))
    assert assign(given, TopicsSpec({T1: 2})) == {"a": {T1: [0]}, "b": {T1: [1]}, "c": {}}


def test_a_member_whose_run_stays_gets_the_very_object_it_had() -> None:
    had = {T1: (1, 0)}
    members = {"a": MemberSpec([T1], had), "b": MemberSpec([T1], {T1: [2]})}
    assert assign(GroupSpec(members, True), TopicsSpec({T1: 4}))["a"] is had
