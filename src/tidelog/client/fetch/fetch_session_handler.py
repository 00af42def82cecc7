"""The client's side of a fetch session (KIP-227): name the partitions once, then only what changed.

One session for each broker. The broker keeps what was last asked for, so we do too, and send the difference. When the
two disagree (the broker has forgotten the session, or a request was lost) the next request says everything again.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from tidelog.model.ids import TopicPartition, Uuid
from tidelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, ForgottenTopic

NO_SESSION: Final = 0
FULL: Final = 0  # the epoch of a request that says everything
MAX_SESSION_EPOCH: Final = 0x7FFF_FFFF


class FetchPosition(NamedTuple):
    """A position to fetch one partition from: its topic's id, the offset, and the leader epoch that the client
    knows."""

    topic_id: Uuid
    offset: int
    leader_epoch: int


class FetchSessionHandler:
    def __init__(self) -> None:
        self._id = NO_SESSION
        self._epoch = FULL
        self._known: dict[TopicPartition, FetchPosition] = {}

    def request(self, wanted: Mapping[TopicPartition, FetchPosition], partition_bytes: int) -> FetchRequest:
        """Return a request that makes the session ask for exactly these partitions; limits and times are the caller's
        to fill in."""
        known = {} if self._epoch == FULL else self._known
        changed = [topic_partition for topic_partition, each in wanted.items() if known.get(topic_partition) != each]
        gone = [
            topic_partition
            for topic_partition, each in known.items()
            if topic_partition not in wanted or wanted[topic_partition].topic_id != each.topic_id
        ]
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            session_id=self._id,
            session_epoch=self._epoch,
            topics=_topics(changed, wanted, partition_bytes),
            forgotten_topics_data=_forgotten(gone, known),
        )
        self._known = dict(wanted)
        return request

    def answered(self, response: FetchResponse) -> None:
        """Note a response that has no error of the session itself: the next request has the next epoch."""
        self._id = response.session_id
        if self._id == NO_SESSION:
            self._epoch = FULL
        else:
            self._epoch = 1 if self._epoch == MAX_SESSION_EPOCH else self._epoch + 1

    def reset(self) -> None:
        """Let the next request name every partition again. The id stays: it tells the broker which session the new one
        replaces."""
        self._epoch = FULL


def _topics(
    topic_partitions: list[TopicPartition], wanted: Mapping[TopicPartition, FetchPosition], partition_bytes: int
) -> list[FetchTopic]:
    topics: dict[str, FetchTopic] = {}
    for topic_partition in topic_partitions:
        each = wanted[topic_partition]
        topic = topics.setdefault(
            topic_partition.topic, FetchTopic(topic=topic_partition.topic, topic_id=each.topic_id, partitions=[])
        )
        topic.partitions.append(
            FetchPartition(
                partition=topic_partition.partition,
                current_leader_epoch=each.leader_epoch,
                fetch_offset=each.offset,
                partition_max_bytes=partition_bytes,
            )
        )
    return list(topics.values())


def _forgotten(
    topic_partitions: list[TopicPartition], known: Mapping[TopicPartition, FetchPosition]
) -> list[ForgottenTopic]:
    topics: dict[Uuid, ForgottenTopic] = {}
    for topic_partition in topic_partitions:
        topic_id = known[topic_partition].topic_id
        topic = topics.setdefault(
            topic_id, ForgottenTopic(topic=topic_partition.topic, topic_id=topic_id, partitions=[])
        )
        topic.partitions.append(topic_partition.partition)
    return list(topics.values())
