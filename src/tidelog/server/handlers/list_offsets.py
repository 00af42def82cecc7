"""ListOffsets: from a time, or a special number in its place, to an offset.

    -1 latest, as far as the reader may see      -2 earliest        -3 the record with the largest timestamp
    -4 earliest on this disk                     -5, -6 of tiered storage: nothing of this log is anywhere else

A time is answered with the first record that is not before it, found within its batch. What lies beyond what the
reader may see yet is not there for it.
"""

from typing import TYPE_CHECKING, Final

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tidelog.records.header import NO_TIMESTAMP
from tidelog.server.handling import Handler, RequestContext
from tidelog.server.partition import Partition
from tidelog.storage.log_read import (
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIERED_TIMESTAMP,
    LATEST_TIMESTAMP,
    MAX_TIMESTAMP,
    NOT_FOUND,
    FetchIsolation,
    OffsetAtTime,
    offset_for_time,
    upper_bound,
)

if TYPE_CHECKING:
    from tidelog.server.broker import Broker

CONSUMER: Final = -1
READ_COMMITTED: Final = 1
FIRST_WITH_EPOCH: Final = 4
# The version from which on each of the special timestamps is understood.
_FIRST_VERSIONS: Final = {
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL_TIMESTAMP: 8,
    LATEST_TIERED_TIMESTAMP: 9,
    EARLIEST_PENDING_UPLOAD_TIMESTAMP: 11,
}
_LOWEST_SPECIAL: Final = min(_FIRST_VERSIONS)
_EARLIEST: Final = (EARLIEST_TIMESTAMP, EARLIEST_LOCAL_TIMESTAMP)
FIRST_WITH_NOT_AVAILABLE: Final = 5


def handle(broker: "Broker", context: RequestContext, body: ListOffsetsRequest) -> ListOffsetsResponse:
    named: dict[tuple[str, int], int] = {}
    for topic in body.topics:
        for asked in topic.partitions:
            named[topic.name, asked.partition_index] = named.get((topic.name, asked.partition_index), 0) + 1
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    _answer(broker, context, body, topic.name, asked, named[topic.name, asked.partition_index] > 1)
                    for asked in topic.partitions
                ],
            )
            for topic in body.topics
        ]
    )


def _answer(
    broker: "Broker",
    context: RequestContext,
    body: ListOffsetsRequest,
    topic: str,
    asked: ListOffsetsPartition,
    is_repeated: bool,
) -> ListOffsetsPartitionResponse:
    index = asked.partition_index
    if is_repeated:
        return ListOffsetsPartitionResponse(partition_index=index, error_code=ErrorCode.INVALID_REQUEST)
    if context.api_version < _first_version(asked.timestamp):
        return ListOffsetsPartitionResponse(partition_index=index, error_code=ErrorCode.UNSUPPORTED_VERSION)
    found = broker.leader_of(TopicPartition(topic, index))
    if isinstance(found, ErrorCode):
        return ListOffsetsPartitionResponse(partition_index=index, error_code=found)
    code = found.check_epoch(asked.current_leader_epoch)
    if code is not ErrorCode.NONE:
        return ListOffsetsPartitionResponse(partition_index=index, error_code=code)
    is_behind = found.log.high_watermark < _epoch_start(found)
    if is_behind and body.replica_id == CONSUMER and asked.timestamp not in _EARLIEST:
        has_own_code = context.api_version >= FIRST_WITH_NOT_AVAILABLE
        code = ErrorCode.OFFSET_NOT_AVAILABLE if has_own_code else ErrorCode.LEADER_NOT_AVAILABLE
        return ListOffsetsPartitionResponse(partition_index=index, error_code=code)
    at = _look_up(found, asked.timestamp, _isolation(body))
    return ListOffsetsPartitionResponse(
        partition_index=index,
        error_code=ErrorCode.NONE,
        timestamp=at.timestamp,
        offset=at.offset,
        leader_epoch=at.leader_epoch if context.api_version >= FIRST_WITH_EPOCH else -1,
    )


def _first_version(timestamp: int) -> int:
    if timestamp < _LOWEST_SPECIAL:
        return 0x7FFF  # no version knows it
    return _FIRST_VERSIONS.get(timestamp, 0)


def _isolation(body: ListOffsetsRequest) -> FetchIsolation:
    if body.replica_id != CONSUMER:
        return FetchIsolation.LOG_END
    is_committed = body.isolation_level == READ_COMMITTED
    return FetchIsolation.TXN_COMMITTED if is_committed else FetchIsolation.HIGH_WATERMARK


def _epoch_start(partition: Partition) -> int:
    """A new leader does not know at once how far its predecessor's high watermark had come. Until its own has passed
    the start of its epoch, an answer might lie below what a client was told before."""
    entry = partition.log.epochs.entry(partition.leader_epoch)
    return 0 if entry is None else entry.start_offset


def _look_up(partition: Partition, timestamp: int, isolation: FetchIsolation) -> OffsetAtTime:
    log = partition.log
    bound = upper_bound(log, isolation)
    if timestamp == LATEST_TIMESTAMP:
        return OffsetAtTime(NO_TIMESTAMP, bound, partition.leader_epoch)
    found = offset_for_time(log, timestamp)
    return NOT_FOUND if timestamp not in _EARLIEST and found.offset >= bound else found


def refuse(body: ListOffsetsRequest, code: ErrorCode, _message: str | None) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsPartitionResponse(partition_index=each.partition_index, error_code=code)
                    for each in topic.partitions
                ],
            )
            for topic in body.topics
        ]
    )


LIST_OFFSETS = Handler(ApiKey.LIST_OFFSETS, handle, refuse)
