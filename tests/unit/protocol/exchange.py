"""A tiny API for the connections to speak: Echo (flexible from 1 on), Store (carries records), ApiVersions."""

from tidelog.protocol.schema import field, int16, int32, records, request, response, string


@request(api_key=5, versions="0-1", flexible="1+")
class EchoRequest:
    text: string


@response(api_key=5, versions="0-1", flexible="1+")
class EchoResponse:
    text: string


@request(api_key=6, versions="0-1", flexible="1+")
class StoreRequest:
    acks: int16
    batches: records | None = field(nullable="0+")


@response(api_key=6, versions="0-1", flexible="1+")
class StoreResponse:
    offset: int32
    batches: records | None = field(nullable="0+", default=None)


@request(api_key=18, versions="0-3", flexible="3+")
class ApiVersionsRequest:
    software: string = field("3+", default="", ignorable=True)


@response(api_key=18, versions="0-3", flexible="3+")
class ApiVersionsResponse:
    error_code: int16
    keys: list[int16]


REQUESTS: dict[int, type] = {5: EchoRequest, 6: StoreRequest, 18: ApiVersionsRequest}
RESPONSES: dict[int, type] = {5: EchoResponse, 6: StoreResponse, 18: ApiVersionsResponse}
