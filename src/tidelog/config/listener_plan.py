"""What the listener settings mean together: where to listen, what to advertise, and who speaks which protocol.

Names are compared in upper case throughout. Nothing here judges; `listener_rules` does.
"""

from collections.abc import Mapping

from tidelog.config.endpoints import Listener, SecurityProtocol, parse_listener, parse_protocol_map
from tidelog.config.settings import listeners, node, quorum
from tidelog.config.values import Values
from tidelog.model.lazy_dataclass import dataclass

BROKER_ROLE = "broker"
CONTROLLER_ROLE = "controller"


@dataclass(slots=True, frozen=True)
class ListenerPlan:
    roles: tuple[str, ...]
    listeners: tuple[Listener, ...]
    # None: a client is told the address by which it reached us.
    advertised: tuple[Listener, ...] | None
    protocols: Mapping[str, SecurityProtocol]
    controller_names: tuple[str, ...]
    inter_broker_name: str

    @property
    def is_broker(self) -> bool:
        return BROKER_ROLE in self.roles

    @property
    def is_controller(self) -> bool:
        return CONTROLLER_ROLE in self.roles

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(listener.name for listener in self.listeners)

    @property
    def advertised_to_clients(self) -> tuple[Listener, ...]:
        """The listeners that brokers register: the advertised ones, or those of the node, without the controllers'
        own."""
        advertised = self.listeners if self.advertised is None else self.advertised
        return tuple(listener for listener in advertised if listener.name not in self.controller_names)


def plan_listeners(values: Values) -> ListenerPlan:
    controller_names = tuple(name.upper() for name in values.get(quorum.CONTROLLER_LISTENER_NAMES))
    advertised = values.get(listeners.ADVERTISED_LISTENERS)
    named = values.get(listeners.INTER_BROKER_LISTENER_NAME)
    return ListenerPlan(
        roles=values.get(node.PROCESS_ROLES),
        listeners=tuple(parse_listener(text) for text in values.get(listeners.LISTENERS)),
        advertised=None if advertised is None else tuple(map(parse_listener, advertised)),
        protocols=_protocols(values, controller_names),
        controller_names=controller_names,
        inter_broker_name=(named or values.get(listeners.SECURITY_INTER_BROKER_PROTOCOL)).upper(),
    )


def _protocols(values: Values, controller_names: tuple[str, ...]) -> dict[str, SecurityProtocol]:
    """Return the map as set. When it is not set, controllers speak PLAINTEXT, unless a listener here is named after SSL
    or SASL."""
    protocols = parse_protocol_map(values.get(listeners.LISTENER_SECURITY_PROTOCOL_MAP))
    if values.is_set(listeners.LISTENER_SECURITY_PROTOCOL_MAP):
        return protocols
    names = [parse_listener(text).name for text in values.get(listeners.LISTENERS)]
    secured = {protocol.value for protocol in SecurityProtocol} - {SecurityProtocol.PLAINTEXT.value}
    if secured.isdisjoint([*names, *controller_names]):
        protocols |= dict.fromkeys(controller_names, SecurityProtocol.PLAINTEXT)
    return protocols
