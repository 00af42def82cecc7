"""One connection to one broker: requests in, outcomes out, whatever happens to the socket in between.

    connecting -> negotiating (ApiVersions) -> authenticating (SASL) -> ready -> closed
        |  no address of the host answers           ^------------------'   ^ a request timed out, the peer closed,
        v                                             the session is over    bytes made no sense, it refused us
     closed

What is sent before the connection is ready waits here, because the version of a request depends on the broker. Every
request gets exactly one outcome, in the order of sending: a response, or a ClientError. A connection that was closed
stays closed; whoever needs another one makes it.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tidelog.client.errors import ClientError, UnsupportedByBroker
from tidelog.client.metadata import Node
from tidelog.client.security.errors import SecurityFailure
from tidelog.client.world import World
from tidelog.model.errors import ErrorCode
from tidelog.ports.network import ConnectionId
from tidelog.protocol.api import ApiKey
from tidelog.protocol.client_connection import ClientConnection
from tidelog.protocol.errors import ProtocolError
from tidelog.protocol.framing import ReceiveBuffer
from tidelog.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tidelog.protocol.messages.registry import RESPONSES
from tidelog.protocol.schema import schema_of
from tidelog.protocol.versions import Versions

if TYPE_CHECKING:
    from tidelog.client.security.access import Access
    from tidelog.client.security.sasl import Exchange
    from tidelog.client.security.security import SaslSettings
    from tidelog.client.security.tls_network import TlsNetwork
    from tidelog.ports.network import Network

CONNECT_TIMEOUT_MS: Final = 10_000
SOFTWARE_NAME: Final = "tidelog"
SOFTWARE_VERSION: Final = "1"
# Fetch responses come by the megabyte; a smaller buffer would grow on the first of them anyway.
INITIAL_RECEIVE_BYTES: Final = 1 << 20

OnDone = Callable[[Any], None]  # takes the response or a ClientError


@dataclass(slots=True)
class Pending:
    request: object
    on_done: OnDone
    timeout_ms: int
    expects_response: bool
    deadline_ms: int
    version_max: int | None = None  # None: the highest that both sides know


class Connection:
    """A connection to one broker, and the Receiver that the network hands its bytes to."""

    def __init__(self, world: World, node: Node, client_id: str, access: "Access | None" = None) -> None:
        """Begin to connect. `access`: TLS and SASL; None for neither."""
        self.node = node
        self.is_ready = False
        self.is_closed = False
        self.versions: dict[int, Versions] = {}
        self._world = world
        self._access = access
        self._network: Network | TlsNetwork = world.network if access is None else self._secured(access)
        self._protocol = ClientConnection(RESPONSES, client_id, ReceiveBuffer(initial_capacity=INITIAL_RECEIVE_BYTES))
        self._queued: deque[Pending] = deque()  # sent as soon as the connection is ready
        self._owed: deque[Pending] = deque()  # sent
        self._undrained: list[Pending] = []  # sent with acks=0, and not all written to the socket yet
        self._addresses: deque[str] = deque()
        self._id: ConnectionId | None = None
        self._connect_by_ms = 0
        self._closed_because = ""
        self._is_heard = False  # the broker has answered a request, so we speak the same protocol
        self._exchange: Exchange | None = None  # of authentication
        self._renew_ms: int | None = None  # when to authenticate again
        self._open()

    @property
    def in_flight(self) -> int:
        return len(self._queued) + len(self._owed) + len(self._undrained)

    @property
    def deadline_ms(self) -> int | None:
        """The time at which `advance` has to look again, even if nothing arrives; None: never."""
        if not self.is_ready:
            waiting = [*self._queued, *list(self._owed)[:1]]
            return min([self._connect_by_ms, *(each.deadline_ms for each in waiting)])
        return self._owed[0].deadline_ms if self._owed else None

    def send(
        self,
        request: object,
        on_done: OnDone,
        timeout_ms: int,
        *,
        expects_response: bool = True,
        version_max: int | None = None,
    ) -> None:
        deadline_ms = self._world.clock.monotonic_ms() + timeout_ms
        pending = Pending(request, on_done, timeout_ms, expects_response, deadline_ms, version_max)
        self._renew(deadline_ms - timeout_ms)
        if self.is_closed:
            on_done(self._error(pending, ErrorCode.NETWORK_EXCEPTION, self._closed_because))
        elif self.is_ready:
            self._send_now(pending)
        else:
            self._queued.append(pending)

    def advance(self, now_ms: int) -> None:
        """Hand out the responses that have arrived, and give up what is overdue."""
        self._hand_out()
        self._renew(now_ms)
        deadline_ms = self.deadline_ms
        if self.is_closed or deadline_ms is None or now_ms < deadline_ms:
            return
        is_connecting = self._id is not None and not self.is_ready and not self._owed
        if is_connecting and deadline_ms == self._connect_by_ms:
            assert self._id is not None
            self._network.close(self._id)
            self._connect_to_next("no answer in time")
        else:
            self.fail(ErrorCode.REQUEST_TIMED_OUT, "no answer in time")

    def _hand_out(self) -> None:
        try:
            while not self.is_closed and (response := self._protocol.next_response()) is not None:
                self._is_heard = self._is_heard or self.is_ready
                self._owed.popleft().on_done(response.message)
                self._protocol.receive.release()
        except ProtocolError as error:
            self.fail(ErrorCode.NETWORK_EXCEPTION, f"what it sent makes no sense: {error}{self._doubt()}")

    def fail(self, code: ErrorCode, message: str, step: str | None = None) -> None:
        """Close the connection; every request that is not answered gets this error."""
        if self.is_closed:
            return
        self.is_closed, self.is_ready, self._closed_because = True, False, message
        if self._id is not None:
            self._network.close(self._id)
        pending = [*self._owed, *self._undrained, *self._queued]
        for line in (self._owed, self._undrained, self._queued):
            line.clear()
        for each in pending:
            each.on_done(self._error(each, code, message, step))

    def version_of(self, request: type, version_max: int | None = None) -> int:
        """Return the highest version that both sides know and the caller allows. A version that Kafka does not call
        stable is used only where `version_max` names it."""
        schema = schema_of(request)
        served = self.versions.get(schema.api_key)
        stable = schema.versions.highest - (1 if schema.latest_version_unstable else 0)
        highest = stable if version_max is None else min(schema.versions.highest, version_max)
        common = Versions(schema.versions.lowest, highest).intersection(served) if served is not None else None
        if not common:
            serves = "does not serve it" if served is None else f"serves versions {served}, we know {schema.versions}"
            asked = request.__name__
            raise UnsupportedByBroker(ErrorCode.UNSUPPORTED_VERSION, asked, str(self.node), f"it {serves}")
        return common.highest

    # Connecting

    def _open(self) -> None:
        try:
            self._addresses.extend(self._world.resolve(self.node.host, self.node.port))
        except OSError as error:
            self.fail(ErrorCode.NETWORK_EXCEPTION, f"the host name does not resolve: {error.strerror or error}")
            return
        self._connect_to_next("no address")

    def _connect_to_next(self, reason: str) -> None:
        if not self._addresses:
            self.fail(ErrorCode.NETWORK_EXCEPTION, reason)
            return
        self._connect_by_ms = self._world.clock.monotonic_ms() + CONNECT_TIMEOUT_MS
        self._id = self._network.connect(self._addresses.popleft(), self.node.port, self)

    def _negotiate(self, version: int) -> None:
        request = ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=SOFTWARE_VERSION)
        pending = Pending(request, self._negotiated, CONNECT_TIMEOUT_MS, True, self._connect_by_ms)
        self._owed.append(pending)
        self._hand_over(self._protocol.send(request, version))

    def _negotiated(self, outcome: ApiVersionsResponse | ClientError) -> None:
        if isinstance(outcome, ClientError):
            return  # the connection failed, and told everybody else itself
        ranges = {each.api_key: Versions(each.min_version, each.max_version) for each in outcome.api_keys}
        if outcome.error_code == ErrorCode.UNSUPPORTED_VERSION:
            self._negotiate(max(0, ranges.get(ApiKey.API_VERSIONS, Versions(0, 0)).highest))
            return
        if outcome.error_code:
            self.fail(ErrorCode.UNSUPPORTED_VERSION, f"ApiVersions was refused with {outcome.error_code}")
            return
        self.versions = ranges
        if self._access is None or self._access.sasl is None:
            self._admit()
        else:
            self._authenticate(self._access.sasl)

    def _admit(self) -> None:
        self.is_ready = True
        while self._queued and not self.is_closed:
            self._send_now(self._queued.popleft())

    # Security

    def _secured(self, access: "Access") -> "Network | TlsNetwork":
        if access.tls is None:
            return self._world.network
        from tidelog.client.security.tls_network import TlsNetwork

        return TlsNetwork(self._world.network, access, self.node.host, self._tls_failed)

    def _tls_failed(self, failure: SecurityFailure) -> None:
        """Fail the connection. Where TLS has worked before, bytes were damaged on their way: then the error is one
        after which another connection is tried."""
        if self._is_heard:
            self.fail(ErrorCode.NETWORK_EXCEPTION, failure.message)
        else:
            self._refused(failure)

    def _refused(self, failure: SecurityFailure) -> None:
        self.fail(failure.code, failure.message, failure.step)

    def _renew(self, now_ms: int) -> None:
        """Authenticate again when the session is about to end. Requests in flight are answered first; those sent
        meanwhile wait."""
        if self.is_ready and self._renew_ms is not None and now_ms >= self._renew_ms:
            assert self._access is not None
            assert self._access.sasl is not None
            self._authenticate(self._access.sasl)

    def _authenticate(self, settings: "SaslSettings") -> None:
        from tidelog.client.security.sasl import NONCE_BYTES, authenticate

        self.is_ready, self._renew_ms = False, None
        self._exchange = authenticate(settings, self._world.entropy.random_bytes(NONCE_BYTES))
        self._ask_next(next(self._exchange))

    def _ask_next(self, request: object) -> None:
        """Send the next request of the authentication. Its deadline counts from when the requests in flight are due,
        because the broker answers those first and may take its time."""
        now_ms = self._world.clock.monotonic_ms()
        self._connect_by_ms = max([now_ms, *(each.deadline_ms for each in self._owed)]) + CONNECT_TIMEOUT_MS
        pending = Pending(request, self._answered, CONNECT_TIMEOUT_MS, True, self._connect_by_ms)
        self._owed.append(pending)
        try:
            self._hand_over(self._protocol.send(request, self.version_of(type(request))))
        except (UnsupportedByBroker, ProtocolError) as error:
            self.fail(ErrorCode.UNSUPPORTED_VERSION, str(error))

    def _answered(self, outcome: Any) -> None:
        if isinstance(outcome, ClientError):
            return  # the connection failed, and told everybody else itself
        assert self._exchange is not None
        try:
            request = self._exchange.send(outcome)
        except StopIteration as done:
            self._renew_ms = self._world.clock.monotonic_ms() + done.value if done.value else None
            self._admit()
        except SecurityFailure as failure:
            self._refused(failure)
        else:
            self._ask_next(request)

    def _doubt(self) -> str:
        """Return a hint for the error text where nothing that we sent was ever answered."""
        if self._is_heard:
            return ""
        spoken = "PLAINTEXT" if self._access is None else self._access.protocol
        return f"; is it a listener of security.protocol {spoken}?"

    # Sending

    def _send_now(self, pending: Pending) -> None:
        pending.deadline_ms = self._world.clock.monotonic_ms() + pending.timeout_ms
        try:
            version = self.version_of(type(pending.request), pending.version_max)
            parts = self._protocol.send(pending.request, version, expect_response=pending.expects_response)
        except UnsupportedByBroker as error:
            pending.on_done(error)
            return
        except ProtocolError as error:
            code, api = ErrorCode.UNSUPPORTED_VERSION, type(pending.request).__name__
            pending.on_done(UnsupportedByBroker(code, api, str(self.node), str(error)))
            return
        if pending.expects_response:
            self._owed.append(pending)
        is_handed_over = self._hand_over(parts)
        if not pending.expects_response:
            self._undrained.append(pending)
            if is_handed_over:
                self.drained()

    def _hand_over(self, parts: list[Any]) -> bool:
        if self._id is None:
            return False  # the peer has closed; `closed` is about to fail this request
        return self._network.send(self._id, parts)

    def _error(self, pending: Pending, code: ErrorCode, message: str, step: str | None = None) -> ClientError:
        api = type(pending.request).__name__.removesuffix("Request")
        return ClientError(code, api, str(self.node), message, step)

    # The receiver's side

    def writable(self) -> memoryview:
        return self._protocol.receive.writable()

    def received(self, count: int) -> None:
        self._protocol.receive.commit(count)

    def connected(self) -> None:
        self._negotiate(schema_of(ApiVersionsRequest).versions.highest)

    def drained(self) -> None:
        handed_over, self._undrained = self._undrained, []
        for each in handed_over:
            each.on_done(None)

    def closed(self, reason: str) -> None:
        """Read what has arrived before failing: a broker answers a refused password, say, and then hangs up."""
        self._id = None
        self._hand_out()
        if self.is_closed:
            return
        if self.is_ready or self._owed:
            self.fail(ErrorCode.NETWORK_EXCEPTION, reason + self._doubt())
        else:
            self._connect_to_next(reason)
