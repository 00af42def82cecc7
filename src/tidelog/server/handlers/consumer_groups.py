"""ConsumerGroupHeartbeat and ConsumerGroupDescribe: groups of the KIP-848 protocol.

Served where the cluster's `group.version` is 1 and the broker's settings do not leave the protocol out.
"""

from typing import TYPE_CHECKING

from tidelog.config.settings import groups
from tidelog.metadata.feature_levels import GROUP_VERSION
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from tidelog.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from tidelog.server.coordination.asking import ask_group, ask_groups
from tidelog.server.handlers.groups import GROUP_OPERATIONS
from tidelog.server.requests.handler import Handler, RequestContext, Steps, respond, whole

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

CONSUMER_PROTOCOL = "consumer"


def check_served(broker: "Broker") -> None:
    is_on = CONSUMER_PROTOCOL in broker.config.get(groups.GROUP_COORDINATOR_REBALANCE_PROTOCOLS)
    if not is_on or broker.image.features.get(GROUP_VERSION, 0) < 1:
        raise ApiError(ErrorCode.UNSUPPORTED_VERSION, "the consumer protocol is not enabled in this cluster")


def handle_heartbeat(broker: "Broker", context: RequestContext, body: ConsumerGroupHeartbeatRequest) -> None:
    check_served(broker)
    ask_group(broker, context, body.group_id, body, refuse_heartbeat)


def refuse_heartbeat(
    _body: ConsumerGroupHeartbeatRequest, code: ErrorCode, message: str | None
) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(
        throttle_time_ms=0, error_code=code, error_message=message, member_epoch=0, heartbeat_interval_ms=0
    )


def describe_steps(broker: "Broker", context: RequestContext, body: ConsumerGroupDescribeRequest) -> Steps[None]:
    check_served(broker)

    def body_for(group_ids: list[str]) -> ConsumerGroupDescribeRequest:
        return ConsumerGroupDescribeRequest(group_ids=group_ids, include_authorized_operations=False)

    def done(responses: list[ConsumerGroupDescribeResponse]) -> None:
        found = {group.group_id: group for response in responses for group in response.groups}
        described = [_described(body, found, group_id) for group_id in body.group_ids]
        members = sum(len(group.members) for group in described)
        response = ConsumerGroupDescribeResponse(throttle_time_ms=0, groups=described)
        respond(context, response, len(described) + members)

    asked = [group_id for group_id in dict.fromkeys(body.group_ids) if group_id]
    yield from ask_groups(broker, context, asked, body_for, refuse_describe, done)


def _described(body: ConsumerGroupDescribeRequest, found: dict[str, DescribedGroup], group_id: str) -> DescribedGroup:
    group = found.get(group_id) or _undescribed(group_id, ErrorCode.INVALID_GROUP_ID)
    if body.include_authorized_operations and group.error_code == ErrorCode.NONE:
        group.authorized_operations = GROUP_OPERATIONS
    return group


def _undescribed(group_id: str, code: ErrorCode) -> DescribedGroup:
    return DescribedGroup(
        error_code=code,
        group_id=group_id,
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        assignor_name="",
        members=[],
    )


def refuse_describe(
    body: ConsumerGroupDescribeRequest, code: ErrorCode, _message: str | None
) -> ConsumerGroupDescribeResponse:
    groups_ = [_undescribed(group_id, code) for group_id in body.group_ids]
    return ConsumerGroupDescribeResponse(throttle_time_ms=0, groups=groups_)


CONSUMER_GROUP_HEARTBEAT = Handler(ApiKey.CONSUMER_GROUP_HEARTBEAT, handle_heartbeat, refuse_heartbeat)
CONSUMER_GROUP_DESCRIBE = Handler(
    ApiKey.CONSUMER_GROUP_DESCRIBE, whole(describe_steps), refuse_describe, steps=describe_steps
)
