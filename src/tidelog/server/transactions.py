"""What this broker does for the transactions that it coordinates: what is decided gets its markers, however long it
takes.

    SendMarkers (the outcome is committed) -> a round of MarkerWrites -> MarkersWritten, and so on to COMPLETE_*
                                                     | what may pass: not leader, loading, no room on the disk
                                                     '--> after a pause, another round for those partitions

A partition that does not exist any more has nothing to be marked, and counts as done. A coordinator that is reloaded
sends its markers again: the later sending of a transactional id replaces the earlier one.

`Coordinators.turn` calls `write_markers` after each of its rounds.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from tidelog.coordinator.requests import CoordinatorRequest, TransactionMarker
from tidelog.coordinator.transaction.requests import MarkersWritten, SendMarkers
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.server.internal_topics import TRANSACTION_STATE
from tidelog.server.transaction_markers import MarkerWrite

if TYPE_CHECKING:
    from tidelog.server.broker import Broker
    from tidelog.server.connection import ClientConnection
    from tidelog.server.verification_queue import HeldRequests

# The pause before the next round; it doubles up to the longest.
RETRY_MS: Final = 50
RETRY_MAX_MS: Final = 1_000
# No repetition changes these: a later epoch of the producer, or of the coordinator, has written there.
_FINAL: Final = (ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED)


class Transactions:
    """`broker.transactions`."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._sending: dict[str, MarkerSending] = {}  # by transactional id
        self.staged: list[MarkerWrite] = []  # in logs, to be written
        # Produce requests, by connection, that wait for the coordinator's word or behind one that does.
        self.held: dict[ClientConnection, HeldRequests] = {}

    def send_markers(self, effect: SendMarkers) -> None:
        """The effect of a committed decision."""
        earlier = self._sending.get(effect.transactional_id)
        if earlier is not None:
            earlier.is_done = True
        sending = MarkerSending(self._broker, effect)
        self._sending[effect.transactional_id] = sending
        sending.write(effect.partitions)

    def write_markers(self) -> bool:
        """Those that are staged, now and not at the end of the turn: on one node the coordinator can then complete the
        transaction in the turn that decided it. Whether there were any."""
        if not self.staged:
            return False
        broker, turn = self._broker, self._broker.turn
        staged, self.staged = self.staged, []
        partitions = dict.fromkeys(partition for write in staged for partition in write.partitions)
        unwritten = [each for each in partitions if each in turn.appended]
        broker.logs.commit([each.log for each in unwritten], turn.wall_ms)
        for partition in unwritten:
            del turn.appended[partition]
            if partition.advance():
                turn.moved[partition] = None
        for write in staged:
            write.settle()
        return True

    def sent(self, sending: "MarkerSending") -> None:
        self._sending.pop(sending.effect.transactional_id, None)

    @property
    def sending(self) -> list[SendMarkers]:
        """Decided, and not marked everywhere: what a partition without a leader holds up."""
        return [each.effect for each in self._sending.values()]


class MarkerSending:
    """The markers of one transaction, until each has its final outcome. In the purgatory between two rounds."""

    __slots__ = ("_broker", "_left", "_pause_ms", "effect", "is_done")

    def __init__(self, broker: "Broker", effect: SendMarkers) -> None:
        self._broker = broker
        self._left: list[TopicPartition] = []  # for the next round
        self._pause_ms = RETRY_MS
        self.effect = effect
        self.is_done = False

    def write(self, partitions: Iterable[TopicPartition]) -> None:
        effect = self.effect
        marker = TransactionMarker(
            effect.producer_id,
            effect.producer_epoch,
            effect.committed,
            effect.coordinator_epoch,
            effect.transaction_version,
        )
        MarkerWrite(self._broker, marker, self._written).begin(partitions)

    def _written(self, outcomes: dict[TopicPartition, ErrorCode]) -> None:
        if self.is_done:
            return
        final = {place: self._final(place, code) for place, code in outcomes.items()}
        decided = {place: code for place, code in final.items() if code is not None}
        self._left = [place for place, code in final.items() if code is None]
        if self._left:
            self._broker.purgatory.add(self, self._broker.turn.monotonic_ms + self._pause_ms)
            self._pause_ms = min(2 * self._pause_ms, RETRY_MAX_MS)
        else:
            self.is_done = True
            self._broker.transactions.sent(self)
        if decided or not self._left:
            self._report(decided)

    def _final(self, place: TopicPartition, code: ErrorCode) -> ErrorCode | None:
        """None: to be tried again."""
        if code in _FINAL:
            return code
        can_have_data = place.topic != TRANSACTION_STATE and self._broker.has_partition(place)
        return None if can_have_data else ErrorCode.NONE

    def _report(self, outcomes: dict[TopicPartition, ErrorCode]) -> None:
        effect, broker = self.effect, self._broker
        message = MarkersWritten(
            effect.transactional_id,
            effect.producer_id,
            effect.producer_epoch,
            effect.coordinator_epoch,
            outcomes,
            effect.decision,
        )
        request = CoordinatorRequest(message, 0, broker.turn.wall_ms)
        broker.coordinators.transactions.submit(effect.transactional_id, request, _heard)

    # The purgatory's

    def is_abandoned(self) -> bool:
        return False

    def expire(self) -> None:
        """The pause is over. Where the coordinator has gone, or begun anew, its successor sends them."""
        log = self._broker.coordinators.transactions.partition_of(self.effect.transactional_id)
        if log is None or log.leader_epoch != self.effect.coordinator_epoch:
            self.is_done = True
            self._broker.transactions.sent(self)
        else:
            self.write(self._left)


def _heard(_answer: Any) -> None:
    """A coordinator that is not there any more needs no report."""
