"""confluent-kafka (librdkafka), unmodified: its producer, its consumer with assigned partitions, its admin client."""

from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)

TIMEOUT_S = 30
CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


def producer_of(bootstrap: str, **settings: Any) -> Producer:
    return Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, **settings})


def consumer_of(bootstrap: str) -> Consumer:
    # librdkafka's consumer wants a group id even where it joins no group; nothing is committed.
    return Consumer({"bootstrap.servers": bootstrap, "group.id": "unused", "enable.auto.commit": False})


def produce(bootstrap: str, topic: str, count: int, **settings: Any) -> list[Message]:
    """Produce `count` records and return their delivery reports, in order. A failed delivery fails the test."""
    reports: list[tuple[KafkaError | None, Message]] = []
    producer = producer_of(bootstrap, **settings)
    for index in range(count):
        producer.produce(
            topic,
            key=b"key-%d" % index,
            value=b"value-%d " % index * 20,
            headers=[("number", b"%d" % index), ("empty", None)],
            timestamp=1_700_000_000_000 + index,
            partition=0,
            on_delivery=lambda error, message: reports.append((error, message)),
        )
    assert producer.flush(TIMEOUT_S) == 0
    assert [error for error, _ in reports] == [None] * count
    return [message for _, message in reports]


def consume(bootstrap: str, topic: str, count: int, offset: int = 0) -> list[Message]:
    consumer = consumer_of(bootstrap)
    consumer.assign([TopicPartition(topic, 0, offset)])
    messages: list[Message] = consumer.consume(count, TIMEOUT_S)
    consumer.close()
    return messages


@pytest.fixture
def admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap})


def done(futures: "dict[Any, Future[Any]]") -> list[Any]:
    return [future.result(TIMEOUT_S) for future in futures.values()]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("idempotent", [False, True], ids=["plain", "idempotent"])
def test_records_come_back_as_they_were_produced(bootstrap: str, topic: str, codec: str, idempotent: bool) -> None:
    settings = {"compression.type": codec, "enable.idempotence": idempotent}
    reports = produce(bootstrap, topic, 300, **settings)
    assert [report.offset() for report in reports] == list(range(300))
    for index, message in enumerate(consume(bootstrap, topic, 300)):
        assert message.error() is None
        assert message.offset() == index
        assert message.key() == b"key-%d" % index
        assert message.value() == b"value-%d " % index * 20
        assert message.headers() == [("number", b"%d" % index), ("empty", None)]
        assert message.timestamp()[1] == 1_700_000_000_000 + index


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_every_kind_of_acknowledgement(bootstrap: str, topic: str, admin: AdminClient, acks: object) -> None:
    done(admin.create_topics([NewTopic(topic, 1)]))
    produce(bootstrap, topic, 50, acks=acks)
    assert [message.key() for message in consume(bootstrap, topic, 50)] == [b"key-%d" % index for index in range(50)]


def test_a_consumer_that_waits_gets_what_is_produced_later(bootstrap: str, topic: str, admin: AdminClient) -> None:
    done(admin.create_topics([NewTopic(topic, 1)]))
    consumer = consumer_of(bootstrap)
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert consumer.poll(0.3) is None
    produce(bootstrap, topic, 1)
    message = consumer.poll(TIMEOUT_S)
    assert message is not None
    assert message.key() == b"key-0"
    consumer.close()


def test_offsets_by_time_and_watermarks(bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, 20)
    consumer = consumer_of(bootstrap)
    asked = [TopicPartition(topic, 0, 1_700_000_000_007), TopicPartition(topic, 0, 1_800_000_000_000)]
    found = [consumer.offsets_for_times([each], timeout=TIMEOUT_S)[0].offset for each in asked]
    assert found == [7, -1]
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=TIMEOUT_S) == (0, 20)
    consumer.close()


def test_the_life_of_a_topic(admin: AdminClient, topic: str) -> None:
    done(admin.create_topics([NewTopic(topic, 2, config={"retention.ms": "60000"})], validate_only=True))
    assert topic not in admin.list_topics(timeout=TIMEOUT_S).topics
    done(admin.create_topics([NewTopic(topic, 2, config={"retention.ms": "60000"})]))
    with pytest.raises(KafkaException) as refused:
        done(admin.create_topics([NewTopic(topic, 2)]))
    assert refused.value.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS
    done(admin.create_partitions([NewPartitions(topic, 5)]))
    assert len(admin.list_topics(topic, timeout=TIMEOUT_S).topics[topic].partitions) == 5
    done(admin.delete_topics([topic]))
    assert topic not in admin.list_topics(timeout=TIMEOUT_S).topics


def test_configs_are_read_and_changed(admin: AdminClient, topic: str) -> None:
    done(admin.create_topics([NewTopic(topic, 1, config={"retention.ms": "60000"})]))
    changes = [
        ConfigEntry("max.message.bytes", "2000", incremental_operation=AlterConfigOpType.SET),
        ConfigEntry("retention.ms", None, incremental_operation=AlterConfigOpType.DELETE),
    ]
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=changes)
    done(admin.incremental_alter_configs([resource]))
    (configs,) = done(admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, topic)]))
    assert configs["max.message.bytes"].value == "2000"
    assert not configs["max.message.bytes"].is_default
    assert configs["retention.ms"].value == "604800000"
    assert configs["retention.ms"].is_default


def test_a_record_larger_than_the_topic_allows_is_refused(bootstrap: str, topic: str, admin: AdminClient) -> None:
    done(admin.create_topics([NewTopic(topic, 1, config={"max.message.bytes": "1000"})]))
    errors: list[KafkaError | None] = []
    producer = producer_of(bootstrap)
    producer.produce(topic, b"x" * 2000, on_delivery=lambda error, _message: errors.append(error))
    assert producer.flush(TIMEOUT_S) == 0
    (error,) = errors
    assert error is not None
    assert error.code() == KafkaError.MSG_SIZE_TOO_LARGE


def test_offsets_are_listed_and_records_deleted(bootstrap: str, topic: str, admin: AdminClient) -> None:
    produce(bootstrap, topic, 10)
    partition = TopicPartition(topic, 0)

    def offset(spec: OffsetSpec) -> int:
        (found,) = done(admin.list_offsets({partition: spec}))
        return int(found.offset)

    assert [offset(spec) for spec in (OffsetSpec.earliest(), OffsetSpec.latest())] == [0, 10]
    assert offset(OffsetSpec.max_timestamp()) == 9
    done(admin.delete_records([TopicPartition(topic, 0, 4)]))
    assert offset(OffsetSpec.earliest()) == 4
    assert [message.offset() for message in consume(bootstrap, topic, 6, 4)] == [4, 5, 6, 7, 8, 9]


def test_the_cluster_describes_itself(bootstrap: str, admin: AdminClient) -> None:
    cluster = admin.describe_cluster(request_timeout=TIMEOUT_S).result(TIMEOUT_S)
    assert [f"{node.host}:{node.port}" for node in cluster.nodes] == [bootstrap]
    assert cluster.controller.id == cluster.nodes[0].id
    (configs,) = done(admin.describe_configs([ConfigResource(ConfigResource.Type.BROKER, str(cluster.nodes[0].id))]))
    assert configs["group.initial.rebalance.delay.ms"].value == "0"


def test_a_topic_that_does_not_exist_is_said_to_be_unknown(bootstrap: str, topic: str) -> None:
    settings = {"bootstrap.servers": bootstrap, "group.id": "unused", "allow.auto.create.topics": False}
    consumer = Consumer({**settings, "enable.auto.commit": False})
    error = consumer.list_topics(topic, timeout=TIMEOUT_S).topics[topic].error
    assert error is not None
    assert error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    consumer.close()
