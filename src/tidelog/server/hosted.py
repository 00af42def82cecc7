"""The partitions that this broker hosts, made to follow the metadata.

What changed is queued and worked off a slice a turn: ten thousand new partitions are ten thousand directories to make
(`Logs.begin_create`), and no turn may take that long. Until its slice has come, a new partition is answered
NOT_LEADER_OR_FOLLOWER, which clients retry. Deletions go first, since a topic may come back under the same name.

At the start everything is looked at once, and before that the logs of which the cluster knows nothing (`stray_logs`).
"""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from tidelog.config import TopicConfig
from tidelog.metadata.changes import Changes
from tidelog.metadata.configs import ResourceType
from tidelog.metadata.image import MetadataImage
from tidelog.metadata.topics import NO_LEADER, Topic
from tidelog.metadata.topics import Partition as PartitionImage
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.server.partition import Partition
from tidelog.server.replica_directories import ReplicaDirectories
from tidelog.server.stray_logs import is_stray, set_stray, set_strays, unique
from tidelog.server.topic_metrics import TopicMetrics
from tidelog.storage.log import Log
from tidelog.storage.logs import Creation, DirectoryFailed

if TYPE_CHECKING:
    from tidelog.server.broker import Broker

SLICE_NS = 10_000_000  # of a turn


class Wanted(NamedTuple):
    """A partition to look at. What it is to become is read from the image when its turn has come."""

    topic_id: Uuid
    partition: int


class Making(NamedTuple):
    """Logs that are being made, and for which partitions."""

    creation: Creation
    wanted: dict[TopicPartition, Wanted]


class Hosted:
    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self.by_place: dict[TopicPartition, Partition] = {}
        self.by_id: dict[tuple[Uuid, int], Partition] = {}
        self.metrics: dict[str, TopicMetrics] = {}
        self.refused: dict[TopicPartition, ErrorCode] = {}  # whose log could not be made or opened
        self.directories = ReplicaDirectories(broker, {})
        self._starting: Iterator[Wanted | None] = iter(())
        self._is_starting = False
        self._queue: deque[Wanted] = deque()
        self._to_configure: deque[Wanted] = deque()
        self._configs: dict[str, TopicConfig] = {}  # of the topics that are being configured
        self._making: list[Making] = []
        self._recovered: dict[Partition, None] = {}  # to be synced before we serve

    @property
    def has_queue(self) -> bool:
        """Whether a further slice can be worked on at once."""
        return self._is_starting or bool(self._queue or self._to_configure)

    @property
    def is_behind(self) -> bool:
        """Whether there is still work from earlier changes."""
        if self._recovered:
            self._recovered = {each: None for each in self._recovered if each.is_online and each.is_recovering}
        return self.has_queue or bool(self._making or self._recovered)

    # Following the metadata

    def start(self, image: MetadataImage, directories: ReplicaDirectories) -> None:
        """Everything, once, when the logs are loaded."""
        self.directories = directories
        self._starting = self._everything(image)
        self._is_starting = True

    def _everything(self, image: MetadataImage) -> Iterator[Wanted | None]:
        for _ in set_strays(self._broker):
            yield None
        for topic in image.topics.by_id.values():
            yield from (Wanted(topic.id, index) for index in topic.partition_ids())
        self._is_starting = False

    def apply(self, changes: Changes) -> None:
        for topic in changes.topics_deleted.values():
            self._delete(topic)
        for topic_id, indexes in changes.partitions.items():
            self._queue.extend(Wanted(topic_id, index) for index in indexes)
        self.reconfigure_topics(each.name for each in changes.configs if each.type is ResourceType.TOPIC)

    def work(self) -> None:
        """One slice."""
        clock = self._broker.clock
        until_ns = clock.monotonic_ns() + SLICE_NS
        to_make: dict[TopicPartition, Wanted] = {}
        while self.has_queue and clock.monotonic_ns() < until_ns:
            if self._to_configure:
                self._configure_next()
            else:
                wanted = next(self._starting, None) if self._is_starting else self._queue.popleft()
                if wanted is not None:
                    self._follow(wanted, to_make)
        if to_make:
            topic_ids = {place: wanted.topic_id for place, wanted in to_make.items()}
            creation = self._broker.logs.begin_create(topic_ids, self._broker.turn.wall_ms)
            self._making.append(Making(creation, to_make))
        for making in list(self._making):
            self._take_in(making)

    def _follow(self, wanted: Wanted, to_make: dict[TopicPartition, Wanted]) -> None:
        broker = self._broker
        topic = broker.image.topics.by_id.get(wanted.topic_id)
        image = None if topic is None else topic.partitions.get(wanted.partition)
        if topic is None or image is None or broker.node_id not in image.replicas:
            return  # deleted since, or not ours
        place = TopicPartition(topic.name, wanted.partition)
        partition = self.by_place.get(place)
        if partition is not None:
            self._lead(partition, image)
            return
        log = broker.logs.get(place)
        if log is not None and is_stray(broker, log):
            set_stray(broker, log)
            log = None
        if log is not None:
            partition = self._host(place, topic.id, log)
            self._flush_recovered(partition)
            self._lead(partition, image)
        elif self._may_lie_offline(place, image):
            self._refuse(place, ErrorCode.KAFKA_STORAGE_ERROR)
        else:
            to_make[place] = wanted

    def _may_lie_offline(self, place: TopicPartition, image: PartitionImage) -> bool:
        """With a log directory offline, a log that is not found may be there. A new one in its place would begin at
        offset 0, and be taken for the partition. A new partition can not be there, unless it failed while its log was
        made."""
        is_whole = all(each.is_online for each in self._broker.logs.directories.values())
        is_known = image.partition_epoch > 0 or place in self.refused
        return not is_whole and is_known and not self.directories.is_online(image)

    def _host(self, place: TopicPartition, topic_id: Uuid, log: Log) -> Partition:
        self.refused.pop(place, None)
        metrics = self.metrics.setdefault(place.topic, TopicMetrics(place.topic))
        partition = Partition(place, topic_id, log, self._broker.node_id, metrics)
        self.by_place[place] = self.by_id[topic_id, place.partition] = partition
        return partition

    def _flush_recovered(self, partition: Partition) -> None:
        """What is acknowledged only when it is synced was synced, or was not acknowledged; which of the two a recovered
        log can not tell. All of it is synced before anybody is served, or the high watermark would go back."""
        if partition.is_recovering:
            partition.log.flush.ask(partition.log)
            self._recovered[partition] = None

    def _refuse(self, place: TopicPartition, code: ErrorCode) -> None:
        if self.refused.get(place) != code:
            self._broker.events.partition_refused(place, code)
        self.refused[place] = code

    def _take_in(self, making: Making) -> None:
        """The logs that are there by now."""
        creation, wanted = making
        is_done = creation.is_done
        outcomes, creation.outcomes = creation.outcomes, {}
        for place, outcome in outcomes.items():
            self._made(place, wanted[place], outcome)
        if is_done:
            self._making.remove(making)

    def _made(self, place: TopicPartition, wanted: Wanted, outcome: Log | ErrorCode) -> None:
        broker = self._broker
        image = broker.image.topics.partition(*wanted)
        if image is None:  # deleted while it was made
            if isinstance(outcome, Log) and broker.logs.get(place) is outcome:
                broker.logs.delete(place, unique(broker), broker.turn.wall_ms)
        elif outcome is ErrorCode.INCONSISTENT_TOPIC_ID:  # that of an earlier topic was made meanwhile
            self._queue.append(wanted)
        elif isinstance(outcome, ErrorCode):
            self._refuse(place, outcome)
        elif place not in self.by_place:
            self._lead(self._host(place, wanted.topic_id, outcome), image)

    def _lead(self, partition: Partition, image: PartitionImage) -> None:
        leader = NO_LEADER if self._is_outdated(partition, image) else image.leader
        partition.lead(leader, image.leader_epoch, len(image.isr), len(image.replicas))
        self._broker.turn.moved[partition] = None
        partition.advance()
        self.directories.look(partition, image)
        self._broker.coordinators.look(partition)

    def _is_outdated(self, partition: Partition, image: PartitionImage) -> bool:
        """The log was written in a later epoch than the metadata know: they are an older copy, put back by hand.
        Records of an epoch that goes back look to recovery like the remains of a truncation, and would be cut off
        again after they were acknowledged. Every start of a broker brings a new epoch, until one is late enough."""
        latest = partition.log.epochs.latest_epoch
        is_outdated = image.leader == partition.local_id and latest is not None and image.leader_epoch < latest
        if is_outdated:
            self._broker.events.epoch_went_back(partition.topic_partition, image.leader_epoch, latest or 0)
        return is_outdated

    def retry_refused(self) -> None:
        """A full disk may have room again. What is set aside or offline stays so until the next start."""
        broker = self._broker
        for place in list(self.refused):
            topic = broker.image.topics.by_name.get(place.topic)
            if topic is not None and broker.logs.find(place) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                self._queue.append(Wanted(topic.id, place.partition))

    # Deleting and configuring

    def _delete(self, topic: Topic) -> None:
        broker = self._broker
        for index in topic.partition_ids():
            place = TopicPartition(topic.name, index)
            self.refused.pop(place, None)
            self.directories.forget(topic.id, index)
            partition = self.by_id.pop((topic.id, index), None)
            if partition is not None:
                self._drop(partition)
            log = broker.logs.get(place)
            if log is not None and log.topic_id in (None, topic.id):
                broker.logs.delete(place, unique(broker), broker.turn.wall_ms)
        self.metrics.pop(topic.name, None)

    def _drop(self, partition: Partition) -> None:
        """Who waits for it is woken, finds it gone, and is told so."""
        turn = self._broker.turn
        del self.by_place[partition.topic_partition]
        partition.leader_id = -1
        turn.appended.pop(partition, None)
        turn.moved[partition] = None
        self._broker.coordinators.look(partition)

    def reconfigure_topics(self, names: Iterable[str]) -> None:
        """After a change of the topic's own settings, or of the broker's defaults."""
        self._configs = {}
        for name in names:
            topic = self._broker.image.topics.by_name.get(name)
            if topic is not None:
                self._to_configure.extend(Wanted(topic.id, index) for index in topic.partitions)

    def _configure_next(self) -> None:
        partition = self.by_id.get(self._to_configure.popleft())
        if partition is None:
            return
        topic = partition.topic_partition.topic
        if topic not in self._configs:
            self._configs[topic] = self._broker.topic_config(topic)
        partition.log.reconfigure(self._configs[topic])
        self._broker.coordinators.reconfigured(partition)

    # Disks

    def change_over(self) -> None:
        """Between two turns: where a move is committed, the copy is the log from here on."""
        broker, moves = self._broker, self._broker.logs.moves
        committed, moves.committed = moves.committed, []
        for place in committed:
            partition, log = self.by_place.get(place), broker.logs.get(place)
            if partition is not None and log is not None:
                log.reconfigure(broker.topic_config(place.topic))
                partition.log = log
        done, moves.done = moves.done, []
        for moved in done:
            broker.events.moved(moved.partition, moved.path, moved.error)
            self.directories.moved(moved.partition)

    def fail(self, failed: DirectoryFailed) -> None:
        """A log directory went offline, and its partitions with it."""
        for place in failed.partitions:
            partition = self.by_place.get(place)
            if partition is not None:
                partition.is_online = False
                self._broker.turn.moved[partition] = None
                self._broker.coordinators.look(partition)
