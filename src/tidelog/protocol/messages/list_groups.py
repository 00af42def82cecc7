"""ListGroups: the groups that a broker coordinates. 4 filters by state, 5 by type."""

from tidelog.protocol.schema import field, int16, int32, request, response, string, struct


@request(api_key=16, versions="0-5", flexible="3+")
class ListGroupsRequest:
    states_filter: list[string] = field("4+", default_factory=list)
    types_filter: list[string] = field("5+", default_factory=list)


@struct
class ListedGroup:
    group_id: string
    protocol_type: string
    group_state: string = field("4+", default="", ignorable=True)
    group_type: string = field("5+", default="", ignorable=True)


@response(api_key=16, versions="0-5", flexible="3+")
class ListGroupsResponse:
    throttle_time_ms: int32 = field("1+", default=0, ignorable=True)
    error_code: int16
    groups: list[ListedGroup]
