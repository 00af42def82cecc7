"""Rules about listeners: each has a name, a protocol and a port of its own, and what is advertised can be reached."""

import ipaddress
from collections.abc import Iterator

from tidelog.config import unserved
from tidelog.config.endpoints import WILDCARD_HOST, Listener, SecurityProtocol
from tidelog.config.listener_plan import plan_listeners
from tidelog.config.problems import Problem
from tidelog.config.rules import Rule, violation
from tidelog.config.settings import listeners
from tidelog.config.values import Values


def names_are_distinct(values: Values) -> Iterator[Problem]:
    plan = plan_listeners(values)
    if len(set(plan.names)) < len(plan.names):
        yield violation(values, listeners.LISTENERS, "two listeners have the same name")
    advertised = [listener.name for listener in plan.advertised or ()]
    if len(set(advertised)) < len(advertised):
        yield violation(values, listeners.ADVERTISED_LISTENERS, "two listeners have the same name")


def ports_are_distinct(values: Values) -> Iterator[Problem]:
    """Yield the ports that two listeners share, except port 0 (any free one), and one that an IPv4 and an IPv6 address
    share."""
    by_port: dict[int, list[Listener]] = {}
    for listener in plan_listeners(values).listeners:
        by_port.setdefault(listener.port, []).append(listener)
    for port, sharing in by_port.items():
        versions = sorted(_ip_version(listener.host) for listener in sharing)
        if port and len(sharing) > 1 and versions != [4, 6]:
            yield violation(values, listeners.LISTENERS, f"port {port} is there twice", "one port a listener")


def protocols_are_known(values: Values) -> Iterator[Problem]:
    plan = plan_listeners(values)
    for setting, named in ((listeners.LISTENERS, plan.listeners), (listeners.ADVERTISED_LISTENERS, plan.advertised)):
        unmapped = [listener.name for listener in named or () if listener.name not in plan.protocols]
        if unmapped:
            yield violation(values, setting, f"{unmapped[0]} is not in listener.security.protocol.map")


def listeners_are_served(values: Values) -> Iterator[Problem]:
    """Yield each listener with another protocol than PLAINTEXT, the only one that is served: a listener that was to
    encrypt or to ask for a login must not open without."""
    plan = plan_listeners(values)
    for name in plan.names:
        protocol = plan.protocols.get(name)
        if protocol and protocol is not SecurityProtocol.PLAINTEXT:
            reason = unserved.NOT_PLAINTEXT.format(listener=name, protocol=protocol.value)
            yield violation(values, listeners.LISTENERS, reason, unserved.PLAINTEXT_INSTEAD)


def clients_have_a_listener(values: Values) -> Iterator[Problem]:
    plan = plan_listeners(values)
    if plan.is_broker and not plan.advertised_to_clients:
        name = listeners.LISTENERS if plan.advertised is None else listeners.ADVERTISED_LISTENERS
        yield violation(values, name, "a broker, but every listener is in controller.listener.names")


def advertised_listeners_exist(values: Values) -> Iterator[Problem]:
    plan = plan_listeners(values)
    absent = [listener.name for listener in plan.advertised_to_clients if listener.name not in plan.names]
    if plan.is_broker and absent:
        yield violation(
            values,
            listeners.ADVERTISED_LISTENERS,
            f"{absent[0]} is not in listeners",
            f"some of {', '.join(plan.names)}",
        )


def advertised_hosts_can_be_reached(values: Values) -> Iterator[Problem]:
    for listener in plan_listeners(values).advertised or ():
        if listener.host == WILDCARD_HOST:
            yield violation(values, listeners.ADVERTISED_LISTENERS, f"nobody can connect to {WILDCARD_HOST}")


def brokers_have_a_listener(values: Values) -> Iterator[Problem]:
    plan = plan_listeners(values)
    named = values.is_set(listeners.INTER_BROKER_LISTENER_NAME)
    setting = listeners.INTER_BROKER_LISTENER_NAME if named else listeners.SECURITY_INTER_BROKER_PROTOCOL
    known = [listener.name for listener in plan.advertised_to_clients]
    if plan.is_broker and known and plan.inter_broker_name not in known:
        yield violation(values, setting, "no listener of that name is advertised", f"one of {', '.join(known)}")
    elif plan.inter_broker_name not in plan.protocols:
        yield violation(values, setting, "not in listener.security.protocol.map")


def one_way_to_name_the_brokers_listener(values: Values) -> Iterator[Problem]:
    named = values.is_set(listeners.INTER_BROKER_LISTENER_NAME)
    if named and values.is_set(listeners.SECURITY_INTER_BROKER_PROTOCOL):
        yield violation(
            values, listeners.SECURITY_INTER_BROKER_PROTOCOL, "inter.broker.listener.name is set too", "one of the two"
        )


def early_listeners_exist(values: Values) -> Iterator[Problem]:
    plan = plan_listeners(values)
    known = plan.names
    absent = [name for name in values.get(listeners.EARLY_START_LISTENERS) or () if name.upper() not in known]
    if absent:
        yield violation(
            values, listeners.EARLY_START_LISTENERS, f"{absent[0]} is no listener", f"some of {', '.join(known)}"
        )


def _ip_version(host: str) -> int:
    """Return 4 or 6, or 0 for a name (or every interface)."""
    try:
        return ipaddress.ip_address(host.partition("%")[0]).version
    except ValueError:
        return 0


LISTENER_RULES: tuple[Rule, ...] = (
    names_are_distinct,
    ports_are_distinct,
    protocols_are_known,
    listeners_are_served,
    clients_have_a_listener,
    advertised_listeners_exist,
    advertised_hosts_can_be_reached,
    brokers_have_a_listener,
    one_way_to_name_the_brokers_listener,
    early_listeners_exist,
)
