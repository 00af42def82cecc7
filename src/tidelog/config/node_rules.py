"""Rules about the roles of a node and the quorum that it belongs to."""

from collections.abc import Iterator

from tidelog.config.endpoints import WILDCARD_HOST, Voter, parse_voter
from tidelog.config.listener_plan import BROKER_ROLE, CONTROLLER_ROLE, plan_listeners
from tidelog.config.problems import Problem
from tidelog.config.rules import Rule, violation
from tidelog.config.settings import groups, listeners, log, node, quorum
from tidelog.config.values import Values


def _voters(values: Values) -> list[Voter]:
    return [parse_voter(text) for text in values.get(quorum.CONTROLLER_QUORUM_VOTERS)]


def one_node_id(values: Values) -> Iterator[Problem]:
    if values.is_set(node.BROKER_ID) and values.get(node.BROKER_ID) != values.get(node.NODE_ID):
        yield violation(values, node.BROKER_ID, "not the same as node.id", f"{values.get(node.NODE_ID)}, or not set")


def a_quorum_to_join(values: Values) -> Iterator[Problem]:
    if not _voters(values) and not values.get(quorum.CONTROLLER_QUORUM_BOOTSTRAP_SERVERS):
        yield Problem(
            quorum.CONTROLLER_QUORUM_BOOTSTRAP_SERVERS.name,
            "missing, and so is controller.quorum.voters: the node would not know its controllers",
            valid=quorum.CONTROLLER_QUORUM_BOOTSTRAP_SERVERS.valid,
        )


def voters_are_distinct_and_reachable(values: Values) -> Iterator[Problem]:
    voters = _voters(values)
    ids = [voter.node_id for voter in voters]
    if len(set(ids)) < len(ids):
        yield violation(values, quorum.CONTROLLER_QUORUM_VOTERS, "a node is there twice")
    if any(voter.address.host == WILDCARD_HOST for voter in voters):
        yield violation(values, quorum.CONTROLLER_QUORUM_VOTERS, f"nobody can connect to {WILDCARD_HOST}")


def voters_fit_the_roles(values: Values) -> Iterator[Problem]:
    ids = [voter.node_id for voter in _voters(values)]
    roles, node_id = values.get(node.PROCESS_ROLES), values.get(node.NODE_ID)
    if CONTROLLER_ROLE in roles and ids and node_id not in ids:
        yield violation(values, quorum.CONTROLLER_QUORUM_VOTERS, f"a controller, but node {node_id} is not among them")
    if CONTROLLER_ROLE not in roles and node_id in ids:
        yield violation(values, quorum.CONTROLLER_QUORUM_VOTERS, f"no controller, but node {node_id} is among them")


def only_controllers_join(values: Values) -> Iterator[Problem]:
    joins = values.get(quorum.CONTROLLER_QUORUM_AUTO_JOIN_ENABLE)
    if joins and CONTROLLER_ROLE not in values.get(node.PROCESS_ROLES):
        yield violation(values, quorum.CONTROLLER_QUORUM_AUTO_JOIN_ENABLE, "this node is no controller", "false")


def controllers_listen_and_brokers_do_not(values: Values) -> Iterator[Problem]:
    plan = plan_listeners(values)
    shared = [name for name in plan.controller_names if name in plan.names]
    if not plan.is_controller and shared:
        yield violation(values, quorum.CONTROLLER_LISTENER_NAMES, f"no controller, but {shared[0]} is in listeners")
    missing = [name for name in plan.controller_names if name not in plan.names]
    if plan.is_controller and missing:
        yield violation(
            values, quorum.CONTROLLER_LISTENER_NAMES, f"{missing[0]} is not in listeners", "names in listeners"
        )


def controllers_alone_serve_no_clients(values: Values) -> Iterator[Problem]:
    plan = plan_listeners(values)
    if plan.is_broker:
        return
    others = [name for name in plan.names if name not in plan.controller_names]
    if others:
        yield violation(values, listeners.LISTENERS, f"no broker, but {others[0]} is not in controller.listener.names")
    if values.is_set(listeners.INTER_BROKER_LISTENER_NAME) and plan.inter_broker_name in plan.controller_names:
        yield violation(values, listeners.INTER_BROKER_LISTENER_NAME, "that is a listener of the controllers")


def controller_protocols_are_known(values: Values) -> Iterator[Problem]:
    plan = plan_listeners(values)
    unmapped = [name for name in plan.controller_names if name not in plan.protocols]
    if unmapped:
        yield violation(
            values, quorum.CONTROLLER_LISTENER_NAMES, f"{unmapped[0]} is not in listener.security.protocol.map"
        )


def the_classic_protocol_stays(values: Values) -> Iterator[Problem]:
    if "classic" not in values.get(groups.GROUP_COORDINATOR_REBALANCE_PROTOCOLS):
        yield violation(values, groups.GROUP_COORDINATOR_REBALANCE_PROTOCOLS, "classic cannot be turned off")


def group_protocols_are_served(values: Values) -> Iterator[Problem]:
    """Yield a problem where share groups are asked for. `streams` is part of Kafka's default and asks for nothing;
    `share` has to be asked for."""
    if "share" in values.get(groups.GROUP_COORDINATOR_REBALANCE_PROTOCOLS):
        reason = "share groups are not served yet, and a share consumer would be turned away"
        yield violation(values, groups.GROUP_COORDINATOR_REBALANCE_PROTOCOLS, reason, "a list of classic, consumer")


def cordoned_directories_exist(values: Values) -> Iterator[Problem]:
    cordoned = values.get(log.CORDONED_LOG_DIRS)
    known = values.get(log.LOG_DIRS) or values.get(log.LOG_DIR)
    unknown = [directory for directory in cordoned if directory not in known]
    if BROKER_ROLE in values.get(node.PROCESS_ROLES) and cordoned != ("*",) and unknown:
        yield violation(
            values, log.CORDONED_LOG_DIRS, f"{unknown[0]!r} is no log directory", f"* or some of {', '.join(known)}"
        )


NODE_RULES: tuple[Rule, ...] = (
    one_node_id,
    a_quorum_to_join,
    voters_are_distinct_and_reachable,
    voters_fit_the_roles,
    only_controllers_join,
    controllers_listen_and_brokers_do_not,
    controllers_alone_serve_no_clients,
    controller_protocols_are_known,
    the_classic_protocol_stays,
    group_protocols_are_served,
    cordoned_directories_exist,
)
