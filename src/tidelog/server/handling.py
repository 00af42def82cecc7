"""What a handler is, and what it knows of the request that it handles.

A handler is registered once (`registry`), and by that advertised in ApiVersions: an API that is not registered does
not exist. It answers at once by returning a response, or returns None and later calls `context.respond`. It may raise
ApiError when the whole request is refused; `dispatch` makes the API's own kind of answer of it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tidelog.model.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.errors import EncodeError
from tidelog.protocol.server_connection import Request, encode_response

if TYPE_CHECKING:
    from tidelog.server.broker import Broker
    from tidelog.server.connection import ClientConnection


class RequestContext:
    """One request under way."""

    __slots__ = ("connection", "frame_start", "handled_ns", "received_ns", "request", "started_ns")

    def __init__(
        self,
        connection: "ClientConnection",
        request: Request,
        received_ns: int,
        started_ns: int,
        frame_start: int = 0,
    ) -> None:
        self.connection = connection
        self.request = request
        self.received_ns = received_ns
        self.started_ns = started_ns
        self.handled_ns = 0  # while its handler runs
        self.frame_start = frame_start  # in the receive buffer; holds within the turn

    @property
    def api_version(self) -> int:
        return self.request.api_version

    @property
    def client_id(self) -> str:
        return self.request.client_id or ""

    def respond(self, response: object) -> None:
        """Once. Where the connection has ended meanwhile, nobody hears it."""
        request = self.request
        try:
            parts = encode_response(request.correlation_id, response, request.api_version)
        except EncodeError as bug:
            self.connection.broker.dispatch.bugs += 1
            self.connection.broker.events.bug(self.connection, request, bug)
            self.connection.close()
            return
        self.connection.owed_bytes += sum(len(part) for part in parts if isinstance(part, bytes))
        self.connection.complete(request.sequence, parts)
        self._note(getattr(response, "error_code", 0))

    def respond_nothing(self) -> None:
        """The request gets no answer (acks=0), and must not hold back those behind it."""
        self.connection.complete(self.request.sequence, [])
        self._note(0)

    def _note(self, error_code: int) -> None:
        broker, api_key = self.connection.broker, self.request.api_key
        now_ns = broker.clock.monotonic_ns()
        handled_ns = self.handled_ns or now_ns
        broker.request_metrics.answered(api_key, self.received_ns, self.started_ns, handled_ns, now_ns)
        if error_code:
            broker.request_metrics.refused(api_key, error_code)
        if broker.events.tells_requests:
            broker.events.request(self, now_ns, error_code)


@dataclass(frozen=True, slots=True)
class Handler:
    api_key: ApiKey
    handle: Callable[["Broker", RequestContext, Any], Any]
    # The answer to a request that is refused as a whole; None where the client expects none.
    refuse: Callable[[Any, ErrorCode, str | None], Any]
    is_for_controllers: bool = True  # whether a controller's listener serves it too, where Kafka's does
