"""Transactions with the clients that the soak does not use: they, too, have to cope with a broker that offers
InitProducerId 6.

The checks are the same for each client: aborted records are not seen, committed ones are, and initialising a
transactional id again ends the transaction that its last owner left open.
"""

import asyncio
import warnings

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioTopicPartition

from tidelog.client.admin.admin_client import Admin
from tidelog.client.client import Client

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its schemas by a deprecated function
    from kafka import KafkaConsumer, KafkaProducer, TopicPartition

pytestmark = pytest.mark.filterwarnings("ignore:.*is deprecated. Use files:DeprecationWarning")

TIMEOUT_S = 30


def state_of(bootstrap: str, transactional_id: str) -> str:
    with Client(bootstrap) as client:
        (listed,) = Admin(client).list_transactions(pattern=transactional_id)
        return listed.state


def python_producer(bootstrap: str, name: str) -> KafkaProducer:
    producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=name)
    producer.init_transactions()
    return producer


def test_kafka_python(bootstrap: str, topic: str) -> None:
    name = f"{topic}-id"
    producer = python_producer(bootstrap, name)
    for value, is_commit in ((b"aborted", False), (b"committed", True), (b"left", None)):
        producer.begin_transaction()
        producer.send(topic, value, partition=0).get(TIMEOUT_S)
        if is_commit is not None:
            (producer.commit_transaction if is_commit else producer.abort_transaction)()
    assert state_of(bootstrap, name) == "Ongoing"
    heir = python_producer(bootstrap, name)
    assert state_of(bootstrap, name) == "Empty"
    heir.begin_transaction()
    heir.send(topic, b"heir", partition=0).get(TIMEOUT_S)
    heir.commit_transaction()
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=None, isolation_level="read_committed")
    consumer.assign([TopicPartition(topic, 0)])
    consumer.seek_to_beginning()
    assert [next(consumer).value for _ in range(2)] == [b"committed", b"heir"]
    for client in (consumer, heir, producer):
        client.close()


def test_aiokafka(bootstrap: str, topic: str) -> None:
    name = f"{topic}-id"

    async def body() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=name)
        await producer.start()
        for value, is_commit in ((b"aborted", False), (b"committed", True), (b"left", None)):
            await producer.begin_transaction()
            await producer.send_and_wait(topic, value, partition=0)
            if is_commit is not None:
                await (producer.commit_transaction() if is_commit else producer.abort_transaction())
        assert await asyncio.to_thread(state_of, bootstrap, name) == "Ongoing"
        async with AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=name) as heir:
            assert await asyncio.to_thread(state_of, bootstrap, name) == "Empty"
            async with heir.transaction():
                await heir.send_and_wait(topic, b"heir", partition=0)
        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=None, isolation_level="read_committed")
        async with consumer:
            consumer.assign([AioTopicPartition(topic, 0)])
            await consumer.seek_to_beginning()
            assert [(await consumer.getone()).value for _ in range(2)] == [b"committed", b"heir"]
        await producer.stop()

    asyncio.run(asyncio.wait_for(body(), TIMEOUT_S))
