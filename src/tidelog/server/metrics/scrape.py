"""What one scrape looks at: the node, and surveys of its partitions and coordinators that several families share.

The survey is taken first, in pieces like everything else: a broker may host so many partitions that looking at all of
them at once would stall the loop. A partition that is deleted while the scrape goes on is left out from there on.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tidelog.ports.process import ProcessUse
from tidelog.server.hosting.partition import Partition
from tidelog.server.metrics.coordinators_survey import CoordinatorSurvey
from tidelog.server.metrics.text import labels_of

if TYPE_CHECKING:
    from tidelog.metadata.topics import Topic
    from tidelog.server.node.broker import Broker
    from tidelog.server.node.node import Node

PARTITIONS_A_PIECE: Final = 256
PARTITION_LABELS: Final = ("topic", "partition")


@dataclass(slots=True)
class Survey:
    """Counts over the partitions that this broker hosts, and over those of the whole cluster."""

    leaders: int = 0
    offline: int = 0
    under_replicated: int = 0
    under_min_isr: int = 0
    at_min_isr: int = 0
    cluster_partitions: int = 0
    cluster_leaderless: int = 0
    cluster_unpreferred: int = 0
    hosted: list[tuple[str, Partition]] = field(default_factory=list)  # with its labels, as they are written


class Scrape:
    node: "Node"
    broker: "Broker"
    now_ms: int
    survey: Survey
    coordinators: CoordinatorSurvey

    def __init__(self, node: "Node") -> None:
        self.node = node
        self.broker = node.broker
        self.now_ms = node.broker.turn.monotonic_ms
        self.wall_ms = node.broker.turn.wall_ms
        self.process: ProcessUse | None = None if node.ports.process is None else node.ports.process.use()
        self.survey = Survey()
        self.coordinators = CoordinatorSurvey()

    def take_survey(self) -> Iterator[None]:
        """Gives way after each piece."""
        for index, partition in enumerate(list(self.broker.hosted.by_topic_partition.values())):
            self._look_at(partition)
            if index % PARTITIONS_A_PIECE == 0:
                yield
        seen = 0
        for topic in list(self.broker.image.topics.by_id.values()):
            self._look_at_topic(topic)
            seen += len(topic.partitions)
            if seen >= PARTITIONS_A_PIECE:
                seen = 0
                yield
        yield from self.coordinators.take(self.broker)

    def _look_at(self, partition: Partition) -> None:
        survey, topic_partition = self.survey, partition.topic_partition
        labels = labels_of(PARTITION_LABELS, (topic_partition.topic, str(topic_partition.partition)))
        survey.hosted.append((labels, partition))
        survey.offline += not partition.is_online
        if partition.is_leader:
            survey.leaders += 1
            survey.under_replicated += partition.isr_size < partition.replica_count
            survey.under_min_isr += partition.is_under_min_isr
            survey.at_min_isr += partition.isr_size == partition.min_isr

    def _look_at_topic(self, topic: "Topic") -> None:
        survey = self.survey
        survey.cluster_partitions += len(topic.partitions)
        for partition in topic.partitions.values():
            survey.cluster_leaderless += not partition.has_leader
            survey.cluster_unpreferred += partition.leader != partition.preferred_replica

    def hosted(self) -> Iterable[tuple[str, Partition]]:
        """Those of the survey that are still here and can be read."""
        by_topic_partition = self.broker.hosted.by_topic_partition
        for labels, partition in self.survey.hosted:
            if by_topic_partition.get(partition.topic_partition) is partition and partition.is_online:
                yield labels, partition
