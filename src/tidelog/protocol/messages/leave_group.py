"""LeaveGroup: take members out of a classic group. Up to 2 the caller itself, later any number of them."""

from tidelog.protocol.schema import field, int16, int32, request, response, string, struct


@struct
class MemberIdentity:
    member_id: string
    group_instance_id: string | None = field(nullable="0+", default=None)
    reason: string | None = field("5+", nullable="5+", default=None, ignorable=True)


@request(api_key=13, versions="0-5", flexible="4+")
class LeaveGroupRequest:
    group_id: string
    member_id: string = field("0-2", default="")
    members: list[MemberIdentity] = field("3+", default_factory=list)


@struct
class MemberResponse:
    member_id: string
    group_instance_id: string | None = field(nullable="0+")
    error_code: int16


@response(api_key=13, versions="0-5", flexible="4+")
class LeaveGroupResponse:
    throttle_time_ms: int32 = field("1+", default=0, ignorable=True)
    error_code: int16
    members: list[MemberResponse] = field("3+", default_factory=list)
