"""The offsets that a group has committed: reading them, and moving them while the group has no members.

Topics go by name (OffsetCommit and OffsetFetch up to version 9): whoever looks at a group's offsets wants to see those
of deleted topics too, of which there is no id any more.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from tidelog.client.admin.base import AdminBase
from tidelog.client.by_leader import by_topic
from tidelog.client.coordinators import CoordinatorClient, passing
from tidelog.client.errors import ClientError, error_code
from tidelog.client.next_steps import next_step
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from tidelog.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tidelog.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponsePartitions,
)

BY_NAME: Final = 9
NO_OFFSET: Final = -1
NO_GENERATION: Final = -1  # of a commit by somebody who is no member


class CommittedOffset(NamedTuple):
    offset: int  # of the next record to read
    leader_epoch: int = -1
    metadata: str = ""


class CommittingMember(NamedTuple):
    """The member on whose behalf offsets are committed; by default nobody, which is how an operator's tool commits."""

    member_id: str = ""
    epoch: int = NO_GENERATION  # or generation
    instance_id: str | None = None


Offsets = Mapping[TopicPartition, int | CommittedOffset]


class GroupOffsetAdmin(AdminBase):
    groups: CoordinatorClient

    def list_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition] | None = None, *, require_stable: bool = False
    ) -> dict[TopicPartition, CommittedOffset]:
        """Return the group's committed offsets of these partitions, or of all that have one. A partition without a
        committed offset is left out."""
        return fetch_offsets(self.groups, group_id, partitions, require_stable=require_stable)

    def alter_group_offsets(self, group_id: str, offsets: Offsets) -> dict[TopicPartition, ClientError | None]:
        """Commit these offsets as somebody who is no member. The coordinator refuses while the group has members: they
        would not notice, and their next commit would undo it."""
        outcomes = commit_offsets(self.groups, group_id, offsets, CommittingMember(), "change the offset of")
        return {topic_partition: _as_outsider(outcome) for topic_partition, outcome in outcomes.items()}

    def delete_group_offsets(
        self, group_id: str, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, ClientError | None]:
        """Delete the committed offsets of these partitions. An outcome is an error where a member subscribes to the
        topic."""
        wanted = list(dict.fromkeys(partitions))
        topics = [
            OffsetDeleteRequestTopic(
                name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=p.partition) for p in listed]
            )
            for topic, listed in by_topic(wanted).items()
        ]
        asked = f"delete offsets of group {group_id}"
        response = self.groups.ask(
            group_id, OffsetDeleteRequest(group_id=group_id, topics=topics), asked, lambda each: each.error_code
        )
        self.require(response.error_code, asked)
        codes = {TopicPartition(t.name, p.partition_index): p.error_code for t in response.topics for p in t.partitions}
        return {
            topic_partition: self.refusal(
                codes.get(topic_partition, 0), f"delete the offset of {topic_partition} of group {group_id}"
            )
            for topic_partition in wanted
        }


def fetch_offsets(
    groups: CoordinatorClient,
    group_id: str,
    partitions: Iterable[TopicPartition] | None,
    *,
    require_stable: bool = False,
) -> dict[TopicPartition, CommittedOffset]:
    """Return the group's committed offsets of these partitions, or of all that have one (None). `require_stable`: wait
    while an open transaction would commit one of these offsets."""
    topics = None
    if partitions is not None:
        listed = by_topic(dict.fromkeys(partitions)).items()
        topics = [
            OffsetFetchRequestTopics(name=name, partition_indexes=[p.partition for p in of]) for name, of in listed
        ]
    group = OffsetFetchRequestGroup(group_id=group_id, topics=topics)
    request = OffsetFetchRequest(groups=[group], require_stable=require_stable)
    asked = f"fetch the offsets of group {group_id}"
    response = groups.ask(group_id, request, asked, _fetch_code, version_max=BY_NAME)
    if response.groups[0].error_code:
        raise ClientError(error_code(response.groups[0].error_code), asked, f"group {group_id}")
    found: dict[TopicPartition, CommittedOffset] = {}
    for topic_partition, each in _fetched(response):
        if each.error_code:
            raise ClientError(
                error_code(each.error_code), f"fetch the offset of {topic_partition}", f"group {group_id}"
            )
        if each.committed_offset != NO_OFFSET:
            found[topic_partition] = CommittedOffset(
                each.committed_offset, each.committed_leader_epoch, each.metadata or ""
            )
    return found


def _fetched(response: OffsetFetchResponse) -> Iterator[tuple[TopicPartition, OffsetFetchResponsePartitions]]:
    for topic in response.groups[0].topics:
        for each in topic.partitions:
            yield TopicPartition(topic.name, each.partition_index), each


def _fetch_code(response: OffsetFetchResponse) -> int:
    return response.groups[0].error_code or passing(each.error_code for _, each in _fetched(response))


def commit_offsets(
    groups: CoordinatorClient,
    group_id: str,
    offsets: Offsets,
    committer: CommittingMember,
    asked: str,
    code_of: Callable[[Any], int] | None = None,
) -> dict[TopicPartition, ClientError | None]:
    """Commit the offsets; return for each partition None, or the error that says why not."""
    if not offsets:
        return {}
    request = OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=committer.epoch,
        member_id=committer.member_id,
        group_instance_id=committer.instance_id,
        topics=[
            OffsetCommitRequestTopic(name=topic, partitions=[_commit_partition(p, offsets[p]) for p in listed])
            for topic, listed in by_topic(offsets).items()
        ],
    )
    whole = f"commit offsets of group {group_id}"
    response = groups.ask(group_id, request, whole, code_of or commit_code, version_max=BY_NAME)
    codes = {TopicPartition(t.name, p.partition_index): p.error_code for t in response.topics for p in t.partitions}
    silent = ErrorCode.UNKNOWN_SERVER_ERROR
    return {
        topic_partition: _refused(codes.get(topic_partition, silent), f"{asked} {topic_partition}", group_id)
        for topic_partition in offsets
    }


def _refused(code: int, asked: str, group_id: str) -> ClientError | None:
    return ClientError(error_code(code), asked, f"group {group_id}") if code else None


def _commit_partition(topic_partition: TopicPartition, offset: int | CommittedOffset) -> OffsetCommitRequestPartition:
    given = CommittedOffset(offset) if isinstance(offset, int) else offset
    return OffsetCommitRequestPartition(
        partition_index=topic_partition.partition,
        committed_offset=given.offset,
        committed_leader_epoch=given.leader_epoch,
        committed_metadata=given.metadata,
    )


def commit_code(response: OffsetCommitResponse) -> int:
    return passing(each.error_code for topic in response.topics for each in topic.partitions)


def _as_outsider(outcome: ClientError | None) -> ClientError | None:
    """Translate UNKNOWN_MEMBER_ID, which a commit without a member id gets from a group that has members."""
    if outcome is None or outcome.code is not ErrorCode.UNKNOWN_MEMBER_ID:
        return outcome
    message = "the group has members, whose commits would undo it"
    return ClientError(
        ErrorCode.NON_EMPTY_GROUP, outcome.asked, outcome.of, message, next_step(ErrorCode.NON_EMPTY_GROUP)
    )
