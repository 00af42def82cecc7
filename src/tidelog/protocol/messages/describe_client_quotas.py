"""DescribeClientQuotas: the quotas of users, client ids and addresses."""

from tidelog.protocol.schema import boolean, field, float64, int8, int16, int32, request, response, string, struct


@struct
class ComponentData:
    entity_type: string
    match_type: int8
    match: string | None = field(nullable="0+")


@request(api_key=48, versions="0-1", flexible="1+")
class DescribeClientQuotasRequest:
    components: list[ComponentData]
    strict: boolean


@struct
class EntityData:
    entity_type: string
    entity_name: string | None = field(nullable="0+")


@struct
class ValueData:
    key: string
    value: float64


@struct
class EntryData:
    entity: list[EntityData]
    values: list[ValueData]


@response(api_key=48, versions="0-1", flexible="1+")
class DescribeClientQuotasResponse:
    throttle_time_ms: int32
    error_code: int16
    error_message: string | None = field(nullable="0+")
    entries: list[EntryData] | None = field(nullable="0+")
