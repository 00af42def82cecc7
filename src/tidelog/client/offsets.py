"""ListOffsets for many partitions at once: the offset at a time, or at one of the special timestamps."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from tidelog.client.by_leader import Answer, ask_leaders, by_topic
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

CONSUMER_REPLICA_ID: Final = -1  # the replica id of every client


class FoundOffset(NamedTuple):
    offset: int  # -1: there is none
    timestamp: int  # of the record; -1 for special timestamps
    leader_epoch: int


def list_offsets(
    client: Client, wanted: Mapping[TopicPartition, int], *, read_committed: bool = False
) -> dict[TopicPartition, FoundOffset | ClientError]:
    """Return an offset for each partition. `wanted`: a time in milliseconds, or a special timestamp (-1 latest, -2
    earliest, ...)."""

    def build(partitions: Sequence[TopicPartition]) -> ListOffsetsRequest:
        topics = [
            ListOffsetsTopic(
                name=topic,
                partitions=[
                    ListOffsetsPartition(partition_index=each.partition, timestamp=wanted[each]) for each in listed
                ],
            )
            for topic, listed in by_topic(partitions).items()
        ]
        return ListOffsetsRequest(
            replica_id=CONSUMER_REPLICA_ID,
            isolation_level=int(read_committed),
            topics=topics,
            timeout_ms=client.request_timeout_ms,
        )

    return ask_leaders(client, list(wanted), "find an offset of", build, _found)


def _found(response: ListOffsetsResponse) -> Iterator[Answer[FoundOffset]]:
    for topic in response.topics:
        for each in topic.partitions:
            topic_partition = TopicPartition(topic.name, each.partition_index)
            yield Answer(
                topic_partition, each.error_code, None, FoundOffset(each.offset, each.timestamp, each.leader_epoch)
            )
