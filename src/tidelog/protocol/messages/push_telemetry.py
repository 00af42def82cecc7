"""PushTelemetry: a client sends the metrics that it was asked for, in OpenTelemetry's encoding."""

from tidelog.protocol.schema import boolean, byte_string, int8, int16, int32, request, response, uuid


@request(api_key=72, versions="0", flexible="0+")
class PushTelemetryRequest:
    client_instance_id: uuid
    subscription_id: int32
    terminating: boolean
    compression_type: int8
    metrics: byte_string


@response(api_key=72, versions="0", flexible="0+")
class PushTelemetryResponse:
    throttle_time_ms: int32
    error_code: int16
