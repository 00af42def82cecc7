"""Connections: negotiation, order, and what becomes of requests when they end."""

from typing import Any

import pytest

from tests.unit.client.simulated import client_of
from tidelog.client.client import Client
from tidelog.client.connection import Connection
from tidelog.client.errors import CannotConnect, ClientError, UnsupportedByBroker
from tidelog.client.metadata import Node
from tidelog.model.errors import ErrorCode
from tidelog.ports.network import ConnectionId, Receiver
from tidelog.protocol.api import ServedRequests
from tidelog.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from tidelog.protocol.messages.metadata import MetadataRequest, MetadataResponse
from tidelog.protocol.messages.produce import ProduceRequest
from tidelog.protocol.messages.registry import REQUESTS
from tidelog.protocol.server_connection import ServerConnection
from tidelog.sim.clock import SimClock
from tidelog.sim.entropy import SimEntropy
from tidelog.sim.node_world import NodeWorld


class Broker:
    """The other end of a connection, in the hands of the test; also the client's World."""

    def __init__(self) -> None:
        self.clock = SimClock()
        self.entropy = SimEntropy(1)
        self.addresses = ["10.0.0.1"]
        self.tried: list[str] = []
        self.is_congested = False
        self.is_closed = False

    @property
    def network(self) -> Any:
        return self

    def resolve(self, _host: str, _port: int) -> list[str]:
        return self.addresses

    def connect(self, host: str, _port: int, receiver: Receiver) -> ConnectionId:
        self.tried.append(host)
        self.receiver = receiver
        self.protocol = ServerConnection(ServedRequests(REQUESTS))
        return ConnectionId(len(self.tried))

    def send(self, _connection: ConnectionId, parts: list[Any]) -> bool:
        for part in parts:
            self.protocol.receive.feed(bytes(part))
        return not self.is_congested

    def close(self, _connection: ConnectionId) -> None:
        self.is_closed = True

    def next_request(self) -> Any:
        return self.protocol.next_event()

    def answer(self, request: Any, message: object, version: int | None = None) -> None:
        version = request.api_version if version is None else version
        for part in (
            self.protocol.respond(request, message, version) if version else self.protocol.respond(request, message, 0)
        ):
            room = self.receiver.writable()
            room[: len(part)] = part
            self.receiver.received(len(part))


def test_unknown() -> None: ...
