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
    TopicRequest,
    TopicResponse,
)
from tidelog.server.requests.element_limits import WHOLE_ELEMENTS_MAX
from tidelog.server.requests.handler import Handler, RequestContext, Steps
from tidelog.server.requests.response_arrays import Collect, at_once, on_demand
from tidelog.storage.producers.entry import ProducerEntry

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

NO_TRANSACTION: Final = -1


def handle(
    broker: "Broker", context: RequestContext, body: DescribeProducersRequest
) -> DescribeProducersResponse | None:
    """In slices where the partitions have many producers, however short the request for them is."""
    topic_partitions = [TopicPartition(topic.name, index) for topic in body.topics for index in topic.partition_indexes]
    found = [broker.leader_of(topic_partition) for topic_partition in topic_partitions]
    if sum(len(each.log.producers.producers) for each in found if not isinstance(each, ErrorCode)) > WHOLE_ELEMENTS_MAX:
        broker.slices.begin_steps(context, body, steps)
        return None
    return _response(broker, body, at_once)


def steps(
    broker: "Broker", _context: RequestContext, body: DescribeProducersRequest
) -> Steps[DescribeProducersResponse]:
    yield
    return _response(broker, body, on_demand)


def _response(broker: "Broker", body: DescribeProducersRequest, collect: Collect) -> DescribeProducersResponse:
    topics = collect(body.topics, (_topic(broker, topic, collect) for topic in body.topics))
    return DescribeProducersResponse(throttle_time_ms=0, topics=topics)


def _topic(broker: "Broker", topic: TopicRequest, collect: Collect) -> TopicResponse:
    indexes = topic.partition_indexes
    return TopicResponse(
        name=topic.name,
        partitions=collect(indexes, (_partition(broker, topic.name, index, collect) for index in indexes)),
    )


def _partition(broker: "Broker", topic: str, index: int, collect: Collect) -> PartitionResponse:
    found = broker.leader_of(TopicPartition(topic, index))
    if isinstance(found, ErrorCode):
        code, message = _why_not(topic, found)
        return PartitionResponse(partition_index=index, error_code=code, error_message=message, active_producers=[])
    entries = list(found.log.producers.producers.values())  # which may change while others have their turn
    producers = collect(entries, (_state(entry) for entry in entries))
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


DESCRIBE_PRODUCERS = Handler(ApiKey.DESCRIBE_PRODUCERS, handle, refuse, steps=steps)
