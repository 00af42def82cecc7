"""The addresses that clients, and other brokers, are told."""

import pytest

from tidelog.config import format_properties, load_broker_config
from tidelog.config.broker_config import BrokerConfig
from tidelog.metadata.nodes import Broker, Endpoint
from tidelog.model.ids import Uuid
from tidelog.ports.network import Accepted, Address, ConnectionId
from tidelog.server.cluster.advertised import Advertised, fixed_addresses
from tidelog.server.cluster.endpoints import registered_endpoints

BOUND = {"PLAINTEXT": Address("0.0.0.0", 9092), "CONTROLLER": Address("0.0.0.0", 9093)}


def config(**properties: str) -> BrokerConfig:
    given = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": "1@node:9093",
        "controller.listener.names": "CONTROLLER",
        "listeners": "PLAINTEXT://0.0.0.0:9092,CONTROLLER://0.0.0.0:9093",
        **{name.replace("_", "."): value for name, value in properties.items()},
    }
    return load_broker_config(format_properties(given), "a test").config


def broker(node: int) -> Broker:
    endpoints = {"PLAINTEXT": Endpoint("PLAINTEXT", f"host{node}", 1000 + node, 0)}
    return Broker(node, 1, Uuid(bytes(16)), endpoints, {}, None, False, False)


def accepted(local: str, listener: str = "PLAINTEXT") -> Accepted:
    return Accepted(ConnectionId(1), listener, Address("10.1.1.1", 5), Address(local, 9092))


@pytest.mark.parametrize("local", ["192.168.1.5", "10.0.0.5", "fd00::5"])
def test_unless_told_otherwise_a_client_hears_the_address_that_it_used(local: str) -> None:
    advertised = Advertised(1, fixed_addresses(config(), BOUND))
    assert advertised.address_of(broker(1), accepted(local)) == Address(local, 9092)


def test_of_another_broker_it_hears_what_that_has_registered() -> None:
    advertised = Advertised(1, None)
    assert advertised.address_of(broker(2), accepted("10.0.0.5")) == Address("host2", 1002)
    assert advertised.address_of(broker(2), accepted("10.0.0.5", "OTHER")) is None


def test_what_the_operator_says_goes_before_all() -> None:
    told = config(advertised_listeners="PLAINTEXT://public.example:19092")
    advertised = Advertised(1, fixed_addresses(told, BOUND))
    assert advertised.address_of(broker(1), accepted("172.17.0.2")) == Address("public.example", 19092)


def test_a_wildcard_is_never_registered() -> None:
    (endpoint,) = registered_endpoints(config(), BOUND)
    assert (endpoint.name, endpoint.host, endpoint.port) == ("PLAINTEXT", "localhost", 9092)
