"""What the driver learns of a cluster: partitions, ends of logs, times; what it waits for, and what it gives up."""

import logging
import pickle

import pytest
from tests.unit.pyspark_tidelog.fake_cluster import FakeCluster

from pyspark_tidelog.kafka import first_contact
from pyspark_tidelog.source.options import Assign, Subscribe, SubscribePattern
from tidelog.client.errors import ClientError
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.list_offsets import ListOffsetsRequest
from tidelog.protocol.messages.metadata import MetadataRequest

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


@pytest.fixture
def cluster() -> FakeCluster:
    made = FakeCluster()
    made.create("a", 5, 7)
    made.create("b", 3)
    return made


def lost(code: ErrorCode) -> ClientError:
    return ClientError(code, "", "broker 1 at host:9092", "gone for a moment")


def test_a_subscription_is_all_partitions_of_its_topics(cluster: FakeCluster) -> None:
    view = cluster.view()
    assert view.topic_partitions(Subscribe(("b", "a"))) == [A0, A1, B0]
    assert view.topic_partitions(SubscribePattern("^a$")) == [A0, A1]
    assert view.topic_partitions(Assign((B0, A1))) == [A1, B0]


def test_partitions_that_are_added_are_seen(cluster: FakeCluster) -> None:
    view = cluster.view()
    view.topic_partitions(Subscribe(("b",)))
    cluster.create("b", 3, 0)
    assert view.topic_partitions(Subscribe(("b",))) == [B0, TopicPartition("b", 1)]


def test_a_pattern_finds_new_topics_loses_deleted_ones_and_no_internal_ones(cluster: FakeCluster) -> None:
    view = cluster.view()
    cluster.create("__consumer_offsets", 1)
    cluster.internal.add("__consumer_offsets")
    cluster.create("c", 0)
    assert {topic_partition.topic for topic_partition in view.topic_partitions(SubscribePattern("."))} == {
        "a",
        "b",
        "c",
    }
    del cluster.topics["a"]
    assert {topic_partition.topic for topic_partition in view.topic_partitions(SubscribePattern("."))} == {"b", "c"}
    assert view.topic_partitions(Subscribe(("__consumer_offsets",))) == [TopicPartition("__consumer_offsets", 0)]


@pytest.mark.parametrize(
    ("subscription", "named"),
    [(Subscribe(("a", "nope")), "find topic nope "), (Assign((A0, TopicPartition("a", 9))), "find partition a-9 ")],
)
def test_what_is_named_and_not_there_is_named_in_the_error(
    cluster: FakeCluster, subscription: Subscribe | Assign, named: str
) -> None:
    with pytest.raises(ClientError) as caught:
        cluster.view().topic_partitions(subscription)
    assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert str(caught.value).startswith(named)


def test_a_topic_that_was_there_is_waited_for_before_it_is_called_missing(cluster: FakeCluster) -> None:
    view = cluster.view()
    logs = cluster.topics.pop("a")
    cluster.on_ask = [lambda: None, lambda: None, lambda: cluster.topics.update(a=logs)]
    assert view.find(SubscribePattern("."), expected=["a"]).missing == []
    del cluster.topics["a"]
    found = view.find(SubscribePattern("."), expected=["a"])
    assert (found.missing, found.topic_partitions) == (["a"], [B0])


def test_rights_are_not_waited_for(cluster: FakeCluster) -> None:
    cluster.errors["a"] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    with pytest.raises(ClientError) as caught:
        cluster.view().topic_partitions(Subscribe(("a",)))
    assert caught.value.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert len(cluster.asked(MetadataRequest)) == 1


def test_logs_begin_and_end(cluster: FakeCluster) -> None:
    cluster.topics["a"][1].first = 4
    cluster.topics["a"][1].stable_end = 6
    assert cluster.view().earliest([A0, A1]) == {A0: 0, A1: 4}
    assert cluster.view().latest([A0, A1]) == {A0: 5, A1: 7}
    assert cluster.view(read_committed=True).latest([A0, A1]) == {A0: 5, A1: 6}


def test_times_are_offsets_or_none(cluster: FakeCluster) -> None:
    cluster.topics["a"][0].times = {0: 100, 3: 200}
    view = cluster.view()
    view.topic_partitions(Subscribe(("a",)))
    assert view.at_times({A0: 101, A1: 5}) == {A0: 3, A1: None}


def test_a_leader_that_moves_is_asked_for_again_and_it_is_logged(
    cluster: FakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    log = cluster.topics["a"][0]
    log.error = ErrorCode.NOT_LEADER_OR_FOLLOWER
    view = cluster.view()
    view.topic_partitions(Subscribe(("a",)))

    def recover() -> None:
        log.error = ErrorCode.NONE

    cluster.on_ask = [lambda: None, lambda: None, lambda: None, recover]
    with caplog.at_level(logging.WARNING):
        assert view.latest([A0, A1]) == {A0: 5, A1: 7}
    assert [each.partition_index for each in cluster.asked(ListOffsetsRequest)[-1].topics[0].partitions] == [0]
    assert "find where logs end: find an offset of a-0" in caplog.text
    assert "NOT_LEADER_OR_FOLLOWER" in caplog.text
    assert "trying again (try 2, for " in caplog.text


def test_a_broker_that_dies_is_waited_for_until_the_time_is_up(cluster: FakeCluster) -> None:
    view = cluster.view()
    view.topic_partitions(Subscribe(("a",)))
    cluster.down = [lost(ErrorCode.NETWORK_EXCEPTION)] * 3
    assert view.latest([A0]) == {A0: 5}
    cluster.down = [lost(ErrorCode.NETWORK_EXCEPTION)] * 1_000
    began_ms = cluster.client.now_ms()
    with pytest.raises(ClientError) as caught:
        view.latest([A0])
    assert caught.value.code is ErrorCode.NETWORK_EXCEPTION
    assert 60_000 <= cluster.client.now_ms() - began_ms < 70_000


def test_a_partition_that_is_gone_is_left_out(cluster: FakeCluster) -> None:
    view = cluster.view()
    view.topic_partitions(Subscribe(("a", "b")))
    del cluster.topics["b"]
    assert view.latest([A0, B0]) == {A0: 5}


def test_a_log_that_ends_before_what_was_read_is_looked_at_again(cluster: FakeCluster) -> None:
    view = cluster.view()
    view.topic_partitions(Subscribe(("a",)))
    log = cluster.topics["a"][0]

    def catch_up() -> None:
        log.end = 20

    cluster.on_ask = [lambda: None, catch_up]
    assert view.latest([A0, A1], known={A0: 10, A1: 7}) == {A0: 20, A1: 7}
    asked = len(cluster.asked(ListOffsetsRequest))
    assert view.latest([A0], known={A0: 99}) == {A0: 20}
    assert len(cluster.asked(ListOffsetsRequest)) - asked == 4


def test_a_view_pickles_without_its_connection(cluster: FakeCluster) -> None:
    view = cluster.view()
    view.topic_partitions(Subscribe(("a",)))
    cluster_options, view.cluster = view.cluster, "options"  # type: ignore[assignment]
    copy = pickle.loads(pickle.dumps(view))
    assert copy.__dict__ == {**view.__dict__, "_client": None}
    assert view._client is cluster_options.connect()


def test_who_was_reached_once_is_waited_for_by_the_next_plan(
    cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read inside of `foreachBatch` is a plan of its own each time, in a process that Spark uses again."""
    monkeypatch.setattr(first_contact, "_reached", set())

    def nobody() -> None:
        raise lost(ErrorCode.NETWORK_EXCEPTION)

    with monkeypatch.context() as away:
        away.setattr(cluster.client, "refresh", nobody)
        with pytest.raises(ClientError, match="NETWORK_EXCEPTION"):
            cluster.view().topic_partitions(Subscribe(("a",)))
    for _ in range(2):
        assert cluster.view().topic_partitions(Subscribe(("a",))) == [A0, A1]
    assert cluster.patience == [False, False, True]
