"""Topics and their partitions, as the metadata log has settled them.

Values: a change makes a new one. A million partitions have to fit in memory, so lists that are equal within a
partition are one object, and what a partition mostly does not have (replicas being added, an ELR) is the empty tuple.
"""

from enum import IntEnum

from tidelog.metadata.shared_map import SharedMap, number_of_int
from tidelog.model.ids import Uuid
from tidelog.model.lazy_dataclass import dataclass

NO_LEADER = -1


class LeaderRecoveryState(IntEnum):
    RECOVERED = 0
    RECOVERING = 1  # elected uncleanly, and not yet through with recovering


@dataclass(slots=True)
class Partition:
    """The state of one partition. `directories` stands beside `replicas`, position by position. The leader is NO_LEADER
    when there is none."""

    replicas: tuple[int, ...]
    directories: tuple[Uuid, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    leader_recovery_state: LeaderRecoveryState = LeaderRecoveryState.RECOVERED
    adding_replicas: tuple[int, ...] = ()
    removing_replicas: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()

    @property
    def has_leader(self) -> bool:
        return self.leader != NO_LEADER

    @property
    def preferred_replica(self) -> int:
        return self.replicas[0] if self.replicas else NO_LEADER

    @property
    def is_reassigning(self) -> bool:
        return bool(self.adding_replicas or self.removing_replicas)

    def directory_of(self, replica: int) -> Uuid:
        """Return the directory of a replica; raises ValueError when the broker holds none."""
        return self.directories[self.replicas.index(replica)]


@dataclass(slots=True)
class Topic:
    """One topic, with its partitions by their ids. A topic that was read from a draft may change: look it up again
    after the next replay."""

    id: Uuid
    name: str
    partitions: SharedMap[int, Partition]

    def partition_ids(self) -> list[int]:
        """Return the ids in order; the map itself iterates in the order of its buckets."""
        return sorted(self.partitions)


def no_partitions() -> SharedMap[int, Partition]:
    return SharedMap(number_of_int)


@dataclass(slots=True)
class Topics:
    """Every topic, by id and by name: the same objects in both."""

    by_id: SharedMap[Uuid, Topic]
    by_name: SharedMap[str, Topic]

    def __len__(self) -> int:
        return len(self.by_id)

    def partition(self, topic_id: Uuid, partition_id: int) -> Partition | None:
        topic = self.by_id.get(topic_id)
        return topic.partitions.get(partition_id) if topic else None
