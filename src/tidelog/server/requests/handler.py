"""What a handler is, and what it knows of the request that it handles.

A handler is registered once (`registry`), and by that advertised in ApiVersions: an API that is not registered does
not exist. It answers at once by returning a response, or returns None and later calls `context.respond`. It may raise
ApiError when the whole request is refused; `dispatch` makes the API's own kind of answer of it.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from tidelog.model.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.errors import EncodeError
from tidelog.protocol.server_connection import Request, encode_response
from tidelog.server.requests.element_limits import WHOLE_ELEMENTS_MAX

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker
    from tidelog.server.requests.connection import ClientConnection


T = TypeVar("T")
# What a handler does for one request, with a yield wherever the turn may end; it returns the response, or None where
# `context.respond` will be called.
Steps: TypeAlias = Generator[None, None, T]


class RequestContext:
    """One request under way, and how to answer it."""

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
        """Encode and send the response. It may be called once. Where the connection has ended, the response goes
        nowhere."""
        request = self.request
        try:
            parts = encode_response(request.correlation_id, response, request.api_version)
        except EncodeError as bug:
            self.could_not_encode(bug)
            self.release(response)
            return
        self.send(parts, getattr(response, "error_code", 0))

    def could_not_encode(self, bug: EncodeError) -> None:
        self.connection.broker.dispatch.bugs += 1
        self.connection.broker.events.bug(self.connection, self.request, bug)
        self.connection.close()

    def release(self, response: Any) -> None:
        """Release the files in a response that will not be sent. Only a fetch has any."""
        if self.request.api_key != ApiKey.FETCH:
            return
        for topic in response.responses:
            for partition in topic.partitions:
                records = partition.records
                if records is not None and not isinstance(records, bytes | bytearray | memoryview):
                    records.release()

    def send(self, parts: list[Any], error_code: int) -> None:
        """Send the parts of the response's whole frame."""
        self.connection.owed_bytes += sum(len(part) for part in parts if isinstance(part, bytes))
        self.connection.complete(self.request.sequence, parts)
        self._note(error_code)

    def respond_nothing(self) -> None:
        """Close the request without an answer (acks=0), so that it does not hold back those behind it."""
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


class SlicedContext(RequestContext):
    """One request under way in slices: its connection is held until it is answered."""

    __slots__ = ()

    def respond(self, response: object) -> None:
        if self.connection.is_closed:  # to encode it would take more than a turn, for nobody
            self.release(response)
            self.send([], getattr(response, "error_code", 0))
        else:
            self.connection.broker.slices.answer(self, response)

    def send(self, parts: list[Any], error_code: int) -> None:
        super().send(parts, error_code)
        self.connection.let_go(self.request.sequence)

    def respond_nothing(self) -> None:
        super().respond_nothing()
        self.connection.let_go(self.request.sequence)


def respond(context: RequestContext, response: object, elements: int) -> None:
    """Send a response with about `elements` elements after a wait: encoded at once where they are few, and in slices
    otherwise."""
    if elements > WHOLE_ELEMENTS_MAX and not isinstance(context, SlicedContext):
        context = SlicedContext(
            context.connection, context.request, context.received_ns, context.started_ns, context.frame_start
        )
    context.respond(response)


def run_whole(steps: Steps[T]) -> T:
    """Run the steps to their end without a pause, and return their result."""
    while True:
        try:
            next(steps)
        except StopIteration as done:
            found: T = done.value
            return found


def whole(steps: Callable[["Broker", RequestContext, Any], Steps[Any]]) -> Callable[..., Any]:
    """Return the same handler without pauses, for requests that are small enough."""

    def handle(broker: "Broker", context: RequestContext, body: Any) -> Any:
        return run_whole(steps(broker, context, body))

    return handle


def answer_or_begin(
    context: RequestContext,
    body: Any,
    steps: Callable[["Broker", RequestContext, Any], Steps[T]],
    elements: int,
) -> T | None:
    """Return the response with about `elements` elements, where they are few. None: it is made in slices from here on,
    and sent when it is ready."""
    broker = context.connection.broker
    if elements <= WHOLE_ELEMENTS_MAX:
        return run_whole(steps(broker, context, body))
    broker.slices.begin_steps(context, body, steps)
    return None


@dataclass(frozen=True, slots=True)
class Handler:
    """One API's handler, and its way to refuse a request."""

    api_key: ApiKey
    handle: Callable[["Broker", RequestContext, Any], Any]
    # The answer to a request that is refused as a whole; None where the client expects none.
    refuse: Callable[[Any, ErrorCode, str | None], Any]
    # The same as `handle`, for a request with many elements: it yields wherever the turn may end, at every element.
    steps: Callable[["Broker", RequestContext, Any], Steps[Any]] | None = None
