"""The client's groups and transactions against a real node: consume, transform, produce, exactly once."""

from collections.abc import Iterator
from typing import Any

import pytest

from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.client.fetch.consumer import Consumer
from tidelog.client.group.consumer import GroupConsumer
from tidelog.client.producer.producer import Producer
from tidelog.client.producer.transactional_producer import TransactionalProducer
from tidelog.client.record import EARLIEST
from tidelog.model.ids import TopicPartition


@pytest.fixture
def client(bootstrap: str) -> Iterator[Client]:
    with Client(bootstrap) as client:
        yield client


def fill(client: Client, topic: str, count: int) -> None:
    Admin(client).create_topic(NewTopic(topic, 2))
    with Producer(client) as producer:
        for index in range(count):
            producer.send(topic, b"%d" % index, partition=index % 2)


def joined(client: Client, group: str, topic: str, **options: Any) -> GroupConsumer:
    consumer = GroupConsumer(client, group, start=EARLIEST, **options)
    consumer.subscribe([topic])
    return consumer


def test_two_members_and_then_one(client: Client, bootstrap: str, topic: str) -> None:
    fill(client, topic, 40)
    first = joined(client, topic, topic)
    found: list[bytes] = []
    while len(found) < 40:
        found += [record.value or b"" for record in first.poll(200)]
    with Client(bootstrap) as other_client:
        second = joined(other_client, topic, topic)
        while not (
            len(first.assignment) == len(second.assignment) == 1 and first.is_reconciled and second.is_reconciled
        ):
            assert first.poll(20) == []
            assert second.poll(20) == []  # the second begins at the first one's offset
        second.close()
    while len(first.assignment) < 2:
        first.poll(20)
    first.close()
    assert sorted(found) == sorted(b"%d" % index for index in range(40))
    committed = {
        topic_partition: each.offset for topic_partition, each in Admin(client).list_group_offsets(topic).items()
    }
    assert committed == {TopicPartition(topic, 0): 20, TopicPartition(topic, 1): 20}


def test_consume_transform_produce_with_a_crash_in_the_middle(client: Client, topic: str) -> None:
    """The second run takes over transactional id and group from a first run that died with a transaction open."""
    fill(client, topic, 40)
    output = f"{topic}-out"
    Admin(client).create_topic(NewTopic(output, 2))
    for is_last in (False, True):
        consumer = joined(client, topic, topic, auto_commit_ms=None, isolation="read_committed")
        producer = TransactionalProducer(client, topic)
        producer.init_transactions()
        done = 0
        committed = Admin(client).list_group_offsets(topic, require_stable=True)
        left = 40 - sum(each.offset for each in committed.values())
        assert left == (40 - 8 if is_last else 40)
        while done < left:
            records = consumer.poll(200, max_records=4)
            producer.begin_transaction()
            for record in records:
                producer.send(output, b"<%s>" % (record.value or b""), partition=record.partition)
            producer.send_offsets_to_transaction(consumer.positions(), consumer.group_metadata)
            done += len(records)
            if done >= 12 and not is_last:
                producer.flush()  # written, never committed
                break
            producer.commit_transaction()
        consumer.close()
    reader = Consumer(client, isolation="read_committed")
    reader.assign(dict.fromkeys(reader.partitions(output), EARLIEST))
    found = sorted(record.value or b"" for record in reader.read_to_end())
    assert found == sorted(b"<%d>" % index for index in range(40))
    offsets = [each.offset for each in Admin(client).list_group_offsets(topic, require_stable=True).values()]
    assert offsets == [20, 20]


def test_a_member_that_was_replaced_can_not_commit_in_a_transaction(client: Client, topic: str) -> None:
    fill(client, topic, 2)
    consumer = joined(client, topic, topic, auto_commit_ms=None)
    while not consumer.is_reconciled:
        consumer.poll(50)
    former = consumer.group_metadata
    consumer.close()
    producer = TransactionalProducer(client, topic)
    producer.init_transactions()
    producer.begin_transaction()
    with pytest.raises(ClientError, match="commit offsets of group"):
        producer.send_offsets_to_transaction({TopicPartition(topic, 0): 1}, former)
    producer.abort_transaction()
    assert Admin(client).list_group_offsets(topic) == {}


def test_a_transaction_is_ended_in_another_process(client: Client, bootstrap: str, topic: str) -> None:
    fill(client, topic, 0)
    producer = TransactionalProducer(client, topic)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(topic, b"handed over", partition=0)
    state = producer.hand_over_transaction()
    with Client(bootstrap) as driver:
        Admin(driver).end_transaction(*state, commit=True)
        reader = Consumer(driver, isolation="read_committed")
        reader.assign({TopicPartition(topic, 0): EARLIEST})
        assert [record.value for record in reader.poll(5_000)] == [b"handed over"]
