"""What clients are told as a broker's address.

With `advertised.listeners` (or `--advertise`) that. Without, a client is told the address by which it reached us, which
is right on a host with several networks and never a wildcard; it can not be right behind NAT or a published container
port, where only the operator knows the way in.
"""

from collections.abc import Mapping

from tidelog.config import BrokerConfig
from tidelog.metadata.nodes import Broker as BrokerRegistration
from tidelog.ports.network import Accepted, Address


class Advertised:
    def __init__(self, node_id: int, fixed: Mapping[str, Address] | None) -> None:
        """`fixed` by listener name; None: the address that the client used."""
        self._node_id = node_id
        self._fixed = fixed

    def address_of(self, broker: BrokerRegistration, accepted: Accepted) -> Address | None:
        """None where the broker does not have the listener that the client came by."""
        if broker.id == self._node_id:
            if self._fixed is None:
                return accepted.local
            if accepted.listener in self._fixed:
                return self._fixed[accepted.listener]
        endpoint = broker.endpoints.get(accepted.listener)
        return None if endpoint is None else Address(endpoint.host, endpoint.port)


def fixed_addresses(config: BrokerConfig, bound: Mapping[str, Address]) -> dict[str, Address] | None:
    """What `advertised.listeners` says; port 0 stands for the one that was bound."""
    advertised = config.listener_plan.advertised
    if advertised is None:
        return None
    return {each.name: Address(each.host, each.port or bound[each.name].port) for each in advertised}
