"""IncrementalAlterConfigs: set, delete, append to or subtract from single dynamic settings."""

from tidelog.protocol.schema import boolean, field, int8, int16, int32, request, response, string, struct


@struct
class AlterableConfig:
    name: string
    config_operation: int8
    value: string | None = field(nullable="0+")


@struct
class AlterConfigsResource:
    resource_type: int8
    resource_name: string
    configs: list[AlterableConfig]


@request(api_key=44, versions="0-1", flexible="1+")
class IncrementalAlterConfigsRequest:
    resources: list[AlterConfigsResource]
    validate_only: boolean


@struct
class AlterConfigsResourceResponse:
    error_code: int16
    error_message: string | None = field(nullable="0+")
    resource_type: int8
    resource_name: string


@response(api_key=44, versions="0-1", flexible="1+")
class IncrementalAlterConfigsResponse:
    throttle_time_ms: int32
    responses: list[AlterConfigsResourceResponse]
