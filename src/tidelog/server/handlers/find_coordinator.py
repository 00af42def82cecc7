"""FindCoordinator: the broker that leads the partition to which a group or a transactional id belongs.

The topic is made when it is first asked for. Until it is there, and has a leader that the client can reach, there is no
coordinator (COORDINATOR_NOT_AVAILABLE), and clients ask again; where it can not be made, the answer says why. The same
holds for one whose log could not be loaded: clients come back at their own pace, instead of running between
FindCoordinator and NOT_COORDINATOR, and the message says where to look. Share groups are not served.
"""

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tidelog.model.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from tidelog.server.cluster.internal_topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from tidelog.server.coordination.family import CoordinatorFamily
from tidelog.server.node.shortfalls import missing_replicas
from tidelog.server.requests.handler import Handler, RequestContext, Steps, whole

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

FIRST_BATCHED: Final = 4
GROUP, TRANSACTION = 0, 1  # key types
NO_NODE: Final = -1
FAILED: Final = "its coordinator could not be loaded: the broker's log says which record is at fault, and what to do"
_TEXTS: Final = {
    ErrorCode.NONE: "NONE",
    ErrorCode.COORDINATOR_NOT_AVAILABLE: "there is no coordinator yet; ask again",
    ErrorCode.INVALID_REQUEST: "keys are of groups (0) or transactions (1)",
}


class Found(NamedTuple):
    """`reason` is told instead of what the code means in general."""

    code: ErrorCode
    node_id: int = NO_NODE
    host: str = ""
    port: int = NO_NODE
    reason: str | None = None  # unless the code says all

    @property
    def text(self) -> str:
        return self.reason or _TEXTS.get(self.code, self.code.name)


def steps(broker: "Broker", context: RequestContext, body: FindCoordinatorRequest) -> Steps[FindCoordinatorResponse]:
    if context.api_version < FIRST_BATCHED:
        return _flat(_find(broker, context, body.key_type, body.key))
    response = FindCoordinatorResponse(coordinators=[])
    for key in body.coordinator_keys:
        response.coordinators.append(_entry(key, _find(broker, context, body.key_type, key)))
        yield
    return response


def _find(broker: "Broker", context: RequestContext, key_type: int, key: str) -> Found:
    coordinators = broker.coordinators
    if key_type == GROUP:
        return _leader(broker, context, coordinators.groups, key, CONSUMER_OFFSETS)
    if key_type == TRANSACTION:
        return _leader(broker, context, coordinators.transactions, key, TRANSACTION_STATE)
    return Found(ErrorCode.INVALID_REQUEST)


def _leader(broker: "Broker", context: RequestContext, family: CoordinatorFamily[Any], key: str, name: str) -> Found:
    topic = broker.image.topics.by_name.get(name)
    if topic is None:
        reason = missing_replicas(broker.config, broker.image, name)
        if reason is None:
            broker.internal_topics.create(name)
        return Found(ErrorCode.COORDINATOR_NOT_AVAILABLE, reason=reason)
    shard = family.shard_of(key)
    if shard is not None and shard.is_failed:
        return Found(ErrorCode.COORDINATOR_NOT_AVAILABLE, reason=FAILED)
    partition = topic.partitions.get(family.partition_for(key))
    if partition is None or not partition.has_leader:
        return Found(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    address = broker.endpoint_of(partition.leader, context.connection.accepted)
    if address is None:
        return Found(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return Found(ErrorCode.NONE, partition.leader, address.host, address.port)


def _flat(found: Found) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(
        error_code=found.code,
        error_message=found.text,
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
        error_message="" if found.code is ErrorCode.NONE else found.text,
    )


def refuse(body: FindCoordinatorRequest, code: ErrorCode, _message: str | None) -> FindCoordinatorResponse:
    """In both forms: each version takes its own."""
    response = _flat(Found(code))
    response.coordinators = [_entry(key, Found(code)) for key in body.coordinator_keys]
    return response


FIND_COORDINATOR = Handler(ApiKey.FIND_COORDINATOR, whole(steps), refuse, steps=steps)
