"""DeleteAcls: remove every access control entry that matches a filter. 3 admits users as resources."""

from tidelog.protocol.schema import field, int8, int16, int32, request, response, string, struct


@struct
class DeleteAclsFilter:
    resource_type_filter: int8
    resource_name_filter: string | None = field(nullable="0+")
    pattern_type_filter: int8 = 3
    principal_filter: string | None = field(nullable="0+")
    host_filter: string | None = field(nullable="0+")
    operation: int8
    permission_type: int8


@request(api_key=31, versions="1-3", flexible="2+")
class DeleteAclsRequest:
    filters: list[DeleteAclsFilter]


@struct
class DeleteAclsMatchingAcl:
    error_code: int16
    error_message: string | None = field(nullable="0+")
    resource_type: int8
    resource_name: string
    pattern_type: int8 = 3
    principal: string
    host: string
    operation: int8
    permission_type: int8


@struct
class DeleteAclsFilterResult:
    error_code: int16
    error_message: string | None = field(nullable="0+")
    matching_acls: list[DeleteAclsMatchingAcl]


@response(api_key=31, versions="1-3", flexible="2+")
class DeleteAclsResponse:
    throttle_time_ms: int32
    filter_results: list[DeleteAclsFilterResult]
