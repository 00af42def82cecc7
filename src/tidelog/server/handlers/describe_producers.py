"""DescribeProducers: who writes to a partition, and who holds a transaction open on it."""

from typing import TYPE_CHECKING, Final

from tidelog.controller.topic_names import check_topic_name
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from tidelog.server.handling import Handler, RequestContext
from tidelog.storage.producer_entry import ProducerEntry

if TYPE_CHECKING:
    from tidelog.server.broker import Broker

NO_TRANSACTION: Final = -1


def handle(broker: "Broker", _context: RequestContext, body: DescribeProducersRequest) -> DescribeProducersResponse:
    topics = [
        TopicResponse(
            name=topic.name, partitions=[_partition(broker, topic.name, index) for index in topic.partition_indexes]
        )
        for topic in body.topics
    ]
    return DescribeProducersResponse(throttle_time_ms=0, topics=topics)


def _partition(broker: "Broker", topic: str, index: int) -> PartitionResponse:
    found = broker.leader_of(TopicPartition(topic, index))
    if isinstance(found, ErrorCode):
        code, message = _why_not(topic, found)
        return PartitionResponse(partition_index=index, error_code=code, error_message=message, active_producers=[])
    producers = [_state(entry) for entry in found.log.producers.producers.values()]
    return PartitionResponse(partition_index=index, error_code=ErrorCode.NONE, active_producers=producers)


def _why_not(topic: str, code: ErrorCode) -> tuple[ErrorCode, str | None]:
    """A name that no topic can have is said to be that."""
    try:
        check_topic_name(topic)
    except ApiError as error:
        return error.code, error.message
    return code, None


def _state(entry: ProducerEntry) -> ProducerState:
    first_offset = entry.current_txn_first_offset
    return ProducerState(
        producer_id=entry.producer_id,
        producer_epoch=entry.producer_epoch,
        last_sequence=entry.last_sequence,
        last_timestamp=entry.last_timestamp,
        coordinator_epoch=entry.coordinator_epoch,
        current_txn_start_offset=NO_TRANSACTION if first_offset is None else first_offset,
    )


def refuse(body: DescribeProducersRequest, code: ErrorCode, message: str | None) -> DescribeProducersResponse:
    topics = [
        TopicResponse(
            name=topic.name,
            partitions=[
                PartitionResponse(partition_index=index, error_code=code, error_message=message, active_producers=[])
                for index in topic.partition_indexes
            ],
        )
        for topic in body.topics
    ]
    return DescribeProducersResponse(throttle_time_ms=0, topics=topics)


DESCRIBE_PRODUCERS = Handler(ApiKey.DESCRIBE_PRODUCERS, handle, refuse)
