"""The partitions that this broker hosts, made to follow the metadata.

What changed is queued and worked off a slice a turn: ten thousand new partitions are ten thousand directories to make
(`Logs.begin_create`), and no turn may take that long. Until its slice has come, a new partition is answered
NOT_LEADER_OR_FOLLOWER, which clients retry. Deletions go first, since a topic may come back under the same name.
"""

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from tidelog.metadata.changes import Changes
from tidelog.metadata.configs import ConfigResource, ResourceType
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.topics import Partition as PartitionImage
from tidelog.metadata.topics import Topic
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.server.partition import Partition
from tidelog.server.topic_metrics import TopicMetrics
from tidelog.storage.log import Log
from tidelog.storage.logs import Creation, DirectoryFailed

if TYPE_CHECKING:
    from tidelog.server.broker import Broker

SLICE_NS = 10_000_000  # of a turn
UNIQUE_BYTES = 16


class Wanted(NamedTuple):
    """A partition to look at. What it is to become is read from the image when its turn has come."""

    topic_id: Uuid
    partition: int


class Hosted:
    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self.by_place: dict[TopicPartition, Partition] = {}
        self.by_id: dict[tuple[Uuid, int], Partition] = {}
        self.metrics: dict[str, TopicMetrics] = {}
        self._queue: deque[Wanted] = deque()
        self._creations: list[Creation] = []
        self._creating: dict[TopicPartition, Wanted] = {}
        self.refused: dict[TopicPartition, ErrorCode] = {}  # whose log could not be made or opened

    @property
    def has_queue(self) -> bool:
        """Whether a further slice can be worked on at once."""
        return bool(self._queue)

    @property
    def is_behind(self) -> bool:
        """Whether there is still work from earlier changes."""
        return bool(self._queue or self._creations)

    # Following the metadata

    def start(self, image: MetadataImage) -> None:
        """Everything, once, at the start."""
        for topic in image.topics.by_id.values():
            self._queue.extend(Wanted(topic.id, index) for index in topic.partition_ids())

    def apply(self, changes: Changes) -> None:
        for topic in changes.topics_deleted.values():
            self._delete(topic)
        for topic_id, indexes in changes.partitions.items():
            self._queue.extend(Wanted(topic_id, index) for index in indexes)
        for resource in changes.configs:
            self._configure(resource)

    def work(self) -> None:
        """One slice."""
        clock = self._broker.clock
        until_ns = clock.monotonic_ns() + SLICE_NS
        to_create: dict[TopicPartition, Uuid] = {}
        while self._queue and clock.monotonic_ns() < until_ns:
            self._follow(self._queue.popleft(), to_create)
        if to_create:
            self._creations.append(self._broker.logs.begin_create(to_create, self._broker.turn.wall_ms))
        for creation in list(self._creations):
            self._take_in(creation)

    def _follow(self, wanted: Wanted, to_create: dict[TopicPartition, Uuid]) -> None:
        broker = self._broker
        topic = broker.image.topics.by_id.get(wanted.topic_id)
        image = None if topic is None else topic.partitions.get(wanted.partition)
        if topic is None or image is None or broker.node_id not in image.replicas:
            return  # deleted since, or not ours
        place = TopicPartition(topic.name, wanted.partition)
        partition = self.by_place.get(place)
        if partition is None:
            log = self._existing(place, topic.id)
            if log is None:
                to_create[place] = topic.id
                self._creating[place] = wanted
                return
            partition = self._host(place, topic.id, log)
        self._lead(partition, image)

    def _existing(self, place: TopicPartition, topic_id: Uuid) -> Log | None:
        """A log of the same name that belongs to another topic is of one that was deleted while we were away."""
        broker = self._broker
        log = broker.logs.get(place)
        if log is not None and log.topic_id not in (None, topic_id):
            broker.events.stray(place, log.directory)
            broker.logs.delete(place, broker.entropy.random_bytes(UNIQUE_BYTES).hex(), broker.turn.wall_ms)
            return None
        return log

    def _host(self, place: TopicPartition, topic_id: Uuid, log: Log) -> Partition:
        self.refused.pop(place, None)
        metrics = self.metrics.setdefault(place.topic, TopicMetrics(place.topic))
        partition = Partition(place, topic_id, log, self._broker.node_id, metrics)
        self.by_place[place] = self.by_id[topic_id, place.partition] = partition
        return partition

    def _take_in(self, creation: Creation) -> None:
        """The logs that are there by now."""
        is_done = creation.is_done
        outcomes, creation.outcomes = creation.outcomes, {}
        for place, outcome in outcomes.items():
            self._created(place, self._creating.pop(place), outcome)
        if is_done:
            self._creations.remove(creation)

    def _created(self, place: TopicPartition, wanted: Wanted, outcome: Log | ErrorCode) -> None:
        broker = self._broker
        image = broker.image.topics.partition(wanted.topic_id, wanted.partition)
        if isinstance(outcome, ErrorCode):
            self.refused[place] = outcome
            broker.events.partition_refused(place, outcome)
        elif image is None:  # deleted while it was made
            broker.logs.delete(place, broker.entropy.random_bytes(UNIQUE_BYTES).hex(), broker.turn.wall_ms)
        elif place not in self.by_place:
            self._lead(self._host(place, wanted.topic_id, outcome), image)

    def _lead(self, partition: Partition, image: PartitionImage) -> None:
        partition.lead(image.leader, image.leader_epoch, len(image.isr), len(image.replicas))
        self._broker.turn.moved[partition] = None
        partition.advance()

    # Deleting and configuring

    def _delete(self, topic: Topic) -> None:
        for index in topic.partition_ids():
            partition = self.by_id.pop((topic.id, index), None)
            if partition is not None:
                self._drop(partition)
        self.metrics.pop(topic.name, None)

    def _drop(self, partition: Partition) -> None:
        """Who waits for it is woken, finds it gone, and is told so."""
        broker = self._broker
        del self.by_place[partition.topic_partition]
        partition.leader_id = -1
        broker.turn.appended.pop(partition, None)
        broker.turn.moved[partition] = None
        unique = broker.entropy.random_bytes(UNIQUE_BYTES).hex()
        broker.logs.delete(partition.topic_partition, unique, broker.turn.wall_ms)

    def _configure(self, resource: ConfigResource) -> None:
        if resource.type is ResourceType.TOPIC:
            self.reconfigure_topics([resource.name])

    def reconfigure_topics(self, names: Iterable[str]) -> None:
        """After a change of the topic's own settings, or of the broker's defaults."""
        for name in names:
            topic = self._broker.image.topics.by_name.get(name)
            if topic is None:
                continue
            config = self._broker.topic_config(name)
            for index in topic.partition_ids():
                partition = self.by_id.get((topic.id, index))
                if partition is not None:
                    partition.log.reconfigure(config)

    def fail(self, failed: DirectoryFailed) -> None:
        """A log directory went offline, and its partitions with it."""
        for place in failed.partitions:
            partition = self.by_place.get(place)
            if partition is not None:
                partition.is_online = False
                self._broker.turn.moved[partition] = None
