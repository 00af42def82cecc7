"""CreateTopics, DeleteTopics, CreatePartitions, as a client sees them through the broker."""

from typing import Any

import pytest
from tests.support.serving import create, fetch_values, produce

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from tidelog.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tidelog.sim.node_world import NodeWorld, SimClient


def creatable(name: str, partitions: int = 1, replicas: int = 1, **kwargs: Any) -> CreatableTopic:
    given = {"assignments": [], "configs": [], **kwargs}
    return CreatableTopic(name=name, num_partitions=partitions, replication_factor=replicas, **given)


def made(client: SimClient, *topics: CreatableTopic, version: int = 7, **kwargs: Any) -> list[Any]:
    return list(client.ask(CreateTopicsRequest(topics=list(topics), timeout_ms=1_000, **kwargs), version).topics)


@pytest.mark.parametrize("version", range(2, 8))
def test_create_in_every_version(client: SimClient, topic: str, version: int) -> None:
    config = CreatableTopicConfig(name="retention.ms", value="1234")
    answer = made(client, creatable(topic, 3, configs=[config]), version=version)[0]
    assert (answer.name, answer.error_code) == (topic, ErrorCode.NONE)
    assert (bytes(answer.topic_id) != bytes(16)) == (version >= 7)
    if version < 5:
        assert (answer.num_partitions, answer.configs) == (-1, [])
        return
    assert (answer.num_partitions, answer.replication_factor) == (3, 1)
    configs = {each.name: (each.value, each.config_source) for each in answer.configs}
    assert configs["retention.ms"] == ("1234", 1)
    assert configs["cleanup.policy"] == ("delete", 5)


@pytest.mark.parametrize("version", [4, 7])
def test_defaults_of_the_broker(client: SimClient, topic: str, version: int) -> None:
    answer = made(client, creatable(topic, -1, -1), version=version)[0]
    assert answer.error_code == ErrorCode.NONE


def test_validate_only_makes_nothing(client: SimClient, topic: str) -> None:
    for _ in range(2):
        assert made(client, creatable(topic), validate_only=True)[0].error_code == ErrorCode.NONE


def codes(answers: list[Any]) -> list[int]:
    return [each.error_code for each in answers]


def test_each_topic_has_its_own_fate(client: SimClient, topic: str) -> None:
    create(client, f"{topic}.x")
    wanted = {
        f"{topic}.x": ErrorCode.TOPIC_ALREADY_EXISTS,
        f"{topic}_x": ErrorCode.INVALID_TOPIC_EXCEPTION,  # . and _ collide
        "bad name": ErrorCode.INVALID_TOPIC_EXCEPTION,
        f"{topic}-none": ErrorCode.INVALID_PARTITIONS,
        f"{topic}-many": ErrorCode.INVALID_REPLICATION_FACTOR,
        f"{topic}-config": ErrorCode.INVALID_CONFIG,
        f"{topic}-good": ErrorCode.NONE,
    }
    bad = [CreatableTopicConfig(name="no.such", value="1")]
    answers = made(
        client,
        creatable(f"{topic}.x"),
        creatable(f"{topic}_x"),
        creatable("bad name"),
        creatable(f"{topic}-none", 0),
        creatable(f"{topic}-many", 1, 3),
        creatable(f"{topic}-config", configs=bad),
        creatable(f"{topic}-good"),
    )
    assert {each.name: each.error_code for each in answers} == wanted
    assert all(each.error_message for each in answers if each.error_code)


def test_a_topic_named_twice(client: SimClient, topic: str) -> None:
    assert set(codes(made(client, creatable(topic), creatable(topic)))) == {ErrorCode.INVALID_REQUEST}


def test_manual_assignments(client: SimClient, topic: str) -> None:
    def assigned(*brokers: int) -> list[CreatableReplicaAssignment]:
        return [CreatableReplicaAssignment(partition_index=0, broker_ids=list(brokers))]

    assert codes(made(client, creatable(topic, 1, -1, assignments=assigned(1)))) == [ErrorCode.INVALID_REQUEST]
    unknown = creatable(topic, -1, -1, assignments=assigned(9))
    assert codes(made(client, unknown)) == [ErrorCode.INVALID_REPLICA_ASSIGNMENT]
    assert codes(made(client, creatable(topic, -1, -1, assignments=assigned(1)))) == [ErrorCode.NONE]


@pytest.mark.parametrize("version", range(1, 7))
def test_delete_in_every_version(client: SimClient, topic: str, version: int) -> None:
    create(client, topic)
    if version < 6:
        request = DeleteTopicsRequest(topic_names=[topic, "absent"], timeout_ms=1_000)
    else:
        states = [DeleteTopicState(name=name, topic_id=ZERO_UUID) for name in (topic, "absent")]
        request = DeleteTopicsRequest(topics=states, timeout_ms=1_000)
    answers = {each.name: each.error_code for each in client.ask(request, version).responses}
    assert answers == {topic: ErrorCode.NONE, "absent": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


def test_delete_by_id_and_only_that(client: SimClient, topic: str) -> None:
    first = Uuid(create(client, topic))
    by_id = DeleteTopicsRequest(topics=[DeleteTopicState(name=None, topic_id=first)], timeout_ms=1_000)
    answer = client.ask(by_id, 6).responses[0]
    assert (answer.error_code, answer.name, answer.topic_id) == (ErrorCode.NONE, topic, first)
    create(client, topic)
    produce(client, topic, b"of the new one")
    assert client.ask(by_id, 6).responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert fetch_values(client, topic) == [b"of the new one"]


def grown(client: SimClient, topic: str, count: int, assignments: Any = None, **kwargs: Any) -> Any:
    wanted = CreatePartitionsTopic(name=topic, count=count, assignments=assignments)
    request = CreatePartitionsRequest(topics=[wanted], timeout_ms=1_000, **{"validate_only": False, **kwargs})
    return client.ask(request, 3).results[0]


def test_more_partitions(client: SimClient, node: NodeWorld, topic: str) -> None:
    create(client, topic)
    assert (grown(client, topic, 3, validate_only=True).error_code, grown(client, topic, 3).error_code) == (0, 0)
    node.run(20)
    node.wait_for(lambda: None if node.running.broker.hosted.is_behind else True)
    assert produce(client, topic, b"x", partition=2) == 0


def test_partitions_that_can_not_be_made(client: SimClient, topic: str) -> None:
    create(client, topic, partitions=2)
    assert grown(client, topic, 2).error_code == ErrorCode.INVALID_PARTITIONS
    assert grown(client, topic, 1).error_code == ErrorCode.INVALID_PARTITIONS
    absent = grown(client, "absent", 2)
    assert (absent.name, absent.error_code) == ("absent", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert grown(client, topic, 3, assignments=[]).error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    unknown = [CreatePartitionsAssignment(broker_ids=[7])]
    assert grown(client, topic, 3, assignments=unknown).error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    own = [CreatePartitionsAssignment(broker_ids=[1])]
    assert grown(client, topic, 3, assignments=own).error_code == ErrorCode.NONE
