"""What clients are told as a broker's address.

That is what `advertised.listeners` (or `--advertise`) says, where it is set. Otherwise a client is told the address by
which it reached us, which is right on a host with several networks and never a wildcard; it can not be right behind NAT
or a published container port, where only the operator knows the way in.
"""

from collections.abc import Mapping

from tidelog.config import BrokerConfig
from tidelog.metadata.nodes import Broker as BrokerRegistration
from tidelog.ports.network import Accepted, Address


class Advertised:
    """The addresses by which this broker tells clients to reach brokers."""

    def __init__(self, node_id: int, fixed: Mapping[str, Address] | None) -> None:
        """`fixed` has the advertised addresses by listener name; None: a client is told the address that it used."""
        self._node_id = node_id
        self._fixed = fixed

    def address_of(self, broker: BrokerRegistration, accepted: Accepted) -> Address | None:
        """Return the address of `broker` on the listener that the client came by; None where the broker does not have
        it."""
        if broker.id == self._node_id:
            if self._fixed is None:
                return accepted.local
            if accepted.listener in self._fixed:
                return self._fixed[accepted.listener]
        endpoint = broker.endpoints.get(accepted.listener)
        return None if endpoint is None else Address(endpoint.host, endpoint.port)


def fixed_addresses(config: BrokerConfig, bound: Mapping[str, Address]) -> dict[str, Address] | None:
    """Return the addresses of `advertised.listeners`, None where it is not set. Port 0 stands for the port that was
    bound."""
    advertised = config.listener_plan.advertised
    if advertised is None:
        return None
    return {each.name: Address(each.host, each.port or bound[each.name].port) for each in advertised}
