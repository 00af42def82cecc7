"""Where logs begin and end: offsets by time or by OffsetSpec, deleting records before an offset, and who produces."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from tidelog.client.admin.base import AdminBase
from tidelog.client.by_leader import Answer, ask_leaders, by_topic
from tidelog.client.errors import ClientError
from tidelog.client.offsets import FoundOffset, list_offsets
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from tidelog.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    ProducerState,
    TopicRequest,
)


class OffsetSpec(IntEnum):
    """A number that stands for an offset where ListOffsets takes a timestamp."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5
    EARLIEST_PENDING_UPLOAD = -6


@dataclass(slots=True)
class ActiveProducer:
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    transaction_start_offset: int  # -1: none is open


class OffsetAdmin(AdminBase):
    def list_offsets(
        self, wanted: Mapping[TopicPartition, int], *, read_committed: bool = False
    ) -> dict[TopicPartition, FoundOffset | ClientError]:
        """Return for each partition the offset at a time (in milliseconds) or at an OffsetSpec. Offset -1: there is
        none."""
        return list_offsets(self.client, wanted, read_committed=read_committed)

    def delete_records(
        self, before: Mapping[TopicPartition, int], *, timeout_ms: int = 30_000
    ) -> dict[TopicPartition, int | ClientError]:
        """Delete everything before an offset (-1: before the high watermark); return the new start of each log."""

        def build(partitions: Sequence[TopicPartition]) -> DeleteRecordsRequest:
            topics = [
                DeleteRecordsTopic(
                    name=topic,
                    partitions=[
                        DeleteRecordsPartition(partition_index=each.partition, offset=before[each]) for each in listed
                    ],
                )
                for topic, listed in by_topic(partitions).items()
            ]
            return DeleteRecordsRequest(topics=topics, timeout_ms=timeout_ms)

        return ask_leaders(self.client, list(before), "delete records of", build, _low_watermarks)

    def describe_producers(
        self, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, list[ActiveProducer] | ClientError]:
        def build(listed: Sequence[TopicPartition]) -> DescribeProducersRequest:
            topics = by_topic(listed).items()
            return DescribeProducersRequest(
                topics=[TopicRequest(name=topic, partition_indexes=[p.partition for p in of]) for topic, of in topics]
            )

        return ask_leaders(self.client, partitions, "describe the producers of", build, _producers)


def _low_watermarks(response: DeleteRecordsResponse) -> Iterator[Answer[int]]:
    for topic in response.topics:
        for each in topic.partitions:
            topic_partition = TopicPartition(topic.name, each.partition_index)
            yield Answer(topic_partition, each.error_code, None, each.low_watermark)


def _producers(response: DescribeProducersResponse) -> Iterator[Answer[list[ActiveProducer]]]:
    for topic in response.topics:
        for each in topic.partitions:
            topic_partition = TopicPartition(topic.name, each.partition_index)
            yield Answer(
                topic_partition, each.error_code, each.error_message, [_producer(p) for p in each.active_producers]
            )


def _producer(state: ProducerState) -> ActiveProducer:
    return ActiveProducer(
        state.producer_id,
        state.producer_epoch,
        state.last_sequence,
        state.last_timestamp,
        state.coordinator_epoch,
        state.current_txn_start_offset,
    )
