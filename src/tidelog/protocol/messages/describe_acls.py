"""DescribeAcls: the access control entries that match a filter. 3 admits users as resources."""

from tidelog.protocol.schema import field, int8, int16, int32, request, response, string, struct


@request(api_key=29, versions="1-3", flexible="2+")
class DescribeAclsRequest:
    resource_type_filter: int8
    resource_name_filter: string | None = field(nullable="0+")
    pattern_type_filter: int8 = 3
    principal_filter: string | None = field(nullable="0+")
    host_filter: string | None = field(nullable="0+")
    operation: int8
    permission_type: int8


@struct
class AclDescription:
    principal: string
    host: string
    operation: int8
    permission_type: int8


@struct
class DescribeAclsResource:
    resource_type: int8
    resource_name: string
    pattern_type: int8 = 3
    acls: list[AclDescription]


@response(api_key=29, versions="1-3", flexible="2+")
class DescribeAclsResponse:
    throttle_time_ms: int32
    error_code: int16
    error_message: string | None = field(nullable="0+")
    resources: list[DescribeAclsResource]
