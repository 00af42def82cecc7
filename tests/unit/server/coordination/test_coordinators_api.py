"""The APIs of groups as clients see them: finding coordinators, requests that concern several coordinators,
refusals."""

from itertools import count
from typing import Any

import pytest
from tests.support.coordinating import ONE_NODE, commit, group_world, join, partition_of
from tests.support.serving import create

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from tidelog.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tidelog.protocol.messages.delete_groups import DeleteGroupsRequest
from tidelog.protocol.messages.describe_groups import DescribeGroupsRequest
from tidelog.protocol.messages.describe_transactions import DescribeTransactionsRequest
from tidelog.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from tidelog.protocol.messages.heartbeat import HeartbeatRequest
from tidelog.protocol.messages.list_groups import ListGroupsRequest
from tidelog.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tidelog.protocol.messages.offset_delete import OffsetDeleteRequest
from tidelog.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from tidelog.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tidelog.server.cluster.internal_topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from tidelog.sim.node_world import PORT, NodeWorld, SimClient

_numbers = count()


def two_groups(node: NodeWorld) -> tuple[str, str]:
    """Return the names of two new groups that different coordinators have."""
    groups = node.running.broker.coordinators.groups
    names = (f"two-{next(_numbers)}" for _ in count())
    by_partition: dict[int, str] = {}
    while len(by_partition) < 2:
        name = next(names)
        by_partition.setdefault(groups.partition_for(name), name)
    return by_partition[1], by_partition[0]


# FindCoordinator


def find(client: SimClient, version: int, key_type: int = 0, *keys: str) -> FindCoordinatorResponse:
    request = FindCoordinatorRequest(key="" if version >= 4 else keys[0], key_type=key_type)
    request.coordinator_keys = list(keys) if version >= 4 else []
    response: FindCoordinatorResponse = client.ask(request, version)
    return response


@pytest.mark.parametrize("version", range(4))
def test_one_key(client: SimClient, version: int) -> None:
    found = find(client, version, 0, "g")
    assert (found.error_code, found.node_id, found.host, found.port) == (0, 1, "node", PORT)


@pytest.mark.parametrize("version", [4, 5, 6])
@pytest.mark.parametrize("key_type", [0, 1])
def test_several_keys(client: SimClient, version: int, key_type: int) -> None:
    found = find(client, version, key_type, "a", "b", "").coordinators
    assert [(each.key, each.error_code, each.node_id, each.port) for each in found] == [
        (key, 0, 1, PORT) for key in ("a", "b", "")
    ]


@pytest.mark.parametrize("key_type", [2, 3, -1])
def test_nobody_coordinates_other_things(client: SimClient, key_type: int) -> None:
    (found,) = find(client, 6, key_type, "g:AAAAAAAAAAAAAAAAAAAAAA:0").coordinators
    assert (found.error_code, found.node_id, found.host, found.port) == (ErrorCode.INVALID_REQUEST, -1, "", -1)
    assert find(client, 3, key_type, "g").error_code == ErrorCode.INVALID_REQUEST


def configs_of(world: NodeWorld, topic: str) -> dict[str, str]:
    configs = world.running.broker.image.configs
    return next(dict(settings) for resource, settings in configs.items() if resource.name == topic)


def test_the_topics_are_made_when_they_are_first_asked_for() -> None:
    ours = {"transaction.state.log.replication.factor": "1", "transaction.state.log.num.partitions": "3"}
    world = NodeWorld(41, {**ONE_NODE, **ours, "offsets.topic.segment.bytes": "1048576"})
    client = world.client()

    def topics() -> Any:
        return world.running.broker.image.topics.by_name

    for key_type, name in ((0, CONSUMER_OFFSETS), (1, TRANSACTION_STATE)):
        assert find(client, 3, key_type, "g").error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        find(client, 4, key_type, "g", "h")  # a second request while the topic is made does no harm
        world.wait_for(lambda name=name: topics().get(name))
        assert find(client, 3, key_type, "g").error_code == ErrorCode.NONE
    assert [len(topics()[name].partitions) for name in (CONSUMER_OFFSETS, TRANSACTION_STATE)] == [2, 3]
    assert configs_of(world, CONSUMER_OFFSETS) == {
        "cleanup.policy": "compact",
        "compression.type": "producer",
        "segment.bytes": "1048576",
    }
    assert configs_of(world, TRANSACTION_STATE) == {
        "unclean.leader.election.enable": "false",
        "compression.type": "uncompressed",
        "cleanup.policy": "compact",
        "min.insync.replicas": "2",
        "segment.bytes": "104857600",
    }


def test_metadata_makes_them_the_same_way() -> None:
    world = NodeWorld(42, ONE_NODE)
    client = world.client()
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=CONSUMER_OFFSETS)], allow_auto_topic_creation=True)
    assert client.ask(asked, 9).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    world.run(50)
    (topic,) = client.ask(asked, 9).topics
    assert (topic.error_code, topic.is_internal, len(topic.partitions)) == (0, True, 2)
    assert configs_of(world, CONSUMER_OFFSETS)["cleanup.policy"] == "compact"


def test_where_they_can_not_be_made_the_operator_is_told(caplog: pytest.LogCaptureFixture) -> None:
    world = NodeWorld(43)
    asked = MetadataRequest(topics=[MetadataRequestTopic(name=CONSUMER_OFFSETS)], allow_auto_topic_creation=True)
    world.client().ask(asked, 9)
    world.run(50)
    assert "__consumer_offsets could not be created" in caplog.text
    assert "replication factor 3" in caplog.text


# Requests for several coordinators


def by_group(*group_ids: str) -> OffsetFetchRequest:
    topics = [OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=each, topics=topics) for each in group_ids])


def test_offsets_of_groups_of_several_coordinators(node: NodeWorld, client: SimClient, topic: str) -> None:
    one, two = two_groups(node)
    create(client, topic)
    assert [commit(client, one, 1, topic), commit(client, two, 2, topic)] == [ErrorCode.NONE] * 2
    request = by_group(one, "nobody", two)
    for group in request.groups:
        group.topics = [OffsetFetchRequestTopics(name=topic, partition_indexes=[0])]
    answers = client.ask(request, 8).groups
    found = [(each.group_id, each.topics[0].partitions[0].committed_offset) for each in answers]
    assert found == [(one, 1), ("nobody", -1), (two, 2)]
    assert client.ask(by_group(), 8).groups == []


def test_groups_are_described_listed_and_deleted(node: NodeWorld, client: SimClient, topic: str) -> None:
    one, two = two_groups(node)
    create(client, topic)
    for group in (one, two):
        commit(client, group, 1, topic)
    asked = DescribeGroupsRequest(groups=[one, "", two, one], include_authorized_operations=True)
    described = client.ask(asked, 5).groups
    assert [(each.group_id, each.error_code, each.group_state) for each in described] == [
        (one, 0, "Empty"),
        ("", 0, "Dead"),  # no group has the empty name
        (two, 0, "Empty"),
        (one, 0, "Empty"),
    ]
    assert [each.authorized_operations for each in described] == [3_400] * 4
    listed = client.ask(ListGroupsRequest(), 5).groups
    assert {one, two} <= {each.group_id for each in listed}
    deleted = client.ask(DeleteGroupsRequest(groups_names=[one, "nobody", two, one]), 2).results
    assert [(each.group_id, each.error_code) for each in deleted] == [
        (one, 0),
        ("nobody", ErrorCode.GROUP_ID_NOT_FOUND),
        (two, 0),
    ]
    assert client.ask(DescribeGroupsRequest(groups=[]), 5).groups == []
    assert client.ask(DeleteGroupsRequest(groups_names=[]), 2).results == []


def test_an_empty_group_id_is_refused_where_kafka_refuses_it(client: SimClient) -> None:
    assert client.ask(OffsetDeleteRequest(group_id="", topics=[]), 0).error_code == ErrorCode.INVALID_GROUP_ID
    refused = client.ask(join(""), 6)
    assert (refused.error_code, refused.protocol_name) == (ErrorCode.INVALID_GROUP_ID, "")
    assert client.ask(join(""), 7).protocol_name is None
    request = HeartbeatRequest(group_id="", generation_id=1, member_id="m")
    assert client.ask(request, 3).error_code == ErrorCode.INVALID_GROUP_ID


# Without a coordinator


@pytest.fixture(scope="module")
def alone() -> NodeWorld:
    """Return a node without coordinators."""
    return NodeWorld(44)


def test_every_api_says_so_in_its_own_way(alone: NodeWorld) -> None:
    client = alone.client()
    asked: list[tuple[Any, int]] = [
        (join("g"), 5),
        (join("g"), 9),
        (HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), 4),
        (OffsetDeleteRequest(group_id="g", topics=[]), 0),
        (OffsetFetchRequest(group_id="g", topics=None), 7),
    ]
    for request, version in asked:
        assert client.ask(request, version).error_code == ErrorCode.NOT_COORDINATOR, request
    assert commit(client, "g", 1) is ErrorCode.NOT_COORDINATOR
    assert [each.error_code for each in client.ask(by_group("a", "b"), 9).groups] == [ErrorCode.NOT_COORDINATOR] * 2
    described = client.ask(DescribeGroupsRequest(groups=["a", "b"]), 6).groups
    assert [(each.group_id, each.error_code) for each in described] == [("a", 16), ("b", 16)]
    deleted = client.ask(DeleteGroupsRequest(groups_names=["a"]), 1).results
    assert [each.error_code for each in deleted] == [ErrorCode.NOT_COORDINATOR]
    listed = client.ask(ListGroupsRequest(), 3)
    assert (listed.error_code, listed.groups) == (ErrorCode.NONE, [])
    states = client.ask(DescribeTransactionsRequest(transactional_ids=["x"]), 0).transaction_states
    assert [each.error_code for each in states] == [ErrorCode.NOT_COORDINATOR]


def test_the_first_version_of_offset_fetch_says_it_for_each_partition(alone: NodeWorld) -> None:
    topics = [OffsetFetchRequestTopic(name="t", partition_indexes=[0, 3])]
    response = alone.client().ask(OffsetFetchRequest(group_id="g", topics=topics), 1)
    partitions = response.topics[0].partitions
    assert [(each.partition_index, each.committed_offset, each.error_code) for each in partitions] == [
        (0, -1, ErrorCode.NOT_COORDINATOR),
        (3, -1, ErrorCode.NOT_COORDINATOR),
    ]


# The protocol of KIP-848


def consumer_join(group: str) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id="member",
        member_epoch=0,
        rebalance_timeout_ms=10_000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )


def test_a_consumer_group_is_joined_and_described() -> None:
    world = group_world(45)
    client = world.client()
    joined = client.ask(consumer_join("g"), 1)
    assert (joined.error_code, joined.member_id) == (0, "member")
    asked = ConsumerGroupDescribeRequest(group_ids=["g", "", "nobody"], include_authorized_operations=True)
    groups = client.ask(asked, 1).groups
    assert [(each.group_id, each.error_code, len(each.members)) for each in groups] == [
        ("g", 0, 1),
        ("", ErrorCode.INVALID_GROUP_ID, 0),
        ("nobody", ErrorCode.GROUP_ID_NOT_FOUND, 0),
    ]
    assert groups[0].authorized_operations == 3_400
    assert partition_of(world, "g").log.high_watermark > 0


def check_unsupported(client: SimClient) -> None:
    assert client.ask(consumer_join("g"), 1).error_code == ErrorCode.UNSUPPORTED_VERSION
    asked = ConsumerGroupDescribeRequest(group_ids=["g"], include_authorized_operations=False)
    assert [each.error_code for each in client.ask(asked, 1).groups] == [ErrorCode.UNSUPPORTED_VERSION]


def test_the_protocol_can_be_left_out_by_the_settings() -> None:
    check_unsupported(group_world(46, {"group.coordinator.rebalance.protocols": "classic"}).client())


def test_the_protocol_needs_its_feature() -> None:
    world = group_world(47)
    client = world.client()
    update = FeatureUpdateKey(feature="group.version", max_version_level=0, upgrade_type=2)
    assert client.ask(UpdateFeaturesRequest(feature_updates=[update]), 1).error_code == ErrorCode.NONE
    world.run(20)
    check_unsupported(client)
