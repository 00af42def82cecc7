"""AlterConfigs: replace the whole set of dynamic settings of a resource; what is not named falls back."""

from tidelog.protocol.schema import boolean, field, int8, int16, int32, request, response, string, struct


@struct
class AlterableConfig:
    name: string
    value: string | None = field(nullable="0+")


@struct
class AlterConfigsResource:
    resource_type: int8
    resource_name: string
    configs: list[AlterableConfig]


@request(api_key=33, versions="0-2", flexible="2+")
class AlterConfigsRequest:
    resources: list[AlterConfigsResource]
    validate_only: boolean


@struct
class AlterConfigsResourceResponse:
    error_code: int16
    error_message: string | None = field(nullable="0+")
    resource_type: int8
    resource_name: string


@response(api_key=33, versions="0-2", flexible="2+")
class AlterConfigsResponse:
    throttle_time_ms: int32
    responses: list[AlterConfigsResourceResponse]
