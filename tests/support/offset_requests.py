"""Short ways to make requests about offsets, with their answers as plain values."""

from typing import Any

from tests.support.offset_groups import Coordinated, topic_id

from tidelog.coordinator.requests import TransactionMarker
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.messages.delete_groups import DeleteGroupsRequest
from tidelog.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
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
)
from tidelog.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

# by topic and partition
Codes = dict[tuple[str, int], ErrorCode]


def commit(
    at: Coordinated,
    group: str,
    offsets: dict[tuple[str, int], int],
    version: int = 9,
    metadata: str | None = "",
    **of: Any,
) -> Codes:
    """Commit offsets; return the answers. `of` are fields of the request: the member, its generation, ..."""
    topics = [
        OffsetCommitRequestTopic(
            name="" if version >= 10 else topic,
            topic_id=topic_id(topic) if version >= 10 else ZERO_UUID,
            partitions=[
                OffsetCommitRequestPartition(
                    partition_index=partition,
                    committed_offset=offset,
                    committed_leader_epoch=3,
                    committed_metadata=metadata,
                )
            ],
        )
        for (topic, partition), offset in offsets.items()
    ]
    message = OffsetCommitRequest(group_id=group, **{"member_id": "", **of}, topics=topics)
    return codes(at.handle(message, version))


def stage(
    at: Coordinated, group: str, offsets: dict[tuple[str, int], int], producer: int = 7, version: int = 5, **of: Any
) -> Codes:
    topics = [
        TxnOffsetCommitRequestTopic(
            name=topic,
            partitions=[
                TxnOffsetCommitRequestPartition(
                    partition_index=partition,
                    committed_offset=offset,
                    committed_leader_epoch=4,
                    committed_metadata=of.get("metadata", "staged"),
                )
            ],
        )
        for (topic, partition), offset in offsets.items()
    ]
    fields = {name: value for name, value in of.items() if name != "metadata"}
    message = TxnOffsetCommitRequest(
        transactional_id="t", group_id=group, producer_id=producer, producer_epoch=0, topics=topics, **fields
    )
    return codes(at.handle(message, version))


def end(at: Coordinated, producer: int = 7, *, committed: bool = True) -> None:
    at.handle(TransactionMarker(producer, 0, committed, 0, 2))


def delete(at: Coordinated, group: str, *partitions: tuple[str, int]) -> Codes | ErrorCode:
    topics = [
        OffsetDeleteRequestTopic(name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=partition)])
        for topic, partition in partitions
    ]
    response = at.handle(OffsetDeleteRequest(group_id=group, topics=topics))
    return ErrorCode(response.error_code) if response.error_code else codes(response)


def delete_groups(at: Coordinated, *groups: str) -> dict[str, ErrorCode]:
    response = at.handle(DeleteGroupsRequest(groups_names=list(groups)), 2)
    return {each.group_id: ErrorCode(each.error_code) for each in response.results}


def fetch_groups(
    at: Coordinated,
    groups: dict[str, dict[str, list[int]] | None],
    version: int = 9,
    *,
    stable: bool = False,
    **of: Any,
) -> Any:
    """Fetch the offsets of groups; return the response. Topics None stands for all of them."""
    asked = [
        OffsetFetchRequestGroup(group_id=group, topics=_topics(topics, version), **of)
        for group, topics in groups.items()
    ]
    return at.handle(OffsetFetchRequest(groups=asked, require_stable=stable), version)


def fetch(
    at: Coordinated, group: str, topics: dict[str, list[int]] | None = None, version: int = 9, *, stable: bool = False
) -> dict[tuple[str, int], Any]:
    """Fetch a group's offsets; return offset or error for each partition, and nothing for one without an offset."""
    response = fetch_groups(at, {group: topics}, version, stable=stable)
    assert response.groups[0].error_code == 0
    return {
        (topic.name, each.partition_index): ErrorCode(each.error_code) if each.error_code else each.committed_offset
        for topic in response.groups[0].topics
        for each in topic.partitions
        if each.error_code or each.committed_offset >= 0
    }


def codes(response: Any) -> Codes:
    return {
        (topic.name, each.partition_index): ErrorCode(each.error_code)
        for topic in response.topics
        for each in topic.partitions
    }


def _topics(topics: dict[str, list[int]] | None, version: int) -> list[OffsetFetchRequestTopics] | None:
    if topics is None:
        return None
    if version >= 10:
        return [
            OffsetFetchRequestTopics(topic_id=topic_id(name), partition_indexes=partitions)
            for name, partitions in topics.items()
        ]
    return [OffsetFetchRequestTopics(name=name, partition_indexes=partitions) for name, partitions in topics.items()]
