"""Members that fall silent, or do not give up partitions in time."""

from tests.unit.coordinator.consumer.bench import REBALANCE_MS, SESSION_MS, Bench, Client

from tidelog.model.errors import ErrorCode


def two() -> tuple[Bench, Client, Client]:
    bench = Bench()
    bench.topic("t", 4)
    a, b = bench.joined("a", "b")
    return bench, a, b


def test_a_session_is_over() -> None:
    bench, a, b = two()
    bench.advance(SESSION_MS - 1)
    b.beat()
    bench.advance(1)
    assert list(bench.group.members) == ["b"]
    assert a.beat() is ErrorCode.UNKNOWN_MEMBER_ID
    bench.settle(b)
    assert b.assignment == {"t": [0, 1, 2, 3]}
    assert bench.shard.counters["consumer-group-fenced-members"] == 1
    bench.validate_state()


def test_the_last_session_is_over() -> None:
    bench, _, _ = two()
    bench.advance(SESSION_MS)
    assert bench.group.state_name == "Empty"
    assert len(bench.shard.timers) == 0
    bench.validate_state()


def test_the_session_of_the_group() -> None:
    bench, a, b = two()
    bench.configure("consumer.session.timeout.ms", "50000")
    a.beat()
    b.beat()
    bench.advance(49_999)
    assert len(bench.group.members) == 2
    bench.advance(1)
    assert not bench.group.members


def test_giving_back_takes_too_long() -> None:
    bench = Bench()
    bench.topic("t", 4)
    a, b = bench.client("a"), bench.client("b")
    a.join()
    b.join()
    a.beat()
    for _ in range(2):
        bench.advance(REBALANCE_MS // 2 - 1)
        a.beat()
        b.beat()
    assert a.state.pending_revocation
    bench.advance(2)
    assert list(bench.group.members) == ["b"]
    b.beat()
    assert b.assignment == {"t": [0, 1, 2, 3]}
    assert a.beat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_giving_back_in_time() -> None:
    bench = Bench()
    bench.topic("t", 4)
    a, b = bench.client("a"), bench.client("b")
    a.join()
    b.join()
    a.beat()
    bench.advance(REBALANCE_MS - 1)
    a.report()
    b.report()
    bench.advance(REBALANCE_MS)
    assert list(bench.group.members) == ["a", "b"]


def test_the_time_to_give_back_begins_anew_after_a_failover() -> None:
    bench = Bench()
    bench.topic("t", 4)
    a, b = bench.client("a"), bench.client("b")
    a.join()
    b.join()
    a.beat()
    bench.advance(REBALANCE_MS - 1)
    bench.reload()
    bench.advance(REBALANCE_MS - 1)
    assert "a" in bench.group.members
    bench.advance(1)
    assert "a" not in bench.group.members


def test_sessions_begin_anew_after_a_failover() -> None:
    bench, _, _ = two()
    bench.advance(SESSION_MS - 1)
    bench.reload()
    bench.advance(SESSION_MS - 1)
    assert len(bench.group.members) == 2
    bench.advance(1)
    assert bench.group.is_empty


def test_who_leaves_takes_its_timers_along() -> None:
    bench = Bench()
    bench.topic("t", 4)
    a, b = bench.client("a"), bench.client("b")
    a.join()
    b.join()
    a.beat()
    assert len(bench.shard.timers) == 3, "two sessions, and what a has to give back"
    a.leave()
    b.leave()
    assert len(bench.shard.timers) == 0


def test_a_timer_of_a_member_that_is_gone_means_nothing() -> None:
    bench, a, _ = two()
    a.leave()
    count = len(bench.log)
    bench.shard.timers.set(("consumer-session", "g", "a"), bench.now_ms)
    bench.shard.timers.set(("consumer-session", "gone", "a"), bench.now_ms)
    bench.tick()
    assert len(bench.log) == count
