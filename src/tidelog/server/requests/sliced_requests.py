"""Requests that are too large for one turn: decoded, handled and answered in slices (ADR 15).

    dispatch -> decode -> few elements: handled at once, like any other
                       -> many: the connection is held, its buffer kept, and each turn has one slice for all of them:
                          decode -> the handler's steps -> encode -> the response leaves, the connection goes on
                       -> too many: INVALID_REQUEST, or the end of the connection where its response has no place for it

A slice works on one request after the other, in turns. How many are under way at once is bounded by what they may build
(`ELEMENTS_AT_ONCE`): the others wait as bytes. While a request is under way its connection is not read from, so
what it pinned is bounded by one request for each connection, which `request_memory` counts. A connection that ends
counts as one until what it has under way here is done (`Connections.finished`): a request that changes something is
carried out although its client has left.
"""

from collections import deque
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Final

from tidelog.model.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.codec import sliced_decoder, sliced_encoder
from tidelog.protocol.compile_sliced_decoder import SLICE
from tidelog.protocol.errors import EncodeError, MessageTooLarge, ProtocolError, TooManyElements
from tidelog.protocol.messages.registry import REQUESTS
from tidelog.protocol.server_connection import Request, framed_response
from tidelog.protocol.varint import MAX_LENGTH
from tidelog.server.requests.element_limits import ELEMENTS_MAX, WHOLE_ELEMENTS_MAX, elements_max_of
from tidelog.server.requests.handler import Handler, RequestContext, SlicedContext, Steps
from tidelog.server.requests.questions import QUESTIONS
from tidelog.server.requests.refusals import refuse_in_slices
from tidelog.server.requests.sliced_work import TurnSlices
from tidelog.server.requests.unserved_requests import refusal_of

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker
    from tidelog.server.requests.connection import ClientConnection

# The elements that all requests under way may build at once: two of the largest, so that none waits alone for long.
ELEMENTS_AT_ONCE: Final = 2 * ELEMENTS_MAX
# A resource or group that is named again and again is described again and again: a request of kilobytes must not be
# answered with gigabytes. The settings of 10,000 topics with all their synonyms are less.
RESPONSE_BYTES_MAX: Final = 67_108_864

_ELEMENTS: Final = "more than %d array elements"
_BYTES: Final = "an answer of more than %d bytes"


class SlicedRequest:
    """One request under way, and the most elements that it can have. `is_owed`: it is finished although its client has
    left."""

    __slots__ = ("context", "elements", "is_owed", "steps")

    def __init__(self, context: SlicedContext, steps: Steps[None], elements: int, *, is_owed: bool = False) -> None:
        self.context = context
        self.steps = steps
        self.elements = elements
        self.is_owed = is_owed


class SlicedRequests(TurnSlices):
    """All requests that are under way in slices; together one item of the turn's backlog."""

    def __init__(self, broker: "Broker") -> None:
        super().__init__(broker)
        self._active: deque[SlicedRequest] = deque()
        self._waiting: deque[SlicedRequest] = deque()
        self._active_elements = 0
        self._is_stopped = False
        self.refused_total = 0

    def __len__(self) -> int:
        return len(self._active) + len(self._waiting)

    def decode(
        self, connection: "ClientConnection", request: Request, handler: Handler, started_ns: int, frame: int
    ) -> Any:
        """Return the body of a request with few elements. None where it has many, and goes on in slices from here, or
        too many, and was refused."""
        most = elements_max_of(request.api_key)
        allowed = [most]
        decoder = sliced_decoder(REQUESTS[request.api_key], request.api_version)
        steps = decoder(request.buffer, request.position, request.end, allowed)
        try:
            for _ in range(WHOLE_ELEMENTS_MAX // SLICE):
                next(steps)
        except StopIteration as decoded:
            body = decoded.value[0]
            if most - allowed[0] <= WHOLE_ELEMENTS_MAX:
                return body
            self._begin(connection, request, handler, started_ns, frame, _decoded(body), most - allowed[0])
        except TooManyElements:
            self._refuse(connection, request, _ELEMENTS, most)
        else:
            elements = min(most, request.end - request.position)
            self._begin(connection, request, handler, started_ns, frame, steps, elements)
        return None

    def _begin(
        self,
        connection: "ClientConnection",
        request: Request,
        handler: Handler,
        started_ns: int,
        frame: int,
        decoding: Generator[None, None, tuple[Any, int]],
        elements: int,
    ) -> None:
        context = SlicedContext(connection, request, self._broker.turn.began_ns, started_ns, frame)
        connection.hold(request.sequence)
        self._add(SlicedRequest(context, self._steps(context, handler, decoding), elements))

    def begin_steps(
        self, context: RequestContext, body: object, steps: Callable[["Broker", RequestContext, Any], Steps[Any]]
    ) -> None:
        """Answer a small request with a large response in slices: what its steps return is the response."""
        sliced = SlicedContext(
            context.connection, context.request, context.received_ns, context.started_ns, context.frame_start
        )
        context.connection.hold(context.request.sequence)
        handler = self._broker.dispatch.handlers[context.request.api_key]
        under_way = steps(self._broker, sliced, body)
        self._add(SlicedRequest(sliced, self._handle(sliced, handler, body, under_way), 0))

    def begin_answer(self, context: RequestContext, body: object, response: object) -> None:
        """Encode a large response in slices, where nothing else is left to do."""

        def steps(_broker: "Broker", _context: RequestContext, _body: Any) -> Steps[object]:
            yield
            return response

        self.begin_steps(context, body, steps)

    def answer(self, context: SlicedContext, response: object) -> None:
        """Encode the response to a request that was waiting in slices, too."""
        self._add(SlicedRequest(context, self._answer(context, response), 0))

    def go_on(
        self, context: RequestContext, body: object, steps: Steps[Any], *, is_owed: bool = False
    ) -> SlicedContext:
        """Go on in slices with a request that has waited, and has more to do now than fits into a turn. Its connection
        is held where it was. `is_owed`: the work concerns others than the client, and is done even if the client has
        left."""
        sliced = context
        if not isinstance(sliced, SlicedContext):
            sliced = SlicedContext(
                context.connection, context.request, context.received_ns, context.started_ns, context.frame_start
            )
        handler = self._broker.dispatch.handlers[context.request.api_key]
        self._add(SlicedRequest(sliced, self._handle(sliced, handler, body, steps), 0, is_owed=is_owed))
        return sliced

    def _add(self, work: SlicedRequest) -> None:
        """Take up work. What builds nothing new does not queue up behind what does: a request that is under way may
        wait for it, and would keep out those in front of it."""
        work.context.connection.sliced += 1
        if work.elements:
            self._waiting.append(work)
            self._admit()
        else:
            self._active.append(work)
        self._queue_up()

    def _admit(self) -> None:
        waiting = self._waiting
        while waiting and (not self._active or self._active_elements + waiting[0].elements <= ELEMENTS_AT_ONCE):
            work = waiting.popleft()
            self._active_elements += work.elements
            self._active.append(work)

    # The loop

    def resume(self) -> None:
        """Work on requests for one slice of a turn."""
        until_ns, active = self._begin_slice(), self._active
        self._broker.turn.is_eventful = True
        while active:
            work = active.popleft()
            if self._is_done(work, until_ns):
                self._ended(work)
                self._admit()
            else:
                active.append(work)
                break
        if active:
            self._queue_up()

    def _ended(self, work: SlicedRequest) -> None:
        self._active_elements -= work.elements
        connection = work.context.connection
        connection.sliced -= 1
        if connection.is_closed and not connection.sliced:
            self._broker.connections.finished(connection)

    def _is_done(self, work: SlicedRequest, until_ns: int) -> bool:
        """Go on with a request until it is done or the slice is over; return whether it is done."""
        clock, connection = self._broker.clock, work.context.connection
        try:
            while not self._is_abandoned(work):
                next(work.steps)
                if clock.monotonic_ns() > until_ns:
                    return False
            work.steps.close()
        except StopIteration:
            pass
        except ProtocolError as error:
            self._broker.protocol_error(connection, error)
        return True

    def _is_abandoned(self, work: SlicedRequest) -> bool:
        """Tell whether the client has left, and nothing else comes of the request. A fetch is finished all the same,
        since it holds ranges of files, and so is a request that changes something, until the node stops."""
        if not work.context.connection.is_closed or work.is_owed:
            return False
        api_key = work.context.request.api_key
        return api_key in QUESTIONS or (self._is_stopped and api_key != ApiKey.FETCH)

    def stop(self) -> None:
        """End everything that is under way, except for fetches, which are finished. The connections are closed, so
        nobody hears of it."""
        self._is_stopped = True
        active = self._active
        active.extend(self._waiting)
        self._waiting.clear()
        while active:  # a step of each in turn: one may wait for another
            work = active.popleft()
            if self._is_done(work, 0):
                self._ended(work)
            else:
                active.append(work)
        self._active_elements = 0

    # One request

    def _steps(
        self, context: SlicedContext, handler: Handler, decoding: Generator[None, None, tuple[Any, int]]
    ) -> Steps[None]:
        try:
            body, _ = yield from decoding
        except TooManyElements:
            self._refuse(context.connection, context.request, _ELEMENTS, elements_max_of(context.request.api_key))
            return
        steps = None if handler.steps is None else handler.steps(self._broker, context, body)
        yield from self._handle(context, handler, body, steps)

    def _handle(self, context: SlicedContext, handler: Handler, body: Any, steps: Steps[Any] | None) -> Steps[None]:
        response: Any
        try:
            if steps is None:
                response = handler.handle(self._broker, context, body)
            else:
                response = yield from steps
            context.handled_ns = self._broker.clock.monotonic_ns()
            if response is not None:
                yield from self._answer(context, response)
        except Exception as error:  # noqa: BLE001 - as in `dispatch`: a bug costs one request, not the node
            response = yield from refuse_in_slices(handler, body, self._broker.dispatch.failure(context, error))
            if response is not None:
                yield from self._answer(context, response)
            else:
                context.respond_nothing()
                context.connection.close()

    def _answer(self, context: SlicedContext, response: object) -> Steps[None]:
        """Encode and send the response. Errors of elements that are made on demand are raised here."""
        if context.connection.is_closed:
            context.release(response)
            context.send([], getattr(response, "error_code", 0))
            return
        request, limit = context.request, RESPONSE_BYTES_MAX
        if request.api_key == ApiKey.METADATA:
            limit = MAX_LENGTH  # names each partition once: only the cluster bounds it
        try:
            parts = yield from sliced_encoder(type(response), request.api_version)(response, limit)
            framed = framed_response(request.correlation_id, parts, type(response), request.api_version)
        except EncodeError as bug:
            context.could_not_encode(bug)
            context.release(response)
        except MessageTooLarge:
            context.release(response)
            self._refuse(context.connection, request, _BYTES, limit)
        else:
            context.send(framed, getattr(response, "error_code", 0))

    def _refuse(self, connection: "ClientConnection", request: Request, what: str, most: int) -> None:
        """Refuse a request as a whole, without answers for its elements: they were not built."""
        self.refused_total += 1
        self._broker.events.too_large(connection, request, what % most)
        parts = refusal_of(request, ErrorCode.INVALID_REQUEST)
        connection.complete(request.sequence, parts or [])
        if parts is None:
            connection.close()
        else:
            self._broker.request_metrics.refused(request.api_key, ErrorCode.INVALID_REQUEST)
            connection.let_go(request.sequence)


def _decoded(body: Any) -> Generator[None, None, tuple[Any, int]]:
    """Return the steps of a body that is decoded already."""
    yield
    return body, 0
