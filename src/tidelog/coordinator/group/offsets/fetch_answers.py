"""The forms of OffsetFetch: up to version 7 a request names one group, and its answer has a form of its own."""

from typing import Final, TypeAlias

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

Topics: TypeAlias = list[OffsetFetchResponseTopics]
BY_GROUP: Final = 8
WITH_GROUP_ERROR: Final = 2  # before this version, each partition has the group's error


def requested_groups(message: OffsetFetchRequest, version: int) -> list[OffsetFetchRequestGroup]:
    if version >= BY_GROUP:
        return message.groups
    topics = None
    if message.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in message.topics
        ]
    return [OffsetFetchRequestGroup(group_id=message.group_id, topics=topics)]


def as_one_group(group: OffsetFetchResponseGroup) -> OffsetFetchResponse:
    topics = [
        OffsetFetchResponseTopic(name=topic.name, partitions=[_as_one_groups(each) for each in topic.partitions])
        for topic in group.topics
    ]
    return OffsetFetchResponse(topics=topics, error_code=group.error_code)


def refused_group(request: OffsetFetchRequestGroup, code: ErrorCode, version: int) -> OffsetFetchResponseGroup:
    if version >= WITH_GROUP_ERROR:
        return OffsetFetchResponseGroup(group_id=request.group_id, topics=[], error_code=code)
    topics = [
        OffsetFetchResponseTopics(
            name=topic.name, partitions=[_refused(each, code) for each in topic.partition_indexes]
        )
        for topic in request.topics or []
    ]
    return OffsetFetchResponseGroup(group_id=request.group_id, topics=topics)


def _refused(partition: int, code: ErrorCode) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=partition, committed_offset=-1, committed_leader_epoch=-1, metadata="", error_code=code
    )


def _as_one_groups(each: OffsetFetchResponsePartitions) -> OffsetFetchResponsePartition:
    return OffsetFetchResponsePartition(
        partition_index=each.partition_index,
        committed_offset=each.committed_offset,
        committed_leader_epoch=each.committed_leader_epoch,
        metadata=each.metadata,
        error_code=each.error_code,
    )
