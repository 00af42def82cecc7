"""Assignors: the rules that hold for every group, and the uniform assignor against all possible assignments."""

from collections.abc import Callable, Iterator
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidelog.coordinator.group.assignors import ASSIGNORS
from tidelog.coordinator.group.assignors.assignor import Assignment, GroupSpec, MemberSpec, TopicsSpec
from tidelog.model.ids import Uuid

uniform = ASSIGNORS["uniform"]
Owners = dict[tuple[Uuid, int], str]
each_assignor = pytest.mark.parametrize("name", sorted(ASSIGNORS))
modest = settings(max_examples=80, derandomize=True, deadline=None)


def topic(number: int) -> Uuid:
    return Uuid(number.to_bytes(16, "big"))


GONE = topic(99)


@st.composite
def groups(draw: st.DrawFn, members_max: int, partitions_max: int, topics_max: int = 3) -> tuple[GroupSpec, TopicsSpec]:
    """Draw a group with any subscriptions, whose last assignment may name anything, but no partition twice."""
    counts = {topic(i): draw(st.integers(1, partitions_max)) for i in range(draw(st.integers(1, topics_max)))}
    ids = [f"m{i}" for i in range(draw(st.integers(1, members_max)))]
    is_homogeneous = draw(st.booleans())
    some = st.lists(st.sampled_from([*counts, GONE]), unique=True)
    common = draw(some)
    named = [(each, i) for each in [*counts, GONE] for i in range(counts.get(each, 1) + 1)]
    owners = {partition: draw(st.sampled_from([*ids, None])) for partition in named}
    instances = draw(st.lists(st.sampled_from([None, "i1", "i2"]), min_size=len(ids), max_size=len(ids)))
    members = {
        member_id: MemberSpec(
            draw(st.permutations(common)) if is_homogeneous else draw(some), held_by(member_id, owners), instance
        )
        for member_id, instance in zip(ids, instances, strict=True)
    }
    return GroupSpec(members, is_homogeneous), TopicsSpec(counts)


def held_by(member_id: str, owners: dict[tuple[Uuid, int], str | None]) -> dict[Uuid, list[int]]:
    held: dict[Uuid, list[int]] = {}
    for (topic_id, partition), owner in owners.items():
        if owner == member_id:
            held.setdefault(topic_id, []).append(partition)
    return held


def owners_in(assignment: Assignment) -> Owners:
    owners: Owners = {}
    for member_id, held in assignment.items():
        for topic_id, partitions in held.items():
            assert partitions, "a topic without partitions"
            for partition in partitions:
                assert (topic_id, partition) not in owners, "a partition twice"
                owners[topic_id, partition] = member_id
    return owners


def subscribers(group: GroupSpec, topic_id: Uuid) -> list[str]:
    return [member_id for member_id, member in group.members.items() if topic_id in member.subscribed_topic_ids]


def wanted(group: GroupSpec, topics: TopicsSpec) -> Iterator[tuple[Uuid, int]]:
    for topic_id, count in topics.partition_counts.items():
        if subscribers(group, topic_id):
            yield from ((topic_id, partition) for partition in range(count))


def moved(group: GroupSpec, owners: Owners) -> int:
    """Count the partitions that were taken from a member which could have kept them."""
    had = owners_in({member_id: member.assigned for member_id, member in group.members.items()})
    return sum(
        1
        for partition, owner in owners.items()
        if partition in had and had[partition] != owner and had[partition] in subscribers(group, partition[0])
    )


def squared_loads(group: GroupSpec, owners: Owners) -> int:
    loads = dict.fromkeys(group.members, 0)
    for owner in owners.values():
        loads[owner] += 1
    return sum(load * load for load in loads.values())


def after(group: GroupSpec, assignment: Assignment, without: str | None = None) -> dict[str, MemberSpec]:
    """Return the group's members as they are once the assignment is theirs."""
    return {
        member_id: MemberSpec(member.subscribed_topic_ids, assignment[member_id], member.instance_id)
        for member_id, member in group.members.items()
        if member_id != without
    }


@each_assignor
@modest
@given(data=groups(members_max=6, partitions_max=7))
def test_every_partition_has_one_owner_that_wants_it(name: str, data: tuple[GroupSpec, TopicsSpec]) -> None:
    group, topics = data
    assignment = ASSIGNORS[name](group, topics)
    owners = owners_in(assignment)
    assert list(assignment) == list(group.members)
    assert sorted(owners) == sorted(wanted(group, topics))
    assert all(owner in subscribers(group, topic_id) for (topic_id, _), owner in owners.items())
    assert all(list(held[each]) == sorted(held[each]) for held in assignment.values() for each in held)


@each_assignor
@modest
@given(data=groups(members_max=6, partitions_max=7))
def test_the_same_again_and_itself_again_change_nothing(name: str, data: tuple[GroupSpec, TopicsSpec]) -> None:
    group, topics = data
    before = repr(group)
    assignment = ASSIGNORS[name](group, topics)
    assert repr(group) == before, "it changed what it was given"
    assert assignment == ASSIGNORS[name](group, topics)
    members = after(group, assignment)
    again = ASSIGNORS[name](GroupSpec(members, group.is_homogeneous), topics)
    assert all(again[member_id] is members[member_id].assigned for member_id in members)


@modest
@given(data=groups(members_max=4, partitions_max=3, topics_max=2))
def test_uniform_is_as_balanced_as_can_be_and_moves_little(data: tuple[GroupSpec, TopicsSpec]) -> None:
    group, topics = data
    owners = owners_in(uniform(group, topics))
    best = least(group, topics)
    assert squared_loads(group, owners) == best[0]
    # With equal subscriptions no partition moves in vain. With others one or two may: the search never backtracks.
    assert moved(group, owners) <= best[1] + (0 if group.is_homogeneous else 2)


def least(group: GroupSpec, topics: TopicsSpec) -> tuple[int, int]:
    """Return, over all possible assignments, the smallest sum of squared loads, and the fewest moves that give it."""
    partitions = list(wanted(group, topics))
    assignments = product(*(subscribers(group, topic_id) for topic_id, _ in partitions))
    all_owners = (dict(zip(partitions, owners, strict=True)) for owners in assignments)
    return min((squared_loads(group, owners), moved(group, owners)) for owners in all_owners)


@modest
@given(data=groups(members_max=8, partitions_max=20))
def test_equal_subscriptions_are_balanced_to_within_one(data: tuple[GroupSpec, TopicsSpec]) -> None:
    group, topics = data
    if not group.is_homogeneous:
        group = GroupSpec({each: MemberSpec(list(topics.partition_counts)) for each in group.members}, True)
    loads = [sum(map(len, held.values())) for held in uniform(group, topics).values()]
    assert max(loads) - min(loads) <= 1


@pytest.mark.parametrize("is_homogeneous", [True, False])
@modest
@given(members=st.integers(1, 12), partitions=st.integers(1, 40))
def test_one_that_joins_gets_its_share_and_nothing_else_moves(
    is_homogeneous: bool, members: int, partitions: int
) -> None:
    topics = TopicsSpec({topic(1): partitions, topic(2): partitions // 2})
    subscribed = list(topics.partition_counts)
    group = GroupSpec({f"m{i}": MemberSpec(subscribed) for i in range(members)}, is_homogeneous)
    joined = GroupSpec(after(group, uniform(group, topics)) | {"new": MemberSpec(subscribed)}, is_homogeneous)
    assignment = uniform(joined, topics)
    owners = owners_in(assignment)
    got = sum(map(len, assignment["new"].values()))
    assert moved(joined, owners) == got == (partitions + partitions // 2) // (members + 1)
    untouched = [each for each in joined.members if assignment[each] is joined.members[each].assigned]
    assert len(untouched) >= members - got


@pytest.mark.parametrize("is_homogeneous", [True, False])
@modest
@given(members=st.integers(2, 12), partitions=st.integers(1, 40), data=st.data())
def test_when_one_leaves_only_its_partitions_move(
    is_homogeneous: bool, members: int, partitions: int, data: st.DataObject
) -> None:
    topics = TopicsSpec({topic(1): partitions})
    group = GroupSpec({f"m{i}": MemberSpec([topic(1)]) for i in range(members)}, is_homogeneous)
    leaver = data.draw(st.sampled_from(sorted(group.members)))
    rest = GroupSpec(after(group, uniform(group, topics), without=leaver), is_homogeneous)
    assert moved(rest, owners_in(uniform(rest, topics))) == 0


@each_assignor
def test_a_group_without_members_or_subscriptions(name: str) -> None:
    assign: Callable[[GroupSpec, TopicsSpec], Assignment] = ASSIGNORS[name]
    for is_homogeneous in (True, False):
        assert assign(GroupSpec({}, is_homogeneous), TopicsSpec({topic(1): 3})) == {}
        had = MemberSpec([], {topic(1): [0]})
        assert assign(GroupSpec({"m": had}, is_homogeneous), TopicsSpec({topic(1): 3})) == {"m": {}}
