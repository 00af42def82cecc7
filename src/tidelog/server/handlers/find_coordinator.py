"""FindCoordinator: the broker that leads the partition to which a group or a transactional id belongs.

The topic is made when it is first asked for. Until it is there, and has a leader that the client can reach, there is no
coordinator (COORDINATOR_NOT_AVAILABLE), and clients ask again. Share groups are not served.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

from tidelog.model.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from tidelog.server.handling import Handler, RequestContext
from tidelog.server.internal_topics import CONSUMER_OFFSETS, TRANSACTION_STATE

if TYPE_CHECKING:
    from tidelog.server.broker import Broker

FIRST_BATCHED: Final = 4
GROUP, TRANSACTION = 0, 1  # key types
NO_NODE: Final = -1
_TEXTS: Final = {
    ErrorCode.NONE: "NONE",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "there is no coordinator yet; ask again",
    ErrorCode.INVALID_REQUEST: "keys are of groups (0) or transactions (1)",
}


class Found(NamedTuple):
    code: ErrorCode
    node_id: int = NO_NODE
    host: str = ""
    port: int = NO_NODE


def handle(broker: "Broker", context: RequestContext, body: FindCoordinatorRequest) -> FindCoordinatorResponse:
    if context.api_version < FIRST_BATCHED:
        return _flat(_find(broker, context, body.key_type, body.key))
    found = [(key, _find(broker, context, body.key_type, key)) for key in body.coordinator_keys]
    return FindCoordinatorResponse(coordinators=[_entry(key, each) for key, each in found])


def _find(broker: "Broker", context: RequestContext, key_type: int, key: str) -> Found:
    coordinators = broker.coordinators
    if key_type == GROUP:
        return _leader(broker, context, coordinators.groups.partition_for(key), CONSUMER_OFFSETS)
    if key_type == TRANSACTION:
        return _leader(broker, context, coordinators.transactions.partition_for(key), TRANSACTION_STATE)
    return Found(ErrorCode.INVALID_REQUEST)


def _leader(broker: "Broker", context: RequestContext, index: int, name: str) -> Found:
    topic = broker.image.topics.by_name.get(name)
    if topic is None:
        broker.internal_topics.create(name)
        return Found(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    partition = topic.partitions.get(index)
    if partition is None or not partition.has_leader:
        return Found(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    address = broker.endpoint_of(partition.leader, context.connection.accepted)
    if address is None:
        return Found(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return Found(ErrorCode.NONE, partition.leader, address.host, address.port)


def _flat(found: Found) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(
        error_code=found.code,
        error_message=_TEXTS.get(found.code, found.code.name),
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _entry(key: str, found: Found) -> Coordinator:
    return Coordinator(
        key=key,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
        error_code=found.code,
        error_message="" if found.code is ErrorCode.NONE else _TEXTS.get(found.code, found.code.name),
    )


def refuse(body: FindCoordinatorRequest, code: ErrorCode, _message: str | None) -> FindCoordinatorResponse:
    """In both forms: each version takes its own."""
    response = _flat(Found(code))
    response.coordinators = [_entry(key, Found(code)) for key in body.coordinator_keys]
    return response


FIND_COORDINATOR = Handler(ApiKey.FIND_COORDINATOR, handle, refuse)
