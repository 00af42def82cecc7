"""DeleteRecords: the log of a partition begins later from now on.

As in Kafka the new beginning is written down with the next checkpoint of the log starts. A crash before that brings
back records that were to be gone; it never loses any.
"""

from typing import TYPE_CHECKING, Final

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from tidelog.server.cluster.internal_topics import is_internal
from tidelog.server.handlers.by_partition import answer_each
from tidelog.server.requests.handler import Handler, RequestContext, Steps, whole

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

NO_LOW_WATERMARK: Final = -1


def steps(broker: "Broker", _context: RequestContext, body: DeleteRecordsRequest) -> Steps[DeleteRecordsResponse]:
    return answer_each(
        DeleteRecordsResponse(throttle_time_ms=0, topics=[]),
        body.topics,
        lambda topic: DeleteRecordsTopicResult(name=topic.name, partitions=[]),
        lambda topic, asked: _delete(broker, topic.name, asked),
    )


def _delete(broker: "Broker", topic: str, asked: DeleteRecordsPartition) -> DeleteRecordsPartitionResult:
    found = broker.leader_of(TopicPartition(topic, asked.partition_index))
    if isinstance(found, ErrorCode):
        return _refused(asked, found)
    if is_internal(topic):
        code = ErrorCode.INVALID_TOPIC_EXCEPTION  # the cluster's own records are not for clients to delete
    elif not found.log.config.deletes:
        code = ErrorCode.POLICY_VIOLATION  # of a compacted topic nobody may cut off the last values
    else:
        code = found.log.delete_records(asked.offset)
    if code is not ErrorCode.NONE:
        return _refused(asked, code)
    broker.turn.moved[found] = None
    start = found.log.log_start_offset
    return DeleteRecordsPartitionResult(partition_index=asked.partition_index, low_watermark=start, error_code=code)


def _refused(asked: DeleteRecordsPartition, code: ErrorCode) -> DeleteRecordsPartitionResult:
    return DeleteRecordsPartitionResult(
        partition_index=asked.partition_index, low_watermark=NO_LOW_WATERMARK, error_code=code
    )


def refuse(body: DeleteRecordsRequest, code: ErrorCode, _message: str | None) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        throttle_time_ms=0,
        topics=[
            DeleteRecordsTopicResult(name=topic.name, partitions=[_refused(each, code) for each in topic.partitions])
            for topic in body.topics
        ],
    )


DELETE_RECORDS = Handler(ApiKey.DELETE_RECORDS, whole(steps), refuse, steps=steps)
