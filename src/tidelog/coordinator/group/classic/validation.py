"""Who may do what with a classic group, as its state and members are. ApiError says no.

`ValidatedGroup` is what these rules need to know of a group: a protocol, because the group's own module imports this
one.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from tidelog.coordinator.group.classic.state import ClassicState
from tidelog.model.errors import ApiError, ErrorCode


class ValidatedGroup(Protocol):
    group_id: str
    state: ClassicState
    generation: int
    static_members: dict[str, str]

    @property
    def members(self) -> Mapping[str, Any]: ...

    @property
    def uses_consumer_protocol(self) -> bool: ...


def check_member(group: ValidatedGroup, member_id: str, group_instance_id: str | None) -> None:
    """Raise unless this is a member. A static member is known by its instance id too, and only the last one that joined
    with that id counts."""
    if group_instance_id is not None:
        current = group.static_members.get(group_instance_id)
        if current is None:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"no member has the group.instance.id {group_instance_id!r}")
        if current != member_id:
            raise ApiError(ErrorCode.FENCED_INSTANCE_ID, f"{group_instance_id!r} is now the member {current!r}")
    if member_id not in group.members:
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"{member_id!r} is no member of {group.group_id!r}")


def check_generation(group: ValidatedGroup, generation: int) -> None:
    if generation != group.generation:
        raise ApiError(ErrorCode.ILLEGAL_GENERATION, f"the generation is {group.generation}, not {generation}")


def check_offset_commit(
    group: ValidatedGroup, member_id: str, group_instance_id: str | None, generation: int, *, is_transactional: bool
) -> None:
    if group.state is ClassicState.DEAD:
        raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if generation < 0 and group.state is ClassicState.EMPTY:
        return  # an admin, or a consumer that assigns its partitions by hand
    if generation >= 0 or member_id or group_instance_id is not None:
        check_member(group, member_id, group_instance_id)
        check_generation(group, generation)
    elif not is_transactional and group.state is not ClassicState.EMPTY:
        # Old transactional commits name no member; any other one from outside would interfere with the members.
        raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"{group.group_id!r} has members, and this is none of them")
    if not is_transactional and group.state is ClassicState.COMPLETING_REBALANCE:
        raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)


def check_not_dead(group: ValidatedGroup) -> None:
    if group.state is ClassicState.DEAD:
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"{group.group_id!r} was deleted")


def check_offset_delete(group: ValidatedGroup) -> None:
    """Raise unless offsets of the group may be deleted. Members that are consumers may lose those of topics that they
    do not read (which the caller checks); what members of other protocols read is not known."""
    check_not_dead(group)
    if group.state is not ClassicState.EMPTY and not group.uses_consumer_protocol:
        raise ApiError(ErrorCode.NON_EMPTY_GROUP)


def check_delete(group: ValidatedGroup) -> None:
    check_not_dead(group)
    if group.state is not ClassicState.EMPTY:
        raise ApiError(ErrorCode.NON_EMPTY_GROUP)
