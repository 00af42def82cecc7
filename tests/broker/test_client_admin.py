"""The admin client against a real node: everything an operator's tool asks for."""

from collections.abc import Iterator

import pytest

from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.configs import AlterOperation, ConfigChange, ConfigSource
from tidelog.client.admin.offsets import OffsetSpec
from tidelog.client.admin.topics import CreatedTopic, NewTopic
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.client.offsets import FoundOffset
from tidelog.client.producer.producer import Producer
from tidelog.metadata.configs import ResourceType
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition


@pytest.fixture
def client(bootstrap: str) -> Iterator[Client]:
    with Client(bootstrap) as client:
        yield client


@pytest.fixture
def admin(client: Client) -> Admin:
    return Admin(client)


def produce(client: Client, topic: str, *timestamps: int) -> None:
    with Producer(client) as producer:
        for timestamp in timestamps:
            producer.send(topic, b"v", partition=0, timestamp=timestamp)


def test_the_life_of_a_topic(admin: Admin, topic: str) -> None:
    made = admin.create_topic(NewTopic(topic, 2, configs={"retention.ms": "12345"}))
    assert (made.partitions, made.replication_factor, made.configs["retention.ms"]) == (2, 1, "12345")
    listed = {each.name: each for each in admin.list_topics()}
    assert (len(listed[topic].partitions), listed[topic].topic_id) == (2, made.topic_id)
    admin.create_partitions(topic, 5)
    described = admin.describe_topic(topic)
    assert [each.index for each in described.partitions] == [0, 1, 2, 3, 4]
    assert described.partitions[0].isr == described.partitions[0].replicas == [described.partitions[0].leader]
    admin.delete_topic(topic)
    assert topic not in [each.name for each in admin.list_topics()]


def test_each_of_several_has_its_own_outcome(admin: Admin, topic: str) -> None:
    admin.create_topic(NewTopic(topic))
    outcomes = admin.create_topics([NewTopic(topic), NewTopic("b/d"), NewTopic(topic + "-2", 1)])
    assert isinstance(outcomes[topic + "-2"], CreatedTopic)
    codes = [each.code for each in outcomes.values() if isinstance(each, ClientError)]
    assert codes == [ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.INVALID_TOPIC_EXCEPTION]
    deleted = admin.delete_topics([topic, "not-there"])
    assert deleted[topic] is None
    assert isinstance(deleted["not-there"], ClientError)
    with pytest.raises(ClientError, match="tidelog topics list"):
        admin.describe_topic("not-there")


def test_validate_only_makes_nothing(admin: Admin, topic: str) -> None:
    admin.create_topic(NewTopic(topic, 3), validate_only=True)
    assert topic not in [each.name for each in admin.list_topics()]
    with pytest.raises(ClientError) as caught:
        admin.create_topic(NewTopic(topic, 1, configs={"retention.ms": "soon"}), validate_only=True)
    assert caught.value.code is ErrorCode.INVALID_CONFIG


def test_configs_are_set_appended_to_and_unset(admin: Admin, topic: str) -> None:
    admin.create_topic(NewTopic(topic, 1))
    admin.set_configs(ResourceType.TOPIC, topic, {"retention.ms": "777", "cleanup.policy": "compact"})
    append = ConfigChange("cleanup.policy", "delete", AlterOperation.APPEND)
    admin.alter_configs(ResourceType.TOPIC, topic, [append])
    found = admin.describe_configs(ResourceType.TOPIC, topic, synonyms=True, documentation=True)
    retention = found["retention.ms"]
    assert (retention.value, retention.source, retention.is_default) == ("777", ConfigSource.TOPIC, False)
    assert retention.synonyms[0].value == "777"
    assert retention.documentation
    assert found["cleanup.policy"].value == "compact,delete"
    assert (ResourceType.TOPIC, topic) in admin.list_config_resources([ResourceType.TOPIC])
    admin.unset_configs(ResourceType.TOPIC, topic, ["retention.ms"])
    found = admin.describe_configs(ResourceType.TOPIC, topic, ["retention.ms"])
    assert list(found) == ["retention.ms"]
    assert found["retention.ms"].is_default
    broker = admin.describe_cluster().brokers[0]
    assert admin.describe_configs(ResourceType.BROKER, str(broker.id))["node.id"].value == str(broker.id)
    with pytest.raises(ClientError) as caught:
        admin.set_configs(ResourceType.TOPIC, topic, {"no.such": "1"})
    assert caught.value.code is ErrorCode.INVALID_CONFIG


def test_offsets_by_time_and_special_place(admin: Admin, client: Client, topic: str) -> None:
    admin.create_topic(NewTopic(topic, 2))
    produce(client, topic, 1_000, 5_000, 3_000)
    topic_partition, empty = TopicPartition(topic, 0), TopicPartition(topic, 1)

    def offset(at: int, where: TopicPartition = topic_partition) -> int:
        found = admin.list_offsets({where: at})[where]
        assert isinstance(found, FoundOffset)
        return found.offset

    specials = {OffsetSpec.EARLIEST: 0, OffsetSpec.LATEST: 3, OffsetSpec.MAX_TIMESTAMP: 1, OffsetSpec.EARLIEST_LOCAL: 0}
    assert {spec: offset(spec) for spec in specials} == specials
    assert [offset(at) for at in (0, 1_001, 5_000, 5_001)] == [0, 1, 1, -1]
    assert offset(OffsetSpec.MAX_TIMESTAMP, empty) == -1
    assert offset(OffsetSpec.LATEST_TIERED) == -1
    unknown = admin.list_offsets({TopicPartition(topic, 9): 0, TopicPartition("no-topic", 0): 0})
    assert [each.code for each in unknown.values() if isinstance(each, ClientError)] == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    ] * 2


def test_records_are_deleted_and_producers_seen(admin: Admin, client: Client, topic: str) -> None:
    admin.create_topic(NewTopic(topic, 1))
    produce(client, topic, 1_000, 2_000, 3_000)
    topic_partition = TopicPartition(topic, 0)
    (producer,) = admin.describe_producers([topic_partition])[topic_partition]  # type: ignore[misc]
    assert (producer.last_sequence, producer.producer_epoch) == (2, 0)
    assert admin.delete_records({topic_partition: 2}) == {topic_partition: 2}
    assert admin.delete_records({topic_partition: -1}) == {topic_partition: 3}
    beyond = admin.delete_records({topic_partition: 99})[topic_partition]
    assert isinstance(beyond, ClientError)
    assert beyond.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_the_cluster(admin: Admin, client: Client, topic: str) -> None:
    admin.create_topic(NewTopic(topic, 1))
    produce(client, topic, 1_000)
    cluster = admin.describe_cluster()
    assert [broker.is_fenced for broker in cluster.brokers] == [False]
    quorum = admin.describe_quorum()
    assert quorum.leader_id == cluster.controller_id
    assert [voter.id for voter in quorum.voters] == [quorum.leader_id]
    (directory,) = admin.describe_log_dirs()[cluster.brokers[0].id]
    sizes = {each.partition: each.size_bytes for each in directory.replicas}
    assert sizes[TopicPartition(topic, 0)] > 60
    assert directory.total_bytes > directory.usable_bytes > 0
    levels = {each.name: each for each in admin.describe_features()}
    assert levels["metadata.version"].finalized == levels["metadata.version"].supported_max
    admin.update_features({"metadata.version": levels["metadata.version"].finalized}, validate_only=True)
    with pytest.raises(ClientError):
        admin.update_features({"metadata.version": 99})
    with pytest.raises(ClientError, match="no broker 77"):
        admin.describe_log_dirs([77])
