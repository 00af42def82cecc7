"""DescribeConfigs: the settings of topics, brokers and the like, with their source and synonyms.

3 adds documentation and the type.
"""

from tidelog.protocol.schema import boolean, field, int8, int16, int32, request, response, string, struct


@struct
class DescribeConfigsResource:
    resource_type: int8
    resource_name: string
    configuration_keys: list[string] | None = field(nullable="0+")


@request(api_key=32, versions="1-4", flexible="4+")
class DescribeConfigsRequest:
    resources: list[DescribeConfigsResource]
    include_synonyms: boolean = False
    include_documentation: boolean = field("3+", default=False)


@struct
class DescribeConfigsSynonym:
    name: string
    value: string | None = field(nullable="0+")
    source: int8


@struct
class DescribeConfigsResourceResult:
    name: string
    value: string | None = field(nullable="0+")
    read_only: boolean
    config_source: int8 = -1
    is_sensitive: boolean
    synonyms: list[DescribeConfigsSynonym]
    config_type: int8 = field("3+", default=0, ignorable=True)
    documentation: string | None = field("3+", nullable="0+", default="", ignorable=True)


@struct
class DescribeConfigsResult:
    error_code: int16
    error_message: string | None = field(nullable="0+")
    resource_type: int8
    resource_name: string
    configs: list[DescribeConfigsResourceResult]


@response(api_key=32, versions="1-4", flexible="4+")
class DescribeConfigsResponse:
    throttle_time_ms: int32
    results: list[DescribeConfigsResult]
