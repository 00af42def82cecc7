"""OffsetFetch: the positions of one group (up to version 7) or several.

A group that does not exist has no offsets, which is an answer and no error: -1 for each partition. Where transactions
have staged a newer position, `require_stable` has the client ask again.
"""

from collections.abc import Generator
from typing import Any, Final, TypeAlias

from tidelog.coordinator.group.offsets.fetch_answers import Topics, as_one_group, refused_group, requested_groups
from tidelog.coordinator.group.offsets.offset_and_metadata import OffsetAndMetadata
from tidelog.coordinator.group.offsets.offsets import ByPartition
from tidelog.coordinator.group.shard import GroupShard
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.model.decisions import Result
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)

Steps: TypeAlias = Generator[None, None, Result]
BY_GROUP: Final = 8
BY_TOPIC_ID: Final = 10
PARTITIONS_A_SLICE: Final = 1_000
NO_OFFSET: Final = -1
NO_LEADER_EPOCH: Final = -1


def fetch(shard: GroupShard, _now_ms: int, request: CoordinatorRequest) -> Steps:
    message: OffsetFetchRequest = request.message
    version = request.api_version
    groups: list[OffsetFetchResponseGroup] = []
    for group in requested_groups(message, version):
        group_fetch = _GroupFetch(shard, group.group_id, version, require_stable=message.require_stable)
        groups.append((yield from _fetch_group(group_fetch, group)))
    response = OffsetFetchResponse(groups=groups) if version >= BY_GROUP else as_one_group(groups[0])
    return Result([], response)


class _GroupFetch:
    """The reading of one group's offsets, which gives the turn back after so many partitions."""

    def __init__(self, shard: GroupShard, group_id: str, version: int, *, require_stable: bool) -> None:
        self.shard = shard
        self.group_id = group_id
        self.version = version
        self.require_stable = require_stable
        self.has_offsets = True  # False: there is no such group
        self._count = 0

    def offsets_of(self, topic: str) -> ByPartition:
        return self.shard.offsets.of_group(self.group_id).get(topic) or {} if self.has_offsets else {}

    def topic(self, name: str, topic_id: Uuid, partitions: list[int]) -> Generator[None, None, Any]:
        answers: list[Any] = []
        offsets = self.offsets_of(name)
        stagers = self.shard.offsets.stagers(self.group_id, name) if self.require_stable else {}
        for partition in partitions:
            if partition in stagers:
                answers.append(_none(partition, ErrorCode.UNSTABLE_OFFSET_COMMIT))
            else:
                answers.append(_answer(partition, offsets.get(partition), topic_id))
            self._count += 1
            if self._count % PARTITIONS_A_SLICE == 0:
                yield
        return OffsetFetchResponseTopics(name=name, topic_id=topic_id, partitions=answers)


def _fetch_group(
    group_fetch: _GroupFetch, request: OffsetFetchRequestGroup
) -> Generator[None, None, OffsetFetchResponseGroup]:
    group = group_fetch.shard.groups.get(request.group_id)
    try:
        if group is None:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND)
        group.validate_offset_fetch(request.member_id, request.member_epoch)
    except ApiError as refused:
        if refused.code is not ErrorCode.GROUP_ID_NOT_FOUND:
            return refused_group(request, refused.code, group_fetch.version)
        group_fetch.has_offsets = False
    if request.topics is None:
        topics = yield from _all_topics(group_fetch)
    else:
        topics = yield from _named_topics(group_fetch, request.topics)
    return OffsetFetchResponseGroup(group_id=request.group_id, topics=topics)


def _all_topics(group_fetch: _GroupFetch) -> Generator[None, None, Topics]:
    """Return the answers for every topic of the group. By topic id, a topic that is gone is left out: it has no id to
    name it by."""
    if not group_fetch.has_offsets:
        return []
    by_name = group_fetch.shard.image.topics.by_name
    answers = []
    for name, offsets in group_fetch.shard.offsets.of_group(group_fetch.group_id).items():
        answer = yield from group_fetch.topic(name, ZERO_UUID, list(offsets))
        if group_fetch.version >= BY_TOPIC_ID:
            topic = by_name.get(name)
            if topic is None:
                continue
            answer.topic_id = topic.id
        answers.append(answer)
    return answers


def _named_topics(group_fetch: _GroupFetch, asked: list[OffsetFetchRequestTopics]) -> Generator[None, None, Topics]:
    by_id = group_fetch.shard.image.topics.by_id
    answers, unknown = [], []
    for each in asked:
        if group_fetch.version < BY_TOPIC_ID:
            answers.append((yield from group_fetch.topic(each.name, ZERO_UUID, each.partition_indexes)))
        elif (topic := by_id.get(each.topic_id)) is not None:
            answers.append((yield from group_fetch.topic(topic.name, topic.id, each.partition_indexes)))
        else:
            missing = [_none(partition, ErrorCode.UNKNOWN_TOPIC_ID) for partition in each.partition_indexes]
            unknown.append(OffsetFetchResponseTopics(name="", topic_id=each.topic_id, partitions=missing))
    return answers + unknown


def _answer(partition: int, offset: OffsetAndMetadata | None, topic_id: Uuid) -> OffsetFetchResponsePartitions:
    """Return the answer for a partition. An offset that was committed for another topic of this name does not count,
    where both ids are known."""
    if offset is None or (ZERO_UUID not in (offset.topic_id, topic_id) and offset.topic_id != topic_id):
        return _none(partition)
    return OffsetFetchResponsePartitions(
        partition_index=partition,
        committed_offset=offset.offset,
        committed_leader_epoch=offset.leader_epoch,
        metadata=offset.metadata,
        error_code=0,
    )


def _none(partition: int, code: ErrorCode = ErrorCode.NONE) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=partition,
        committed_offset=NO_OFFSET,
        committed_leader_epoch=NO_LEADER_EPOCH,
        metadata="",
        error_code=code,
    )
