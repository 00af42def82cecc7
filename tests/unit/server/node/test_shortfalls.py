"""The errors that a node logs when it begins to serve and can not do everything that it was configured for."""

import logging

import pytest
from tests.unit.server.conftest import COORDINATING

from tidelog.config.catalogue import BROKER, TOPIC
from tidelog.metadata.draft import MetadataDraft
from tidelog.metadata.records.cluster import ClientQuotaRecord, EntityData
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tidelog.protocol.messages.find_coordinator import FindCoordinatorRequest
from tidelog.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.server.node.node import Phase
from tidelog.server.node.shortfalls import shortfalls
from tidelog.sim.node_world import NodeWorld, SimClient

BROKER_RESOURCE, SET = 4, 0


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


def create(client: SimClient, name: str, **configs: str) -> tuple[int, str | None]:
    given = [CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()]
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1, assignments=[], configs=given)
    answer = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=1000), 7).topics[0]
    return answer.error_code, answer.error_message


def alter_broker(client: SimClient, name: str, value: str) -> tuple[int, str | None]:
    config = AlterableConfig(name=name, config_operation=SET, value=value)
    resource = AlterConfigsResource(resource_type=BROKER_RESOURCE, resource_name="1", configs=[config])
    answer = client.ask(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1).responses[0]
    return answer.error_code, answer.error_message


def test_a_node_that_can_do_everything_has_nothing_to_say(caplog: pytest.LogCaptureFixture) -> None:
    NodeWorld(51, COORDINATING)
    assert errors(caplog) == []


@pytest.mark.parametrize(
    ("key_type", "setting", "topic", "purpose"),
    [
        (0, "offsets.topic.replication.factor", "__consumer_offsets", "consumer groups"),
        (1, "transaction.state.log.replication.factor", "__transaction_state", "transactions"),
    ],
)
def test_too_many_replicas_of_an_internal_topic(
    caplog: pytest.LogCaptureFixture, key_type: int, setting: str, topic: str, purpose: str
) -> None:
    world = NodeWorld(52, {**COORDINATING, setting: "3"})
    expected = (
        f"{setting}=3, but there is only 1 broker: {topic} cannot be created, and {purpose} are not served. "
        f"Set {setting}=1 in server.properties and restart the broker"
    )
    assert errors(caplog) == [expected]
    client = world.client()
    flat = client.ask(FindCoordinatorRequest(key="mine", key_type=key_type), 3)
    assert (flat.error_code, flat.error_message) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, expected)
    batched = client.ask(FindCoordinatorRequest(key_type=key_type, coordinator_keys=["mine"]), 4).coordinators[0]
    assert (batched.error_code, batched.error_message) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, expected)


def test_the_advice_works_and_is_not_repeated(caplog: pytest.LogCaptureFixture) -> None:
    world = NodeWorld(53)
    assert len(errors(caplog)) == 2
    world.stop()
    caplog.clear()
    world.overrides = dict(COORDINATING)
    world.start()
    client = world.client()
    client.ask(FindCoordinatorRequest(key="mine", key_type=0), 3)
    world.wait_for(lambda: world.running.broker.coordinators.groups.machines() or None)
    assert client.ask(FindCoordinatorRequest(key="mine", key_type=0), 3).error_code == ErrorCode.NONE
    world.stop()
    world.overrides |= {
        "offsets.topic.replication.factor": "3"
    }  # the topic exists, so the factor has no effect any more
    world.start()
    assert errors(caplog) == []


def test_too_many_replicas_of_topics_by_default(caplog: pytest.LogCaptureFixture) -> None:
    NodeWorld(54, {**COORDINATING, "default.replication.factor": "2"})
    (line,) = errors(caplog)
    assert "default.replication.factor=2, but there is only 1 broker" in line


def test_settings_that_an_earlier_version_stored(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier version accepted these settings. Today they are refused, but still do not keep the node from
    starting."""
    world = NodeWorld(55, COORDINATING)
    client = world.client()
    rate = "max.connection.creation.rate"
    assert create(client, "cold", remote_storage_enable="true")[0] == ErrorCode.INVALID_CONFIG
    assert alter_broker(client, rate, "5")[0] == ErrorCode.INVALID_CONFIG
    with monkeypatch.context() as earlier:
        earlier.setattr(TOPIC["remote.storage.enable"], "refused", "")
        earlier.setattr(BROKER[rate], "refused", "")
        for number in range(7):
            assert create(client, f"cold-{number}", remote_storage_enable="true")[0] == ErrorCode.NONE
        assert alter_broker(client, rate, "5")[0] == ErrorCode.NONE
        world.stop()
    caplog.clear()
    world.start()
    assert world.running.phase is Phase.RUNNING
    of_broker, of_topics = errors(caplog)
    assert of_broker.startswith(f"a dynamic setting is left out: {rate} = 5: The rate is not limited yet.")
    assert of_broker.endswith("`tidelog configs unset` deletes it")
    assert of_topics.startswith(
        "remote.storage.enable is stored for topics cold-0, cold-1, cold-2, cold-3, cold-4 and 2 more, and has no "
        "effect: Tiered storage is not there yet"
    )
    assert not world.running.broker.config.layers.broker


def test_quotas_that_apache_stored() -> None:
    broker = NodeWorld(56, COORDINATING).running.broker
    draft = MetadataDraft(broker.image)
    entity = [EntityData(entity_type="user", entity_name=None)]
    draft.replay(ClientQuotaRecord(entity=entity, key="producer_byte_rate", value=1.0, remove=False))
    (line,) = shortfalls(broker.config, draft.freeze(9, 1, 0))
    assert line.startswith("the metadata log has 1 client quotas, which are not enforced")
