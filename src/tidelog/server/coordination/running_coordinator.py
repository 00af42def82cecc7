"""The coordinator of one partition while this broker leads it: a machine, its log, and its life.

    loading -> active -> (a write failed) -> waiting for the log -> loading ...
       |-> failed: the log can not be read to its end; nobody is answered from half of it, and the others go on

One life is one leader epoch. With a new one the shard is thrown away and another begins. Compiled by mypyc: each commit
of an offset asks it several things.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from tidelog.metadata.changes import Changes
from tidelog.model.errors import ErrorCode
from tidelog.server.coordination.coordinator_log import CoordinatorLog, record_bytes_max
from tidelog.server.coordination.kind import CoordinatorKind
from tidelog.server.coordination.loading import LoadFailed, Loading
from tidelog.server.hosting.partition import Partition
from tidelog.server.replicated import Machine, ReplayFailed, Replicated, Reply

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

M = TypeVar("M", bound=Machine)

RETRY_MS: Final = 1_000  # before the machine acts by itself again, while the disk has no room


class CoordinatorShard(Generic[M]):
    """One coordinator in one leader epoch."""

    def __init__(
        self, broker: "Broker", kind: CoordinatorKind[M], partition: Partition, on_effect: Callable[[Any], None]
    ) -> None:
        self._broker = broker
        self._kind = kind
        self._on_effect = on_effect
        self.partition = partition
        self.index: int = partition.topic_partition.partition
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
        topic_partition, events = partition.topic_partition, broker.events
        loading = Loading(
            broker,
            partition,
            kind.types,
            lambda type_: events.unknown_record_type(topic_partition, type_),
            kind.load_run,
        )
        machine = kind.make(broker, partition, record_bytes_max(partition))
        replicated.start(machine, loading.slices(), lambda now_ms: kind.activate(machine, now_ms))
        if kind.follow_line is not None:
            kind.follow_line(machine, lambda: replicated.has_line)
        self._loading = loading
        return replicated

    @property
    def machine(self) -> M | None:
        """The machine, while it is active; None while it is loading or waits for its log."""
        return self.replicated.machine if self.replicated.is_active else None

    @property
    def is_waiting_for_disk(self) -> bool:
        return self._loading is not None and self._loading.is_waiting

    @property
    def has_work(self) -> bool:
        """Tell whether the next turn should come at once."""
        if self.is_failed or self.is_waiting_for_disk:
            return False
        return self.replicated.has_work or (self.replicated.is_idle and not self.partition.log.is_unsettled)

    @property
    def is_free(self) -> bool:
        """Tell whether a request could be decided and written at once."""
        return self.replicated.is_free and not self.partition.is_under_min_isr and self._has_room()

    # Its turn

    def submit(self, now_ms: int, request: Any, reply: Reply) -> None:
        """Hand a request to the machine. Below `min.insync.replicas`, or without room on the disk, requests that write
        are refused, because their decisions could not be committed; those that only read go on."""
        may_write = not self.partition.is_under_min_isr and self._has_room()
        if not may_write and not isinstance(request.message, self._kind.reads):
            reply(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        else:
            request.is_in_line = self.replicated.has_work
            self.replicated.submit(now_ms, request, reply)

    def _has_room(self) -> bool:
        return self.log.has_room(self._broker.turn.wall_ms)

    def turn(self, now_ms: int, wall_ms: int, is_over: Callable[[], bool]) -> None:
        replicated = self.replicated
        if replicated.is_idle:
            if self.is_failed or self.partition.log.is_unsettled:
                return
            replicated = self.replicated = self._begin()
        # What the machine begins with goes before every request, as soon as there is room for it.
        replicated.hold_steps_until_ms = None if self._has_room() else now_ms + RETRY_MS
        try:
            replicated.turn(now_ms, wall_ms, lambda: self.is_waiting_for_disk or is_over())
        except LoadFailed as failed:
            self._fail(str(failed))
        except ReplayFailed as failed:
            assert self._loading is not None
            self._fail(f"{self._loading.where(failed.message)} makes no sense: {failed}")
        if self._loading is not None and replicated.is_active:
            self._loading = None
        if replicated.is_idle and not self.is_failed:
            self._broker.events.coordinator_dropped(self.partition.topic_partition)

    def settle(self) -> None:
        """Answer what was decided outside of a turn, after the write of what `CoordinatorLog.stage` handed over."""
        replicated = self.replicated
        if not self.log.settle():
            replicated.drop()
            self._broker.events.coordinator_dropped(self.partition.topic_partition)
        replicated.answer()

    def _fail(self, reason: str) -> None:
        self.is_failed = True
        self._broker.events.coordinator_failed(self.partition.topic_partition, self.partition.log.directory, reason)
        self.replicated.drop()

    def drop(self) -> None:
        """End this life: the partition is led no more, or not in this epoch."""
        if not self.replicated.is_idle:
            self.replicated.drop()

    # What changes around it

    def image_changed(self, now_ms: int, changes: Changes) -> None:
        if self.replicated.machine is not None:
            self._kind.image_changed(self.replicated.machine, now_ms, self._broker, changes)

    def reconfigured(self) -> None:
        if self.replicated.machine is not None:
            self._kind.reconfigured(self.replicated.machine, self._broker, record_bytes_max(self.partition))
