"""Connections whose other end is controlled by the test: negotiation, order, and the outcome of requests."""

from typing import Any

import pytest

from tidelog.client.connection import CONNECT_TIMEOUT_MS, Connection
from tidelog.client.errors import ClientError, UnsupportedByBroker
from tidelog.client.metadata import Node
from tidelog.model.errors import ErrorCode
from tidelog.ports.network import ConnectionId, Receiver
from tidelog.protocol.api import ServedRequests
from tidelog.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from tidelog.protocol.messages.delete_records import DeleteRecordsRequest
from tidelog.protocol.messages.describe_cluster import DescribeClusterRequest
from tidelog.protocol.messages.metadata import MetadataRequest, MetadataResponse
from tidelog.protocol.messages.produce import ProduceRequest
from tidelog.protocol.messages.registry import REQUESTS
from tidelog.protocol.server_connection import Request, ServerConnection, UnsupportedRequest, encode_response
from tidelog.sim.clock import SimClock
from tidelog.sim.entropy import SimEntropy

RANGES = [(0, 0, 13), (3, 0, 12), (18, 0, 4), (60, 0, 0)]
NODE = Node(1, "host", 9092)
TIMEOUT_MS = 1_000


class Broker:
    """The client's World and its network: connections are made when the test says so."""

    def __init__(self, *addresses: str) -> None:
        self.clock = SimClock()
        self.entropy = SimEntropy(1)
        self.network: Any = self
        self.addresses = list(addresses or ("10.0.0.1",))
        self.tried: list[str] = []
        self.closed: list[int] = []
        self.is_congested = False

    def resolve(self, _host: str, _port: int) -> list[str]:
        if not self.addresses:
            raise OSError("unknown")
        return self.addresses

    def wait(self, timeout_ms: int) -> None: ...

    def connect(self, host: str, _port: int, receiver: Receiver) -> ConnectionId:
        self.tried.append(host)
        self.receiver = receiver
        self.protocol = ServerConnection(ServedRequests(REQUESTS))
        return ConnectionId(len(self.tried))

    def send(self, _connection: ConnectionId, parts: list[Any]) -> bool:
        for part in parts:
            self.protocol.receive.feed(bytes(part))
        return not self.is_congested

    def close(self, *connection: int) -> None:
        self.closed += connection

    def request(self) -> Request | UnsupportedRequest:
        event = self.protocol.next_event()
        assert event is not None, "no request has come"
        return event

    def answer(self, request: Request | UnsupportedRequest, message: object, version: int | None = None) -> None:
        version = request.api_version if version is None else version
        for part in encode_response(request.correlation_id, message, version):
            rest = memoryview(bytes(part))
            while rest:
                room = self.receiver.writable()
                count = min(len(room), len(rest))
                room[:count] = rest[:count]
                self.receiver.received(count)
                rest = rest[count:]

    def negotiate(self, connection: Connection, ranges: list[tuple[int, int, int]] = RANGES) -> None:
        self.receiver.connected()
        self.answer(self.request(), versions(ranges))
        connection.advance(self.clock.monotonic_ms())


def versions(ranges: list[tuple[int, int, int]], error_code: int = 0) -> ApiVersionsResponse:
    keys = [ApiVersion(api_key=key, min_version=low, max_version=high) for key, low, high in ranges]
    return ApiVersionsResponse(error_code=error_code, api_keys=keys)


def metadata(name: str) -> MetadataResponse:
    return MetadataResponse(brokers=[], topics=[], cluster_id=name)


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def connection(broker: Broker) -> Connection:
    return Connection(broker, NODE, "me")


def test_requests_wait_for_the_versions_and_take_the_highest_that_both_know(
    broker: Broker, connection: Connection
) -> None:
    connection.send(MetadataRequest(topics=None), [].append, TIMEOUT_MS)
    connection.send(DescribeClusterRequest(include_cluster_authorized_operations=False), [].append, TIMEOUT_MS)
    broker.receiver.connected()
    asked = broker.request()
    assert (asked.api_key, asked.api_version, asked.client_id) == (18, 4, "me")
    assert broker.protocol.next_event() is None
    broker.answer(asked, versions(RANGES))
    connection.advance(0)
    assert [(each.api_key, each.api_version) for each in (broker.request(), broker.request())] == [(3, 12), (60, 0)]


def test_a_broker_that_knows_only_an_old_negotiation_is_asked_in_it(broker: Broker, connection: Connection) -> None:
    broker.receiver.connected()
    broker.answer(broker.request(), versions([(18, 0, 2)], ErrorCode.UNSUPPORTED_VERSION), version=0)
    connection.advance(0)
    again = broker.request()
    assert again.api_version == 2
    broker.answer(again, versions(RANGES))
    connection.advance(0)
    assert connection.is_ready


def test_what_the_broker_does_not_serve_is_said_without_asking(broker: Broker, connection: Connection) -> None:
    outcomes: list[Any] = []
    broker.negotiate(connection, [(18, 0, 4), (3, 14, 15)])
    connection.send(DeleteRecordsRequest(topics=[], timeout_ms=1), outcomes.append, TIMEOUT_MS)
    connection.send(MetadataRequest(topics=None), outcomes.append, TIMEOUT_MS)
    assert [type(each) for each in outcomes] == [UnsupportedByBroker] * 2
    assert "does not serve it" in str(outcomes[0])
    assert "14-15" in str(outcomes[1])
    assert broker.protocol.next_event() is None


def test_answers_go_to_those_who_asked_in_order(broker: Broker, connection: Connection) -> None:
    broker.negotiate(connection)
    outcomes: list[Any] = []
    for _ in range(3):
        connection.send(MetadataRequest(topics=None), outcomes.append, TIMEOUT_MS)
    assert connection.in_flight == 3
    for name in "abc":
        broker.answer(broker.request(), metadata(name))
    connection.advance(0)
    assert [each.cluster_id for each in outcomes] == ["a", "b", "c"]
    assert connection.in_flight == 0


def test_everything_that_was_not_answered_fails_once_when_the_connection_ends(
    broker: Broker, connection: Connection
) -> None:
    broker.negotiate(connection)
    outcomes: list[Any] = []
    for _ in range(3):
        connection.send(MetadataRequest(topics=None), outcomes.append, TIMEOUT_MS)
    broker.answer(broker.request(), metadata("a"))
    connection.advance(0)
    broker.receiver.closed("reset")
    broker.receiver.closed("reset")
    connection.send(MetadataRequest(topics=None), outcomes.append, TIMEOUT_MS)
    assert [type(each) for each in outcomes] == [MetadataResponse, ClientError, ClientError, ClientError]
    assert str(outcomes[1]).startswith(
        "Metadata (broker 1 at host:9092): NETWORK_EXCEPTION: reset; see that the broker"
    )


def test_what_was_answered_before_the_end_counts(broker: Broker, connection: Connection) -> None:
    """The answer and the end of the connection are both there when the poller looks. A request that is sent because of
    the answer fails with the end."""
    broker.negotiate(connection)
    outcomes: list[Any] = []

    def ask_again(outcome: Any) -> None:
        outcomes.append(outcome)
        connection.send(MetadataRequest(topics=None), outcomes.append, TIMEOUT_MS)

    connection.send(MetadataRequest(topics=None), ask_again, TIMEOUT_MS)
    broker.answer(broker.request(), metadata("a"))
    broker.receiver.closed("reset")
    assert [type(each) for each in outcomes] == [MetadataResponse, ClientError]
    assert connection.is_closed


def test_a_request_that_is_overdue_ends_the_connection(broker: Broker, connection: Connection) -> None:
    broker.negotiate(connection)
    outcomes: list[Any] = []
    connection.send(MetadataRequest(topics=None), outcomes.append, TIMEOUT_MS)
    due_ms = broker.clock.monotonic_ms() + TIMEOUT_MS
    assert connection.deadline_ms == due_ms
    connection.advance(due_ms - 1)
    assert connection.is_ready
    connection.advance(due_ms)
    assert [each.code for each in outcomes] == [ErrorCode.REQUEST_TIMED_OUT]
    assert connection.is_closed
    assert broker.closed == [1]


def test_bytes_that_make_no_sense_end_the_connection(broker: Broker, connection: Connection) -> None:
    broker.negotiate(connection)
    outcomes: list[Any] = []
    connection.send(MetadataRequest(topics=None), outcomes.append, TIMEOUT_MS)
    request = broker.request()
    request.correlation_id += 1
    broker.answer(request, metadata("x"))
    connection.advance(0)
    assert connection.is_closed
    assert "makes no sense" in str(outcomes[0])


def test_the_addresses_of_a_host_are_tried_in_turn() -> None:
    broker = Broker("::1", "127.0.0.1", "10.0.0.9")
    connection = Connection(broker, NODE, "me")
    outcomes: list[Any] = []
    connection.send(MetadataRequest(topics=None), outcomes.append, 2 * CONNECT_TIMEOUT_MS)
    broker.receiver.closed("refused")
    connection.advance(broker.clock.monotonic_ms() + CONNECT_TIMEOUT_MS)  # the second never answers
    assert broker.tried == ["::1", "127.0.0.1", "10.0.0.9"]
    assert not outcomes
    broker.receiver.closed("refused")
    assert [each.code for each in outcomes] == [ErrorCode.NETWORK_EXCEPTION]


def test_a_request_does_not_wait_for_the_connection_longer_than_it_may(broker: Broker, connection: Connection) -> None:
    outcomes: list[Any] = []
    connection.send(MetadataRequest(topics=None), outcomes.append, TIMEOUT_MS)
    connection.advance(broker.clock.monotonic_ms() + TIMEOUT_MS)
    assert [each.code for each in outcomes] == [ErrorCode.REQUEST_TIMED_OUT]


def test_a_host_that_does_not_resolve() -> None:
    broker = Broker()
    broker.addresses.clear()
    outcomes: list[Any] = []
    Connection(broker, NODE, "me").send(MetadataRequest(topics=None), outcomes.append, TIMEOUT_MS)
    assert "does not resolve" in str(outcomes[0])


def test_a_negotiation_that_is_not_answered_ends_the_connection(broker: Broker, connection: Connection) -> None:
    outcomes: list[Any] = []
    connection.send(MetadataRequest(topics=None), outcomes.append, 2 * CONNECT_TIMEOUT_MS)
    broker.receiver.connected()
    connection.advance(broker.clock.monotonic_ms() + CONNECT_TIMEOUT_MS)
    assert connection.is_closed
    assert [each.code for each in outcomes] == [ErrorCode.REQUEST_TIMED_OUT]


def test_what_gets_no_answer_is_done_when_it_is_handed_over(broker: Broker, connection: Connection) -> None:
    broker.negotiate(connection)
    outcomes: list[Any] = []
    request = ProduceRequest(acks=0, timeout_ms=1, topic_data=[])
    connection.send(request, outcomes.append, TIMEOUT_MS, expects_response=False)
    assert outcomes == [None]
    broker.is_congested = True
    connection.send(request, outcomes.append, TIMEOUT_MS, expects_response=False)
    assert (outcomes, connection.in_flight) == ([None], 1)
    broker.receiver.drained()
    assert outcomes == [None, None]
    assert connection.deadline_ms is None
