"""The audit line that each change of topics and settings leaves in the log: which client changed what."""

import logging
from typing import Any

import pytest

from tidelog.metadata.configs import ResourceType
from tidelog.protocol.client_connection import ClientConnection
from tidelog.protocol.messages.alter_configs import AlterableConfig as WholeConfig
from tidelog.protocol.messages.alter_configs import AlterConfigsRequest
from tidelog.protocol.messages.alter_configs import AlterConfigsResource as WholeResource
from tidelog.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from tidelog.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tidelog.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tidelog.protocol.messages.registry import RESPONSES
from tidelog.server.requests.audit import CLIENT_ID_CHARACTERS_MAX, listed
from tidelog.sim.node_world import NodeWorld, SimClient


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Any:
    """Return a function that takes the lines logged so far, without the address, whose port varies."""

    def taken() -> list[str]:
        found = [each for each in caplog.records if "action" in getattr(each, "fields", {})]
        caplog.clear()
        assert all(each.levelno == logging.INFO for each in found)
        fields: list[Any] = [each.fields for each in found]  # type: ignore[attr-defined]
        for each in fields:
            assert each["peer"]
        return [f"{each['client_id']} {each['action']} {each['names']}" for each in fields]

    with caplog.at_level(logging.INFO):
        yield taken


def create(client: SimClient, *names: str, **options: Any) -> Any:
    topics = [
        CreatableTopic(name=name, num_partitions=1, replication_factor=1, assignments=[], configs=[]) for name in names
    ]
    return client.ask(CreateTopicsRequest(topics=topics, timeout_ms=1_000, **options), 7)


def test_topics_that_are_created_grown_and_deleted(client: SimClient, topic: str, lines: Any) -> None:
    create(client, topic, validate_only=True)
    assert lines() == []
    topic_id = create(client, topic, "not a name").topics[0].topic_id
    assert lines() == [f"sim created the topics {topic}"]
    create(client, topic)
    assert lines() == []
    grown = CreatePartitionsTopic(name=topic, count=2, assignments=None)
    client.ask(CreatePartitionsRequest(topics=[grown], timeout_ms=1_000, validate_only=False), 3)
    assert lines() == [f"sim added partitions to {topic}"]
    deleted = [DeleteTopicState(name=None, topic_id=topic_id)]
    client.ask(DeleteTopicsRequest(topics=deleted, timeout_ms=1_000), 6)
    assert lines() == [f"sim deleted the topics {topic}"]


def test_settings_that_are_changed_are_named_without_their_values(client: SimClient, topic: str, lines: Any) -> None:
    create(client, topic)
    lines()
    config = AlterableConfig(name="retention.ms", config_operation=0, value="98765")
    good = AlterConfigsResource(resource_type=ResourceType.TOPIC, resource_name=topic, configs=[config])
    bad = AlterConfigsResource(resource_type=ResourceType.TOPIC, resource_name="nowhere", configs=[config])
    client.ask(IncrementalAlterConfigsRequest(resources=[good, bad], validate_only=True), 1)
    assert lines() == []
    client.ask(IncrementalAlterConfigsRequest(resources=[good, bad], validate_only=False), 1)
    assert lines() == [f"sim changed the settings of topic {topic} (retention.ms)"]
    whole = WholeConfig(name="cleanup.policy", value="compact")
    for configs, told in (([whole], "cleanup.policy"), ([], "all settings unset")):
        resource = WholeResource(resource_type=ResourceType.TOPIC, resource_name=topic, configs=configs)
        client.ask(AlterConfigsRequest(resources=[resource], validate_only=False), 2)
        assert lines() == [f"sim changed the settings of topic {topic} ({told})"]


def test_a_setting_of_all_brokers(lines: Any) -> None:
    config = AlterableConfig(name="log.retention.ms", config_operation=0, value="98765")
    resource = AlterConfigsResource(resource_type=ResourceType.BROKER, resource_name="", configs=[config])
    client = NodeWorld(seed=9).client()
    client.ask(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1)
    assert lines() == ["sim changed the settings of all brokers (log.retention.ms)"]


def test_a_topic_that_came_to_be_because_it_was_asked_for(
    client: SimClient, node: NodeWorld, topic: str, lines: Any
) -> None:
    client.ask(MetadataRequest(topics=[MetadataRequestTopic(name=topic)]), 9)
    node.run(200)
    assert lines() == [f"sim asked for, and by that created, the topics {topic}"]


def test_ten_names_at_most(client: SimClient, topic: str, lines: Any) -> None:
    names = [f"{topic}-{index:02}" for index in range(13)]
    create(client, *names)
    assert lines() == [f"sim created the topics {', '.join(names[:10])} and 3 more"]
    assert listed(names[:10]) == ", ".join(names[:10])


def test_a_long_client_id_is_cut(node: NodeWorld, topic: str, lines: Any) -> None:
    client = node.client()
    client._protocol = ClientConnection(RESPONSES, "x" * 1_000)
    create(client, topic)
    assert lines() == [f"{'x' * CLIENT_ID_CHARACTERS_MAX}... created the topics {topic}"]
