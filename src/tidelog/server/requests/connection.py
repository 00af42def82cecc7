"""One client's connection: frames out of its bytes, its requests to their handlers, its responses in order.

    received -> frames -> a quick path (a request like the last one), or dispatch -> ... -> complete -> outgoing

Backpressure is the peer's own TCP window. A client that does not read its responses is not read from either, until the
network has taken what was waiting for it; one with too many requests in flight, or too large answers that wait for an
earlier one, is left alone until some have left; and frames that a turn has no time for wait in the buffer for the next.

Compiled by mypyc, as are `turn` and `produce.quick_path`: a small request costs less than its system calls only if
little is interpreted between them.
"""

from typing import TYPE_CHECKING, Any, Final

from tidelog.ports.network import Accepted, SendPart
from tidelog.protocol.api import ApiKey
from tidelog.protocol.errors import ProtocolError
from tidelog.protocol.framing import ReceiveBuffer
from tidelog.protocol.server_connection import Request, ServerConnection

if TYPE_CHECKING:
    from tidelog.server.coordination.quick_commit import CommitPath
    from tidelog.server.fetch.delayed_fetch import DelayedFetch
    from tidelog.server.fetch.quick_path import FetchPath
    from tidelog.server.fetch.repeated_fetch import RepeatedFetch
    from tidelog.server.node.broker import Broker
    from tidelog.server.produce.quick_path import ProducePath

INITIAL_RECEIVE_BYTES: Final = 16_384
# Answers kept in memory for one client before its next request is looked at: a request of thirty bytes may be answered
# with a megabyte, and a receive buffer holds hundreds of them.
OWED_BYTES_MAX: Final = 1_048_576
LARGE_FETCH_BYTES: Final = 2_048  # a fetch of so many bytes names dozens of partitions
_FETCH: Final = int(ApiKey.FETCH)
QUICK_COST: Final = 4_096  # what a request on a quick path costs beside its bytes: see `Turn.credit`


class ClientConnection:
    """One client's connection, which is the network's Receiver."""

    __slots__ = (
        "accepted",
        "broker",
        "client_software",
        "commit_path",
        "fetch_path",
        "holder",
        "id",
        "is_closed",
        "is_full",
        "is_held",
        "is_in_backlog",
        "is_in_turn",
        "is_sending",
        "is_waiting_for_memory",
        "kept_bytes",
        "last_active_ms",
        "memory",
        "outgoing",
        "owed_bytes",
        "parked",
        "produce_path",
        "protocol",
        "receive",
        "repeated_fetch",
        "sliced",
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
        self.fetch_path: FetchPath | None = None
        self.repeated_fetch: RepeatedFetch | None = None
        self.parked: dict[DelayedFetch, None] = {}  # its fetches that wait
        self.outgoing: list[SendPart] = []
        self.owed_bytes = 0  # answers not given to the network yet; those of the produce path do not count
        self.kept_bytes = 0  # held by requests that wait, beyond the receive buffer
        self.last_active_ms = broker.turn.monotonic_ms
        self.is_closed = False
        self.is_full = False  # too many requests are unanswered, or their answers too large
        self.is_sending = False  # the network still has something that it could not hand over
        self.is_held = False  # by a request that is under way in slices
        self.holder = 0  # the sequence of that request
        self.sliced = 0  # how many of its requests are worked on in slices
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
        """Handle the frames that have arrived, as long as the turn has time and the client is owed few answers."""
        receive, turn, protocol = self.receive, self.turn, self.protocol
        try:
            while not (self.is_closed or self.is_held):
                if turn.credit <= 0 and turn.is_over():
                    self._wait_for_next_turn()
                    return
                if self.owed_bytes + self.kept_bytes > OWED_BYTES_MAX or not protocol.wants_bytes:
                    if not receive.pending_bytes:
                        return  # and go on listening, so that the connection's end is seen
                    self.is_full = True
                    self.broker.network.mute(self.id)
                    return
                frame = receive.next_frame()
                if frame is None:
                    if self.memory is not None:
                        self._count_memory()
                    return
                start, end = frame
                if end - start > LARGE_FETCH_BYTES and _is_fetch(receive.buffer, start) and not turn.may_fetch():
                    receive.put_back(start)
                    self._wait_to_fetch()
                    return
                produces, commits = self.produce_path, self.commit_path
                fetches, repeated = self.fetch_path, self.repeated_fetch
                if (
                    (produces is not None and produces.take(self, start, end))
                    or (commits is not None and commits.take(self, start, end))
                    or (fetches is not None and fetches.take(self, start, end))
                    or (repeated is not None and repeated.take(start, end))
                ):
                    turn.credit -= QUICK_COST + end - start
                    if self.is_sending:
                        return  # the answer left at once, as far as the client takes it: `drained` goes on
                else:
                    turn.credit = 0  # what a handler takes is not known
                    self._dispatch(start, end)
                    if turn.is_crowded and self.receive.pending_bytes and not (self.is_closed or self.is_held):
                        self._wait_for_next_turn()  # a long pipeline would take the turns of all who wait behind it
                        return
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

    def hold(self, sequence: int) -> None:
        """Take no further frames until this request, which is under way in slices, lets go."""
        self.is_held, self.holder = True, sequence
        self.receive.surrender()
        self.broker.network.mute(self.id)

    def let_go(self, sequence: int) -> None:
        """Go on with the next frames after a request was answered, or has begun to wait. It may be one that never
        held the connection, or did so before it had to wait: then another holds it now, and nothing may overtake that
        one."""
        if self.is_held and self.holder == sequence:
            self.is_held = False
            if not self.is_closed:
                if self.memory is not None:
                    self._count_memory()  # now, because no frames are looked for while the answer is being sent
                self._wait_for_next_turn()

    def _wait_for_next_turn(self) -> None:
        if not self.is_in_backlog:
            self.is_in_backlog = True
            self.turn.backlog.append(self)
        self.broker.network.mute(self.id)

    def _wait_to_fetch(self) -> None:
        """Wait for a turn that has time for the next request, a fetch of many partitions."""
        if not self.is_in_backlog:
            self.is_in_backlog = True
            self.turn.fetching.append(self)
        self.broker.network.mute(self.id)

    def resume(self) -> None:
        """Go on, in a new turn, where the last one stopped."""
        self.is_in_backlog = False
        if self.is_closed or self.is_sending:
            return
        if not self.is_in_turn:
            self.is_in_turn = True
            self.turn.connections.append(self)
        self.take_frames()
        self._listen_if_able()

    def _listen_if_able(self) -> None:
        is_busy = self.is_sending or self.is_in_backlog or self.is_full or self.is_waiting_for_memory
        if not is_busy and not self.is_held and not self.is_closed:
            self.broker.network.unmute(self.id)

    # Responses

    def complete(self, sequence: int, parts: list[Any]) -> None:
        """Take the answer to a request. It leaves at the end of the turn, unless earlier ones are still to come."""
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

    def complete_at_once(self, sequence: int, parts: list[Any]) -> None:
        """Send an answer that rests on nothing of this turn now, so that the client works on it while the next request
        is handled. Behind an answer that waits for the end of the turn it waits, too."""
        is_first = not self.outgoing
        self.complete(sequence, parts)
        if is_first and self.outgoing:
            self.turn.sending.pop()
            self.flush()

    def flush(self) -> None:
        """Hand the network what may leave: mostly at the end of the turn."""
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

    def keep(self, size_bytes: int) -> None:
        """Count memory that a waiting request takes until `give_back`."""
        self.kept_bytes += size_bytes

    def give_back(self, size_bytes: int) -> None:
        self.kept_bytes -= size_bytes
        self._go_on_if_able()

    def _go_on_if_able(self) -> None:
        if self.is_full and self.owed_bytes + self.kept_bytes <= OWED_BYTES_MAX and self.protocol.wants_bytes:
            self.is_full = False
            self._wait_for_next_turn()

    def end_turn(self) -> None:
        """Free the receive buffer: what was appended from it has been written."""
        self.is_in_turn = False
        self.receive.release()

    def close(self) -> None:
        """End the connection from our side: the peer broke the protocol, or a limit is reached. Earlier answers still
        leave."""
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
        for fetch in list(self.parked):
            fetch.abandon()
        self.forget_repeated_fetch()
        self.receive.discard()  # a waiting operation may refer to this connection for a long time

    def forget_repeated_fetch(self) -> None:
        repeated, self.repeated_fetch = self.repeated_fetch, None
        if repeated is not None:
            repeated.forget()

    def rest(self) -> None:
        """Give back the memory that earlier requests took, after the connection was quiet for a while."""
        self.receive.trim()
        if self.repeated_fetch is not None and not self.parked:
            self.forget_repeated_fetch()


def _is_fetch(buffer: bytearray, start: int) -> bool:
    return buffer[start] == 0 and buffer[start + 1] == _FETCH


def release(parts: list[Any]) -> None:
    """Release the files of file ranges in responses that nobody will receive."""
    for part in parts:
        if not isinstance(part, bytes | bytearray | memoryview):
            part.release()
