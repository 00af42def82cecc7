"""The partitions that this broker hosts, made to follow the metadata.

What changed is queued and worked off a slice a turn: ten thousand new partitions are ten thousand directories to make
(`Logs.begin_create`), and no turn may take that long. Who created a partition waits for its log (`awaited_logs`);
anybody else is answered NOT_LEADER_OR_FOLLOWER until it is made, which clients retry. The first partitions of a topic
are served while the last are still made.
Deletions go first, since a topic may come back under the same name: a deleted topic is not served from the moment its
deletion is applied, its logs go a slice a turn, and nothing else is followed before they are gone.

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
from tidelog.server.cluster.internal_topics import is_internal
from tidelog.server.hosting.awaited_logs import WAIT_MAX_MS, AwaitedLogs
from tidelog.server.hosting.disk_shortage import why_refused
from tidelog.server.hosting.partition import Partition
from tidelog.server.hosting.replica_directories import ReplicaDirectories
from tidelog.server.hosting.stray_logs import is_stray, set_stray, set_strays, unique
from tidelog.server.hosting.topic_counters import TopicMetrics
from tidelog.storage.directories.log_directory import DirectoryFailed
from tidelog.storage.log.creation import Creation
from tidelog.storage.log.log import Log

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

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
    """The partitions that this broker hosts, by name and by id, and the changes of metadata still to be followed."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self.by_topic_partition: dict[TopicPartition, Partition] = {}
        self.by_id: dict[tuple[Uuid, int], Partition] = {}
        self.metrics: dict[str, TopicMetrics] = {}
        self.refused: dict[TopicPartition, ErrorCode] = {}  # why a log could not be made or opened
        self.directories = ReplicaDirectories(broker, {})
        self._starting: Iterator[Wanted | None] = iter(())
        self._is_starting = self._is_stopped = False
        self._to_delete: deque[Topic] = deque()
        self._still_there: deque[int] | None = None  # partitions of the first topic to delete, once it is begun
        self._queue: deque[Wanted] = deque()
        self._topics_to_configure: deque[str] = deque()
        self._to_configure: deque[Wanted] = deque()  # partitions of the topic that is being configured
        self._configs: dict[str, TopicConfig] = {}  # of the topics that are being configured
        self._making: list[Making] = []
        self._awaited: list[AwaitedLogs] = []
        self._recovered: dict[Partition, None] = {}  # to be synced before we serve

    @property
    def has_queue(self) -> bool:
        """Tell whether a further slice can be worked on at once."""
        is_behind = self._is_starting or bool(self._queue or self._to_configure or self._topics_to_configure)
        return bool(self._to_delete) or (is_behind and not self._is_stopped)

    @property
    def is_deleting(self) -> bool:
        """Tell whether logs of deleted topics are still to be deleted. A stop waits for that: they would be strays
        afterwards."""
        return bool(self._to_delete)

    @property
    def is_behind(self) -> bool:
        """Tell whether changes are still to be followed, logs to be made, or recovered logs to be synced."""
        if self._recovered:
            self._recovered = {each: None for each in self._recovered if each.is_online and each.is_recovering}
        return self.has_queue or bool(self._making or self._recovered)

    # Following the metadata

    def start(self, image: MetadataImage, directories: ReplicaDirectories) -> None:
        """Follow every partition of the image once, when the logs are loaded."""
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
        """Queue the partitions, deletions and settings that the last batch of metadata changed."""
        if self._is_stopped:
            return
        for topic in changes.topics_deleted.values():
            self._begin_delete(topic)
        for topic_id, indexes in changes.partitions.items():
            self._queue.extend(Wanted(topic_id, index) for index in indexes)
        self.reconfigure_topics(each.name for each in changes.configs if each.type is ResourceType.TOPIC)

    def stop(self) -> None:
        """Follow the metadata no further. Logs that are not begun are made at the next start."""
        self._is_stopped = True
        for making in self._making:
            making.creation.queue.clear()

    def work(self) -> None:
        """Work off one slice of the queue, take in the logs that were made, and answer who waited for them."""
        clock = self._broker.clock
        until_ns = clock.monotonic_ns() + SLICE_NS
        to_make: dict[TopicPartition, Wanted] = {}
        while self.has_queue and clock.monotonic_ns() < until_ns:
            if self._to_delete:
                self._delete_next()
            elif self._to_configure or self._topics_to_configure:
                self._configure_next()
            else:
                wanted = next(self._starting, None) if self._is_starting else self._queue.popleft()
                if wanted is not None:
                    self._follow(wanted, to_make)
        if to_make:
            self._make(to_make)
        for making in list(self._making):
            self._take_in(making)
        if self._awaited:
            for awaited in self._awaited:
                awaited.look()
            self._awaited = [each for each in self._awaited if not (each.is_done or each.is_abandoned())]

    def wait_for(self, awaited: AwaitedLogs) -> None:
        awaited.look()
        if not awaited.is_done:
            self._awaited.append(awaited)
            self._broker.purgatory.add(awaited, self._broker.turn.monotonic_ms + WAIT_MAX_MS)

    def _follow(self, wanted: Wanted, to_make: dict[TopicPartition, Wanted]) -> None:
        broker = self._broker
        topic = broker.image.topics.by_id.get(wanted.topic_id)
        image = None if topic is None else topic.partitions.get(wanted.partition)
        if topic is None or image is None or broker.node_id not in image.replicas:
            return  # deleted since, or not ours
        topic_partition = TopicPartition(topic.name, wanted.partition)
        partition = self.by_topic_partition.get(topic_partition)
        if partition is not None:
            self._lead(partition, image)
            return
        log = broker.logs.get(topic_partition)
        if log is not None and is_stray(broker, log):
            set_stray(broker, log)
            log = None
        if log is not None:
            partition = self._host(topic_partition, topic.id, log)
            self._flush_recovered(partition)
            self._lead(partition, image)
        elif self._may_lie_offline(topic_partition, image):
            self._refuse(topic_partition, ErrorCode.KAFKA_STORAGE_ERROR)
        else:
            to_make[topic_partition] = wanted

    def _may_lie_offline(self, topic_partition: TopicPartition, image: PartitionImage) -> bool:
        """Tell whether a log that was not found may be in a log directory that is offline. A new log in its place would
        begin at offset 0, and be taken for the partition. A new partition can not be there, unless the directory failed
        while its log was made."""
        is_whole = all(each.is_online for each in self._broker.logs.directories.values())
        is_known = image.partition_epoch > 0 or topic_partition in self.refused
        return not is_whole and is_known and not self.directories.is_online(image)

    def _host(self, topic_partition: TopicPartition, topic_id: Uuid, log: Log) -> Partition:
        self.refused.pop(topic_partition, None)
        metrics = self.metrics.setdefault(topic_partition.topic, TopicMetrics(topic_partition.topic))
        partition = Partition(topic_partition, topic_id, log, self._broker.node_id, metrics)
        self.by_topic_partition[topic_partition] = self.by_id[topic_id, topic_partition.partition] = partition
        self._listen(partition)
        return partition

    def _listen(self, partition: Partition) -> None:
        """Wake the fetches of the partition when retention moves the start of its log, which happens outside of
        requests."""
        turn = self._broker.turn

        def start_moved() -> None:
            turn.moved[partition] = None

        partition.log.on_start_moved = start_moved

    def _flush_recovered(self, partition: Partition) -> None:
        """Sync a recovered log before anybody is served from it. Which of its records were synced before the crash, and
        may have been acknowledged, it can not tell; served without the sync, the high watermark could go back."""
        if partition.is_recovering:
            partition.log.flush.ask(partition.log)
            self._recovered[partition] = None

    def _refuse(self, topic_partition: TopicPartition, code: ErrorCode) -> None:
        if self.refused.get(topic_partition) != code:
            self._broker.events.partition_refused(topic_partition, code, why_refused(self._broker, code))
        self.refused[topic_partition] = code

    def _make(self, to_make: dict[TopicPartition, Wanted]) -> None:
        """Have the logs made. A further slice of the same topic joins the creation that is under way, so that
        partitions come in their order; another topic does not have to wait for all of them."""
        topic_ids = {topic_partition: wanted.topic_id for topic_partition, wanted in to_make.items()}
        first = next(iter(to_make.values()))
        for making in self._making:
            goes_on = next(reversed(making.wanted.values())).topic_id == first.topic_id
            if goes_on and not making.creation.is_done and making.wanted.keys().isdisjoint(to_make):
                making.wanted.update(to_make)
                making.creation.extend(topic_ids)
                return
        creation = self._broker.logs.begin_create(topic_ids, self._broker.turn.wall_ms)
        self._making.append(Making(creation, to_make))

    def _take_in(self, making: Making) -> None:
        """Host the partitions whose logs are made by now."""
        creation, wanted = making
        is_done = creation.is_done
        outcomes, creation.outcomes = creation.outcomes, {}
        for topic_partition, outcome in outcomes.items():
            self._made(topic_partition, wanted[topic_partition], outcome)
        if is_done:
            self._making.remove(making)

    def _made(self, topic_partition: TopicPartition, wanted: Wanted, outcome: Log | ErrorCode) -> None:
        broker = self._broker
        image = broker.image.topics.partition(*wanted)
        if image is None:  # deleted while it was made
            if isinstance(outcome, Log) and broker.logs.get(topic_partition) is outcome:
                broker.logs.delete(topic_partition, unique(broker), broker.turn.wall_ms)
        elif outcome is ErrorCode.INCONSISTENT_TOPIC_ID:  # that of an earlier topic was made meanwhile
            self._queue.append(wanted)
        elif isinstance(outcome, ErrorCode):
            self._refuse(topic_partition, outcome)
        elif topic_partition not in self.by_topic_partition:
            self._lead(self._host(topic_partition, wanted.topic_id, outcome), image)

    def _lead(self, partition: Partition, image: PartitionImage) -> None:
        leader = NO_LEADER if self._is_outdated(partition, image) else image.leader
        partition.lead(leader, image.leader_epoch, len(image.isr), len(image.replicas))
        self._broker.turn.moved[partition] = None
        partition.advance()
        self.directories.look(partition, image)
        self._broker.coordinators.look(partition)

    def _is_outdated(self, partition: Partition, image: PartitionImage) -> bool:
        """Tell whether the log was written in a later epoch than the metadata know: they are an older copy, put back by
        hand. Records of an epoch that goes back look to recovery like the remains of a truncation, and would be cut off
        again after they were acknowledged. Every start of a broker brings a new epoch, until one is late enough."""
        latest = partition.log.epochs.latest_epoch
        is_outdated = image.leader == partition.local_id and latest is not None and image.leader_epoch < latest
        if is_outdated:
            self._broker.events.epoch_went_back(partition.topic_partition, image.leader_epoch, latest or 0)
        return is_outdated

    def retry_refused(self) -> None:
        """Try again to make the logs that were refused: a full disk may have room again. A log that is set aside or
        offline stays so until the next start."""
        broker = self._broker
        for topic_partition in list(self.refused):
            topic = broker.image.topics.by_name.get(topic_partition.topic)
            if topic is not None and broker.logs.find(topic_partition) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                self._queue.append(Wanted(topic.id, topic_partition.partition))

    # Deleting and configuring

    def _begin_delete(self, topic: Topic) -> None:
        """Stop serving the topic at once: nothing may be acknowledged for a topic whose successor may exist already."""
        topic_id, has_coordinators = topic.id, is_internal(topic.name)
        for index in topic.partitions:
            partition = self.by_id.get((topic_id, index))
            if partition is not None:
                partition.leader_id = NO_LEADER
                if has_coordinators:
                    self._broker.coordinators.look(partition)
        self.metrics.pop(topic.name, None)
        self._to_delete.append(topic)

    def _delete_next(self) -> None:
        """Delete one partition of the first topic that is to go."""
        broker, topic = self._broker, self._to_delete[0]
        if self._still_there is None:
            self._still_there = deque(topic.partition_ids())
        if not self._still_there:
            self._still_there = None
            self._to_delete.popleft()
            return
        index = self._still_there.popleft()
        topic_partition = TopicPartition(topic.name, index)
        self.refused.pop(topic_partition, None)
        self.directories.forget(topic.id, index)
        partition = self.by_id.pop((topic.id, index), None)
        if partition is not None:
            self._drop(partition)
        log = broker.logs.get(topic_partition)
        if log is not None and log.topic_id in (None, topic.id):
            broker.logs.delete(topic_partition, unique(broker), broker.turn.wall_ms)

    def _drop(self, partition: Partition) -> None:
        """Host the partition no longer. Requests that wait for it are woken, find it gone, and say so."""
        turn = self._broker.turn
        del self.by_topic_partition[partition.topic_partition]
        partition.leader_id = -1
        turn.appended.pop(partition, None)
        turn.moved[partition] = None
        self._broker.coordinators.look(partition)

    def reconfigure_topics(self, names: Iterable[str]) -> None:
        """Queue topics whose settings changed, be it their own or the broker's defaults."""
        self._configs = {}
        self._topics_to_configure.extend(names)

    def _configure_next(self) -> None:
        """Apply the settings to one partition, or take the next topic out of the queue."""
        if not self._to_configure:
            found = self._broker.image.topics.by_name.get(self._topics_to_configure.popleft())
            if found is not None:
                self._to_configure.extend(Wanted(found.id, index) for index in found.partitions)
            return
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
        """Replace the log by its copy where a move is committed. Called between two turns, when nothing is staged."""
        broker, moves = self._broker, self._broker.logs.moves
        committed, moves.committed = moves.committed, []
        for topic_partition in committed:
            partition, log = self.by_topic_partition.get(topic_partition), broker.logs.get(topic_partition)
            if partition is not None and log is not None:
                log.reconfigure(broker.topic_config(topic_partition.topic))
                partition.log = log
                self._listen(partition)
        done, moves.done = moves.done, []
        for moved in done:
            broker.events.moved(moved.partition, moved.path, moved.error)
            self.directories.moved(moved.partition)

    def fail(self, failed: DirectoryFailed) -> None:
        """Take the partitions of a failed log directory offline."""
        for topic_partition in failed.partitions:
            partition = self.by_topic_partition.get(topic_partition)
            if partition is not None:
                partition.is_online = False
                self._broker.turn.moved[partition] = None
                self._broker.coordinators.look(partition)
