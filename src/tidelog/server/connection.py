"""One client's connection: frames out of its bytes, its requests to their handlers, its responses in order.

    received -> frames -> a quick path (a request like the last one), or dispatch -> ... -> complete -> outgoing

Backpressure is the peer's own TCP window. A client that does not read its responses is not read from either, until the
network has taken what was waiting for it; one with too many requests in flight, or too large answers that wait for an
earlier one, is left alone until some have left; and frames that a turn has no time for wait in the buffer for the next.

Compiled by mypyc, as are `turn` and `produce_path`: a small request costs less than its system calls only if little is
interpreted between them.
"""

from typing import TYPE_CHECKING, Any, Final

from tidelog.ports.network import Accepted, SendPart
from tidelog.protocol.errors import ProtocolError
from tidelog.protocol.framing import ReceiveBuffer
from tidelog.protocol.server_connection import Request, ServerConnection

if TYPE_CHECKING:
    from tidelog.server.broker import Broker
    from tidelog.server.commit_path import CommitPath
    from tidelog.server.produce_path import ProducePath

INITIAL_RECEIVE_BYTES: Final = 16_384
# Answers kept in memory for one client before its next request is looked at: a request of thirty bytes may be answered
# with a megabyte, and a receive buffer holds hundreds of them.
OWED_BYTES_MAX: Final = 1_048_576
QUICK_COST: Final = 4_096  # of a request on a quick path, beside its bytes: see `Turn.credit`


class ClientConnection:
    __slots__ = (
        "accepted",
        "broker",
        "client_software",
        "commit_path",
        "id",
        "is_closed",
        "is_full",
        "is_in_backlog",
        "is_in_turn",
        "is_sending",
        "is_waiting_for_memory",
        "last_active_ms",
        "memory",
        "outgoing",
        "owed_bytes",
        "produce_path",
        "protocol",
        "receive",
        "turn",
    )

    def __init__(self, broker: "Broker", accepted: Accepted) -> None:
        self.broker = broker
        self.turn = broker.turn
        self.accepted = accepted
        self.id = accepted.connection
        self.receive = ReceiveBuffer(broker.limits.request_bytes_max, INITIAL_RECEIVE_BYTES)
        self.protocol = ServerConnection(broker.served_on(accepted.listener), self.receive)
        self.client_software = ("unknown", "unknown")  # until ApiVersions tells
        self.produce_path: ProducePath | None = None
        self.commit_path: CommitPath | None = None
        self.outgoing: list[SendPart] = []
        self.owed_bytes = 0  # of answers that the network was not given yet; those of the produce path are too small
        self.last_active_ms = broker.turn.monotonic_ms
        self.is_closed = False
        self.is_full = False  # too many requests are unanswered, or their answers too large
        self.is_sending = False  # the network still has something that it could not hand over
        self.is_in_turn = False
        self.is_in_backlog = False
        self.is_waiting_for_memory = False
        self.memory = broker.request_memory

    # The Receiver port

    def writable(self) -> memoryview:
        return self.receive.writable()

    def received(self, count: int) -> None:
        self.receive.commit(count)
        turn = self.turn
        self.last_active_ms = turn.monotonic_ms
        if not self.is_in_turn:
            self.is_in_turn = True
            turn.connections.append(self)
        self.take_frames()

    def connected(self) -> None:
        raise AssertionError("an accepted connection does not connect")

    def drained(self) -> None:
        self.is_sending = False
        if self.receive.pending_bytes:
            self._wait_for_next_turn()
        else:
            self._listen_if_able()

    def closed(self, reason: str) -> None:
        self.is_closed = True
        self._release_held()
        self.broker.connection_closed(self, reason)

    # Requests

    def take_frames(self) -> None:
        """Handle what has arrived, as long as the turn has time and the client is owed few answers."""
        receive, turn, protocol = self.receive, self.turn, self.protocol
        try:
            while not self.is_closed:
                if turn.credit <= 0 and turn.is_over():
                    self._wait_for_next_turn()
                    return
                if self.owed_bytes > OWED_BYTES_MAX or not protocol.wants_bytes:
                    self.is_full = True
                    self.broker.network.mute(self.id)
                    return
                frame = receive.next_frame()
                if frame is None:
                    if self.memory is not None:
                        self._count_memory()
                    return
                start, end = frame
                produces, commits = self.produce_path, self.commit_path
                if (produces is not None and produces.take(self, start, end)) or (
                    commits is not None and commits.take(self, start, end)
                ):
                    turn.credit -= QUICK_COST + end - start
                else:
                    turn.credit = 0  # what a handler takes is not known
                    self._dispatch(start, end)
        except ProtocolError as error:
            self.broker.protocol_error(self, error)

    def _count_memory(self) -> None:
        memory = self.memory
        if memory is not None and not memory.note(self):
            self.is_waiting_for_memory = True
            self.broker.network.mute(self.id)

    def go_on_receiving(self) -> None:
        self.is_waiting_for_memory = False
        self._listen_if_able()

    def _dispatch(self, start: int, end: int) -> None:
        request = self.protocol.open(start, end)
        if isinstance(request, Request):
            self.broker.dispatch.handle(self, request, start)
        else:
            self.broker.dispatch.refuse_unsupported(self, request)

    def _wait_for_next_turn(self) -> None:
        if not self.is_in_backlog:
            self.is_in_backlog = True
            self.turn.backlog.append(self)
        self.broker.network.mute(self.id)

    def resume(self) -> None:
        """The next turn: go on where the last one stopped."""
        self.is_in_backlog = False
        if self.is_closed or self.is_sending:
            return
        if not self.is_in_turn:
            self.is_in_turn = True
            self.turn.connections.append(self)
        self._listen_if_able()
        self.take_frames()

    def _listen_if_able(self) -> None:
        is_held = self.is_sending or self.is_in_backlog or self.is_full or self.is_waiting_for_memory
        if not is_held and not self.is_closed:
            self.broker.network.unmute(self.id)

    # Responses

    def complete(self, sequence: int, parts: list[Any]) -> None:
        """The answer to a request; it leaves at the end of the turn, unless earlier ones are still to come."""
        if self.is_closed:
            release(parts)
            return
        ready = self.protocol.respond(sequence, parts)
        if ready:
            if not self.outgoing:
                self.turn.sending.append(self)
            self.outgoing += ready
        if self.is_full:
            self._go_on_if_able()

    def flush(self) -> None:
        """The end of the turn."""
        parts, self.outgoing = self.outgoing, []
        if self.is_closed:
            release(parts)
            return
        if not self.broker.network.send(self.id, parts):
            self.is_sending = True
            self.broker.network.mute(self.id)
        if self.owed_bytes:
            self.owed_bytes = self.protocol.held_bytes
            self._go_on_if_able()

    def _go_on_if_able(self) -> None:
        if self.is_full and self.owed_bytes <= OWED_BYTES_MAX and self.protocol.wants_bytes:
            self.is_full = False
            self._wait_for_next_turn()

    def end_turn(self) -> None:
        """What was appended from this buffer has been written: its memory may be used again."""
        self.is_in_turn = False
        self.receive.release()

    def close(self) -> None:
        """Ours to end: a peer that broke the protocol, or a limit. What it was answered before that still leaves."""
        if not self.is_closed:
            self.is_closed = True
            parts, self.outgoing = self.outgoing, []
            self.broker.network.send(self.id, parts)
            self.broker.network.close(self.id)
            self._release_held()
            self.broker.connection_closed(self, "closed by us")

    def _release_held(self) -> None:
        release(self.outgoing)
        self.outgoing = []
        release(self.protocol.abandon())


def release(parts: list[Any]) -> None:
    """File ranges in responses that nobody will receive give their files back."""
    for part in parts:
        if not isinstance(part, bytes | bytearray | memoryview):
            part.release()
