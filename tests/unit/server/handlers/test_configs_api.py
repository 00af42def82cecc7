"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs, ListConfigResources."""

from typing import Any

import pytest
from tests.support.serving import create

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages import alter_configs, incremental_alter_configs
from tidelog.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from tidelog.protocol.messages.list_config_resources import ListConfigResourcesRequest
from tidelog.sim.node_world import NodeWorld, SimClient

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
DEFAULT, TOPIC_CONFIG, DYNAMIC_BROKER, DYNAMIC_DEFAULT, STATIC = 5, 1, 2, 3, 4
SET, DELETE, APPEND, SUBTRACT = range(4)


def describe(client: SimClient, kind: int, name: str, keys: list[str] | None = None, **kwargs: Any) -> Any:
    asked = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
    version = kwargs.pop("version", 4)
    return client.ask(DescribeConfigsRequest(resources=[asked], **kwargs), version).results[0]


def entry(client: SimClient, kind: int, name: str, key: str, **kwargs: Any) -> Any:
    result = describe(client, kind, name, [key], **kwargs)
    assert result.error_code == ErrorCode.NONE, result
    (found,) = result.configs
    return found


def incremental(client: SimClient, kind: int, name: str, *changes: tuple[str, int, str | None], **kwargs: Any) -> Any:
    m = incremental_alter_configs
    configs = [
        m.AlterableConfig(name=key, config_operation=operation, value=value) for key, operation, value in changes
    ]
    resources = [m.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)]
    request = m.IncrementalAlterConfigsRequest(resources=resources, **{"validate_only": False, **kwargs})
    return client.ask(request, 1).responses[0]


def alter(client: SimClient, kind: int, name: str, **values: str) -> Any:
    m = alter_configs
    configs = [m.AlterableConfig(name=key.replace("_", "."), value=value) for key, value in values.items()]
    resources = [m.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)]
    return client.ask(m.AlterConfigsRequest(resources=resources, validate_only=False), 2).responses[0]


def test_everything_of_a_topic_with_its_source(client: SimClient, topic: str) -> None:
    create(client, topic, configs={"retention.ms": "604800000"})
    result = describe(client, TOPIC, topic)
    found = {each.name: each for each in result.configs}
    assert len(found) > 25
    # A setting that is set to its default is still set.
    assert (found["retention.ms"].value, found["retention.ms"].config_source) == ("604800000", TOPIC_CONFIG)
    assert found["segment.bytes"].config_source == DEFAULT
    assert found["retention.ms"].synonyms == []
    assert found["retention.ms"].documentation is None


@pytest.mark.parametrize("version", range(1, 5))
def test_every_version(client: SimClient, topic: str, version: int) -> None:
    create(client, topic)
    documented = {"include_documentation": True} if version >= 3 else {}
    one = entry(client, TOPIC, topic, "segment.bytes", version=version, include_synonyms=True, **documented)
    assert [(each.name, each.source) for each in one.synonyms] == [("log.segment.bytes", DEFAULT)]
    assert bool(one.documentation) == (version >= 3)
    assert (one.config_type != 0) == (version >= 3)


def test_synonyms_tell_what_stands_behind_a_value(client: SimClient, topic: str) -> None:
    create(client, topic, configs={"max.message.bytes": "1000"})
    one = entry(client, TOPIC, topic, "max.message.bytes", include_synonyms=True)
    names = [(each.name, each.source) for each in one.synonyms]
    assert names == [("max.message.bytes", TOPIC_CONFIG), ("message.max.bytes", DEFAULT)]


def test_null_and_no_keys_are_all_and_unknown_keys_are_left_out(client: SimClient, topic: str) -> None:
    create(client, topic)
    assert len(describe(client, TOPIC, topic, None).configs) == len(describe(client, TOPIC, topic, []).configs) > 25
    assert describe(client, TOPIC, topic, ["no.such"]).configs == []


def test_the_broker_and_the_default_of_all_brokers(client: SimClient) -> None:
    assert entry(client, BROKER, "1", "node.id").read_only
    assert entry(client, BROKER, "1", "log.dirs").config_source == STATIC
    before = [each.name for each in describe(client, BROKER, "").configs]
    assert before == ["min.insync.replicas"]  # written once, when eligible leader replicas were enabled
    assert incremental(client, BROKER, "", ("log.retention.ms", SET, "5000")).error_code == ErrorCode.NONE
    client._world.run(20)
    after = [each.name for each in describe(client, BROKER, "").configs]
    assert sorted(after) == ["log.retention.ms", "min.insync.replicas"]
    assert entry(client, BROKER, "1", "log.retention.ms").config_source == DYNAMIC_DEFAULT
    assert incremental(client, BROKER, "", ("log.retention.ms", DELETE, None)).error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "absent", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "bad name", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, "2", ErrorCode.INVALID_REQUEST),
        (BROKER, "x", ErrorCode.INVALID_REQUEST),
        (LOGGER, "1", ErrorCode.INVALID_REQUEST),
        (METRICS, "", ErrorCode.INVALID_REQUEST),
        (GROUP, "", ErrorCode.INVALID_REQUEST),
        (0, "", ErrorCode.INVALID_REQUEST),
        (77, "x", ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_can_not_be_described(client: SimClient, kind: int, name: str, code: ErrorCode) -> None:
    result = describe(client, kind, name)
    assert (result.error_code, result.resource_type, result.resource_name) == (code, kind, name)


def test_a_kind_that_nobody_knows_refuses_all_of_the_request(client: SimClient, topic: str) -> None:
    create(client, topic)
    asked = [
        DescribeConfigsResource(resource_type=kind, resource_name=topic, configuration_keys=None)
        for kind in (TOPIC, 99)
    ]
    results = client.ask(DescribeConfigsRequest(resources=asked), 4).results
    assert [each.error_code for each in results] == [ErrorCode.INVALID_REQUEST] * 2


def test_alter_resets_what_it_does_not_name(client: SimClient, node: NodeWorld, topic: str) -> None:
    create(client, topic, configs={"retention.ms": "1", "segment.bytes": "2000000"})
    assert alter(client, TOPIC, topic, retention_ms="2").error_code == ErrorCode.NONE
    node.run(20)
    assert entry(client, TOPIC, topic, "retention.ms").value == "2"
    assert entry(client, TOPIC, topic, "segment.bytes").config_source == DEFAULT


def test_append_and_subtract(client: SimClient, node: NodeWorld, topic: str) -> None:
    create(client, topic)
    for operation, value, result in (
        (APPEND, "compact", "delete,compact"),
        (SUBTRACT, "delete", "compact"),
        (SET, "delete", "delete"),
    ):
        assert incremental(client, TOPIC, topic, ("cleanup.policy", operation, value)).error_code == ErrorCode.NONE
        node.run(20)
        assert entry(client, TOPIC, topic, "cleanup.policy").value == result
    assert incremental(client, TOPIC, topic, ("cleanup.policy", DELETE, None)).error_code == ErrorCode.NONE
    node.run(20)
    assert entry(client, TOPIC, topic, "cleanup.policy").config_source == DEFAULT
    refused = incremental(client, TOPIC, topic, ("retention.ms", APPEND, "1"))
    assert refused.error_code == ErrorCode.INVALID_CONFIG


def test_changes_that_are_refused(client: SimClient, topic: str) -> None:
    create(client, topic)
    for change in (("retention.ms", SET, "x"), ("no.such", SET, "1"), ("retention.ms", SET, None)):
        answer = incremental(client, TOPIC, topic, change)
        assert answer.error_code in (ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REQUEST), change
        assert answer.error_message
    unknown = incremental(client, TOPIC, "absent", ("retention.ms", SET, "1"))
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    validated = incremental(client, TOPIC, topic, ("retention.ms", SET, "5"), validate_only=True)
    assert validated.error_code == ErrorCode.NONE
    assert entry(client, TOPIC, topic, "retention.ms").config_source == DEFAULT


def resources(client: SimClient, version: int, *types: int) -> Any:
    return client.ask(ListConfigResourcesRequest(resource_types=list(types)), version)


def test_what_has_settings(client: SimClient, node: NodeWorld, topic: str) -> None:
    create(client, topic)
    name = f"metrics-{topic}"
    assert incremental(client, METRICS, name, ("interval.ms", SET, "300000")).error_code == ErrorCode.NONE
    node.run(20)
    found = [(each.resource_type, each.resource_name) for each in resources(client, 1).config_resources]
    assert {(TOPIC, topic), (BROKER, "1"), (LOGGER, "1"), (METRICS, name)} <= set(found)
    only = {each.resource_type for each in resources(client, 1, TOPIC).config_resources}
    assert only == {TOPIC}
    oldest = {each.resource_type for each in resources(client, 0).config_resources}
    assert oldest == {METRICS}
    assert resources(client, 1, 99).error_code == ErrorCode.UNSUPPORTED_VERSION
