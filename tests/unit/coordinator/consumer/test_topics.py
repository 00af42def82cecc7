"""Topics are created, grow and are deleted; the target assignment follows, as often as the interval allows."""

import pytest
from tests.unit.coordinator.consumer.bench import GROUP, Bench

from tidelog.coordinator.group.consumer import target
from tidelog.coordinator.group.consumer.change import REBALANCES
from tidelog.model.errors import ErrorCode


def test_a_topic_that_is_made_later() -> None:
    bench = Bench()
    (a,) = bench.joined("a")
    assert (a.epoch, a.assignment, bench.group.metadata_hash) == (2, {}, 0)
    bench.topic("t", 2)
    a.beat()
    assert (a.epoch, a.assignment) == (3, {"t": [0, 1]})
    assert bench.group.metadata_hash != 0
    bench.validate_state()


def test_a_topic_that_grows() -> None:
    bench = Bench()
    bench.topic("t", 2)
    (a,) = bench.joined("a")
    bench.grow("t", 3)
    a.beat()
    assert a.assignment == {"t": [0, 1, 2]}


def test_a_topic_that_is_deleted_and_made_again() -> None:
    bench = Bench()
    bench.topic("t", 2)
    (a,) = bench.joined("a")
    bench.delete("t")
    bench.settle(a)
    assert (a.assignment, bench.group.owners) == ({}, {})
    bench.topic("t", 1)
    bench.settle(a)
    assert a.assignment == {"t": [0]}


def test_another_topic_is_of_no_interest() -> None:
    bench = Bench()
    bench.topic("t", 2)
    (a,) = bench.joined("a")
    count = len(bench.log)
    bench.topic("u", 2)
    a.beat()
    assert len(bench.log) == count


def test_replicas_in_another_rack_are_news() -> None:
    bench = Bench()
    bench.broker(1, "r1")
    bench.topic("t", 1)
    (a,) = bench.joined("a")
    bench.broker(1, "r2")
    a.beat()
    assert a.epoch == 2, "nobody looks at the topic before something of itself changes"
    bench.grow("t", 2)
    a.beat()
    assert a.epoch == 3


def test_what_happens_between_two_coordinators_is_noticed() -> None:
    bench = Bench()
    bench.topic("t", 1)
    (a,) = bench.joined("a")
    bench.shard.groups.pop(GROUP)
    bench.grow("t", 2)
    bench.reload()
    a.beat()
    assert a.assignment == {"t": [0, 1]}


def test_joins_within_the_interval_are_assigned_together() -> None:
    bench = Bench({"group.consumer.assignment.interval.ms": "1000"})
    bench.topic("t", 6)
    clients = [bench.client(name) for name in "abc"]
    for client in clients:
        client.join()
    assert (bench.group.epoch, bench.group.target_epoch) == (4, 2)
    assert [client.epoch for client in clients] == [2, 2, 2]
    assert bench.group.state_name == "Assigning"
    bench.advance(999)
    clients[1].report()
    assert bench.group.target_epoch == 2
    bench.advance(1)
    clients[1].report()
    assert (bench.group.epoch, bench.group.target_epoch) == (4, 4)
    bench.settle(*clients)
    assert [client.assignment["t"] for client in clients] == [[0, 1], [2, 3], [4, 5]]
    assert bench.shard.counters[REBALANCES] == 3


def test_a_clock_that_is_set_back_does_not_delay_the_next_assignment() -> None:
    bench = Bench({"group.consumer.assignment.interval.ms": "1000"})
    bench.topic("t", 2)
    clients = [bench.client(name) for name in "ab"]
    for client in clients:
        client.join()
    assert bench.group.target_epoch < bench.group.epoch
    bench.set_back_ms = 3_600_000
    bench.advance(1_000)
    clients[0].report()
    assert bench.group.target_epoch == bench.group.epoch


def test_the_interval_of_the_group() -> None:
    bench = Bench({"group.consumer.assignment.interval.ms": "1000"})
    bench.configure("consumer.assignment.interval.ms", "0")
    bench.topic("t", 2)
    bench.client("a").join()
    bench.client("b").join()
    assert bench.group.target_epoch == bench.group.epoch


def test_the_assignor_that_most_members_want() -> None:
    bench = Bench()
    bench.topic("t", 3)
    bench.topic("u", 3)
    clients = [bench.client(name, "t", "u") for name in "ab"]
    clients[0].join(server_assignor="range")
    clients[1].join()
    assert bench.describe().assignor_name == "range"
    bench.settle(*clients)
    assert clients[0].assignment == {"t": [0, 1], "u": [0, 1]}, "range is not even over topics"
    clients[1].report(server_assignor="uniform")
    assert bench.group.server_assignors == {"range": 1, "uniform": 1}
    third = bench.client("c", "t", "u")
    third.join(server_assignor="uniform")
    assert bench.describe().assignor_name == "uniform"
    third.leave()
    clients[1].leave()
    assert bench.group.server_assignors == {"range": 1}


def test_a_large_group_gives_the_turn_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "LARGE", 3)
    monkeypatch.setattr(target, "MEMBERS_A_SLICE", 2)
    bench = Bench()
    bench.topic("t", 8)
    clients = [bench.client(name) for name in "abcd"]
    for client in clients[:3]:
        client.join()
    assert bench.steps_taken == 0
    assert clients[3].join() is ErrorCode.NONE
    assert bench.steps_taken > 2
    bench.settle(*clients)
    assert sorted(p for client in clients for p in client.assignment["t"]) == list(range(8))
    bench.validate_state()


def test_members_with_different_topics() -> None:
    bench = Bench()
    bench.topic("t", 2)
    bench.topic("u", 2)
    a, b = bench.client("a", "t"), bench.client("b", "t", "u")
    a.join()
    b.join()
    bench.settle(a, b)
    assert (a.assignment, b.assignment) == ({"t": [0, 1]}, {"u": [0, 1]})
