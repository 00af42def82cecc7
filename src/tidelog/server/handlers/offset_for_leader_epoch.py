"""OffsetForLeaderEpoch: where a leader epoch ends in this log, so that a reader finds where it has parted from it."""

from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)
from tidelog.server.handlers.by_partition import answer_each
from tidelog.server.requests.handler import Handler, RequestContext, Steps, whole

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker


def steps(
    broker: "Broker", _context: RequestContext, body: OffsetForLeaderEpochRequest
) -> Steps[OffsetForLeaderEpochResponse]:
    return answer_each(
        OffsetForLeaderEpochResponse(throttle_time_ms=0, topics=[]),
        body.topics,
        lambda topic: OffsetForLeaderTopicResult(topic=topic.topic, partitions=[]),
        lambda topic, asked: _answer(broker, topic.topic, asked),
    )


def _answer(broker: "Broker", topic: str, asked: OffsetForLeaderPartition) -> EpochEndOffset:
    found = broker.leader_of(TopicPartition(topic, asked.partition))
    if isinstance(found, ErrorCode):
        return EpochEndOffset(error_code=found, partition=asked.partition)
    code = found.check_epoch(asked.current_leader_epoch)
    if code is not ErrorCode.NONE:
        return EpochEndOffset(error_code=code, partition=asked.partition)
    end = found.log.epochs.end_offset_for(asked.leader_epoch, found.log.log_end_offset)
    if end is None:
        return EpochEndOffset(error_code=ErrorCode.NONE, partition=asked.partition)
    return EpochEndOffset(
        error_code=ErrorCode.NONE, partition=asked.partition, leader_epoch=end.epoch, end_offset=end.end_offset
    )


def refuse(body: OffsetForLeaderEpochRequest, code: ErrorCode, _message: str | None) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        throttle_time_ms=0,
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[EpochEndOffset(error_code=code, partition=each.partition) for each in topic.partitions],
            )
            for topic in body.topics
        ],
    )


OFFSET_FOR_LEADER_EPOCH = Handler(ApiKey.OFFSET_FOR_LEADER_EPOCH, whole(steps), refuse, steps=steps)
