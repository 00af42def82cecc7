"""What clients in the simulator do most: create topics, produce, fetch. Each function fails on an error."""

from collections.abc import Mapping
from typing import Any

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tidelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.records.batch import batches
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.sim.node_world import SimClient


def create(client: SimClient, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> bytes:
    """Create a topic and return its id; its partitions exist when this returns."""
    given = [CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()]
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, assignments=[], configs=given)
    answer = client.ask(CreateTopicsRequest(topics=[topic]), 7).topics[0]
    assert answer.error_code == ErrorCode.NONE, answer
    return bytes(answer.topic_id)


def batch_of(
    *values: bytes | None, key: bytes | None = None, first_timestamp: int = 1_000, **options: Any
) -> memoryview:
    builder = BatchBuilder(options=BatchOptions(**options))
    for index, value in enumerate(values):
        builder.append(first_timestamp + index, key, value)
    return memoryview(bytearray(builder.build()))


def produced(client: SimClient, topic: str, batch: Any, *, acks: int = -1, version: int = 9, partition: int = 0) -> Any:
    """Produce a batch and return the partition's answer, error or not."""
    data = PartitionProduceData(index=partition, records=batch)
    topics = [TopicProduceData(name=topic, partition_data=[data])]
    response = client.ask(ProduceRequest(acks=acks, timeout_ms=1_000, topic_data=topics), version)
    return response.responses[0].partition_responses[0]


def produce(client: SimClient, topic: str, *values: bytes, partition: int = 0) -> int:
    """Produce the values and return their base offset."""
    answer = produced(client, topic, batch_of(*values), partition=partition)
    assert answer.error_code == ErrorCode.NONE, answer
    return int(answer.base_offset)


def fetch_values(client: SimClient, topic: str, offset: int = 0, partition: int = 0) -> list[bytes]:
    wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = FetchRequest(max_wait_ms=100, min_bytes=1, topics=[FetchTopic(topic=topic, partitions=[wanted])])
    data = client.ask(request, 12).responses[0].partitions[0]
    assert data.error_code == ErrorCode.NONE, data
    return values_in(data.records, offset)


def values_in(records: Any, offset: int = 0) -> list[bytes]:
    """Return the values from `offset` on: the first batch comes whole, and may begin before it."""
    found = [record for batch in batches(bytes(records or b"")) for record in batch.records()]
    return [record.value or b"" for record in found if record.offset >= offset]
