"""DescribeCluster: the brokers, or on a controller's listener the controllers, and who they are together."""

from typing import TYPE_CHECKING, Final

from tidelog.model.errors import ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from tidelog.server.requests.handler import Handler, RequestContext

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

BROKERS: Final = 1
CONTROLLERS: Final = 2
FIRST_WITH_ENDPOINT_TYPE: Final = 1
NO_CONTROLLER: Final = -1


def handle(broker: "Broker", context: RequestContext, body: DescribeClusterRequest) -> DescribeClusterResponse:
    accepted = context.connection.accepted
    served = CONTROLLERS if broker.is_controller_listener(accepted.listener) else BROKERS
    if body.endpoint_type not in (BROKERS, CONTROLLERS):
        code = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        return refuse(body, code, f"endpoint type {body.endpoint_type}; 1 are brokers, 2 controllers")
    if body.endpoint_type != served:
        is_told = context.api_version >= FIRST_WITH_ENDPOINT_TYPE
        code = ErrorCode.MISMATCHED_ENDPOINT_TYPE if is_told else ErrorCode.INVALID_REQUEST
        return refuse(body, code, "this listener does not serve that endpoint type")
    if served == CONTROLLERS:
        local = DescribeClusterBroker(broker_id=broker.node_id, host=accepted.local.host, port=accepted.local.port)
        return _response(broker, body, [local], broker.node_id)
    return _response(broker, body, _brokers(broker, context, body), broker.controller_id())


def _brokers(broker: "Broker", context: RequestContext, body: DescribeClusterRequest) -> list[DescribeClusterBroker]:
    accepted = context.connection.accepted
    found = []
    for node_id in sorted(broker.image.brokers):
        registered = broker.image.brokers[node_id]
        address = broker.advertised.address_of(registered, accepted)
        if address is not None and (body.include_fenced_brokers or not registered.fenced):
            found.append(
                DescribeClusterBroker(
                    broker_id=node_id,
                    host=address.host,
                    port=address.port,
                    rack=registered.rack,
                    is_fenced=registered.fenced,
                )
            )
    return found


def _response(
    broker: "Broker", body: DescribeClusterRequest, brokers: list[DescribeClusterBroker], controller_id: int
) -> DescribeClusterResponse:
    is_listed = any(each.broker_id == controller_id for each in brokers)
    return DescribeClusterResponse(
        throttle_time_ms=0,
        error_code=ErrorCode.NONE,
        endpoint_type=body.endpoint_type,
        cluster_id=broker.cluster_id,
        controller_id=controller_id if is_listed else NO_CONTROLLER,
        brokers=brokers,
    )


def refuse(body: DescribeClusterRequest, code: ErrorCode, message: str | None) -> DescribeClusterResponse:
    return DescribeClusterResponse(
        throttle_time_ms=0,
        error_code=code,
        error_message=message,
        endpoint_type=body.endpoint_type,
        cluster_id="",
        brokers=[],
    )


DESCRIBE_CLUSTER = Handler(ApiKey.DESCRIBE_CLUSTER, handle, refuse)
