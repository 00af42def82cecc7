import pytest

from tidelog.protocol.api import ApiKey, ServedRequests, request_header_version, response_header_version
from tidelog.protocol.codec import decode_exact, encode
from tidelog.protocol.headers import RequestHeader, ResponseHeader
from tidelog.protocol.schema import request, response


@request(api_key=1, versions="4-18", flexible="12+")
class FetchRequest:
    pass


@response(api_key=1, versions="4-18", flexible="12+")
class FetchResponse:
    pass


@response(api_key=18, versions="0-4", flexible="3+")
class ApiVersionsResponse:
    pass


def test_keys() -> None:
    """The keys are 0 to 3 and 8 to 92: the four between were for clusters with ZooKeeper, and are gone."""
    assert [int(key) for key in ApiKey] == [0, 1, 2, 3, *range(8, 93)]
    assert ApiKey(18) is ApiKey.API_VERSIONS
    assert ApiKey(36) is ApiKey.SASL_AUTHENTICATE
    assert ApiKey(68) is ApiKey.CONSUMER_GROUP_HEARTBEAT


@pytest.mark.parametrize(("version", "expected"), [(4, (1, 0)), (11, (1, 0)), (12, (2, 1)), (18, (2, 1))])
def test_a_flexible_message_has_a_flexible_header(version: int, expected: tuple[int, int]) -> None:
    assert request_header_version(FetchRequest, version) == expected[0]
    assert response_header_version(FetchResponse, version) == expected[1]


@pytest.mark.parametrize("version", range(5))
def test_api_versions_is_always_answered_behind_header_0(version: int) -> None:
    assert response_header_version(ApiVersionsResponse, version) == 0


def test_served_requests() -> None:
    served = ServedRequests({1: FetchRequest})
    for _ in range(2):
        assert served.header_version(1, 11) == 1
        assert served.header_version(1, 12) == 2
        assert served.header_version(1, 3) is None
        assert served.header_version(1, 19) is None
        assert served.header_version(2, 4) is None


def test_header_bytes() -> None:
    header = RequestHeader(request_api_key=1, request_api_version=12, correlation_id=5, client_id="ab")
    assert encode(header, 1) == b"\x00\x01\x00\x0c\x00\x00\x00\x05\x00\x02ab"
    assert encode(header, 2) == b"\x00\x01\x00\x0c\x00\x00\x00\x05\x00\x02ab\x00"
    header.client_id = None
    assert decode_exact(RequestHeader, b"\x00\x01\x00\x0c\x00\x00\x00\x05\xff\xff\x00", 2) == header
    assert encode(ResponseHeader(correlation_id=5), 0) == b"\x00\x00\x00\x05"
    assert encode(ResponseHeader(correlation_id=5), 1) == b"\x00\x00\x00\x05\x00"
