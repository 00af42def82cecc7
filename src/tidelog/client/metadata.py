"""What a client knows of a cluster: brokers, topics, and who leads what. Old answers do not overwrite newer ones."""

from dataclasses import dataclass, field

from tidelog.client.errors import error_code
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.protocol.messages.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic

NO_LEADER = -1


@dataclass(slots=True)
class Node:
    """A broker. A bootstrap address, of which the broker's id is not known, has a negative id."""

    id: int
    host: str
    port: int
    rack: str | None = None

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __str__(self) -> str:
        return f"broker at {self.address}" if self.id < 0 else f"broker {self.id} at {self.address}"


@dataclass(slots=True)
class PartitionMetadata:
    index: int
    leader: int  # NO_LEADER: none
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    offline: list[int]


@dataclass(slots=True)
class TopicMetadata:
    name: str
    topic_id: Uuid
    is_internal: bool
    partitions: list[PartitionMetadata]  # by index

    @property
    def replication_factor(self) -> int:
        return len(self.partitions[0].replicas) if self.partitions else 0


@dataclass(slots=True)
class Metadata:
    cluster_id: str | None = None
    controller_id: int = -1
    nodes: dict[int, Node] = field(default_factory=dict)
    topics: dict[str, TopicMetadata] = field(default_factory=dict)
    errors: dict[str, ErrorCode] = field(default_factory=dict)  # why a topic that was asked for is not in `topics`

    def partition(self, topic_partition: TopicPartition) -> PartitionMetadata | None:
        topic = self.topics.get(topic_partition.topic)
        if topic is None or not 0 <= topic_partition.partition < len(topic.partitions):
            return None
        return topic.partitions[topic_partition.partition]

    def leader(self, topic_partition: TopicPartition) -> int | None:
        """Return the leader, where it is known and has an address."""
        found = self.partition(topic_partition)
        return found.leader if found is not None and found.leader in self.nodes else None

    def update(self, response: MetadataResponse, *, is_whole: bool) -> None:
        """Take over a response. `is_whole`: it lists every topic, so that one that is missing is gone."""
        if response.brokers:  # a broker that is starting up knows none yet
            self.nodes = {
                each.node_id: Node(each.node_id, each.host, each.port, each.rack) for each in response.brokers
            }
        self.cluster_id, self.controller_id = response.cluster_id, response.controller_id
        former = self.topics
        if is_whole:
            self.topics, self.errors = {}, {}
        for topic in response.topics:
            self._update_topic(topic, former.get(topic.name or ""))

    def _update_topic(self, found: MetadataResponseTopic, former: TopicMetadata | None) -> None:
        name = found.name or ""
        if found.error_code:
            self.errors[name] = error_code(found.error_code)
            self.topics.pop(name, None)
            return
        self.errors.pop(name, None)
        partitions = sorted(map(_partition, found.partitions), key=lambda each: each.index)
        if former is not None and former.topic_id == found.topic_id:
            partitions = _newest(former.partitions, partitions)
        self.topics[name] = TopicMetadata(name, found.topic_id, found.is_internal, partitions)


def _partition(found: MetadataResponsePartition) -> PartitionMetadata:
    return PartitionMetadata(
        found.partition_index,
        found.leader_id,
        found.leader_epoch,
        found.replica_nodes,
        found.isr_nodes,
        found.offline_replicas,
    )


def _newest(former: list[PartitionMetadata], found: list[PartitionMetadata]) -> list[PartitionMetadata]:
    """Keep the former metadata of a partition that had a higher leader epoch: the broker that answered lags behind."""
    old = {each.index: each for each in former}
    return [
        old[each.index] if each.index in old and old[each.index].leader_epoch > each.leader_epoch else each
        for each in found
    ]
