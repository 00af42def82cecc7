"""aiokafka, unmodified: its producer, its consumer with assigned partitions, its admin client."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.errors import MessageSizeTooLargeError

TIMEOUT_S = 30
CODECS = [None, "gzip", "snappy", "lz4", "zstd"]


def run(body: Callable[[], Awaitable[None]]) -> None:
    async def within() -> None:
        await asyncio.wait_for(body(), TIMEOUT_S)

    asyncio.run(within())


async def produce(bootstrap: str, topic: str, count: int, **settings: object) -> list[int]:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=5, **settings) as producer:
        sent = [
            await producer.send(
                topic,
                key=b"key-%d" % index,
                value=b"value-%d " % index * 20,
                headers=[("number", b"%d" % index)],
                timestamp_ms=1_700_000_000_000 + index,
                partition=0,
            )
            for index in range(count)
        ]
        return [(await each).offset for each in sent]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("idempotent", [False, True], ids=["plain", "idempotent"])
def test_records_come_back_as_they_were_produced(
    bootstrap: str, topic: str, codec: str | None, idempotent: bool
) -> None:
    async def body() -> None:
        offsets = await produce(
            bootstrap, topic, 100, compression_type=codec, enable_idempotence=idempotent, acks="all"
        )
        assert offsets == list(range(100))
        async with AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=None) as consumer:
            consumer.assign([TopicPartition(topic, 0)])
            consumer.seek(TopicPartition(topic, 0), 0)
            for index in range(100):
                record = await consumer.getone()
                assert record.offset == index
                assert record.key == b"key-%d" % index
                assert record.value == b"value-%d " % index * 20
                assert list(record.headers) == [("number", b"%d" % index)]
                assert record.timestamp == 1_700_000_000_000 + index

    run(body)


def test_offsets(bootstrap: str, topic: str) -> None:
    async def body() -> None:
        await produce(bootstrap, topic, 20)
        partition = TopicPartition(topic, 0)
        async with AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=None) as consumer:
            consumer.assign([partition])
            assert await consumer.beginning_offsets([partition]) == {partition: 0}
            assert await consumer.end_offsets([partition]) == {partition: 20}
            found = await consumer.offsets_for_times({partition: 1_700_000_000_007})
            assert found[partition].offset == 7

    run(body)


def test_the_life_of_a_topic(bootstrap: str, topic: str) -> None:
    async def body() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        await admin.start()
        try:
            await admin.create_topics([NewTopic(topic, 2, 1)])
            await admin.create_partitions({topic: NewPartitions(3)})
            (described,) = await admin.describe_topics([topic])
            assert len(described["partitions"]) == 3
            await admin.delete_topics([topic])
            assert topic not in await admin.list_topics()
        finally:
            await admin.close()

    run(body)


def test_a_record_larger_than_the_topic_allows_is_refused(bootstrap: str, topic: str) -> None:
    async def body() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        await admin.start()
        await admin.create_topics([NewTopic(topic, 1, 1, topic_configs={"max.message.bytes": "1000"})])
        await admin.close()
        async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
            with pytest.raises(MessageSizeTooLargeError):
                await producer.send_and_wait(topic, b"x" * 2000)

    run(body)
