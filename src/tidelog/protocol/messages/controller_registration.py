"""ControllerRegistration: a controller makes its endpoints and features known to the active one."""

from tidelog.protocol.schema import boolean, field, int16, int32, request, response, string, struct, uint16, uuid


@struct
class Listener:
    name: string
    host: string
    port: uint16
    security_protocol: int16


@struct
class Feature:
    name: string
    min_supported_version: int16
    max_supported_version: int16


@request(api_key=70, versions="0", flexible="0+")
class ControllerRegistrationRequest:
    controller_id: int32
    incarnation_id: uuid
    zk_migration_ready: boolean
    listeners: list[Listener]
    features: list[Feature]


@response(api_key=70, versions="0", flexible="0+")
class ControllerRegistrationResponse:
    throttle_time_ms: int32
    error_code: int16
    error_message: string | None = field(nullable="0+")
