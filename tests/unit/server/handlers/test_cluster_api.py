"""DescribeCluster on both listeners, DescribeQuorum, UpdateFeatures, UnregisterBroker."""

from typing import Any

import pytest
from tests.support.serving import create, produce

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.describe_cluster import DescribeClusterRequest
from tidelog.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
)
from tidelog.protocol.messages.unregister_broker import UnregisterBrokerRequest
from tidelog.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tidelog.sim.node_world import CLUSTER_ID, CONTROLLER_PORT, PORT, NodeWorld, SimClient

BROKERS, CONTROLLERS = 1, 2
NO_OPERATIONS = -2_147_483_648


def cluster(client: SimClient, version: int = 2, **kwargs: Any) -> Any:
    return client.ask(DescribeClusterRequest(include_cluster_authorized_operations=False, **kwargs), version)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_brokers(client: SimClient, version: int) -> None:
    response = cluster(client, version)
    assert (response.error_code, response.cluster_id, response.controller_id) == (0, CLUSTER_ID, 1)
    assert [(each.broker_id, each.host, each.port, each.is_fenced) for each in response.brokers] == [
        (1, "node", PORT, False)
    ]
    assert response.cluster_authorized_operations == NO_OPERATIONS


def test_controllers(node: NodeWorld) -> None:
    response = cluster(node.client(CONTROLLER_PORT), endpoint_type=CONTROLLERS)
    assert (response.error_code, response.endpoint_type, response.controller_id) == (0, CONTROLLERS, 1)
    assert [(each.broker_id, each.host, each.port) for each in response.brokers] == [(1, "node", CONTROLLER_PORT)]


def test_the_wrong_listener(client: SimClient, node: NodeWorld) -> None:
    controllers = node.client(CONTROLLER_PORT)
    assert cluster(client, endpoint_type=CONTROLLERS).error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
    assert cluster(controllers, endpoint_type=BROKERS).error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
    assert cluster(controllers, 0).error_code == ErrorCode.INVALID_REQUEST  # version 0 can not name an endpoint type
    refused = cluster(client, endpoint_type=9)
    assert (refused.error_code, bool(refused.error_message)) == (ErrorCode.UNSUPPORTED_ENDPOINT_TYPE, True)


def quorum(client: SimClient, version: int, topic: str = "__cluster_metadata", index: int = 0) -> Any:
    partitions = [DescribeQuorumRequestPartitionData(partition_index=index)]
    asked = [DescribeQuorumRequestTopicData(topic_name=topic, partitions=partitions)]
    return client.ask(DescribeQuorumRequest(topics=asked), version)


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize("port", [PORT, CONTROLLER_PORT])
def test_the_quorum_in_every_version(node: NodeWorld, version: int, port: int) -> None:
    response = quorum(node.client(port), version)
    found = response.topics[0].partitions[0]
    assert (response.error_code, found.error_code, found.leader_id) == (0, 0, 1)
    assert found.leader_epoch >= 1
    assert found.high_watermark > 0
    assert [(each.replica_id, each.log_end_offset >= found.high_watermark) for each in found.current_voters] == [
        (1, True)
    ]
    assert (found.current_voters[0].last_caught_up_timestamp > 0) == (version >= 1)
    assert [each.node_id for each in response.nodes] == ([1] if version >= 2 else [])


@pytest.mark.parametrize(("topic", "index"), [("other", 0), ("__cluster_metadata", 1)])
def test_another_partition_than_the_quorums(client: SimClient, topic: str, index: int) -> None:
    found = quorum(client, 2, topic, index).topics[0].partitions[0]
    assert found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def update(client: SimClient, feature: str, level: int, version: int = 2, **kwargs: Any) -> Any:
    updates = [FeatureUpdateKey(feature=feature, max_version_level=level, **kwargs.pop("key", {}))]
    return client.ask(UpdateFeaturesRequest(feature_updates=updates, timeout_ms=1_000, **kwargs), version)


def test_features_that_can_not_be(client: SimClient) -> None:
    for feature, level in (("no.such", 1), ("metadata.version", 31), ("metadata.version", 8)):
        response = update(client, feature, level)
        codes = [response.error_code, *(each.error_code for each in response.results)]
        assert any(code in (ErrorCode.INVALID_UPDATE_VERSION, ErrorCode.INVALID_REQUEST) for code in codes), feature


def test_a_feature_that_stays_what_it_is(client: SimClient) -> None:
    assert update(client, "metadata.version", 30, validate_only=True).error_code == ErrorCode.NONE


def test_brokers_that_can_not_be_unregistered(client: SimClient) -> None:
    absent = client.ask(UnregisterBrokerRequest(broker_id=77), 0)
    assert absent.error_code == ErrorCode.BROKER_ID_NOT_REGISTERED


def test_a_broker_that_was_sent_away_while_it_runs_comes_back() -> None:
    world = NodeWorld(seed=41)
    client = world.client()
    create(client, "t")
    assert client.ask(UnregisterBrokerRequest(broker_id=1), 0).error_code == ErrorCode.NONE
    world.run(10)
    assert cluster(client).brokers == []
    world.run(5_000)
    assert [each.broker_id for each in cluster(client).brokers] == [1]
    assert produce(client, "t", b"x") == 0
