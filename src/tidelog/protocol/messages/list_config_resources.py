"""ListConfigResources: the resources that have settings of their own.

Version 0 knows client metrics only; 1 asks by type, and no type means every one.
"""

from tidelog.protocol.schema import field, int8, int16, int32, request, response, string, struct


@request(api_key=74, versions="0-1", flexible="0+")
class ListConfigResourcesRequest:
    resource_types: list[int8] = field("1+", default_factory=list)


@struct
class ConfigResource:
    resource_name: string
    resource_type: int8 = field("1+", default=16, ignorable=True)


@response(api_key=74, versions="0-1", flexible="0+")
class ListConfigResourcesResponse:
    throttle_time_ms: int32
    error_code: int16
    config_resources: list[ConfigResource]
