"""DescribeGroups: state, members and assignments of classic groups.

3 returns authorized operations, 4 static members; 6 tells an unknown group from a dead one.
"""

from tidelog.protocol.schema import boolean, byte_string, field, int16, int32, request, response, string, struct


@request(api_key=15, versions="0-6", flexible="5+")
class DescribeGroupsRequest:
    groups: list[string]
    include_authorized_operations: boolean = field("3+", default=False)


@struct
class DescribedGroupMember:
    member_id: string
    group_instance_id: string | None = field("4+", nullable="4+", default=None, ignorable=True)
    client_id: string
    client_host: string
    member_metadata: byte_string
    member_assignment: byte_string


@struct
class DescribedGroup:
    error_code: int16
    error_message: string | None = field("6+", nullable="6+", default=None)
    group_id: string
    group_state: string
    protocol_type: string
    protocol_data: string
    members: list[DescribedGroupMember]
    authorized_operations: int32 = field("3+", default=-2147483648)


@response(api_key=15, versions="0-6", flexible="5+")
class DescribeGroupsResponse:
    throttle_time_ms: int32 = field("1+", default=0, ignorable=True)
    groups: list[DescribedGroup]
