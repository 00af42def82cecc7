"""CreateTopics: what is created, what is returned, and every way to be refused."""

from typing import Any

import pytest
from tests.unit.controller.cluster import Cluster, count_turns, create, directory, topic

from tidelog.config import ConfigSource
from tidelog.metadata.configs import ConfigResource, ResourceType
from tidelog.metadata.directories import UNASSIGNED_DIRECTORY
from tidelog.metadata.record_framing import encode_metadata_record
from tidelog.metadata.topics import Partition
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.codec import encode
from tidelog.protocol.messages.create_topics import CreatableReplicaAssignment, CreatableTopic
from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest


def codes(response: Any) -> dict[str, ErrorCode]:
    assert len({row.name for row in response.topics}) == len(response.topics)
    return {row.name: ErrorCode(row.error_code) for row in response.topics}


def test_a_topic_with_everything() -> None:
    cluster = Cluster().start(1)
    result = cluster.decide(create(topic("t", 3, 1, cleanup_policy="compact")))
    assert [type(message).__name__ for message, _ in result.records] == [
        "TopicRecord",
        "ConfigRecord",
        *["PartitionRecord"] * 3,
    ]
    assert result.is_atomic
    row = result.response.topics[0]
    assert (row.error_code, row.error_message, row.num_partitions, row.replication_factor) == (0, None, 3, 1)
    created = cluster.metadata.topics.by_name["t"]
    assert row.topic_id == created.id != ZERO_UUID
    assert created.partition_ids() == [0, 1, 2]
    assert cluster.partition("t", 2) == Partition((1,), (directory(1),), (1,), 1, 0, 0)
    assert cluster.metadata.configs[ConfigResource(ResourceType.TOPIC, "t")] == {"cleanup.policy": "compact"}
    for version in range(2, 8):
        assert encode(result.response, version)


def test_the_configs_in_the_response() -> None:
    cluster = Cluster(log_retention_ms="7000").start(1)
    configs = {row.name: row for row in cluster.send(create(topic("t", 1, 1, flush_ms="5"))).topics[0].configs}
    assert (configs["flush.ms"].value, configs["flush.ms"].config_source) == ("5", ConfigSource.DYNAMIC_TOPIC_CONFIG)
    retention = configs["retention.ms"]
    assert (retention.value, retention.config_source) == ("7000", ConfigSource.STATIC_BROKER_CONFIG)
    assert configs["segment.bytes"].config_source == ConfigSource.DEFAULT_CONFIG
    assert list(configs) == sorted(configs)
    assert not any(row.read_only or row.is_sensitive for row in configs.values())


def test_defaults_of_the_cluster() -> None:
    cluster = Cluster(num_partitions="4", default_replication_factor="2").start(1, 2)
    cluster.send(create(topic("t")))
    assert len(cluster.metadata.topics.by_name["t"].partitions) == 4
    assert sorted(cluster.partition("t").replicas) == [1, 2]


def test_manual_assignment_in_any_order() -> None:
    cluster = Cluster().start(1, 2, 3)
    asked = topic("t", -1, -1, [[2, 1], [3, 2]])
    asked.assignments.reverse()
    response = cluster.send(create(asked))
    assert codes(response) == {"t": ErrorCode.NONE}
    assert (response.topics[0].num_partitions, response.topics[0].replication_factor) == (2, 2)
    assert [cluster.partition("t", number).replicas for number in (0, 1)] == [(2, 1), (3, 2)]
    assert cluster.partition("t", 1).leader == 3


def test_only_the_living_are_in_sync() -> None:
    cluster = Cluster().start(1, 2)
    cluster.register(3)
    cluster.assign("t", [3, 2, 1])
    assert cluster.partition("t") == Partition((3, 2, 1), (directory(3), directory(2), directory(1)), (2, 1), 2, 0, 0)


def test_the_directory_of_a_broker_with_several_is_not_chosen_yet() -> None:
    cluster = Cluster().start(1, log_dirs=[directory(1), directory(1, 1)])
    cluster.create("t")
    assert cluster.partition("t").directories == (UNASSIGNED_DIRECTORY,)


def test_validate_only_changes_nothing_and_answers_alike() -> None:
    cluster = Cluster().start(1)
    result = cluster.decide(create(topic("t", 2, 1), topic("bad name", 1, 1), validate_only=True))
    assert result.records == []
    assert codes(result.response) == {"t": ErrorCode.NONE, "bad name": ErrorCode.INVALID_TOPIC_EXCEPTION}
    assert result.response.topics[0].num_partitions == 2
    assert "t" not in cluster.metadata.topics.by_name


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (topic("", 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (topic("..", 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (topic("a" * 250, 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (topic("exists", 1, 1), ErrorCode.TOPIC_ALREADY_EXISTS),
        (topic("dotted.name", 1, 1), ErrorCode.TOPIC_ALREADY_EXISTS),
        (topic("dotted_name", 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (topic("__cluster_metadata", 1, 1), ErrorCode.INVALID_REQUEST),
        (topic("t", 0, 1), ErrorCode.INVALID_PARTITIONS),
        (topic("t", -2, 1), ErrorCode.INVALID_PARTITIONS),
        (topic("t", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (topic("t", 1, -2), ErrorCode.INVALID_REPLICATION_FACTOR),
        (topic("t", 0, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (topic("t", 1, 4), ErrorCode.INVALID_REPLICATION_FACTOR),
        (topic("t", 1, 32767), ErrorCode.INVALID_REPLICATION_FACTOR),
        (topic("t", 1, 1, no_such="1"), ErrorCode.INVALID_CONFIG),
        (topic("t", 1, 1, retention_ms="soon"), ErrorCode.INVALID_CONFIG),
        (topic("t", 1, 1, min_insync_replicas="0"), ErrorCode.INVALID_CONFIG),
        (topic("t", 1, 1, min_compaction_lag_ms="9", max_compaction_lag_ms="8"), ErrorCode.INVALID_CONFIG),
        (topic("t", 1, 1, remote_storage_enable="true"), ErrorCode.INVALID_CONFIG),
        (topic("t", 1, 1, configs={"retention.ms": None}), ErrorCode.INVALID_CONFIG),
        (topic("t", 1, 1, leader_replication_throttled_replicas="0:1," * 9000), ErrorCode.INVALID_CONFIG),
        (topic("t", 1, -1, [[1]]), ErrorCode.INVALID_REQUEST),
        (topic("t", -1, 1, [[1]]), ErrorCode.INVALID_REQUEST),
        (topic("t", -1, -1, [[]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (topic("t", -1, -1, [[1, 1]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (topic("t", -1, -1, [[7]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (topic("t", -1, -1, [[-1]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (topic("t", -1, -1, [[1], [1, 2]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (topic("t", -1, -1, [[3]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
    ids=str,
)
def test_refusals(asked: CreatableTopic, code: ErrorCode) -> None:
    """Broker 3 is fenced."""
    cluster = Cluster().start(1, 2)
    cluster.register(3)
    cluster.create("exists")
    cluster.create("dotted.name")
    result = cluster.decide(create(asked, topic("innocent", 1, 1)))
    assert codes(result.response) == {asked.name: code, "innocent": ErrorCode.NONE}
    assert all(row.error_message for row in result.response.topics if row.name == asked.name)
    assert len(result.records) == 2, "only the innocent topic has any"


@pytest.mark.parametrize("indexes", [[0, 2], [1], [-1, 0], [0, 0]])
def test_assigned_partitions_that_are_not_numbered_from_0(indexes: list[int]) -> None:
    asked = topic("t", -1, -1)
    asked.assignments = [CreatableReplicaAssignment(partition_index=index, broker_ids=[1]) for index in indexes]
    cluster = Cluster().start(1)
    result = cluster.decide(create(asked))
    assert codes(result.response) == {"t": ErrorCode.INVALID_REPLICA_ASSIGNMENT}
    assert not result.records


def test_a_name_that_is_there_twice_is_created_by_neither() -> None:
    cluster = Cluster().start(1)
    result = cluster.decide(create(topic("twice", 1, 1), topic("once", 1, 1), topic("twice", 2, 1)))
    assert codes(result.response) == {"once": ErrorCode.NONE, "twice": ErrorCode.INVALID_REQUEST}
    assert "twice" not in cluster.metadata.topics.by_name


def test_a_setting_that_is_there_twice_has_its_last_value() -> None:
    cluster = Cluster().start(1)
    asked = topic("t", 1, 1, flush_ms="1")
    asked.configs += topic("", flush_ms="2").configs
    assert codes(cluster.send(create(asked))) == {"t": ErrorCode.NONE}
    assert cluster.metadata.configs[ConfigResource(ResourceType.TOPIC, "t")] == {"flush.ms": "2"}


@pytest.mark.parametrize(
    "topics",
    [
        [topic("a", 10_001, 1)],
        [topic("a", 2**31 - 1, 1), topic("b", 2**31 - 1, 1)],
        [topic("a", 9_999, 1), topic("b"), topic("c")],
        [topic("a", 10_000, 1), topic("b", -1, -1, [[1]])],
    ],
    ids=["one", "overflow", "defaults count", "assignments count"],
)
def test_too_many_partitions_in_one_request(topics: list[CreatableTopic]) -> None:
    cluster = Cluster().start(1)
    result = cluster.decide(create(*topics))
    assert codes(result.response) == {asked.name: ErrorCode.POLICY_VIOLATION for asked in topics}
    assert not result.records


def test_partitions_that_are_refused_anyway_do_not_count() -> None:
    cluster = Cluster().start(1)
    response = cluster.send(create(topic("a", -10_000, 1), topic("b", 1, 1)))
    assert codes(response) == {"a": ErrorCode.INVALID_PARTITIONS, "b": ErrorCode.NONE}


def test_no_broker_at_all() -> None:
    assert codes(Cluster().send(create(topic("t", 1, 1)))) == {"t": ErrorCode.INVALID_REPLICATION_FACTOR}


def test_only_fenced_brokers() -> None:
    cluster = Cluster()
    cluster.register(1)
    assert codes(cluster.send(create(topic("t", 1, 1)))) == {"t": ErrorCode.INVALID_REPLICATION_FACTOR}


def test_a_cordoned_broker_takes_nothing_new() -> None:
    cluster = Cluster().start(1, 2)
    cluster.heartbeat(2, cordoned_log_dirs=[directory(2)])
    response = cluster.send(create(topic("two", 1, 2), topic("chosen", -1, -1, [[2]]), topic("one", 8, 1)))
    assert codes(response) == {
        "two": ErrorCode.INVALID_REPLICATION_FACTOR,
        "chosen": ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        "one": ErrorCode.NONE,
    }
    assert all(cluster.partition("one", number).replicas == (1,) for number in range(8))


def test_a_broker_that_leaves_takes_nothing_and_one_that_is_stopped_does() -> None:
    cluster = Cluster().start(1, 2)
    cluster.assign("led", [2])
    cluster.heartbeat(2, want_shut_down=True)
    assert codes(cluster.send(create(topic("t", 1, 2)))) == {"t": ErrorCode.INVALID_REPLICATION_FACTOR}
    assert cluster.heartbeat(1).error_code == 0
    assert cluster.heartbeat(2, want_shut_down=True).should_shut_down
    cluster.create("t", 1, 2)
    assert cluster.partition("t").isr == (1,)


def test_a_deleted_name_can_be_used_again_with_a_new_id() -> None:
    cluster = Cluster().start(1)
    first = cluster.create("a.b", flush_ms="7")
    cluster.send(DeleteTopicsRequest(topic_names=["a.b"], timeout_ms=0))
    second = cluster.create("a_b")
    assert first != second
    assert ConfigResource(ResourceType.TOPIC, "a.b") not in cluster.metadata.configs


def test_with_elr_a_new_min_isr_clears_what_there_is_not_yet() -> None:
    cluster = Cluster().start(1)
    result = cluster.decide(create(topic("t", 1, 1, min_insync_replicas="1")))
    names = [type(message).__name__ for message, _ in result.records]
    assert names == ["TopicRecord", "ConfigRecord", "ClearElrRecord", "PartitionRecord"]


@pytest.mark.parametrize(("level", "version"), [(7, 0), (16, 0), (17, 1), (22, 1), (23, 2), (30, 2)])
def test_records_are_written_as_the_metadata_version_has_them(level: int, version: int) -> None:
    cluster = Cluster(level).start(1)
    cluster.create("t")
    message, written = cluster.log[-1]
    assert written == version
    assert encode_metadata_record(message, written)


def test_the_work_is_sliced() -> None:
    cluster = Cluster().start(1)
    assert count_turns(cluster.controller.handle(0, create(topic("t", 10_000, 1)))) >= 40
    assert count_turns(cluster.controller.handle(0, create(topic("t", -1, -1, [[1]] * 5_000)))) >= 20
