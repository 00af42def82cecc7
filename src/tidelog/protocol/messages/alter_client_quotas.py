"""AlterClientQuotas: set or remove quotas of users, client ids and addresses."""

from tidelog.protocol.schema import boolean, field, float64, int16, int32, request, response, string, struct


@struct
class EntityData:
    entity_type: string
    entity_name: string | None = field(nullable="0+")


@struct
class OpData:
    key: string
    value: float64
    remove: boolean


@struct
class AlterClientQuotasRequestEntryData:
    entity: list[EntityData]
    ops: list[OpData]


@request(api_key=49, versions="0-1", flexible="1+")
class AlterClientQuotasRequest:
    entries: list[AlterClientQuotasRequestEntryData]
    validate_only: boolean


@struct
class AlterClientQuotasResponseEntryData:
    error_code: int16
    error_message: string | None = field(nullable="0+")
    entity: list[EntityData]


@response(api_key=49, versions="0-1", flexible="1+")
class AlterClientQuotasResponse:
    throttle_time_ms: int32
    entries: list[AlterClientQuotasResponseEntryData]
