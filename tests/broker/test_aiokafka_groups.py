"""aiokafka, unmodified: members of groups, committed offsets, transactions."""

import asyncio
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, OffsetAndMetadata, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import CommitFailedError, ProducerFenced, UnknownMemberIdError

TIMEOUT_S = 60
SILENT: dict[str, Any] = {"heartbeat_interval_ms": 1_000 * TIMEOUT_S, "session_timeout_ms": 2_000 * TIMEOUT_S}


def run(body: Any) -> None:
    asyncio.run(asyncio.wait_for(body, TIMEOUT_S))


async def create(bootstrap: str, *topics: str, partitions: int = 1) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(topic, partitions, 1) for topic in topics])
    await admin.close()


async def produce(bootstrap: str, topic: str, count: int, partitions: int = 1) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
        for index in range(count):
            await producer.send_and_wait(topic, b"%d" % index, partition=index % partitions)


def member(bootstrap: str, topic: str, listener: "Listener | None" = None, **settings: Any) -> AIOKafkaConsumer:
    defaults = {"auto_offset_reset": "earliest", "enable_auto_commit": False, "heartbeat_interval_ms": 300}
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=topic, **{**defaults, **settings})
    consumer.subscribe([topic], listener=listener)
    return consumer


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    """A listener that notes which partitions the member had after each rebalance."""

    def __init__(self) -> None:
        self.assigned: list[set[int]] = []

    async def on_partitions_revoked(self, revoked: Any) -> None: ...

    async def on_partitions_assigned(self, assigned: Any) -> None:
        self.assigned.append({each.partition for each in assigned})


@pytest.mark.parametrize("assignor", [None, StickyPartitionAssignor], ids=["range", "sticky"])
def test_partitions_are_shared_and_taken_over(bootstrap: str, topic: str, assignor: Any) -> None:
    settings: dict[str, Any] = {} if assignor is None else {"partition_assignment_strategy": (assignor,)}

    async def body() -> None:
        await create(bootstrap, topic, partitions=4)
        await produce(bootstrap, topic, 40, 4)
        listener = Listener()
        async with member(bootstrap, topic, listener, **settings) as first:
            found = [await first.getone() for _ in range(10)]
            await first.commit()
            async with member(bootstrap, topic, **settings) as second:
                while not (len(first.assignment()) == len(second.assignment()) == 2):
                    await asyncio.sleep(0.05)
                assert first.assignment().isdisjoint(second.assignment())
                kept = {each.partition for each in first.assignment()}
            while len(listener.assigned) < 3:  # told a moment after the assignment is there
                await asyncio.sleep(0.05)
            assert listener.assigned == [{0, 1, 2, 3}, kept, {0, 1, 2, 3}]
            found += [await first.getone() for _ in range(30)]
        assert sorted(int(each.value) for each in found) == list(range(40))

    run(body())


def test_committed_offsets_are_where_the_next_one_begins(bootstrap: str, topic: str) -> None:
    async def body() -> None:
        topic_partition = TopicPartition(topic, 0)
        await create(bootstrap, topic)
        await produce(bootstrap, topic, 10)
        async with member(bootstrap, topic) as consumer:
            assert await consumer.committed(topic_partition) is None
            await consumer.getone()
            await consumer.commit({topic_partition: OffsetAndMetadata(6, "six")})
            assert await consumer.committed(topic_partition) == 6
        async with member(bootstrap, topic) as consumer:
            assert (await consumer.getone()).offset == 6
        admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
        await admin.start()
        assert await admin.list_consumer_group_offsets(topic) == {topic_partition: OffsetAndMetadata(6, "six")}
        assert (topic, "consumer") in await admin.list_consumer_groups()
        await admin.close()

    run(body())


def test_a_static_member_takes_its_place_from_itself(bootstrap: str, topic: str) -> None:
    """The later one of two members with one instance id stays, and the earlier one is fenced. It learns so by its
    commit: after a heartbeat it would come back as a new member and fence the other in its turn."""

    async def body() -> None:
        topic_partition = TopicPartition(topic, 0)
        await create(bootstrap, topic)
        await produce(bootstrap, topic, 4)
        async with member(bootstrap, topic, group_instance_id="one", **SILENT) as first:
            await first.getone()
            async with member(bootstrap, topic, group_instance_id="one") as second:
                assert (await second.getone()).offset == 0
                await second.commit({topic_partition: 3})
                with pytest.raises((CommitFailedError, UnknownMemberIdError)):
                    await first.commit({topic_partition: 1})
                assert await second.committed(topic_partition) == 3

    run(body())


def test_consume_transform_produce(bootstrap: str, topic: str) -> None:
    target = f"{topic}-out"

    async def copy(consumer: AIOKafkaConsumer, producer: AIOKafkaProducer, count: int) -> None:
        for _ in range(count):
            record = await consumer.getone()
            await producer.send(target, record.value)
        topic_partition = TopicPartition(topic, 0)
        await producer.send_offsets_to_transaction({topic_partition: await consumer.position(topic_partition)}, topic)

    async def body() -> None:
        topic_partition = TopicPartition(topic, 0)
        await create(bootstrap, topic, target)
        await produce(bootstrap, topic, 10)
        settings = {"bootstrap_servers": bootstrap, "transactional_id": topic}
        async with member(bootstrap, topic) as consumer, AIOKafkaProducer(**settings) as producer:
            async with producer.transaction():
                await copy(consumer, producer, 4)
            await producer.begin_transaction()
            await copy(consumer, producer, 3)
            await producer.abort_transaction()
            assert await consumer.committed(topic_partition) == 4
            await consumer.seek_to_committed()
            async with producer.transaction():
                await copy(consumer, producer, 6)
            assert await consumer.committed(topic_partition) == 10
        async with member(bootstrap, target, isolation_level="read_committed") as reader:
            assert [int((await reader.getone()).value) for _ in range(10)] == list(range(10))
            assert await reader.getmany(timeout_ms=500) == {}

    run(body())


def test_an_older_producer_is_fenced(bootstrap: str, topic: str) -> None:
    async def body() -> None:
        await create(bootstrap, topic)
        settings = {"bootstrap_servers": bootstrap, "transactional_id": topic}
        async with AIOKafkaProducer(**settings) as older:
            await older.begin_transaction()
            await older.send_and_wait(topic, b"of the older")
            async with AIOKafkaProducer(**settings) as newer:
                with pytest.raises(ProducerFenced):
                    await older.commit_transaction()
                async with newer.transaction():
                    await newer.send(topic, b"of the newer")
        async with member(bootstrap, topic, isolation_level="read_committed") as reader:
            assert (await reader.getone()).value == b"of the newer"

    run(body())
