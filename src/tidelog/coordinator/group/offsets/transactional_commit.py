"""TxnOffsetCommit: positions that count when the producer's transaction is committed; and the markers that end it.

The server has asked the transaction's coordinator before whether it is open and this partition part of it. The log
refuses what a fenced producer or coordinator writes, before it is replayed.
"""

from collections.abc import Generator, Sequence
from typing import Any, Final, TypeAlias

from tidelog.coordinator.group.offsets.commit_request import (
    PARTITIONS_A_SLICE,
    RequestedPartition,
    answer_each,
    answer_in_parts,
    is_large,
    refuse,
)
from tidelog.coordinator.group.offsets.records import NO_EXPIRY, Commit, commit_records_in_parts
from tidelog.coordinator.group.shard import CommitPartitionCheck, GroupShard
from tidelog.coordinator.requests import CoordinatorRequest, TransactionalKeyValue, TransactionMarker
from tidelog.metadata.topics import Topic
from tidelog.model.decisions import Record, Result, finish
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

Steps: TypeAlias = Generator[None, None, Result]
NOT_A_MEMBER: Final = -1


def commit_in_transaction(shard: GroupShard, _now_ms: int, request: CoordinatorRequest) -> Result | Steps:
    message: TxnOffsetCommitRequest = request.message
    steps = _commit_steps(shard, message, request)
    return steps if is_large(message.topics) else finish(steps)


def _commit_steps(shard: GroupShard, message: TxnOffsetCommitRequest, request: CoordinatorRequest) -> Steps:
    topics, requested = yield from answer_in_parts(message.topics, lambda part: _answer_each(shard, part))
    records: list[Record] = []
    if requested:
        try:
            records = yield from _decide(shard, request, requested)
        except ApiError as refused:
            refuse(requested, _as_producers_know_it(refused.code))
    return Result(records, TxnOffsetCommitResponse(throttle_time_ms=0, topics=topics))


def _answer_each(shard: GroupShard, asked: Sequence[Any]) -> tuple[list[Any], list[RequestedPartition]]:
    by_name = shard.image.topics.by_name
    return answer_each(asked, lambda each: by_name.get(each.name), _response_topic, TxnOffsetCommitResponsePartition)


def end_transaction(_shard: GroupShard, _now_ms: int, request: CoordinatorRequest) -> Result:
    marker: TransactionMarker = request.message
    return Result([(marker, 0)], None)


def _response_topic(asked: Any, _topic: Topic | None, partitions: list[Any]) -> TxnOffsetCommitResponseTopic:
    return TxnOffsetCommitResponseTopic(name=asked.name, partitions=partitions)


def _decide(
    shard: GroupShard, request: CoordinatorRequest, requested: list[RequestedPartition]
) -> Generator[None, None, list[Record]]:
    message: TxnOffsetCommitRequest = request.message
    if not message.group_id:
        raise ApiError(ErrorCode.INVALID_GROUP_ID)
    check = _validate(shard, message, request.api_version)
    # Kafka writes no topic id here; without one an offset fits whatever topic has the name.
    commit = Commit(message.group_id, request.wall_ms, NO_EXPIRY, has_topic_ids=False)
    records = yield from commit_records_in_parts(shard, commit, requested, check)
    for first in range(0, len(records), PARTITIONS_A_SLICE):
        part = slice(first, first + PARTITIONS_A_SLICE)
        records[part] = [(_staged(message, record), version) for record, version in records[part]]
        yield
    return records


def _staged(message: TxnOffsetCommitRequest, record: Any) -> TransactionalKeyValue:
    return TransactionalKeyValue(message.producer_id, message.producer_epoch, record.key, record.value)


def _validate(shard: GroupShard, message: TxnOffsetCommitRequest, api_version: int) -> CommitPartitionCheck | None:
    group = shard.groups.get(message.group_id)
    if group is None:
        if message.generation_id <= NOT_A_MEMBER:
            return None
        raise ApiError(ErrorCode.ILLEGAL_GENERATION)
    return group.validate_offset_commit(
        message.member_id,
        message.group_instance_id,
        message.generation_id,
        is_transactional=True,
        api_version=api_version,
    )


def _as_producers_know_it(code: ErrorCode) -> ErrorCode:
    """Translate STALE_MEMBER_EPOCH, which a producer does not know."""
    return ErrorCode.ILLEGAL_GENERATION if code is ErrorCode.STALE_MEMBER_EPOCH else code
