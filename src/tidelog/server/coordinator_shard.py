"""The coordinator of one partition while this broker leads it: a machine, its log, and its life.

    loading -> active -> (a write failed) -> waiting for the log -> loading ...
       |-> failed: the log can not be read to its end; nobody is answered from half of it

One life is one leader epoch. With a new one the shard is thrown away and another begins.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from tidelog.coordinator.record_framing import RecordTypesById
from tidelog.metadata.changes import Changes
from tidelog.model.errors import ErrorCode
from tidelog.records.compression import CompressionType
from tidelog.server.coordinator_loading import LoadFailed, Loading, LoadRun
from tidelog.server.coordinator_log import CoordinatorLog, record_bytes_max
from tidelog.server.partition import Partition
from tidelog.server.replicated import Machine, Replicated, Reply, Result

if TYPE_CHECKING:
    from tidelog.server.broker import Broker

M = TypeVar("M", bound=Machine)


@dataclass(slots=True)
class CoordinatorKind(Generic[M]):
    """What the coordinators of groups and of transactions differ in. Functions get the broker as it is then."""

    topic: str
    types: RecordTypesById
    partitions_wanted: Callable[["Broker"], int]  # of the topic, before it is there
    compression: Callable[["Broker"], CompressionType]
    make: Callable[["Broker", Partition, int], M]  # for this partition, with records of at most so many bytes
    activate: Callable[[M, int], Result]  # once everything is loaded, at this time
    image_changed: Callable[[M, int, "Broker", Changes], None]
    reconfigured: Callable[[M, "Broker", int], None]  # settings, or the size of a record, have changed
    reads: tuple[type[Any], ...] = ()  # requests that never write
    load_run: LoadRun | None = None


class CoordinatorShard(Generic[M]):
    def __init__(
        self, broker: "Broker", kind: CoordinatorKind[M], partition: Partition, on_effect: Callable[[Any], None]
    ) -> None:
        self._broker = broker
        self._kind = kind
        self._on_effect = on_effect
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.is_failed = False
        self._loading: Loading | None = None
        self.replicated = self._begin()

    def _begin(self) -> Replicated[M]:
        broker, kind, partition = self._broker, self._kind, self.partition
        self.log = CoordinatorLog(broker, partition, lambda: kind.compression(broker))
        replicated: Replicated[M] = Replicated(
            self.log,
            ErrorCode.NOT_COORDINATOR,
            broker.events.coordinator_bug,
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
            self._on_effect,
        )
        place, events = partition.topic_partition, broker.events
        loading = Loading(
            broker, partition, kind.types, lambda type_: events.unknown_record_type(place, type_), kind.load_run
        )
        machine = kind.make(broker, partition, record_bytes_max(partition))
        replicated.start(machine, loading.slices(), lambda now_ms: kind.activate(machine, now_ms))
        self._loading = loading
        return replicated

    @property
    def machine(self) -> M | None:
        """While it may be asked."""
        return self.replicated.machine if self.replicated.is_active else None

    @property
    def is_waiting_for_disk(self) -> bool:
        return self._loading is not None and self._loading.is_waiting

    @property
    def has_work(self) -> bool:
        """Whether the next turn should come at once."""
        if self.is_failed or self.is_waiting_for_disk:
            return False
        return self.replicated.has_work or (self.replicated.is_idle and not self.partition.log.is_unsettled)

    @property
    def is_free(self) -> bool:
        """Whether something could be decided and written at once."""
        return self.replicated.is_free and not self.partition.is_under_min_isr

    # Its turn

    def submit(self, now_ms: int, request: Any, reply: Reply) -> None:
        """Below `min.insync.replicas` nothing is decided that could not be committed; reading goes on."""
        if self.partition.is_under_min_isr and not isinstance(request.message, self._kind.reads):
            reply(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        else:
            request.is_in_line = self.replicated.has_work
            self.replicated.submit(now_ms, request, reply)

    def turn(self, now_ms: int, wall_ms: int, is_over: Callable[[], bool]) -> None:
        replicated = self.replicated
        if replicated.is_idle:
            if self.is_failed or self.partition.log.is_unsettled:
                return
            replicated = self.replicated = self._begin()
        try:
            replicated.turn(now_ms, wall_ms, lambda: self.is_waiting_for_disk or is_over())
        except LoadFailed as failed:
            self._fail(failed)
        if self._loading is not None and replicated.is_active:
            self._loading = None
        if replicated.is_idle and not self.is_failed:
            self._broker.events.coordinator_dropped(self.partition.topic_partition)

    def _fail(self, failed: LoadFailed) -> None:
        self.is_failed = True
        self._broker.events.coordinator_failed(self.partition.topic_partition, failed)
        self.replicated.drop()

    def drop(self) -> None:
        """The partition is led no more, or not in this epoch."""
        if not self.replicated.is_idle:
            self.replicated.drop()

    # What changes around it

    def image_changed(self, now_ms: int, changes: Changes) -> None:
        if self.replicated.machine is not None:
            self._kind.image_changed(self.replicated.machine, now_ms, self._broker, changes)

    def reconfigured(self) -> None:
        if self.replicated.machine is not None:
            self._kind.reconfigured(self.replicated.machine, self._broker, record_bytes_max(self.partition))
