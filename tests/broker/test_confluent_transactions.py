"""confluent-kafka (librdkafka), unmodified: transactions, and what its AdminClient sees of groups and changes."""

from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

TIMEOUT_S = 30


@pytest.fixture
def admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap})


def create(admin: AdminClient, *topics: str) -> None:
    for future in admin.create_topics([NewTopic(topic, 1) for topic in topics]).values():
        future.result(TIMEOUT_S)


def transactional(bootstrap: str, transactional_id: str) -> Producer:
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": transactional_id, "linger.ms": 0})
    producer.init_transactions(TIMEOUT_S)
    return producer


def joined(bootstrap: str, group: str, topic: str, **settings: Any) -> Consumer:
    defaults = {"auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, **defaults, **settings})
    consumer.subscribe([topic])
    return consumer


def values(bootstrap: str, topic: str, level: str, count: int) -> list[bytes]:
    """Return the values of all records that a consumer of this isolation level sees: `count`, and then the end of the
    partition."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "unused", "isolation.level": level}
    consumer = Consumer({**settings, "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, 0, 0)])
    *found, end = consumer.consume(count + 1, TIMEOUT_S)
    consumer.close()
    error = end.error()
    assert error is not None
    assert error.code() == KafkaError._PARTITION_EOF
    assert all(message.error() is None for message in found)
    return [message.value() or b"" for message in found]


def committed(admin: AdminClient, group: str, topic: str) -> int:
    asked = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0)])
    (offset,) = (
        admin.list_consumer_group_offsets([asked], require_stable=True)[group].result(TIMEOUT_S).topic_partitions
    )
    assert offset.error is None
    return int(offset.offset)


def test_read_committed_sees_no_open_and_no_aborted_records(bootstrap: str, topic: str, admin: AdminClient) -> None:
    create(admin, topic)
    producer = transactional(bootstrap, topic)
    for value, end in ((b"kept", producer.commit_transaction), (b"dropped", producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce(topic, value)
        assert producer.flush(TIMEOUT_S) == 0  # an abort drops what was not sent
        end(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(topic, b"open")
    assert producer.flush(TIMEOUT_S) == 0
    assert values(bootstrap, topic, "read_committed", 1) == [b"kept"]
    assert values(bootstrap, topic, "read_uncommitted", 3) == [b"kept", b"dropped", b"open"]
    offsets = {}
    for level in (IsolationLevel.READ_COMMITTED, IsolationLevel.READ_UNCOMMITTED):
        asked = {TopicPartition(topic, 0): OffsetSpec.latest()}
        (found,) = admin.list_offsets(asked, isolation_level=level).values()
        offsets[level] = found.result(TIMEOUT_S).offset
    # Two ended transactions take a record and a marker each. The open one begins at 4, the last stable offset.
    assert offsets == {IsolationLevel.READ_COMMITTED: 4, IsolationLevel.READ_UNCOMMITTED: 5}
    producer.commit_transaction(TIMEOUT_S)
    assert values(bootstrap, topic, "read_committed", 2) == [b"kept", b"open"]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_offsets_in_a_transaction(bootstrap: str, topic: str, admin: AdminClient, protocol: str) -> None:
    target, group = f"{topic}-out", f"{topic}-group"
    create(admin, topic, target)
    plain = Producer({"bootstrap.servers": bootstrap})
    for index in range(20):
        plain.produce(topic, b"%d" % index)
    assert plain.flush(TIMEOUT_S) == 0
    consumer = joined(bootstrap, group, topic, **{"group.protocol": protocol})
    producer = transactional(bootstrap, topic)

    def copy(count: int) -> None:
        producer.begin_transaction()
        for message in consumer.consume(count, TIMEOUT_S):
            value = message.value()
            assert message.error() is None
            assert value is not None
            producer.produce(target, value)
        positions = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), TIMEOUT_S)

    copy(5)
    producer.commit_transaction(TIMEOUT_S)
    assert committed(admin, group, topic) == 5
    copy(7)
    producer.abort_transaction(TIMEOUT_S)
    assert committed(admin, group, topic) == 5
    consumer.seek(TopicPartition(topic, 0, 5))
    copy(15)
    producer.commit_transaction(TIMEOUT_S)
    assert committed(admin, group, topic) == 20
    assert values(bootstrap, target, "read_committed", 20) == [b"%d" % index for index in range(20)]
    consumer.close()


def test_a_later_producer_fences_an_earlier_one(bootstrap: str, topic: str, admin: AdminClient) -> None:
    create(admin, topic)
    earlier = transactional(bootstrap, topic)
    earlier.begin_transaction()
    earlier.produce(topic, b"of the earlier")
    assert earlier.flush(TIMEOUT_S) == 0
    later = transactional(bootstrap, topic)
    with pytest.raises(KafkaException) as fenced:
        earlier.commit_transaction(TIMEOUT_S)
    assert fenced.value.args[0].code() in (KafkaError._FENCED, KafkaError.PRODUCER_FENCED)
    later.begin_transaction()
    later.produce(topic, b"of the later")
    later.commit_transaction(TIMEOUT_S)
    assert values(bootstrap, topic, "read_committed", 1) == [b"of the later"]


def test_a_member_that_is_no_longer_one_commits_nothing_in_a_transaction(
    bootstrap: str, topic: str, admin: AdminClient
) -> None:
    create(admin, topic)
    plain = Producer({"bootstrap.servers": bootstrap})
    plain.produce(topic, b"one")
    assert plain.flush(TIMEOUT_S) == 0
    consumer = joined(bootstrap, topic, topic)
    assert len(consumer.consume(1, TIMEOUT_S)) == 1
    of_a_member = consumer.consumer_group_metadata()
    consumer.close()
    producer = transactional(bootstrap, topic)
    producer.begin_transaction()
    producer.produce(topic, b"two")
    with pytest.raises(KafkaException) as refused:
        producer.send_offsets_to_transaction([TopicPartition(topic, 0, 1)], of_a_member, TIMEOUT_S)
    assert refused.value.args[0].code() in (KafkaError.UNKNOWN_MEMBER_ID, KafkaError.ILLEGAL_GENERATION)
    producer.abort_transaction(TIMEOUT_S)
    assert committed(admin, topic, topic) < 0


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups_are_listed_and_described(bootstrap: str, topic: str, admin: AdminClient, protocol: str) -> None:
    create(admin, topic)
    plain = Producer({"bootstrap.servers": bootstrap})
    plain.produce(topic, b"one")
    assert plain.flush(TIMEOUT_S) == 0
    consumer = joined(bootstrap, topic, topic, **{"group.protocol": protocol, "client.id": "who-it-is"})
    assert len(consumer.consume(1, TIMEOUT_S)) == 1
    kind = {"classic": ConsumerGroupType.CLASSIC, "consumer": ConsumerGroupType.CONSUMER}[protocol]
    for types, is_in in (({kind}, True), (set(ConsumerGroupType) - {ConsumerGroupType.UNKNOWN, kind}, False)):
        listed = admin.list_consumer_groups(types=types).result(TIMEOUT_S)
        assert listed.errors == []
        assert (topic in {each.group_id for each in listed.valid}) is is_in
    described = admin.describe_consumer_groups([topic])[topic].result(TIMEOUT_S)
    assert (described.state, described.type) == (ConsumerGroupState.STABLE, kind)
    assert f"{described.coordinator.host}:{described.coordinator.port}" == bootstrap
    (member,) = described.members
    assert member.client_id == "who-it-is"
    assert [(each.topic, each.partition) for each in member.assignment.topic_partitions] == [(topic, 0)]
    with pytest.raises(KafkaException) as refused:
        admin.delete_consumer_groups([topic])[topic].result(TIMEOUT_S)
    assert refused.value.args[0].code() == KafkaError.NON_EMPTY_GROUP
    consumer.close()
    admin.delete_consumer_groups([topic])[topic].result(TIMEOUT_S)
    assert topic not in {each.group_id for each in admin.list_consumer_groups().result(TIMEOUT_S).valid}


def test_offsets_are_altered_and_listed_without_a_member(bootstrap: str, topic: str, admin: AdminClient) -> None:
    create(admin, topic)
    wanted = ConsumerGroupTopicPartitions(topic, [TopicPartition(topic, 0, 7, metadata="by hand", leader_epoch=0)])
    admin.alter_consumer_group_offsets([wanted])[topic].result(TIMEOUT_S)
    everything = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(topic)])[topic].result(TIMEOUT_S)
    (found,) = everything.topic_partitions
    assert (found.topic, found.partition, found.offset, found.metadata) == (topic, 0, 7, "by hand")
    described = admin.describe_consumer_groups([topic])[topic].result(TIMEOUT_S)
    assert (described.state, described.members) == (ConsumerGroupState.EMPTY, [])
    admin.delete_consumer_groups([topic])[topic].result(TIMEOUT_S)
    assert committed(admin, topic, topic) < 0
    with pytest.raises(KafkaException) as refused:
        admin.delete_consumer_groups([topic])[topic].result(TIMEOUT_S)
    assert refused.value.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND
