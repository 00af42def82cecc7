"""SyncGroup: the leader hands in the assignment of a classic group, every member receives its own.

3 knows static members; from 5 both sides name the protocol, so that a mismatch is noticed.
"""

from tidelog.protocol.schema import byte_string, field, int16, int32, request, response, string, struct


@struct
class SyncGroupRequestAssignment:
    member_id: string
    assignment: byte_string


@request(api_key=14, versions="0-5", flexible="4+")
class SyncGroupRequest:
    group_id: string
    generation_id: int32
    member_id: string
    group_instance_id: string | None = field("3+", nullable="3+", default=None)
    protocol_type: string | None = field("5+", nullable="5+", default=None, ignorable=True)
    protocol_name: string | None = field("5+", nullable="5+", default=None, ignorable=True)
    assignments: list[SyncGroupRequestAssignment]


@response(api_key=14, versions="0-5", flexible="4+")
class SyncGroupResponse:
    throttle_time_ms: int32 = field("1+", default=0, ignorable=True)
    error_code: int16
    protocol_type: string | None = field("5+", nullable="5+", default=None, ignorable=True)
    protocol_name: string | None = field("5+", nullable="5+", default=None, ignorable=True)
    assignment: byte_string
