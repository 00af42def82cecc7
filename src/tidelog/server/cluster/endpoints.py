"""What a broker registers of its listeners.

Where `advertised.listeners` is not set, clients are told the address by which they reached us; other brokers, which
read it here, are told the host's own name or address, never a wildcard.
"""

from collections.abc import Mapping

from tidelog.config import BrokerConfig
from tidelog.config.endpoints import SecurityProtocol
from tidelog.metadata.nodes import Endpoint
from tidelog.ports.network import Address

SECURITY_PROTOCOLS = {
    SecurityProtocol.PLAINTEXT: 0,
    SecurityProtocol.SSL: 1,
    SecurityProtocol.SASL_PLAINTEXT: 2,
    SecurityProtocol.SASL_SSL: 3,
}
WILDCARDS = ("", "0.0.0.0", "::")
LOOPBACK = "localhost"


def registered_endpoints(config: BrokerConfig, bound: Mapping[str, Address]) -> list[Endpoint]:
    plan = config.listener_plan
    endpoints = []
    for listener in plan.advertised_to_clients:
        address = bound.get(listener.name)
        port = listener.port or (address.port if address is not None else 0)
        host = LOOPBACK if listener.host in WILDCARDS else listener.host
        endpoints.append(Endpoint(listener.name, host, port, SECURITY_PROTOCOLS[plan.protocols[listener.name]]))
    return endpoints
