"""What stands between the size of a frame and its message."""

from tidelog.protocol.schema import field, int16, int32, record, string


@record("header", versions="1-2", flexible="2+")
class RequestHeader:
    request_api_key: int16
    request_api_version: int16
    correlation_id: int32
    # In the old encoding even in a flexible header, so that a broker can read it in a request of any version.
    client_id: string | None = field("1+", nullable="1+", default=None, flexible="none")


@record("header", versions="0-1", flexible="1+")
class ResponseHeader:
    correlation_id: int32
