"""JoinGroup: enter a classic group and wait for the rebalance.

1 separates the rebalance timeout, 4 makes a nameless member come back with the id it was given, 5 knows static
members, 7 returns the protocol type, 8 carries a reason, 9 may tell the leader to skip the assignment.
"""

from tidelog.protocol.schema import boolean, byte_string, field, int16, int32, request, response, string, struct


@struct
class JoinGroupRequestProtocol:
    name: string
    metadata: byte_string


@request(api_key=11, versions="0-9", flexible="6+")
class JoinGroupRequest:
    group_id: string
    session_timeout_ms: int32
    rebalance_timeout_ms: int32 = field("1+", default=-1, ignorable=True)
    member_id: string
    group_instance_id: string | None = field("5+", nullable="5+", default=None)
    protocol_type: string
    protocols: list[JoinGroupRequestProtocol]
    reason: string | None = field("8+", nullable="8+", default=None, ignorable=True)


@struct
class JoinGroupResponseMember:
    member_id: string
    group_instance_id: string | None = field("5+", nullable="5+", default=None, ignorable=True)
    metadata: byte_string


@response(api_key=11, versions="0-9", flexible="6+")
class JoinGroupResponse:
    throttle_time_ms: int32 = field("2+", default=0, ignorable=True)
    error_code: int16
    generation_id: int32 = -1
    protocol_type: string | None = field("7+", nullable="7+", default=None, ignorable=True)
    protocol_name: string | None = field(nullable="7+")
    leader: string
    skip_assignment: boolean = field("9+", default=False)
    member_id: string
    members: list[JoinGroupResponseMember]
