"""OffsetDelete, and the end of all offsets of a group.

A tombstone also ends what transactions have staged for the partition, so one is written wherever either is there.
"""

from collections.abc import Generator
from typing import Any, TypeAlias

from tidelog.coordinator.group.offsets.commit_request import (
    PARTITIONS_A_SLICE,
    RequestedPartition,
    answer_each,
    answer_in_parts,
)
from tidelog.coordinator.group.offsets.records import tombstone
from tidelog.coordinator.group.shard import GroupShard
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.metadata.topics import Topic
from tidelog.model.decisions import Record, Result
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)

Steps: TypeAlias = Generator[None, None, Result]


def delete_offsets(shard: GroupShard, _now_ms: int, request: CoordinatorRequest) -> Steps:
    message: OffsetDeleteRequest = request.message
    try:
        return (yield from _decide(shard, message))
    except ApiError as refused:
        return Result([], OffsetDeleteResponse(error_code=refused.code, throttle_time_ms=0, topics=[]))


def tombstones_of_all(shard: GroupShard, group_id: str) -> list[Record]:
    return [tombstone(group_id, topic, partition) for topic, partition in shard.offsets.partitions(group_id)]


def _decide(shard: GroupShard, message: OffsetDeleteRequest) -> Steps:
    if not message.group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID)
    group = shard.groups.get(message.group_id)
    if group is None:
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND)
    group.validate_offset_delete()
    by_name = shard.image.topics.by_name

    def answer_part(asked: list[Any]) -> tuple[list[Any], list[RequestedPartition]]:
        return answer_each(asked, lambda each: by_name.get(each.name), _response_topic, OffsetDeleteResponsePartition)

    topics, requested = yield from answer_in_parts(message.topics, answer_part)
    records: list[Record] = []
    for count, (topic, partition, answer) in enumerate(requested, 1):
        index = partition.partition_index
        if group.is_subscribed_to(topic.name):
            answer.error_code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
        elif _is_there(shard, message.group_id, topic.name, index):
            records.append(tombstone(message.group_id, topic.name, index))
        if count % PARTITIONS_A_SLICE == 0:
            yield
    shard.count("offset-deletions", len(records))
    response = OffsetDeleteResponse(error_code=0, throttle_time_ms=0, topics=topics)
    return Result(records, response, is_atomic=False)


def _is_there(shard: GroupShard, group_id: str, topic: str, partition: int) -> bool:
    offsets = shard.offsets
    return offsets.get(group_id, topic, partition) is not None or offsets.is_staged(group_id, topic, partition)


def _response_topic(asked: Any, _topic: Topic | None, partitions: list[Any]) -> OffsetDeleteResponseTopic:
    return OffsetDeleteResponseTopic(name=asked.name, partitions=partitions)
