"""UnregisterBroker: remove a broker that will not come back."""

from tidelog.protocol.schema import field, int16, int32, request, response, string


@request(api_key=64, versions="0", flexible="0+")
class UnregisterBrokerRequest:
    broker_id: int32


@response(api_key=64, versions="0", flexible="0+")
class UnregisterBrokerResponse:
    throttle_time_ms: int32
    error_code: int16
    error_message: string | None = field(nullable="0+")
