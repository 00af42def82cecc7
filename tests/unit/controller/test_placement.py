"""Placement: racks, fenced brokers, balance, and requests that can not be placed."""

from collections import Counter

import pytest

from tidelog.controller.placement import Placement, UsableBroker
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.sim.entropy import SimEntropy


def placement(*brokers: UsableBroker, seed: int = 1) -> Placement:
    return Placement(brokers, SimEntropy(seed))


def unfenced(*ids: int, rack: str | None = None) -> list[UsableBroker]:
    return [UsableBroker(each, rack, is_fenced=False) for each in ids]


def fenced(*ids: int, rack: str | None = None) -> list[UsableBroker]:
    return [UsableBroker(each, rack, is_fenced=True) for each in ids]


@pytest.mark.parametrize("seed", range(5))
def test_leaders_and_replicas_are_balanced(seed: int) -> None:
    dealt = placement(*unfenced(0, 1, 2, 3), seed=seed)
    placed = [dealt.place(3) for _ in range(400)]
    assert set(Counter(replicas[0] for replicas in placed).values()) == {100}
    assert set(Counter(each for replicas in placed for each in replicas).values()) == {300}
    assert all(len(set(replicas)) == 3 for replicas in placed)


def test_followers_vary() -> None:
    dealt = placement(*unfenced(*range(6)))
    assert len({tuple(dealt.place(3)) for _ in range(300)}) > 30


def test_no_two_replicas_share_a_rack_while_another_has_room() -> None:
    racks = [broker for number in range(3) for broker in unfenced(number * 2, number * 2 + 1, rack=f"rack {number}")]
    dealt = placement(*racks)
    for _ in range(60):
        assert sorted(broker // 2 for broker in dealt.place(3)) == [0, 1, 2]


def test_a_fenced_broker_never_leads_and_comes_after_its_rack() -> None:
    dealt = placement(*unfenced(1, 2, 3, rack="a"), *fenced(4, rack="a"), *fenced(9, rack="b"), *unfenced(8, rack="b"))
    for _ in range(60):
        replicas = dealt.place(4)
        assert replicas[0] not in (4, 9)
        assert 8 in replicas
        # Rack b gives its second replica, the fenced one, only when its turn comes again; rack a never runs out.
        assert 4 not in replicas


def test_everybody_is_taken_when_that_many_are_asked_for() -> None:
    dealt = placement(*unfenced(1), *fenced(2, 3, rack="b"), *fenced(4))
    for _ in range(20):
        replicas = dealt.place(4)
        assert replicas[0] == 1
        assert sorted(replicas) == [1, 2, 3, 4]


def test_a_single_broker() -> None:
    dealt = placement(*unfenced(5))
    dealt.check(1)
    assert [dealt.place(1) for _ in range(5)] == [[5]] * 5


@pytest.mark.parametrize(
    ("brokers", "replication_factor"),
    [
        ([], 1),
        (unfenced(1), 0),
        (unfenced(1), -1),
        (unfenced(1, 2), 3),
        (fenced(1, 2), 1),
        (fenced(1, 2), 2),
    ],
)
def test_what_cannot_be_placed(brokers: list[UsableBroker], replication_factor: int) -> None:
    with pytest.raises(ApiError) as raised:
        placement(*brokers).check(replication_factor)
    assert raised.value.code == ErrorCode.INVALID_REPLICATION_FACTOR


def test_the_same_seed_places_alike() -> None:
    first, second = placement(*unfenced(*range(5)), seed=3), placement(*unfenced(*range(5)), seed=3)
    assert [first.place(2) for _ in range(50)] == [second.place(2) for _ in range(50)]
