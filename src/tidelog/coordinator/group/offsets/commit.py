"""OffsetCommit: a group's positions, from a member or from outside.

Who may commit is the group's to say. A commit by somebody who claims to be no member creates a group that is not
there: a simple group, which only exists for its offsets. Compiled by mypyc.
"""

from collections.abc import Generator, Sequence
from typing import Any, Final, TypeAlias

from tidelog.coordinator.group.offsets.commit_request import (
    RequestedPartition,
    answer_each,
    answer_in_parts,
    is_large,
    refuse,
)
from tidelog.coordinator.group.offsets.records import NO_EXPIRY, Commit, commit_records, commit_records_in_parts
from tidelog.coordinator.group.shard import CommitPartitionCheck, GroupShard
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.metadata.topics import Topic
from tidelog.model.decisions import Record, Result
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

Steps: TypeAlias = Generator[None, None, Result]
# The versions of OffsetCommit from which this is so.
NAMES_MISSING_GROUPS: Final = 9
BY_TOPIC_ID: Final = 10
DEFAULT_RETENTION: Final = -1  # the broker's own
NOT_A_MEMBER: Final = -1


def commit_offsets(shard: GroupShard, now_ms: int, request: CoordinatorRequest) -> Result | Steps:
    message: OffsetCommitRequest = request.message
    if is_large(message.topics):
        return _commit_in_parts(shard, now_ms, request)
    topics, requested = _answer_each(shard, message.topics, request.api_version)
    records: list[Record] = []
    if requested:
        try:
            check = _validate(shard, now_ms, message, request.api_version)
            records = commit_records(shard, _commit_of(request), requested, check)
        except ApiError as refused:
            refuse(requested, refused.code)
    return Result(records, OffsetCommitResponse(topics=topics))


def _commit_in_parts(shard: GroupShard, now_ms: int, request: CoordinatorRequest) -> Steps:
    message: OffsetCommitRequest = request.message
    version = request.api_version
    topics, requested = yield from answer_in_parts(message.topics, lambda part: _answer_each(shard, part, version))
    records: list[Record] = []
    if requested:
        try:
            check = _validate(shard, now_ms, message, version)
            records = yield from commit_records_in_parts(shard, _commit_of(request), requested, check)
        except ApiError as refused:
            refuse(requested, refused.code)
    return Result(records, OffsetCommitResponse(topics=topics))


def _answer_each(
    shard: GroupShard, asked: Sequence[Any], api_version: int
) -> tuple[list[Any], list[RequestedPartition]]:
    topics = shard.image.topics
    if api_version >= BY_TOPIC_ID:
        by_id = topics.by_id
        return answer_each(
            asked,
            lambda each: by_id.get(each.topic_id),
            _response_topic,
            OffsetCommitResponsePartition,
            ErrorCode.UNKNOWN_TOPIC_ID,
        )
    by_name = topics.by_name
    return answer_each(asked, lambda each: by_name.get(each.name), _response_topic, OffsetCommitResponsePartition)


def _response_topic(asked: Any, topic: Topic | None, partitions: list[Any]) -> OffsetCommitResponseTopic:
    if topic is None:
        return OffsetCommitResponseTopic(name=asked.name, topic_id=asked.topic_id, partitions=partitions)
    return OffsetCommitResponseTopic(name=topic.name, topic_id=topic.id, partitions=partitions)


def _commit_of(request: CoordinatorRequest) -> Commit:
    message: OffsetCommitRequest = request.message
    retention_ms = message.retention_time_ms
    expire_timestamp = NO_EXPIRY if retention_ms == DEFAULT_RETENTION else request.wall_ms + retention_ms
    # The version of the record that has an expiry has no topic id: what replay will not bring back is not kept either.
    has_topic_ids = expire_timestamp == NO_EXPIRY
    return Commit(message.group_id, request.wall_ms, expire_timestamp, has_topic_ids=has_topic_ids)


def _validate(
    shard: GroupShard, now_ms: int, message: OffsetCommitRequest, api_version: int
) -> CommitPartitionCheck | None:
    generation = message.generation_id_or_member_epoch
    group = shard.groups.get(message.group_id)
    if group is None:
        if generation <= NOT_A_MEMBER:
            return None
        is_named = api_version >= NAMES_MISSING_GROUPS
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND if is_named else ErrorCode.ILLEGAL_GENERATION)
    check = group.validate_offset_commit(
        message.member_id, message.group_instance_id, generation, is_transactional=False, api_version=api_version
    )
    group.after_offset_commit(now_ms, message.member_id)
    return check
