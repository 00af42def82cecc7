"""The markers of the transactions that this broker coordinates: every outcome that is decided gets its markers,
however long that takes.

    SendMarkers (the outcome is committed) -> a round of MarkerWrites -> MarkersWritten, and at last COMPLETE_*
                                                     | what may pass: not leader, loading, no room on the disk
                                                     '--> after a pause, another round for those partitions

A transaction of many partitions has its markers written over several turns, a few logs at a time. Each is written and
acknowledged for itself, so it does not matter which come first; MarkersWritten comes when the last is there.

A partition that does not exist any more has nothing to be marked, and counts as done. A coordinator that is reloaded
sends its markers again: the later sending of a transactional id replaces the earlier one.

`Coordinators.turn` calls `write_markers` after each of its rounds.
"""

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from tidelog.coordinator.requests import CoordinatorRequest, TransactionMarker
from tidelog.coordinator.transaction.requests import MarkersWritten, SendMarkers
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.server.cluster.internal_topics import TRANSACTION_STATE
from tidelog.server.requests.sliced_work import TurnSlices
from tidelog.server.transactions.markers import PLACES_AT_ONCE, MarkerWrite

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker
    from tidelog.server.produce.held_requests import HeldRequests
    from tidelog.server.requests.connection import ClientConnection

# The pause before the next round; it doubles up to the longest.
RETRY_MS: Final = 50
RETRY_MAX_MS: Final = 1_000
# The most partitions of a transaction whose markers are all written in the turn that decided it.
WHOLE_PLACES_MAX: Final = 2 * PLACES_AT_ONCE
# No repetition changes these: a later epoch of the producer, or of the coordinator, has written there.
_FINAL: Final = (ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED)


class Transactions(TurnSlices):
    """The outcomes whose markers are being written, by transactional id, and the produce requests that are held:
    `broker.transactions`."""

    def __init__(self, broker: "Broker") -> None:
        super().__init__(broker)
        self._sending: dict[str, MarkerSending] = {}  # by transactional id
        self.staged: list[MarkerWrite] = []  # in logs, to be written
        self._large: deque[MarkerSending] = deque()  # sendings with many partitions that are not all staged
        # Produce requests, by connection, that wait for the coordinator's word or behind one that does.
        self.held: dict[ClientConnection, HeldRequests] = {}

    def send_markers(self, effect: SendMarkers) -> None:
        """Begin to write the markers of a committed outcome. A sending of the same transactional id that is under way
        ends."""
        earlier = self._sending.get(effect.transactional_id)
        if earlier is not None:
            earlier.is_done = True
        sending = MarkerSending(self._broker, effect)
        self._sending[effect.transactional_id] = sending
        sending.write(effect.partitions)

    def write_in_parts(self, sending: "MarkerSending") -> None:
        """Write the markers of this sending over the next turns: each has one slice for all sendings with many
        partitions."""
        self._large.append(sending)
        self._queue_up()

    def resume(self) -> None:
        """Stage markers for one slice of a turn; `write_markers` writes them in the same turn."""
        until_ns, clock, large = self._begin_slice(), self._broker.clock, self._large
        while large:
            sending = large.popleft()
            if sending.write_part():
                large.append(sending)
            if clock.monotonic_ns() > until_ns:
                break
        if large:
            self._queue_up()

    def write_markers(self) -> bool:
        """Write the staged markers now, not at the end of the turn: on one node the coordinator can then complete the
        transaction in the turn that decided it. Return whether any were staged."""
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

    def may_resume(self, sending: "MarkerSending") -> bool:
        """Tell whether no later sending has replaced this one. If so, it counts as under way (again)."""
        return self._sending.setdefault(sending.effect.transactional_id, sending) is sending

    @property
    def sending(self) -> list[SendMarkers]:
        """The outcomes whose markers are not written everywhere: a partition without a leader holds them up."""
        return [each.effect for each in self._sending.values()]


class MarkerSending:
    """The markers of one transaction, until each has its final outcome. In the purgatory between two rounds."""

    __slots__ = (
        "_broker",
        "_left",
        "_outcomes",
        "_parts",
        "_pause_ms",
        "_unanswered",
        "_unreported",
        "effect",
        "is_done",
    )

    def __init__(self, broker: "Broker", effect: SendMarkers) -> None:
        self._broker = broker
        self._parts: deque[list[TopicPartition]] = deque()  # of this round, to be begun
        self._unanswered = 0  # parts of this round, begun or not
        self._outcomes: dict[TopicPartition, ErrorCode] = {}  # of this round
        self._left: list[TopicPartition] = []  # for the next round
        self._unreported: dict[TopicPartition, ErrorCode] = {}  # the coordinator could not write them down
        self._pause_ms = RETRY_MS
        self.effect = effect
        self.is_done = False

    def write(self, partitions: Iterable[TopicPartition]) -> None:
        """Begin one round, a marker for each of the partitions."""
        topic_partitions = list(partitions)
        parts = [
            topic_partitions[at : at + PLACES_AT_ONCE] for at in range(0, max(1, len(topic_partitions)), PLACES_AT_ONCE)
        ]
        self._parts, self._unanswered, self._outcomes = deque(parts), len(parts), {}
        if len(topic_partitions) > WHOLE_PLACES_MAX:
            self._broker.transactions.write_in_parts(self)
            return
        while self.write_part():
            pass

    def write_part(self) -> bool:
        """Write the markers of the next few partitions; return whether more are to be written. It ends where a later
        sending of the transactional id, or the next coordinator, has begun anew with all of them."""
        if self.is_done or not self._is_current():
            return False
        effect = self.effect
        marker = TransactionMarker(
            effect.producer_id,
            effect.producer_epoch,
            effect.committed,
            effect.coordinator_epoch,
            effect.transaction_version,
        )
        MarkerWrite(self._broker, marker, self._part_written).begin(self._parts.popleft())
        return bool(self._parts)

    def _is_current(self) -> bool:
        """Tell whether the coordinator that decided still leads in the same epoch. If not, this sending is over."""
        log = self._broker.coordinators.transactions.partition_of(self.effect.transactional_id)
        if log is not None and log.leader_epoch == self.effect.coordinator_epoch:
            return True
        self.is_done = True
        self._broker.transactions.sent(self)
        return False

    def _part_written(self, outcomes: dict[TopicPartition, ErrorCode]) -> None:
        self._outcomes.update(outcomes)
        self._unanswered -= 1
        if not self._unanswered:
            self._written(self._outcomes)

    def _written(self, outcomes: dict[TopicPartition, ErrorCode]) -> None:
        if self.is_done:
            return
        final = {topic_partition: self._final(topic_partition, code) for topic_partition, code in outcomes.items()}
        decided = self._unreported | {
            topic_partition: code for topic_partition, code in final.items() if code is not None
        }
        self._unreported = {}
        self._left = [topic_partition for topic_partition, code in final.items() if code is None]
        if self._left:
            self._broker.purgatory.add(self, self._broker.turn.monotonic_ms + self._pause_ms)
            self._pause_ms = min(2 * self._pause_ms, RETRY_MAX_MS)
        else:
            self.is_done = True
            self._broker.transactions.sent(self)
        if decided or not self._left:
            self._report(decided)

    def _final(self, topic_partition: TopicPartition, code: ErrorCode) -> ErrorCode | None:
        """Return the final outcome of a partition; None where its marker has to be tried again."""
        if code in _FINAL:
            return code
        can_have_data = topic_partition.topic != TRANSACTION_STATE and self._broker.has_partition(topic_partition)
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
        broker.coordinators.transactions.submit(
            effect.transactional_id, request, lambda answer: self._heard(answer, outcomes)
        )

    def _heard(self, answer: Any, outcomes: dict[TopicPartition, ErrorCode]) -> None:
        """Report again after a while to a coordinator that had no room for the report. One that is gone needs none."""
        transactions = self._broker.transactions
        if answer is not ErrorCode.COORDINATOR_NOT_AVAILABLE or not transactions.may_resume(self):
            return
        self._unreported |= outcomes
        if self.is_done:
            self.is_done = False
            self._broker.purgatory.add(self, self._broker.turn.monotonic_ms + RETRY_MAX_MS)

    # The purgatory's

    def is_abandoned(self) -> bool:
        return False

    def expire(self) -> None:
        """Begin the next round after the pause, unless the coordinator is gone: its successor sends the markers."""
        if self._is_current():
            self.write(self._left)
