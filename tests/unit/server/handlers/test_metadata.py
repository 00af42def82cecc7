"""Metadata: which topics are listed, when a topic is created, and the leaders of partitions."""

from typing import Any

import pytest
from tests.support.serving import create

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest
from tidelog.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tidelog.sim.node_world import PORT, NodeWorld, SimClient

NO_OPERATIONS = -2_147_483_648  # not asked for, or there is no authorizer
OTHER_ID = Uuid(bytes(15) + b"\x07")


def ask(client: SimClient, *names: str, version: int = 12, auto: bool = False) -> Any:
    topics = [MetadataRequestTopic(name=name) for name in names]
    return client.ask(MetadataRequest(topics=topics, allow_auto_topic_creation=auto), version)


def names(response: Any) -> list[str]:
    return [each.name for each in response.topics]


def test_null_is_all_and_empty_is_none(client: SimClient, topic: str) -> None:
    create(client, topic)
    assert topic in names(client.ask(MetadataRequest(topics=None), 1))
    assert names(client.ask(MetadataRequest(topics=[]), 1)) == []


def test_version_0_can_not_say_null_and_means_all_by_empty(client: SimClient, topic: str) -> None:
    create(client, topic)
    assert topic in names(client.ask(MetadataRequest(topics=[]), 0))


@pytest.mark.parametrize("version", range(14))
def test_a_topic_in_every_version(client: SimClient, topic: str, version: int) -> None:
    topic_id = create(client, topic, partitions=3)
    response = ask(client, topic, version=version, auto=True)
    assert [(each.node_id, each.host, each.port) for each in response.brokers] == [(1, "node", PORT)]
    assert response.controller_id == (1 if version >= 1 else -1)
    found = response.topics[0]
    assert (found.error_code, found.name, found.is_internal) == (ErrorCode.NONE, topic, False)
    assert bytes(found.topic_id) == (topic_id if version >= 10 else bytes(16))
    assert [each.partition_index for each in found.partitions] == [0, 1, 2]
    for each in found.partitions:
        assert (each.error_code, each.leader_id, each.replica_nodes, each.isr_nodes) == (0, 1, [1], [1])
        assert each.offline_replicas == []
        assert each.leader_epoch == (0 if version >= 7 else -1)


def test_nobody_is_told_operations_while_nobody_is_denied_any(client: SimClient, topic: str) -> None:
    create(client, topic)
    response = ask(client, topic, version=9)
    assert response.cluster_authorized_operations == NO_OPERATIONS
    assert response.topics[0].topic_authorized_operations == NO_OPERATIONS


@pytest.mark.parametrize("version", [3, 4, 13])
def test_a_missing_topic_is_made_and_found_the_next_time(
    client: SimClient, node: NodeWorld, topic: str, version: int
) -> None:
    """This holds for all versions; before version 4 a request can not forbid it."""
    name = f"{topic}-{version}"
    missing = ask(client, name, version=version, auto=True).topics[0]
    assert (missing.error_code, missing.name) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)
    node.run(50)
    assert ask(client, name, version=version, auto=True).topics[0].error_code == ErrorCode.NONE


def test_who_does_not_allow_it_makes_no_topic(client: SimClient, node: NodeWorld, topic: str) -> None:
    for _ in range(2):
        assert ask(client, topic, auto=False).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        node.run(50)


def test_a_broker_that_does_not_allow_it_makes_none_either() -> None:
    world = NodeWorld(seed=2, overrides={"auto.create.topics.enable": "false"})
    for _ in range(2):
        found = ask(world.client(), "absent", auto=True).topics[0]
        assert found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        world.run(50)


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "a/b", "x" * 250, "ä"])
@pytest.mark.parametrize("auto", [True, False])
def test_a_name_that_no_topic_can_have(client: SimClient, node: NodeWorld, name: str, auto: bool) -> None:
    assert ask(client, name, auto=auto).topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_a_name_that_would_collide_is_not_made(client: SimClient, node: NodeWorld, topic: str) -> None:
    create(client, f"{topic}.a")
    assert ask(client, f"{topic}_a", auto=True).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    node.run(50)
    assert ask(client, f"{topic}_a", auto=True).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_topic_that_is_asked_for_twice_is_answered_once(client: SimClient, topic: str) -> None:
    create(client, topic)
    assert names(ask(client, topic, topic)) == [topic]


def test_by_id(client: SimClient, topic: str) -> None:
    topic_id = Uuid(create(client, topic))
    wanted = [MetadataRequestTopic(name=None, topic_id=each) for each in (topic_id, OTHER_ID)]
    known, unknown = client.ask(MetadataRequest(topics=wanted, allow_auto_topic_creation=True), 12).topics
    assert (known.error_code, known.name) == (ErrorCode.NONE, topic)
    assert (unknown.error_code, unknown.name, unknown.topic_id) == (ErrorCode.UNKNOWN_TOPIC_ID, None, OTHER_ID)


def test_an_id_decides_where_a_name_is_given_too(client: SimClient, topic: str) -> None:
    topic_id = Uuid(create(client, topic))
    wanted = [MetadataRequestTopic(name="another", topic_id=topic_id)]
    assert names(client.ask(MetadataRequest(topics=wanted), 13)) == [topic]


@pytest.mark.parametrize("version", [10, 11])
def test_versions_that_have_ids_but_do_not_serve_them(client: SimClient, topic: str, version: int) -> None:
    topic_id = Uuid(create(client, topic))
    wanted = [MetadataRequestTopic(name=topic, topic_id=topic_id)]
    response = client.ask(MetadataRequest(topics=wanted), version)
    assert [each.error_code for each in response.topics] == [ErrorCode.INVALID_REQUEST]


def test_neither_name_nor_id(client: SimClient) -> None:
    wanted = [MetadataRequestTopic(name=None, topic_id=ZERO_UUID)]
    assert client.ask(MetadataRequest(topics=wanted), 12).topics[0].error_code == ErrorCode.INVALID_REQUEST


def test_a_topic_made_anew_has_another_id(client: SimClient, topic: str) -> None:
    first = create(client, topic)
    assert client.ask(DeleteTopicsRequest(topic_names=[topic], timeout_ms=1_000), 5).responses[0].error_code == 0
    second = create(client, topic)
    assert first != second
    assert bytes(ask(client, topic).topics[0].topic_id) == second


def test_the_clusters_own_topics_are_marked(client: SimClient) -> None:
    assert ask(client, "__consumer_offsets", auto=False).topics[0].is_internal
