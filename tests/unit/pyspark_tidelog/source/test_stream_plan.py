"""What a streaming query reads next, over the life of its topics."""

import logging
from collections.abc import Callable

import pytest
from tests.unit.pyspark_tidelog.fake_cluster import FakeCluster

from pyspark_tidelog.errors import DataLoss, OptionError
from pyspark_tidelog.source.options import source_options
from pyspark_tidelog.source.stream_plan import StreamPlan
from tidelog.client.errors import ClientError
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.list_offsets import ListOffsetsRequest

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
Planned = list[tuple[str, int, int]]


@pytest.fixture
def cluster() -> FakeCluster:
    made = FakeCluster()
    made.create("a", 5, 7)
    return made


def plan_of(cluster: FakeCluster, now_ms: Callable[[], int] = lambda: 0, **options: str) -> StreamPlan:
    named = {"kafka.bootstrap.servers": "nobody:1", "subscribe": "a", **options}
    if "subscribePattern" in options:
        del named["subscribe"]
    return StreamPlan(source_options(named, is_streaming=True), cluster.view(), now_ms)


def ranges(plan: StreamPlan, start: dict[TopicPartition, int], end: dict[TopicPartition, int]) -> Planned:
    return [(str(task.topic_partition), task.start, task.end) for task in plan.tasks(start, end)]


def test_a_query_starts_at_latest_unless_it_says_otherwise(cluster: FakeCluster) -> None:
    assert plan_of(cluster).initial() == {A0: 5, A1: 7}
    assert plan_of(cluster, startingOffsets="earliest").initial() == {A0: 0, A1: 0}
    named = plan_of(cluster, startingOffsets='{"a":{"0":3,"1":-1}}')
    assert named.initial() == {A0: 3, A1: 7}


def test_the_first_offsets_are_asked_for_once(cluster: FakeCluster) -> None:
    plan = plan_of(cluster)
    plan.initial()
    cluster.topics["a"][0].end = 50
    assert plan.initial() == {A0: 5, A1: 7}


def test_a_start_by_time_needs_a_record_or_a_strategy(cluster: FakeCluster) -> None:
    cluster.topics["a"][0].times = {2: 1_000}
    with pytest.raises(OptionError, match=r"^startingTimestamp: a-1 has no record"):
        plan_of(cluster, startingTimestamp="1000").initial()
    by_strategy = plan_of(cluster, startingTimestamp="1000", startingOffsetsByTimestampStrategy="latest")
    assert by_strategy.initial() == {A0: 2, A1: 7}


def test_an_unknown_topic_does_not_start_and_a_pattern_waits_for_its_first(cluster: FakeCluster) -> None:
    with pytest.raises(ClientError, match="find topic nope"):
        plan_of(cluster, subscribe="nope").initial()
    plan = plan_of(cluster, subscribePattern="^b")
    assert plan.initial() == {}
    assert plan.latest({}) == {}
    cluster.create("b", 4)
    assert plan.latest({}) == {B0: 4}
    assert ranges(plan, {}, {B0: 4}) == [("b-0", 0, 4)]


def test_a_batch_is_from_where_the_last_one_ended(cluster: FakeCluster) -> None:
    plan = plan_of(cluster)
    start = plan.initial()
    cluster.topics["a"][0].end = 9
    end = plan.latest(start)
    assert end == plan.latest_seen == {A0: 9, A1: 7}
    assert ranges(plan, start, end) == [("a-0", 5, 9)]
    assert plan.tasks(start, end)[0].topic_id == cluster.ids["a"]


def test_tasks_are_cut_as_the_options_say(cluster: FakeCluster) -> None:
    plan = plan_of(cluster, maxRecordsPerPartition="4")
    assert ranges(plan, {A0: 0, A1: 7}, {A0: 8, A1: 7}) == [("a-0", 0, 4), ("a-0", 4, 8)]


def test_a_limit_is_shared_out_and_what_is_there_is_reported(cluster: FakeCluster) -> None:
    cluster.create("a", 100, 300)
    plan = plan_of(cluster, startingOffsets="earliest")
    assert plan.latest(plan.initial(), rows=40) == {A0: 10, A1: 30}
    assert plan.latest_seen == {A0: 100, A1: 300}


def test_new_partitions_start_at_their_beginning_and_count_in_the_limit(cluster: FakeCluster) -> None:
    plan = plan_of(cluster)
    start = {A0: 5}
    assert plan.latest(start, rows=2) == {A0: 5, A1: 2}
    assert ranges(plan, start, {A0: 5, A1: 2}) == [("a-1", 0, 2)]


def test_a_new_partition_without_its_beginning_is_data_loss(cluster: FakeCluster) -> None:
    cluster.topics["a"][1].first = 3
    with pytest.raises(DataLoss, match="a-1: offset 0 is wanted, offsets 3 to 6 are available: the partition is new"):
        plan_of(cluster).tasks({A0: 5}, {A0: 5, A1: 7})
    assert ranges(plan_of(cluster, failOnDataLoss="false"), {A0: 5}, {A0: 5, A1: 7}) == [("a-1", 3, 7)]


def test_too_little_waits_for_more_but_not_for_ever(cluster: FakeCluster) -> None:
    now_ms = [0]
    plan = plan_of(
        cluster, lambda: now_ms[0], minOffsetsPerTrigger="10", maxTriggerDelay="20s", startingOffsets="earliest"
    )
    start = plan.initial()
    assert plan.latest(start, may_wait=True) == {A0: 5, A1: 7}, "the first batch of a run never waits"
    cluster.topics["a"][0].end = 6
    start = {A0: 5, A1: 7}
    assert plan.latest(start, may_wait=True) == start
    assert plan.latest(start) == {A0: 6, A1: 7}, "Trigger.Once takes all there is"
    now_ms[0] = 20_000
    assert plan.latest(start, may_wait=True) == {A0: 6, A1: 7}
    cluster.topics["a"][0].end = 15
    assert plan.latest(start, may_wait=True, rows=4) == {A0: 9, A1: 7}


def test_available_now_ends_where_it_first_looked(cluster: FakeCluster) -> None:
    cluster.create("a", 10, 0)
    plan = plan_of(cluster, startingOffsets="earliest", minOffsetsPerTrigger="7")
    plan.prepare_available_now()
    offsets = plan.initial()
    ends = []
    while (end := plan.latest(offsets, rows=4, may_wait=True)) != offsets:
        cluster.topics["a"][0].end += 10
        ends.append(end[A0])
        offsets = end
    assert ends == [4, 8, 10]


# Topics that go, and come back


def test_a_topic_that_is_gone_is_data_loss(cluster: FakeCluster) -> None:
    cluster.create("b", 1)
    plan = plan_of(cluster, subscribe="a,b")
    start = plan.initial()
    del cluster.topics["a"]
    with pytest.raises(DataLoss, match=r"^a-0: offset 5 is wanted, the partition is gone"):
        plan.latest(start)


def test_a_topic_that_is_gone_is_left_behind_and_begins_again_when_it_is_back(
    cluster: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    plan = plan_of(cluster, failOnDataLoss="false")
    start = plan.initial()
    logs = cluster.topics.pop("a")
    end = plan.latest(start)
    assert end == {}
    with caplog.at_level(logging.WARNING):
        assert plan.tasks(start, end) == []
    assert "a-0: offset 5 is wanted, the partition is gone" in caplog.text
    assert "because failOnDataLoss is false" in caplog.text
    del logs
    cluster.create("a", 2)
    assert plan.latest(end) == {A0: 2}
    assert ranges(plan, end, {A0: 2}) == [("a-0", 0, 2)]


@pytest.mark.parametrize("end", [2, 5, 90])
def test_a_topic_made_anew_is_data_loss_however_long_it_is(cluster: FakeCluster, end: int) -> None:
    plan = plan_of(cluster)
    start = plan.initial()
    cluster.create("a", end, 7)
    with pytest.raises(DataLoss, match=f"a-0: offset 5 is wanted, offsets 0 to {end - 1} are available: the topic was"):
        plan.latest(start)


@pytest.mark.parametrize("end", [2, 90])
def test_a_topic_made_anew_is_read_from_its_beginning(cluster: FakeCluster, end: int) -> None:
    plan = plan_of(cluster, failOnDataLoss="false")
    start = plan.initial()
    cluster.create("a", end, 3)
    assert plan.latest(start) == {A0: end, A1: 3}
    assert ranges(plan, start, {A0: end, A1: 3}) == [("a-0", 0, end), ("a-1", 0, 3)]
    cluster.topics["a"][1].end = 8
    assert plan.latest({A0: end, A1: 3}) == {A0: end, A1: 8}
    assert ranges(plan, {A0: end, A1: 3}, {A0: end, A1: 8}) == [("a-1", 3, 8)], "once"


@pytest.mark.parametrize("questions_before", range(2))
def test_a_topic_made_anew_during_a_look_does_not_lend_its_offsets_to_the_old_one(
    cluster: FakeCluster, questions_before: int
) -> None:
    """The new topic is longer than the old one, and is made before each of the questions that a look asks."""
    plan = plan_of(cluster, failOnDataLoss="false")
    start = plan.initial()
    cluster.on_ask = [lambda: None] * questions_before + [lambda: cluster.create("a", 90, 8)]
    end = plan.latest(start)
    assert not cluster.on_ask
    assert ranges(plan, start, end) == [("a-0", 0, 90), ("a-1", 0, 8)]
    assert {task.topic_id for task in plan.tasks(start, end)} == {cluster.ids["a"]}


def test_a_topic_made_anew_that_is_exactly_as_long_is_read_without_waiting_for_more(cluster: FakeCluster) -> None:
    plan = plan_of(cluster, failOnDataLoss="false")
    start = plan.initial()
    cluster.create("a", 5, 7)
    read, offsets = [], start
    while (end := plan.latest(offsets)) != offsets:  # as Spark does
        read += ranges(plan, offsets, end)
        offsets = end
    assert read == [("a-0", 0, 4), ("a-1", 0, 7), ("a-0", 4, 5)]


def test_a_plan_is_the_same_however_often_spark_asks(cluster: FakeCluster) -> None:
    plan = plan_of(cluster, failOnDataLoss="false")
    start = plan.initial()
    cluster.create("a", 2, 9)
    end = plan.latest(start)
    assert ranges(plan, start, end) == ranges(plan, start, end) == [("a-0", 0, 2), ("a-1", 0, 9)]


def test_a_topic_that_the_query_does_not_read_any_more(cluster: FakeCluster) -> None:
    cluster.create("b", 1)
    with pytest.raises(DataLoss, match=r"^b-0: .* gone: the query does not read this topic any more"):
        plan_of(cluster).latest({A0: 5, A1: 7, B0: 1})


def test_a_topic_that_stays_away_holds_up_no_trigger(cluster: FakeCluster) -> None:
    plan = plan_of(cluster, subscribe="a,b", failOnDataLoss="false")
    began_ms = cluster.client.now_ms()
    assert plan.latest({A0: 5, A1: 7}) == {A0: 5, A1: 7}
    assert cluster.client.now_ms() == began_ms


def test_the_limit_knows_that_a_topic_begins_again(cluster: FakeCluster) -> None:
    plan = plan_of(cluster, failOnDataLoss="false")
    start = plan.initial()
    cluster.create("a", 90, 0)
    assert plan.latest(start, rows=10) == {A0: 10, A1: 0}
    assert ranges(plan, start, {A0: 10, A1: 0}) == [("a-0", 0, 10)]


def test_a_restart_finds_a_log_that_ends_before_its_checkpoint(cluster: FakeCluster) -> None:
    start, end = {A0: 50, A1: 7}, {A0: 5, A1: 7}
    with pytest.raises(DataLoss, match="a-0: offset 50 is wanted, offsets 0 to 4 are available"):
        plan_of(cluster).latest(start)
    with pytest.raises(DataLoss, match="a-0: offset 50 is wanted"):
        plan_of(cluster).tasks(start, end)
    going_on = plan_of(cluster, failOnDataLoss="false")
    assert going_on.latest(start) == end
    assert going_on.tasks(start, end) == []


def test_an_empty_batch_asks_nobody(cluster: FakeCluster) -> None:
    assert plan_of(cluster).tasks({A0: 1}, {A0: 1}) == []
    assert cluster.client.asked == []


def test_a_trigger_costs_one_question_of_each_kind(cluster: FakeCluster) -> None:
    plan = plan_of(cluster)
    start = plan.initial()
    before = len(cluster.client.asked)
    cluster.topics["a"][0].end = 9
    plan.tasks(start, plan.latest(start))
    assert len(cluster.client.asked) - before == 2
    assert len(cluster.asked(ListOffsetsRequest)) == 2


# By time


@pytest.fixture
def hours(cluster: FakeCluster) -> FakeCluster:
    """Partition 0 has a record an hour since hour 0, partition 1 since hour 4."""
    first, later = cluster.create("a", 8, 4)
    first.times = {offset: offset * 3_600_000 for offset in range(8)}
    later.times = {offset: (4 + offset) * 3_600_000 for offset in range(4)}
    return cluster


def ends_of(plan: StreamPlan, *, rows: int | None, may_wait: bool = False) -> list[tuple[int, int]]:
    plan.prepare_available_now()
    offsets, ends = plan.initial(), []
    while (end := plan.latest(offsets, rows=rows, may_wait=may_wait)) != offsets:
        ends.append((end[A0], end[A1]))
        offsets = end
    return ends


def test_a_limit_by_time_lets_partitions_advance_together(hours: FakeCluster) -> None:
    by_number = ends_of(plan_of(hours, startingOffsets="earliest"), rows=6)
    assert by_number == [(4, 2), (8, 4)], "hour 5 of one before hour 4 of the other"
    by_time = ends_of(plan_of(hours, startingOffsets="earliest", maxTimePerTrigger="2h"), rows=1 << 60)
    assert by_time == [(2, 0), (4, 0), (6, 2), (8, 4)]


def test_both_limits_hold(hours: FakeCluster) -> None:
    both = ends_of(plan_of(hours, startingOffsets="earliest", maxTimePerTrigger="4h"), rows=3)
    assert both == [(3, 0), (4, 1), (5, 2), (6, 3), (8, 4)]


def test_a_limit_by_time_holds_where_rows_are_only_waited_for(hours: FakeCluster) -> None:
    plan = plan_of(hours, startingOffsets="earliest", maxTimePerTrigger="4h", minOffsetsPerTrigger="5")
    assert ends_of(plan, rows=None, may_wait=True) == [(4, 0), (8, 4)]


def test_trigger_once_has_no_limit_by_time_either(hours: FakeCluster) -> None:
    plan = plan_of(hours, startingOffsets="earliest", maxTimePerTrigger="1h")
    assert plan.latest(plan.initial()) == {A0: 8, A1: 4}


def test_a_partition_added_later_begins_with_the_oldest_that_waits(hours: FakeCluster) -> None:
    plan = plan_of(hours, maxTimePerTrigger="2h")
    assert plan.latest({A0: 6}, rows=100) == {A0: 6, A1: 2}
