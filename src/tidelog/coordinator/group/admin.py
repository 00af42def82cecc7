"""What tools ask about groups of every kind: ListGroups, DescribeGroups (of classic ones), DeleteGroups."""

from collections.abc import Callable, Generator
from typing import Any, Final, TypeAlias

from tidelog.coordinator.group import foreign
from tidelog.coordinator.group.classic.group import ClassicGroup
from tidelog.coordinator.group.offsets.delete import tombstones_of_all
from tidelog.coordinator.group.shard import Group, GroupShard
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.model.decisions import Record, Result
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from tidelog.protocol.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from tidelog.protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse

Steps: TypeAlias = Generator[None, None, Result]
GROUPS_A_SLICE: Final = 1_000
DESCRIBED_A_SLICE: Final = 10  # a group may have thousands of members
NAMES_MISSING_GROUPS: Final = 6
DEAD: Final = "Dead"


def list_groups(shard: GroupShard, _now_ms: int, request: CoordinatorRequest) -> Steps:
    """List the groups whose state and type the filters name, upper or lower case. A filter with only unknown names
    matches none."""
    message: ListGroupsRequest = request.message
    states = frozenset(state.strip().lower() for state in message.states_filter)
    types = frozenset(name.lower() for name in message.types_filter)
    listed: list[ListedGroup] = []
    for count, group in enumerate(list(shard.groups.values()), 1):
        if (not states or group.state_name.lower() in states) and (not types or group.type.value in types):
            listed.append(_listed(group))
        if count % GROUPS_A_SLICE == 0:
            yield
    return Result([], ListGroupsResponse(error_code=0, groups=listed))


def _listed(group: Group) -> ListedGroup:
    return ListedGroup(
        group_id=group.group_id,
        protocol_type=group.protocol_type,
        group_state=group.state_name,
        group_type=group.type.value,
    )


def describe_groups(shard: GroupShard, _now_ms: int, request: CoordinatorRequest) -> Steps:
    message: DescribeGroupsRequest = request.message
    described: list[DescribedGroup] = []
    for count, group_id in enumerate(message.groups, 1):
        group = shard.groups.get(group_id)
        if isinstance(group, ClassicGroup):
            described.append(group.describe())
        else:
            described.append(_missing(group_id, group, request.api_version))
        if count % DESCRIBED_A_SLICE == 0:
            yield
    return Result([], DescribeGroupsResponse(groups=described))


def _missing(group_id: str, group: Group | None, api_version: int) -> DescribedGroup:
    """Describe a group that is not there, or not classic: to older clients as a dead one, later ones get an error."""
    described = DescribedGroup(
        error_code=0, group_id=group_id, group_state=DEAD, protocol_type="", protocol_data="", members=[]
    )
    if api_version >= NAMES_MISSING_GROUPS:
        described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        what = "there is no such group" if group is None else f"it is a {group.type.value} group"
        described.error_message = f"{group_id!r}: {what}"
    return described


def delete_groups(shard: GroupShard, _now_ms: int, request: CoordinatorRequest) -> Steps:
    """Delete groups that are empty. Tombstones of offsets come first: where only some become durable, the group is
    still there to be deleted again."""
    message: DeleteGroupsRequest = request.message
    records: list[Record] = []
    results: list[DeletableGroupResult] = []
    for group_id in dict.fromkeys(message.groups_names):
        code = ErrorCode.NONE
        try:
            records += _tombstones(shard, group_id)
        except ApiError as refused:
            code = refused.code
        results.append(DeletableGroupResult(group_id=group_id, error_code=code))
        yield
    return Result(records, DeleteGroupsResponse(throttle_time_ms=0, results=results), is_atomic=False)


def _tombstones(shard: GroupShard, group_id: str) -> list[Record]:
    group = shard.groups.get(group_id)
    if group is None:
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND)
    group.validate_delete()
    offsets = tombstones_of_all(shard, group_id)
    shard.count("offset-deletions", len(offsets))
    return offsets + group.tombstones()


HANDLE: dict[type, Callable[[GroupShard, int, CoordinatorRequest], Steps]] = {
    ListGroupsRequest: list_groups,
    DescribeGroupsRequest: describe_groups,
    DeleteGroupsRequest: delete_groups,
}
REPLAY: dict[type, Callable[[GroupShard, Any, Any], None]] = foreign.REPLAY
