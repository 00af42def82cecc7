"""Records about topics and partitions."""

from tidelog.protocol.schema import field, int8, int32, record, string, uuid


@record("metadata", api_key=2, versions="0", flexible="0+")
class TopicRecord:
    """A topic was created."""

    name: string
    topic_id: uuid


@record("metadata", api_key=9, versions="0", flexible="0+")
class RemoveTopicRecord:
    """A topic was deleted, and all its partitions with it."""

    topic_id: uuid


@record("metadata", api_key=3, versions="0-2", flexible="0+")
class PartitionRecord:
    """The whole state of a partition. 1 brings log directories, 2 eligible leader replicas."""

    partition_id: int32 = -1
    topic_id: uuid
    replicas: list[int32]
    isr: list[int32]
    removing_replicas: list[int32]
    adding_replicas: list[int32]
    leader: int32 = -1
    leader_recovery_state: int8 = field(tag=0, default=0)
    leader_epoch: int32 = -1
    partition_epoch: int32 = -1
    directories: list[uuid] = field("1+", default_factory=list)
    eligible_leader_replicas: list[int32] | None = field("2+", nullable="2+", tag=1, default=None)
    last_known_elr: list[int32] | None = field("2+", nullable="2+", tag=2, default=None)


@record("metadata", api_key=5, versions="0-2", flexible="0+")
class PartitionChangeRecord:
    """What changed about a partition; a null field, or a leader of -2, did not. 1 brings log directories, 2 eligible
    leader replicas.
    """

    partition_id: int32 = -1
    topic_id: uuid
    isr: list[int32] | None = field(nullable="0+", tag=0, default=None)
    leader: int32 = field(tag=1, default=-2)
    replicas: list[int32] | None = field(nullable="0+", tag=2, default=None)
    removing_replicas: list[int32] | None = field(nullable="0+", tag=3, default=None)
    adding_replicas: list[int32] | None = field(nullable="0+", tag=4, default=None)
    leader_recovery_state: int8 = field(tag=5, default=-1)
    directories: list[uuid] | None = field("1+", nullable="1+", tag=8, default=None)
    eligible_leader_replicas: list[int32] | None = field("2+", nullable="2+", tag=6, default=None)
    last_known_elr: list[int32] | None = field("2+", nullable="2+", tag=7, default=None)


@record("metadata", api_key=28, versions="0", flexible="0+")
class ClearElrRecord:
    """The eligible leader replicas of one topic, or with no name of all topics, are forgotten."""

    topic_name: string
