"""Transaction markers on their way into the logs that this broker leads.

One control batch for each producer and partition, written as the coordinator's word (`AppendOrigin.COORDINATOR`) and
acknowledged like a produce request with acks=all: until the high watermark has passed it, a marker may still be lost.
A partition of `__consumer_offsets` belongs to a group coordinator: its machine writes the marker, and by that moves the
offsets that were staged in the transaction.

The transaction coordinator of this node (`transactions`), those of other brokers and an operator who aborts a hanging
transaction (`handlers.write_txn_markers`) all come through here.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

from tidelog.config.settings.listeners import REQUEST_TIMEOUT_MS
from tidelog.coordinator.requests import CoordinatorRequest, TransactionMarker
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.ports.errors import StorageFault
from tidelog.records.control import EndTransactionMarker
from tidelog.server.cluster.internal_topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from tidelog.server.coordination.batches import marker_batch
from tidelog.server.hosting.disk_shortage import is_short_of
from tidelog.server.hosting.partition import ALL_REPLICAS, Partition
from tidelog.storage.append.outcome import AppendOrigin, Refused
from tidelog.storage.log.group_commit import Append

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

Written = Callable[[dict[TopicPartition, ErrorCode]], None]

# The partitions that a marker is staged in between two looks at the clock; each is a log to write to.
PLACES_AT_ONCE: Final = 50

# What a group coordinator answers; who asks for markers is told NOT_LEADER_OR_FOLLOWER of the partition instead.
_NOT_READY = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)


class MarkerWrite:
    """One producer's marker for several partitions. `written` is called once, with the outcome of each partition."""

    __slots__ = (
        "_broker",
        "_bytes",
        "_marker",
        "_outcomes",
        "_staged",
        "_topic_partitions",
        "_written",
        "is_done",
    )

    def __init__(self, broker: "Broker", marker: TransactionMarker, written: Written) -> None:
        self._broker = broker
        self._marker = marker
        self._written = written
        self._bytes: bytes | None = None
        self._topic_partitions: list[TopicPartition] = []
        self._staged: dict[TopicPartition, tuple[Partition, Append]] = {}
        self._outcomes: dict[TopicPartition, ErrorCode] = {}
        self.is_done = False

    def begin(self, partitions: Iterable[TopicPartition]) -> None:
        self._topic_partitions = list(dict.fromkeys(partitions))
        for topic_partition in self._topic_partitions:
            partition = self._led(topic_partition)
            if isinstance(partition, ErrorCode):
                self._outcomes[topic_partition] = partition
            elif topic_partition.topic == CONSUMER_OFFSETS:
                self._ask_group_coordinator(topic_partition)
            else:
                self._append(topic_partition, partition)
        if self._staged:
            self._broker.transactions.staged.append(self)
        self._finish_if_complete()

    # Into a log

    def _append(self, topic_partition: TopicPartition, partition: Partition) -> None:
        if partition.is_under_min_isr:
            self._outcomes[topic_partition] = ErrorCode.NOT_ENOUGH_REPLICAS
            return
        turn = self._broker.turn
        batch = self._batch(turn.wall_ms)
        is_short = is_short_of(self._broker, partition.log, len(batch), turn.wall_ms)
        if is_short:
            # Below the reserve a marker is written by itself: what producers have staged in this turn is refused at its
            # end, and would take the marker along.
            partition.log.abandon()
        outcome: Append | Refused
        try:
            outcome = partition.log.append_as_leader(
                batch,
                0,
                len(batch),
                partition.leader_epoch,
                turn.wall_ms,
                AppendOrigin.COORDINATOR,
                transaction_version=self._marker.transaction_version,
            )
        except StorageFault as fault:
            outcome = self._broker.append_fault(partition, fault)
        if isinstance(outcome, Refused):
            self._outcomes[topic_partition] = outcome.code
            return
        self._staged[topic_partition] = (partition, outcome)
        if is_short:
            self._broker.logs.commit([partition.log], turn.wall_ms, uses_reserve=True)
            if partition.advance():
                turn.moved[partition] = None
        else:
            turn.appended[partition] = None

    def _batch(self, wall_ms: int) -> memoryview:
        """Return a copy of the marker's batch: each log patches its own offset and epoch into it."""
        marker = self._marker
        if self._bytes is None:
            end = EndTransactionMarker(marker.committed, marker.coordinator_epoch)
            self._bytes = marker_batch(marker.producer_id, marker.producer_epoch, end, wall_ms)
        return memoryview(bytearray(self._bytes))

    def _led(self, topic_partition: TopicPartition) -> Partition | ErrorCode:
        """Return the partition, if this broker leads it. No transaction has records in the log of the transaction
        coordinator, so that one counts as unknown."""
        if self._marker.producer_id < 0 or self._marker.producer_epoch < 0:
            return ErrorCode.INVALID_REQUEST
        partition = self._broker.partition_of(topic_partition)
        if partition is None or not partition.is_online or topic_partition.topic == TRANSACTION_STATE:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return partition if partition.is_leader else ErrorCode.NOT_LEADER_OR_FOLLOWER

    @property
    def partitions(self) -> list[Partition]:
        """The partitions in whose logs the marker is staged."""
        return [partition for partition, _append in self._staged.values()]

    def settle(self) -> None:
        """Report the outcomes after the write, or wait in the purgatory until the markers are acknowledged."""
        if self.try_complete():
            return
        broker = self._broker
        broker.purgatory.add(self, broker.turn.monotonic_ms + broker.config.get(REQUEST_TIMEOUT_MS))
        for partition in self.partitions:
            partition.produce_waiters[self] = None

    def try_complete(self) -> bool:
        for topic_partition, (partition, append) in list(self._staged.items()):
            code = _outcome(partition, append)
            if code is not None:
                del self._staged[topic_partition]
                self._outcomes[topic_partition] = code
        self._finish_if_complete()
        return not self._staged

    def is_abandoned(self) -> bool:
        return False

    def expire(self) -> None:
        self._outcomes.update(dict.fromkeys(self._staged, ErrorCode.REQUEST_TIMED_OUT))
        self._staged.clear()
        self._finish_if_complete()

    # To a group coordinator

    def _ask_group_coordinator(self, topic_partition: TopicPartition) -> None:
        def reply(answer: Any) -> None:
            self._outcomes[topic_partition] = _code_of(answer)
            self._finish_if_complete()

        request = CoordinatorRequest(self._marker, 0, self._broker.turn.wall_ms)
        self._broker.coordinators.groups.submit_to(topic_partition.partition, request, reply)

    def _finish_if_complete(self) -> None:
        """Report the outcomes once each partition has one. A group coordinator that is loading answers at once, while
        `begin` still has partitions to go through: that must not end the write."""
        if not self.is_done and len(self._outcomes) == len(self._topic_partitions):
            self.is_done = True
            self._written(
                {topic_partition: self._outcomes[topic_partition] for topic_partition in self._topic_partitions}
            )


def _outcome(partition: Partition, append: Append) -> ErrorCode | None:
    """Return what became of one append; None while it has to be waited for."""
    if append.code is not ErrorCode.NONE:
        return append.code or ErrorCode.KAFKA_STORAGE_ERROR
    if append.last_offset < partition.acknowledged_to(ALL_REPLICAS):
        return ErrorCode.NONE
    if not partition.is_leader:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return None if partition.is_online else ErrorCode.KAFKA_STORAGE_ERROR


def _code_of(answer: Any) -> ErrorCode:
    code = answer.code if isinstance(answer, ApiError) else answer
    if not isinstance(code, ErrorCode):
        return ErrorCode.NONE
    return ErrorCode.NOT_LEADER_OR_FOLLOWER if code in _NOT_READY else code
