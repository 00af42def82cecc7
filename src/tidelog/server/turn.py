"""One turn of the loop is one group commit.

    poll: bytes -> frames -> handlers -> appends, staged in their logs
    end:  one write a log -> high watermarks move -> who waited for that is answered -> all sends

Nothing is answered before what it promises is written. Between two turns no receive buffer is in use, so its memory is
free again; within one, the appended batches are views of it.

A turn stops taking requests when its time is up. What is left waits in the connections' buffers (`backlog`), and the
next turn begins with it.
"""

from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.ports.clock import Clock
from tidelog.server.partition import Partition
from tidelog.server.waiting import wake_waiters
from tidelog.storage.log_append import Append
from tidelog.storage.logs import Logs

if TYPE_CHECKING:
    from tidelog.server.connection import ClientConnection
    from tidelog.server.handlers.produce import DelayedProduce
    from tidelog.server.produce_path import ProducePath

# The time for taking requests. Writing, answering and sending come on top: 50 ms is what a turn may take in all.
HANDLING_NS = 15_000_000


class Turn:
    def __init__(self, clock: Clock, logs: Logs) -> None:
        self._clock = clock
        self._logs = logs
        self.wall_ms = clock.wall_ms()
        self.monotonic_ms = clock.monotonic_ms()
        self.began_ns = clock.monotonic_ns()
        self._over_ns = self.began_ns + HANDLING_NS
        self.connections: list[ClientConnection] = []  # that received something
        self.sending: list[ClientConnection] = []
        self.backlog: list[ClientConnection] = []
        self.appended: dict[Partition, None] = {}
        self.moved: dict[Partition, None] = {}  # high watermark or log start, since the last turn's end
        self.quick: list[tuple[ClientConnection, int, int, Append, ProducePath]] = []
        self.produced: list[DelayedProduce] = []

    def begin(self) -> None:
        clock = self._clock
        self.wall_ms, self.monotonic_ms = clock.wall_ms(), clock.monotonic_ms()
        self.began_ns = clock.monotonic_ns()
        self._over_ns = self.began_ns + HANDLING_NS
        backlog, self.backlog = self.backlog, []
        for connection in backlog:
            connection.resume()

    def is_over(self) -> bool:
        """Whether to leave the rest to the next turn."""
        return self._clock.monotonic_ns() > self._over_ns

    def end(self) -> None:
        self._commit()
        if self.moved:
            moved, self.moved = self.moved, {}
            wake_waiters(moved)
        self._send()
        for connection in self.connections:
            connection.end_turn()
        self.connections.clear()

    def _commit(self) -> None:
        if self.appended:
            appended, self.appended = self.appended, {}
            self._logs.commit([partition.log for partition in appended], self.wall_ms)
            for partition in appended:
                if partition.advance():
                    self.moved[partition] = None
        if self.quick:
            quick, self.quick = self.quick, []
            for connection, sequence, correlation_id, append, path in quick:
                if append.code is ErrorCode.NONE and append.last_offset < path.partition.acknowledged_to(path.acks):
                    connection.complete(sequence, [path.response(correlation_id, append)])
                else:
                    self.produced.append(path.delayed(connection, sequence, correlation_id, append))
        if self.produced:
            produced, self.produced = self.produced, []
            for operation in produced:
                operation.settle()

    def _send(self) -> None:
        sending, self.sending = self.sending, []
        for connection in sending:
            connection.flush()
