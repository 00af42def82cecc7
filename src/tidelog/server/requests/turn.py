"""One turn of the loop is one group commit.

    poll: bytes -> frames -> handlers -> appends, staged in their logs
    end:  one write for each log -> high watermarks move -> who waited for that is answered -> all sends

Nothing is answered before what it promises is written. Between two turns no receive buffer is in use, so its memory is
free again; within one, the appended batches are views of it.

A turn stops taking requests when its time is up. What is left waits in the connections' buffers (`backlog`), and the
next turn begins with it. To look at the clock is a good part of a small request's cost, so requests whose cost is known
spend the turn's `credit` first, in bytes: no more than about a millisecond between two looks.
"""

from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

from tidelog.model.errors import ErrorCode
from tidelog.ports.clock import Clock
from tidelog.protocol.api import ApiKey
from tidelog.server.hosting.partition import ALL_REPLICAS, Partition
from tidelog.server.requests.request_metrics import RequestMetrics
from tidelog.server.requests.turn_times import TurnTimes
from tidelog.server.requests.watchers import wake_grown, wake_waiters
from tidelog.storage.directories.logs import Logs
from tidelog.storage.log.group_commit import Append

if TYPE_CHECKING:
    from tidelog.server.handlers.produce import DelayedProduce
    from tidelog.server.produce.quick_path import ProducePath
    from tidelog.server.requests.connection import ClientConnection

# The time for taking requests. Writing, answering and sending come on top: 50 ms is what a turn may take in all.
HANDLING_NS: Final = 15_000_000
# The part of it for fetches of many partitions: those that arrive, or those whose wait ends. A produce that has been
# received waits for no more of them than this, or for one, however many there are: consumers that came together are due
# together, again and again, and what one turn does for them is what the slowest produce of a hundred sees. A turn costs
# a few dozen microseconds, so that they lose little by having one each.
FETCHING_NS: Final = 100_000
CREDIT_BYTES: Final = 262_144
NANOSECONDS_PER_MS: Final = 1_000_000

_DONE: Final = ErrorCode.NONE
_PRODUCE: Final = int(ApiKey.PRODUCE)
_FETCH: Final = int(ApiKey.FETCH)
_OFFSET_COMMIT: Final = int(ApiKey.OFFSET_COMMIT)


class Resumable(Protocol):
    """Work that is continued turn by turn."""

    def resume(self) -> None:
        """Go on with what the last turn had no time for."""
        ...


class Turn:
    """The turn that is under way: its time, what it has staged, and what it leaves to the next."""

    def __init__(self, clock: Clock, logs: Logs) -> None:
        self._clock = clock
        self._logs = logs
        self.wall_ms = clock.wall_ms()
        self.monotonic_ms = clock.monotonic_ms()
        self.began_ns = clock.monotonic_ns()
        self._over_ns = self.began_ns + HANDLING_NS
        self._expiring_over_ns = 0
        self._has_fetched = False  # a fetch of many partitions was begun
        self._is_for_expiring = False  # the last turn put off waits that had ended: this one is theirs
        self.credit = 0  # to be spent before the next look at the clock
        self.times = TurnTimes()
        self.request_metrics = RequestMetrics()
        self.is_eventful = False  # a request came that others than the data path have to work on
        self.connections: list[ClientConnection] = []  # those that received something in this turn
        self.sending: list[ClientConnection] = []
        self.backlog: list[Resumable] = []
        self.fetching: deque[Resumable] = deque()  # connections whose next request is a fetch of many partitions
        self.is_crowded = False  # several waited for this turn: one request of each is handled in turn
        self.appended: dict[Partition, None] = {}
        self.moved: dict[Partition, None] = {}  # high watermark or log start, since the last turn's end
        self.grown: dict[Partition, None] = {}  # appended to, and nothing else about them has changed
        self.quick: list[tuple[ClientConnection, int, int, Append, ProducePath]] = []
        self.produced: list[DelayedProduce] = []
        self.quick_commits = 0  # OffsetCommits that came and were answered in this turn
        self.quick_fetches = 0

    def begin(self) -> None:
        """Begin a turn, first with what the last one had no time for."""
        clock = self._clock
        self.wall_ms = clock.wall_ms()
        self.began_ns = began_ns = clock.monotonic_ns()
        self.monotonic_ms = began_ns // NANOSECONDS_PER_MS
        self._over_ns = began_ns + HANDLING_NS
        self.credit = CREDIT_BYTES
        self._has_fetched = False
        self.is_crowded = len(self.backlog) + len(self.fetching) > 1
        if self.backlog:
            self._resume()
        if self.fetching:
            self._resume_fetching()

    def _resume(self) -> None:
        """Go on with the backlog. Whoever has had nothing of this turn comes first in the next; one that has much to do
        goes to the end of the line, or all others would wait until it has nothing left."""
        backlog, self.backlog = self.backlog, []
        for index, connection in enumerate(backlog):
            if self.credit <= 0 and self.is_over():
                self.backlog = backlog[index:] + self.backlog
                return
            connection.resume()

    def _resume_fetching(self) -> None:
        """Go on with fetches of many partitions, as many as there is time for; the others are not even looked at."""
        fetching = self.fetching
        for _ in range(len(fetching)):
            if self._is_fetching_over():
                return
            fetching.popleft().resume()

    @property
    def has_backlog(self) -> bool:
        """Tell whether the next turn has to begin at once."""
        return bool(self.backlog or self.fetching)

    def drop_backlog(self) -> None:
        """Forget everything that was left to later turns: the node stops."""
        self.backlog.clear()
        self.fetching.clear()

    def is_over(self) -> bool:
        """Tell whether to leave the rest to the next turn."""
        if self._clock.monotonic_ns() > self._over_ns:
            return True
        self.credit = CREDIT_BYTES
        return False

    def may_fetch(self) -> bool:
        """Tell whether a fetch of many partitions may be begun."""
        if self._is_fetching_over():
            return False
        self._has_fetched = True
        return True

    def _is_fetching_over(self) -> bool:
        if not self._has_fetched:
            return self._is_for_expiring
        return self._clock.monotonic_ns() > self.began_ns + FETCHING_NS

    def may_expire(self, is_due: bool) -> bool:
        """Tell whether to end the waits whose time is up: not in a turn that has begun a fetch of many partitions. The
        turn after that one begins no such fetch, so that each kind gets on in every other turn at least."""
        self._is_for_expiring = is_due and self._has_fetched
        if self._is_for_expiring:
            return False
        self._expiring_over_ns = self._clock.monotonic_ns() + FETCHING_NS
        return True

    def is_expiring_over(self) -> bool:
        """Tell whether to leave the other waits that are due to the next turn."""
        return self._clock.monotonic_ns() > self._expiring_over_ns

    def end(self) -> None:
        """Write what was appended, answer what that makes true, and send all answers."""
        if self.appended:
            self._write()
        if self.quick:
            self._answer_quick()
        if self.quick_commits:
            now_ns, count = self._clock.monotonic_ns(), self.quick_commits
            self.request_metrics.answered_quickly(_OFFSET_COMMIT, count, self.began_ns, now_ns)
            self.quick_commits = 0
        if self.quick_fetches:
            now_ns, count = self._clock.monotonic_ns(), self.quick_fetches
            self.request_metrics.answered_quickly(_FETCH, count, self.began_ns, now_ns)
            self.quick_fetches = 0
        if self.produced:
            produced, self.produced = self.produced, []
            for operation in produced:
                operation.settle()
        if self.grown:
            grown, self.grown = self.grown, {}
            wake_grown(grown)
        if self.moved:
            moved, self.moved = self.moved, {}
            wake_waiters(moved)
        if self.sending:
            sending, self.sending = self.sending, []
            for connection in sending:
                connection.flush()
        for connection in self.connections:
            connection.end_turn()
        self.connections.clear()
        self.request_metrics.sent(self._clock.monotonic_ns())

    def note_time(self) -> None:
        """Note how long the turn took, after whatever else the node had to do."""
        self.times.add(self._clock.monotonic_ns() - self.began_ns, self.monotonic_ms)

    def _write(self) -> None:
        appended, self.appended = self.appended, {}
        self._logs.commit([partition.log for partition in appended], self.wall_ms)
        for partition in appended:
            if partition.advance() or partition.fetch_waiters:  # of which some may read to the end of the log
                self.grown[partition] = None

    def _answer_quick(self) -> None:
        """Answer the requests of the produce path. What is true of a partition is asked once for all of its requests in
        a row."""
        quick, self.quick = self.quick, []
        known: Partition | None = None
        high_watermark = acknowledgeable = log_start_offset = 0
        delayed = 0
        for connection, sequence, correlation_id, append, path in quick:
            partition = path.partition
            if partition is not known:
                known, log = partition, partition.log
                log_start_offset = log.log_start_offset
                high_watermark, acknowledgeable = log.high_watermark, log.acknowledgeable_offset
            bound = high_watermark if path.acks == ALL_REPLICAS else acknowledgeable
            if append.code is _DONE and append.last_offset < bound:
                connection.complete(sequence, [path.response(correlation_id, append, log_start_offset)])
            else:
                self.produced.append(path.delayed(connection, sequence, correlation_id, append))
                delayed += 1
        if len(quick) > delayed:  # they were answered at one moment, so they are counted together
            now_ns = self._clock.monotonic_ns()
            self.request_metrics.answered_quickly(_PRODUCE, len(quick) - delayed, self.began_ns, now_ns)
