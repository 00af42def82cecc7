"""kafka-python, unmodified: its producer, its consumer with assigned partitions, its admin client.

Its codecs besides gzip need libraries that nothing else here needs; aiokafka and confluent-kafka cover all codecs, and
the records are the same bytes.
"""

import warnings
from collections.abc import Iterator

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its schemas by a deprecated function
    from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
    from kafka.admin import ConfigResource, ConfigResourceType, NewPartitions, NewTopic
    from kafka.errors import MessageSizeTooLargeError, TopicAlreadyExistsError

# kafka-python reads a schema at the first use of its message, so the warning may come in any test.
pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated. Use files:DeprecationWarning")

TIMEOUT_S = 30


@pytest.fixture
def admin(bootstrap: str) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=bootstrap)
    yield client
    client.close()


def produce(bootstrap: str, topic: str, count: int, **settings: object) -> list[int]:
    producer = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=5, **settings)
    futures = [
        producer.send(
            topic,
            key=b"key-%d" % index,
            value=b"value-%d " % index * 20,
            headers=[("number", b"%d" % index)],
            timestamp_ms=1_700_000_000_000 + index,
            partition=0,
        )
        for index in range(count)
    ]
    offsets = [future.get(TIMEOUT_S).offset for future in futures]
    producer.close()
    return offsets


def consumer_of(bootstrap: str, *partitions: TopicPartition) -> KafkaConsumer:
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=None, consumer_timeout_ms=TIMEOUT_S * 1000)
    consumer.assign(list(partitions))
    return consumer


@pytest.mark.parametrize("codec", [None, "gzip"])
@pytest.mark.parametrize("idempotent", [False, True], ids=["plain", "idempotent"])
def test_records_come_back_as_they_were_produced(
    bootstrap: str, topic: str, codec: str | None, idempotent: bool
) -> None:
    offsets = produce(bootstrap, topic, 100, compression_type=codec, enable_idempotence=idempotent, acks="all")
    assert offsets == list(range(100))
    consumer = consumer_of(bootstrap, TopicPartition(topic, 0))
    consumer.seek_to_beginning()
    for index in range(100):
        record = next(consumer)
        assert record.offset == index
        assert record.key == b"key-%d" % index
        assert record.value == b"value-%d " % index * 20
        assert list(record.headers) == [("number", b"%d" % index)]
        assert record.timestamp == 1_700_000_000_000 + index
    consumer.close()


def test_offsets_and_positions(bootstrap: str, topic: str) -> None:
    produce(bootstrap, topic, 20)
    partition = TopicPartition(topic, 0)
    consumer = consumer_of(bootstrap, partition)
    assert consumer.beginning_offsets([partition]) == {partition: 0}
    assert consumer.end_offsets([partition]) == {partition: 20}
    assert consumer.offsets_for_times({partition: 1_700_000_000_007})[partition].offset == 7
    consumer.seek(partition, 12)
    assert next(consumer).offset == 12
    consumer.close()


def test_the_life_of_a_topic(admin: KafkaAdminClient, topic: str) -> None:
    admin.create_topics([NewTopic(topic, 2, 1, topic_configs={"retention.ms": "60000"})])
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics([NewTopic(topic, 2, 1)])
    admin.create_partitions({topic: NewPartitions(4)})
    (described,) = admin.describe_topics([topic])
    assert len(described["partitions"]) == 4
    assert topic in admin.list_topics()
    admin.delete_topics([topic])
    assert topic not in admin.list_topics()


def test_a_record_larger_than_the_topic_allows_is_refused(bootstrap: str, topic: str, admin: KafkaAdminClient) -> None:
    admin.create_topics([NewTopic(topic, 1, 1, topic_configs={"max.message.bytes": "1000"})])
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    with pytest.raises(MessageSizeTooLargeError):
        producer.send(topic, b"x" * 2000).get(TIMEOUT_S)
    producer.close()


def test_configs_are_read(admin: KafkaAdminClient, topic: str) -> None:
    admin.create_topics([NewTopic(topic, 1, 1, topic_configs={"retention.ms": "60000"})])
    described = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
    assert "60000" in str(described)


def test_the_cluster_describes_itself(bootstrap: str, admin: KafkaAdminClient) -> None:
    (broker,) = admin.describe_cluster()["brokers"]
    assert f"{broker['host']}:{broker['port']}" == bootstrap
