"""DescribeGroups, DeleteGroups and ListGroups: every coordinator of this broker about its groups, and the answers put
together."""

from typing import TYPE_CHECKING, Any, Final

from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from tidelog.protocol.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from tidelog.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from tidelog.server.coordination.asking import Gathering, ask_groups, coordinator_request
from tidelog.server.requests.handler import Handler, RequestContext, Steps, respond, whole

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

# Without ACLs everybody may do everything: read, delete, describe, describe and alter configs. A bit an operation.
GROUP_OPERATIONS: Final = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11


def describe_steps(broker: "Broker", context: RequestContext, body: DescribeGroupsRequest) -> Steps[None]:
    def done(responses: list[DescribeGroupsResponse]) -> None:
        found = {group.group_id: group for response in responses for group in response.groups}
        groups = [_described(body, found, group_id) for group_id in body.groups]
        members = sum(len(group.members) for group in groups)
        respond(context, DescribeGroupsResponse(groups=groups), len(groups) + members)

    asked = list(dict.fromkeys(body.groups))  # the empty name too: it may have offsets of old simple consumers
    yield from ask_groups(
        broker, context, asked, lambda part: DescribeGroupsRequest(groups=part), refuse_describe, done
    )


def _described(body: DescribeGroupsRequest, found: dict[str, DescribedGroup], group_id: str) -> DescribedGroup:
    group = found[group_id]
    if body.include_authorized_operations and group.error_code == ErrorCode.NONE:
        group.authorized_operations = GROUP_OPERATIONS
    return group


def _undescribed(group_id: str, code: ErrorCode) -> DescribedGroup:
    return DescribedGroup(
        error_code=code, group_id=group_id, group_state="", protocol_type="", protocol_data="", members=[]
    )


def refuse_describe(body: DescribeGroupsRequest, code: ErrorCode, _message: str | None) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(groups=[_undescribed(group_id, code) for group_id in body.groups])


def delete_steps(broker: "Broker", context: RequestContext, body: DeleteGroupsRequest) -> Steps[None]:
    def done(responses: list[DeleteGroupsResponse]) -> None:
        found = {result.group_id: result for response in responses for result in response.results}
        context.respond(DeleteGroupsResponse(throttle_time_ms=0, results=[found[group_id] for group_id in asked]))

    asked = list(dict.fromkeys(body.groups_names))
    yield from ask_groups(
        broker, context, asked, lambda part: DeleteGroupsRequest(groups_names=part), refuse_delete, done
    )


def refuse_delete(body: DeleteGroupsRequest, code: ErrorCode, _message: str | None) -> DeleteGroupsResponse:
    results = [DeletableGroupResult(group_id=group_id, error_code=code) for group_id in body.groups_names]
    return DeleteGroupsResponse(throttle_time_ms=0, results=results)


def handle_list(broker: "Broker", context: RequestContext, body: ListGroupsRequest) -> None:
    """Of all partitions. While one is being loaded the list would be wrong, so there is none."""

    def done(answers: list[Any]) -> None:
        response = _listed(answers)
        respond(context, response, len(response.groups))

    coordinators = broker.coordinators.groups
    partitions = coordinators.partitions()
    gathering = Gathering(len(partitions), done)
    for index, partition in enumerate(partitions):
        coordinators.submit_to(partition, coordinator_request(broker, context, body), gathering.part(index))


def _listed(answers: list[Any]) -> ListGroupsResponse:
    groups: list[ListedGroup] = []
    for answer in answers:
        code = answer.code if isinstance(answer, ApiError) else answer
        if isinstance(code, ErrorCode):
            if code is not ErrorCode.NOT_COORDINATOR:  # gone meanwhile: another broker lists these
                return ListGroupsResponse(error_code=code, groups=[])
        else:
            groups += answer.groups
    return ListGroupsResponse(error_code=ErrorCode.NONE, groups=groups)


def refuse_list(_body: ListGroupsRequest, code: ErrorCode, _message: str | None) -> ListGroupsResponse:
    return ListGroupsResponse(error_code=code, groups=[])


DESCRIBE_GROUPS = Handler(ApiKey.DESCRIBE_GROUPS, whole(describe_steps), refuse_describe, steps=describe_steps)
DELETE_GROUPS = Handler(ApiKey.DELETE_GROUPS, whole(delete_steps), refuse_delete, steps=delete_steps)
LIST_GROUPS = Handler(ApiKey.LIST_GROUPS, handle_list, refuse_list)
