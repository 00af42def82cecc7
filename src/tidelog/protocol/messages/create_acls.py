"""CreateAcls: add access control entries. 3 admits users as resources."""

from tidelog.protocol.schema import field, int8, int16, int32, request, response, string, struct


@struct
class AclCreation:
    resource_type: int8
    resource_name: string
    resource_pattern_type: int8 = 3
    principal: string
    host: string
    operation: int8
    permission_type: int8


@request(api_key=30, versions="1-3", flexible="2+")
class CreateAclsRequest:
    creations: list[AclCreation]


@struct
class AclCreationResult:
    error_code: int16
    error_message: string | None = field(nullable="0+")


@response(api_key=30, versions="1-3", flexible="2+")
class CreateAclsResponse:
    throttle_time_ms: int32
    results: list[AclCreationResult]
