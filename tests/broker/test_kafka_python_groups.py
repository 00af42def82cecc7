"""kafka-python, unmodified: what its admin client sees and changes of groups and transactions. Its consumer and its
producer are covered by its own integration tests (test_kafka_python_suite.py)."""

import warnings
from collections.abc import Iterator

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its schemas by a deprecated function
    from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
    from kafka.admin import MemberToRemove, NewTopic, OffsetSpec
    from kafka.errors import NoError, UnknownMemberIdError

# kafka-python reads a schema at the first use of its message, so the warning may come in any test.
pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated. Use files:DeprecationWarning")

TIMEOUT_S = 30


@pytest.fixture
def admin(bootstrap: str, topic: str) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=bootstrap)
    client.create_topics([NewTopic(topic, 2, 1)])
    yield client
    client.close()


@pytest.fixture
def filled(bootstrap: str, topic: str, admin: KafkaAdminClient) -> str:
    """Fill two partitions with ten records each and have the group coordinator made by a consumer, since the admin
    client does not retry while a node is still making its first one. Return the topic."""
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for index in range(20):
        producer.send(topic, b"%d" % index, partition=index % 2)
    producer.flush(TIMEOUT_S)
    producer.close()
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=topic)
    assert consumer.committed(TopicPartition(topic, 0)) is None
    consumer.close(autocommit=False)
    return topic


def test_offsets_without_a_member(admin: KafkaAdminClient, filled: str) -> None:
    topic_partitions = [TopicPartition(filled, partition) for partition in range(2)]
    wanted = {topic_partition: OffsetAndMetadata(4, "by hand", 0) for topic_partition in topic_partitions}
    admin.alter_group_offsets(filled, wanted)
    assert admin.list_group_offsets(filled) == {filled: wanted}
    assert [each["group_id"] for each in admin.list_groups(states_filter=["Empty"]) if each["group_id"] == filled]
    admin.reset_group_offsets(filled, {topic_partitions[0]: OffsetSpec.LATEST})
    assert admin.list_group_offsets(filled)[filled][topic_partitions[0]].offset == 10
    admin.delete_group_offsets(filled, [topic_partitions[0]])
    assert admin.list_group_offsets(filled) == {filled: {topic_partitions[1]: wanted[topic_partitions[1]]}}
    assert admin.delete_groups([filled]) == {filled: "OK"}
    assert admin.list_group_offsets(filled) == {filled: {}}


def test_an_admin_removes_members(bootstrap: str, admin: KafkaAdminClient, filled: str) -> None:
    consumer = KafkaConsumer(
        filled, bootstrap_servers=bootstrap, group_id=filled, group_instance_id="one", auto_offset_reset="earliest"
    )
    assert next(consumer).value is not None
    (member,) = admin.describe_groups([filled])[filled]["members"]
    assert member["group_instance_id"] == "one"
    assert member["client_id"] == consumer.config["client_id"]
    named = [MemberToRemove(group_instance_id=name) for name in ("nobody", "one")]
    assert admin.remove_group_members(filled, named) == {"nobody": UnknownMemberIdError, "one": NoError}
    assert admin.describe_groups([filled])[filled]["members"] == []
    consumer.close(autocommit=False)


def test_transactions_are_seen(bootstrap: str, admin: KafkaAdminClient, filled: str) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=filled)
    producer.init_transactions()
    producer.begin_transaction()
    assert producer.send(filled, b"open", partition=1).get(TIMEOUT_S).offset == 10
    topic_partition = TopicPartition(filled, 1)
    described = admin.describe_transactions([filled])[filled]
    assert (described.state.value, described.topic_partitions) == ("Ongoing", {topic_partition})
    (listed,) = [each for of_one in admin.list_transactions().values() for each in of_one if each[0] == filled]
    assert (listed.producer_id, listed.state.value) == (described.producer_id, "Ongoing")
    assert start_offset_of(admin, topic_partition, described.producer_id) == 10
    assert admin.find_hanging_transactions() == []
    producer.abort_transaction()
    producer.close()
    assert start_offset_of(admin, topic_partition, described.producer_id) == -1
    assert admin.describe_transactions([filled])[filled].state.value == "CompleteAbort"


def start_offset_of(admin: KafkaAdminClient, topic_partition: TopicPartition, producer_id: int) -> int:
    """Return the start offset of the transaction that the producer has open in the partition."""
    producers = admin.describe_producers([topic_partition])[topic_partition].active_producers
    (found,) = [each for each in producers if each.producer_id == producer_id]
    return int(found.current_transaction_start_offset)
