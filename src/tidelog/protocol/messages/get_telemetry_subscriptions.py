"""GetTelemetrySubscriptions: a client asks which of its metrics the cluster would like to have."""

from tidelog.protocol.schema import boolean, int8, int16, int32, request, response, string, uuid


@request(api_key=71, versions="0", flexible="0+")
class GetTelemetrySubscriptionsRequest:
    client_instance_id: uuid


@response(api_key=71, versions="0", flexible="0+")
class GetTelemetrySubscriptionsResponse:
    throttle_time_ms: int32
    error_code: int16
    client_instance_id: uuid
    subscription_id: int32
    accepted_compression_types: list[int8]
    push_interval_ms: int32
    telemetry_max_bytes: int32
    delta_temporality: boolean
    requested_metrics: list[string]
