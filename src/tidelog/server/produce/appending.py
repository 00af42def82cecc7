"""The batches of one produce request, appended one after another, over as many turns as they take.

    go_on: append, append, ...  ->  settled (the answer is given at the end of the turn, or later)
              |-> a batch too heavy for a turn: prepared by a worker, then on with it    (`preparations`)
              '-> the turn is over, or has enough to write: on in the next one           (`turn.backlog`)

Most requests are through at once. One that is not keeps its batches in memory of its own, because the receive buffer is
used again after the turn; they count against what its connection may have open and against the bound on requests. Later
produce requests of the connection wait for it (`held_requests`): nothing overtakes. It goes on when its
connection has ended, as it would have if it had been small: with acks=0 that is all that a client can hope for. Only a
stop ends it, before the logs are closed.

Between two turns anything may happen to a partition. Each batch meets it as it is when its time has come, and one that
was prepared by other rules than the log has by then (the topic was configured, made anew, or its log moved) is prepared
once more.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.server.produce.preparations import Outcome
from tidelog.server.produce.quick_path import FIRST_WITH_ZSTD
from tidelog.server.requests.handler import RequestContext, SlicedContext
from tidelog.storage.append.batch_pieces import BatchPiece
from tidelog.storage.append.batch_times import TimeAnswer
from tidelog.storage.append.outcome import Refused
from tidelog.storage.append.preparation import Prepared, preparation_job
from tidelog.storage.append.rules import AppendRules

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker
    from tidelog.server.requests.connection import ClientConnection
    from tidelog.server.requests.turn import Turn


# The logs that a turn writes to before it leaves the further batches of a very large request to the next turn: to stage
# a batch takes a third of the time that the end of the turn takes to open its log's file and write it.
LOGS_A_TURN: Final = 256


class ReadyBatch(NamedTuple):
    """A batch as a worker has prepared it, and the rules that the worker was given."""

    outcome: Prepared | Refused
    rules: AppendRules


class KeptRecords:
    """The batches of one request in memory of their own, counted as long as they are needed."""

    __slots__ = ("_connection", "_kept_bytes", "is_kept")

    def __init__(self, connection: "ClientConnection") -> None:
        self._connection = connection
        self._kept_bytes = 0
        self.is_kept = False

    def keep(self, batches: list[PartitionProduceData]) -> None:
        """Copy the batches into memory of their own, and count it. A second call does nothing."""
        if self.is_kept:
            return
        self.is_kept = True
        for data in batches:
            if data.records is not None:
                self._kept_bytes += len(data.records)
                data.records = memoryview(bytearray(data.records))
        self._connection.keep(self._kept_bytes)
        if self._connection.memory is not None:
            self._connection.memory.keep(self._kept_bytes)

    def release(self) -> None:
        connection, kept_bytes = self._connection, self._kept_bytes
        self._kept_bytes = 0
        if kept_bytes:
            connection.give_back(kept_bytes)
            if connection.memory is not None:
                connection.memory.give_back(kept_bytes)


# Appends one batch. What comes back is the rules by which the batch has to be prepared first, or None.
AppendOne = Callable[[TopicProduceData, PartitionProduceData, ReadyBatch | None], AppendRules | None]


class ProduceAppending:
    """One produce request whose batches are being appended."""

    def __init__(
        self, context: RequestContext, body: ProduceRequest, append: AppendOne, settle: Callable[[], None]
    ) -> None:
        """`settle` is called once, when every batch is appended or refused."""
        self._broker: Broker = context.connection.broker
        self._context = context
        self._body = body
        self._append = append
        self._settle = settle
        self._batches = [(topic, data) for topic in body.topic_data for data in topic.partition_data]
        self._next = 0
        self._ready: ReadyBatch | None = None
        self.kept = KeptRecords(context.connection)
        self.is_done = False
        self.has_failed = False  # ended early, by a bug or a stop; what was staged before that stays
        self.when_done: Callable[[], None] | None = None  # for whoever waits behind it

    def go_on(self) -> bool:
        """Append as many batches as the turn has time for; return whether the request is through. A bug ends it, too:
        in a later turn nobody else would catch that, and it must cost this request alone."""
        try:
            return self._go_on()
        except Exception as error:  # noqa: BLE001 - as in `dispatch`: a bug costs one request, not the node
            self.is_done = self.has_failed = True
            self.kept.release()
            self._broker.dispatch.fail(self._context, self._body, error)
            return True

    def _go_on(self) -> bool:
        turn = self._broker.turn
        if self._broker.is_closing:  # nobody was told anything, and nobody is left to be told
            self.is_done = self.has_failed = True
            self.kept.release()
            return True
        first = self._next
        while self._next < len(self._batches):
            if self._next > first and (self._has_enough(turn) or turn.is_over()):
                self._keep()
                turn.backlog.append(self)
                return False
            topic, data = self._batches[self._next]
            ready, self._ready = self._ready, None
            rules = self._append(topic, data, ready)
            if rules is not None:
                self._keep()
                self._prepare(data, rules)
                return False
            self._next += 1
        self.is_done = True
        self.kept.release()
        self._settle()
        return True

    def _has_enough(self, turn: "Turn") -> bool:
        """Tell whether this turn has enough logs to write. Requests of ordinary size are not cut for that, however many
        they are."""
        return len(self._batches) > LOGS_A_TURN and len(turn.appended) >= LOGS_A_TURN

    def _keep(self) -> None:
        if not isinstance(self._context, SlicedContext):  # which has the receive buffer for itself
            self.kept.keep([data for _topic, data in self._batches[self._next :]])

    def _prepare(self, data: PartitionProduceData, rules: AppendRules) -> None:
        assert data.records is not None
        allows_zstd = self._context.api_version >= FIRST_WITH_ZSTD
        job = preparation_job(data.records, rules, self._broker.turn.wall_ms, allows_zstd=allows_zstd)
        self._broker.preparations.begin(job, lambda outcome: self._prepared(outcome, rules))

    def _prepared(self, outcome: Outcome, rules: AppendRules) -> None:
        assert not isinstance(outcome, TimeAnswer | BatchPiece)
        self._ready = ReadyBatch(outcome, rules)
        self.resume()

    def resume(self) -> None:
        """Append what the last turn had no time for, and wake who waits behind it. Called by the turn, and by a
        worker's outcome."""
        self._broker.turn.credit = 0  # a batch's cost is unknown: the next in the backlog looks at the clock
        if self.go_on() and self.when_done is not None:
            self.when_done()
