"""Subscriptions by regular expression."""

from tests.unit.coordinator.consumer.bench import Bench, Client

from tidelog.model.errors import ErrorCode

REGEX, EPOCH = "ConsumerGroupRegularExpressionKey", "ConsumerGroupMetadataKey"


def bench_with_topics() -> Bench:
    bench = Bench()
    for name in ("foo", "fob", "bar"):
        bench.topic(name, 2)
    return bench


def matching(bench: Bench, member_id: str, regex: str = "fo.*") -> Client:
    return bench.client(member_id, regex=regex)


def resolved(bench: Bench) -> Client:
    client = matching(bench, "a")
    client.join()
    bench.tick()
    client.beat()
    return client


def test_it_is_resolved_after_the_join() -> None:
    bench = bench_with_topics()
    client = matching(bench, "a")
    assert client.join() is ErrorCode.NONE
    assert (client.epoch, client.assignment) == (1, {})
    assert bench.taken(2) == ["ConsumerGroupMemberMetadataKey", "ConsumerGroupCurrentMemberAssignmentKey"]
    bench.tick()
    assert bench.taken(2) == [REGEX, EPOCH]
    found = bench.group.subscriptions.resolved["fo.*"]
    assert (found.topics, found.version, found.timestamp_ms) == (("fob", "foo"), bench.offset, bench.wall_ms)
    client.beat()
    assert (client.epoch, client.assignment) == (2, {"fob": [0, 1], "foo": [0, 1]})
    bench.validate_state()


def test_it_must_be_one() -> None:
    bench = bench_with_topics()
    assert matching(bench, "a", "(").join() is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert not bench.log


def test_another_member_with_the_same_one_needs_no_resolving() -> None:
    bench = bench_with_topics()
    first = resolved(bench)
    second = matching(bench, "b")
    second.join()
    assert second.epoch == 3
    assert len(bench.group.subscriptions.resolved) == 1
    bench.settle(first, second)
    assert first.assignment != second.assignment
    assert bench.group.subscriptions.is_homogeneous(2)


def test_new_topics_are_found_but_not_more_often_than_every_ten_seconds() -> None:
    bench = bench_with_topics()
    client = resolved(bench)
    bench.topic("fox", 1)
    client.beat()
    bench.advance(10_000)
    assert "fox" not in client.assignment
    bench.now_ms += 1
    client.beat()
    bench.tick()
    client.beat()
    assert client.assignment == {"fob": [0, 1], "foo": [0, 1], "fox": [0]}


def test_a_clock_that_is_set_back_does_not_hide_new_topics() -> None:
    bench = bench_with_topics()
    client = resolved(bench)
    bench.topic("fox", 1)
    bench.set_back_ms = 3_600_000
    bench.advance(10_001)
    client.beat()
    bench.tick()
    client.beat()
    assert client.assignment == {"fob": [0, 1], "foo": [0, 1], "fox": [0]}


def test_a_clock_that_is_set_back_does_not_end_the_refreshing() -> None:
    bench = bench_with_topics()
    client = resolved(bench)
    count = len(bench.log)
    bench.set_back_ms = 24 * 3_600_000
    bench.advance(10_001)
    client.beat()
    bench.tick()
    assert bench.taken(len(bench.log) - count) == [REGEX]


def test_a_topic_that_does_not_match_makes_no_rebalance() -> None:
    bench = bench_with_topics()
    client = resolved(bench)
    epoch = bench.group.epoch
    bench.topic("baz", 1)
    bench.advance(10_001)
    client.beat()
    bench.tick()
    assert bench.taken(1) == [REGEX]
    assert (bench.group.epoch, bench.group.subscriptions.resolved["fo.*"].version) == (epoch, bench.offset)


def test_it_is_resolved_again_after_the_refresh_interval() -> None:
    bench = bench_with_topics()
    client = resolved(bench)
    count = len(bench.log)
    for _ in range(60):
        bench.advance(10_000)
        client.beat()
    bench.tick()
    assert len(bench.log) == count
    bench.advance(1)
    client.beat()
    bench.tick()
    assert bench.taken(len(bench.log) - count) == [REGEX]


def test_the_last_one_takes_it_away() -> None:
    bench = bench_with_topics()
    client = resolved(bench)
    client.report(subscribed_topic_regex="")
    assert f"-{REGEX}" in bench.taken(10)
    assert not bench.group.subscriptions.resolved
    client.report()
    assert client.assignment == {}
    assert bench.group.subscriptions.topics == {}
    bench.validate_state()


def test_who_leaves_takes_its_expression_along() -> None:
    bench = bench_with_topics()
    first = resolved(bench)
    second = matching(bench, "b")
    second.join()
    first.leave()
    assert "fo.*" in bench.group.subscriptions.resolved
    second.leave()
    assert bench.taken(2) == [f"-{REGEX}", EPOCH]
    assert bench.group.metadata_hash == 0
    bench.validate_state()


def test_from_one_to_another() -> None:
    bench = bench_with_topics()
    client = resolved(bench)
    bench.advance(10_001)
    client.report(subscribed_topic_regex="ba.*")
    assert client.assignment == {}, "what the new one matches is not known yet"
    client.report()
    bench.tick()
    client.report()
    assert client.assignment == {"bar": [0, 1]}


def test_names_and_an_expression_together() -> None:
    bench = bench_with_topics()
    client = bench.client("a", "bar")
    client.join(subscribed_topic_regex="foo")
    bench.tick()
    client.beat()
    assert client.assignment == {"bar": [0, 1], "foo": [0, 1]}
    assert not bench.group.subscriptions.is_homogeneous(1)


def test_a_whole_name_must_match() -> None:
    bench = bench_with_topics()
    client = matching(bench, "a", "fo")
    client.join()
    bench.tick()
    client.beat()
    assert client.assignment == {}


def test_a_group_that_is_gone_resolves_nothing() -> None:
    bench = bench_with_topics()
    bench.shard.timers.set(("consumer-regex", "gone"), bench.now_ms)
    bench.tick()
    assert not bench.log
