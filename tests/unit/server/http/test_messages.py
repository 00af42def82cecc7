"""HTTP by itself: bytes in, requests out, and nothing accepted that is not plainly right."""

import pytest

from tidelog.server.http.messages import HEAD_BYTES_MAX, HEADERS_MAX, HttpError, HttpReader, HttpRequest, http_head

HOST = b"Host: a\r\n"


def read(data: bytes, piece_bytes: int = HEAD_BYTES_MAX) -> list[HttpRequest]:
    reader = HttpReader()
    requests = []
    while data:
        room = reader.writable()[:piece_bytes]
        count = min(len(room), len(data))
        room[:count] = data[:count]
        reader.commit(count)
        data = data[count:]
        while (request := reader.next_request()) is not None:
            requests.append(request)
    return requests


def refusal(data: bytes) -> int:
    with pytest.raises(HttpError) as caught:
        read(data)
    return caught.value.status


@pytest.mark.parametrize("piece_bytes", [1, 7, 1000])
def test_requests_are_found_wherever_they_are_cut(piece_bytes: int) -> None:
    one = b"GET /metrics?x=1 HTTP/1.1\r\n" + HOST + b"\r\n"
    two = b"HEAD /healthz HTTP/1.1\r\nhost:b\r\nConnection: foo, Close\r\n\r\n"
    found = read(one + b"\r\n" + two, piece_bytes)
    assert found == [HttpRequest("GET", "/metrics", True), HttpRequest("HEAD", "/healthz", False)]


def test_http_1_0_ends_its_connection_unless_asked() -> None:
    assert [each.keeps_alive for each in read(b"GET / HTTP/1.0\r\n\r\n")] == [False]
    assert [each.keeps_alive for each in read(b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n")] == [True]


def test_a_target_may_name_the_host() -> None:
    assert read(b"GET http://me:9404/metrics HTTP/1.1\r\n" + HOST + b"\r\n")[0].path == "/metrics"
    assert read(b"GET http://me:9404 HTTP/1.1\r\n" + HOST + b"\r\n")[0].path == "/"


def test_another_method_is_a_request_whose_body_is_not_looked_at() -> None:
    found = read(b"POST /metrics HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\n\r\n")
    assert found == [HttpRequest("POST", "/metrics", False)]


@pytest.mark.parametrize(
    "data",
    [
        b"GET /metrics\r\n\r\n",
        b"GET  / HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET / HTTP/1.1\r\n\r\n",  # no host
        b"GET / HTTP/1.1\r\n" + HOST + HOST + b"\r\n",
        b"GET / HTTP/1.1\r\nHost : a\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b" folded\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"X: a\x00b\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"Content-Length: 1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n",
        b"GET / HTTP/1.1\n" + b"Host: a\n\n",
        b"\x16\x03\x01\x02\x00\x01",  # TLS
        b"\x00\x00\x00\x10\x00\x12\x00\x04",  # Kafka
    ],
)
def test_what_is_not_plainly_right_is_refused_at_once(data: bytes) -> None:
    assert refusal(data) == 400


def test_another_major_version_is_refused() -> None:
    assert refusal(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") == 505


def test_a_head_has_a_limit_and_so_have_its_headers() -> None:
    assert refusal(b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"y" * HEAD_BYTES_MAX) == 431
    assert refusal(b"GET /" + b"y" * HEAD_BYTES_MAX) == 431
    assert refusal(b"GET / HTTP/1.1\r\n" + HOST + b"X: y\r\n" * HEADERS_MAX + b"\r\n") == 431


def test_what_comes_before_a_body() -> None:
    head = http_head(200, 4, keeps_alive=True)
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"\r\nContent-Length: 4\r\n" in head
    assert head.endswith(b"\r\nConnection: keep-alive\r\n\r\n")


def test_a_wrong_method_is_told_the_right_ones() -> None:
    assert b"\r\nAllow: GET, HEAD\r\n" in http_head(405, 0, keeps_alive=False)
