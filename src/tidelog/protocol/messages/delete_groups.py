"""DeleteGroups: delete empty groups with their offsets."""

from tidelog.protocol.schema import int16, int32, request, response, string, struct


@request(api_key=42, versions="0-2", flexible="2+")
class DeleteGroupsRequest:
    groups_names: list[string]


@struct
class DeletableGroupResult:
    group_id: string
    error_code: int16


@response(api_key=42, versions="0-2", flexible="2+")
class DeleteGroupsResponse:
    throttle_time_ms: int32
    results: list[DeletableGroupResult]
