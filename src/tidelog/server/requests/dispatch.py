"""From a request to its handler, and from what goes wrong on the way to an answer.

- A version or API that is not served: ApiVersions gets the answer that lets a client find a version that is; Produce
  0-2, which are advertised and gone, get a proper refusal, and so does every other API whose response has a place for
  it (`unserved_requests`). All others are disconnected, since nothing that could be sent would be understood.
- A handler that can not be imported, for want of a descriptor: the connection is closed, and the node goes on.
- A body that can not be read is the peer's fault: the connection is closed (`ProtocolError`).
- ApiError: the API's own way to say no; a fault of a disk met on the way is one too (KAFKA_STORAGE_ERROR).
- A bug in a handler costs that request: UNKNOWN_SERVER_ERROR, the stack in the log, counted. It must not take the node
  down, or a poisonous request would walk from broker to broker. The same holds for what a request does in later turns
  (`fail`).
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tidelog.model.errors import ApiError, ErrorCode
from tidelog.ports.errors import StorageFault
from tidelog.protocol.api import ApiKey
from tidelog.protocol.errors import MalformedMessage
from tidelog.protocol.messages.registry import APIS, REQUESTS
from tidelog.protocol.server_connection import Request, UnsupportedRequest, decode_request, encode_response
from tidelog.server.handlers.api_versions import API_VERSIONS
from tidelog.server.node.deferred_modules import is_shortage
from tidelog.server.produce.old_versions import NEWEST, refuse_old_produce
from tidelog.server.requests.element_limits import WHOLE_BYTES_MAX
from tidelog.server.requests.handler import Handler, RequestContext
from tidelog.server.requests.unserved_requests import refuse_unserved

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker
    from tidelog.server.requests.connection import ClientConnection

# Logs and coordinators do within the turn what these requests ask for; the node's other parts need not look.
_DATA_PATH = frozenset(
    {
        ApiKey.PRODUCE,
        ApiKey.FETCH,
        ApiKey.OFFSET_COMMIT,
        ApiKey.OFFSET_FETCH,
        ApiKey.FIND_COORDINATOR,
        ApiKey.JOIN_GROUP,
        ApiKey.SYNC_GROUP,
        ApiKey.HEARTBEAT,
        ApiKey.LEAVE_GROUP,
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        ApiKey.INIT_PRODUCER_ID,
        ApiKey.ADD_PARTITIONS_TO_TXN,
        ApiKey.ADD_OFFSETS_TO_TXN,
        ApiKey.TXN_OFFSET_COMMIT,
        ApiKey.END_TXN,
        ApiKey.WRITE_TXN_MARKERS,
    }
)


class Dispatch:
    """The way from requests to handlers: `broker.dispatch`."""

    def __init__(self, broker: "Broker", handlers: Mapping[int, Handler]) -> None:
        self._broker = broker
        self.handlers = handlers
        self.bugs = 0

    def handle(self, connection: "ClientConnection", request: Request, frame_start: int) -> None:
        """Decode a request and have its handler answer it, at once or later."""
        broker = self._broker
        started_ns = broker.clock.monotonic_ns()
        context = RequestContext(connection, request, broker.turn.began_ns, started_ns, frame_start)
        try:  # both are imported on first use, which takes descriptors
            handler, message = self.handlers[request.api_key], REQUESTS[request.api_key]
        except (OSError, ImportError) as error:
            self._could_not_import(context, error)
            return
        if request.api_key not in _DATA_PATH:
            broker.turn.is_eventful = True
        if request.end - request.position > WHOLE_BYTES_MAX:
            body = broker.slices.decode(connection, request, handler, started_ns, frame_start)
            if body is None:
                return
        else:
            body = decode_request(request, message)
        try:
            response = handler.handle(broker, context, body)
        except Exception as error:  # noqa: BLE001 - a bug costs one request, not the node
            response = self._refuse(context, handler, body, self.failure(context, error))
        if response is not None:
            context.respond(response)
        else:
            context.handled_ns = broker.clock.monotonic_ns()

    def _could_not_import(self, context: RequestContext, error: OSError | ImportError) -> None:
        """Close the connection of a request whose handler could not be imported, mostly for want of a descriptor. That
        passes, and the next request of the kind tries again. An answer would have to be imported, too; a client takes
        the end of its connection for a reason to come again."""
        if is_shortage(error):
            self._broker.events.import_short(context.request, error)
        else:
            self.failure(context, error)
        context.respond_nothing()
        context.connection.close()

    def fail(self, context: RequestContext, body: object, error: Exception) -> None:
        """Answer a request that raised `error` when it went on after a wait, as if its handler had raised it."""
        handler = self.handlers[context.request.api_key]
        response = self._refuse(context, handler, body, self.failure(context, error))
        if response is not None:
            context.respond(response)

    def failure(self, context: RequestContext, error: Exception) -> ApiError:
        """Return what a client is told of an error that its request's handler raised."""
        if isinstance(error, ApiError):
            return error
        broker = self._broker
        if isinstance(error, StorageFault):
            broker.storage_fault(error)
            return ApiError(ErrorCode.KAFKA_STORAGE_ERROR, str(error))
        self.bugs += 1
        broker.events.bug(context.connection, context.request, error)
        return ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, "an internal error; the broker's log has it")

    def _refuse(self, context: RequestContext, handler: Handler, body: object, error: ApiError) -> object | None:
        response: object | None = handler.refuse(body, error.code, error.message)
        if response is None:
            context.respond_nothing()
            context.connection.close()
        return response

    def refuse_unsupported(self, connection: "ClientConnection", request: UnsupportedRequest) -> None:
        if request.api_key == ApiKey.PRODUCE and 0 <= request.api_version <= NEWEST:
            self._refuse_old_produce(connection, request)
            return
        if request.api_key == ApiKey.API_VERSIONS:
            response = API_VERSIONS.refuse(None, ErrorCode.UNSUPPORTED_VERSION, None)
            parts = encode_response(request.correlation_id, response, 0)
        else:
            found = refuse_unserved(request)
            if found is None:
                raise MalformedMessage(f"{_name_of(request)} version {request.api_version} is not served", 0)
            parts = found
        connection.complete(request.sequence, parts)

    def _refuse_old_produce(self, connection: "ClientConnection", request: UnsupportedRequest) -> None:
        body = memoryview(request.buffer)[request.position : request.end]
        answer = refuse_old_produce(request.correlation_id, request.api_version, body)
        connection.complete(request.sequence, [] if answer is None else [answer])
        if answer is None:
            connection.close()


def _name_of(request: UnsupportedRequest) -> str:
    name = f"{APIS[request.api_key].name}Request" if request.api_key in APIS else "an unknown API"
    return f"{name} ({request.api_key})"
