"""HTTP/1.1, as little of it as a scraper, a health check or a person with curl needs: bytes in, requests out.

    writable, commit -> next_request -> HttpRequest | None, or HttpError: the answer, and the end of the connection

Only GET and HEAD, no bodies, one request at a time. A request's head has to fit into a buffer of fixed size, so a
stranger can make us keep no more than that. What is not plainly right is refused (RFC 9112), since whoever reads a
request differently from a proxy before it is a way in.
"""

import re
from typing import Final

from tidelog.model.lazy_dataclass import dataclass

HEAD_BYTES_MAX: Final = 8_192
HEADERS_MAX: Final = 64
REASONS: Final = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
    505: "HTTP Version Not Supported",
}
METHODS: Final = ("GET", "HEAD")
PLAIN_TEXT: Final = "text/plain; charset=utf-8"

_END: Final = b"\r\n\r\n"
_LINE: Final = re.compile(rb"[ -~]*\r?")  # as far as it has arrived
_REQUEST_LINE: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([!-~]+) HTTP/([0-9])\.([0-9])")
_HEADER: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t -~\x80-\xff]*)")
_AUTHORITY: Final = re.compile(r"https?://[^/?]+", re.IGNORECASE)


class HttpError(Exception):
    """The request is refused, and the connection ends after the answer: what follows in it is not understood."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


@dataclass(slots=True)
class HttpRequest:
    """The first line and the options of a request; that is all that is needed."""

    method: str
    path: str  # without the query
    keeps_alive: bool


class HttpReader:
    """The receiving end of one connection."""

    def __init__(self) -> None:
        self._buffer = bytearray(HEAD_BYTES_MAX)
        self._view = memoryview(self._buffer)
        self._end = 0

    @property
    def pending_bytes(self) -> int:
        return self._end

    @property
    def has_room(self) -> bool:
        return self._end < HEAD_BYTES_MAX

    def writable(self) -> memoryview:
        """Return the memory to receive into; empty when the buffer is full of requests that nobody has taken
        (`has_room`)."""
        return self._view[self._end :]

    def commit(self, count: int) -> None:
        self._end += count

    def next_request(self) -> HttpRequest | None:
        self._skip_blank_line()
        head_end = self._buffer.find(_END, 0, self._end)
        if head_end < 0:
            self._check_start()
            return None
        lines = bytes(self._view[:head_end]).split(b"\r\n")
        self._consume(head_end + len(_END))
        return _request(lines)

    def _skip_blank_line(self) -> None:
        """Skip the blank line that some clients send after a request."""
        if self._buffer.startswith(b"\r\n", 0, self._end):
            self._consume(2)

    def _check_start(self) -> None:
        """Refuse what can not become a request at once, not when its sender gives up."""
        line, ends, _rest = bytes(self._view[: self._end]).partition(b"\r\n")
        if ends:
            _request_line(line)
        elif not _LINE.fullmatch(line):
            raise HttpError(400, "this is not HTTP")
        if not self.has_room:
            raise HttpError(431, f"a request's head may have {HEAD_BYTES_MAX} bytes")

    def clear(self) -> None:
        """Throw away all that has arrived: it is not worth looking at."""
        self._end = 0

    def _consume(self, count: int) -> None:
        self._view[: self._end - count] = bytes(self._view[count : self._end])
        self._end -= count


def _request_line(line: bytes) -> tuple[str, str, bool]:
    match = _REQUEST_LINE.fullmatch(line)
    if match is None:
        raise HttpError(400, "the first line is not METHOD TARGET HTTP/1.1")
    method, target, major, minor = (part.decode("ascii") for part in match.groups())
    if major != "1":
        raise HttpError(505, "HTTP/1.1 is spoken here")
    return method, target, minor != "0"


def _request(lines: list[bytes]) -> HttpRequest:
    method, target, is_1_1 = _request_line(lines[0])
    headers = _headers(lines[1:])
    path = _AUTHORITY.sub("", target, count=1).partition("?")[0] or "/"
    if method not in METHODS:
        return HttpRequest(method, path, keeps_alive=False)  # whatever follows may be its body
    if "transfer-encoding" in headers or headers.get("content-length", ["0"]) != ["0"]:
        raise HttpError(400, "a request with a body is not served")
    if len(headers.get("host", [])) > 1 or (is_1_1 and "host" not in headers):
        raise HttpError(400, "one Host is needed")
    options = [each.strip().lower() for line in headers.get("connection", []) for each in line.split(",")]
    keeps_alive = "close" not in options and (is_1_1 or "keep-alive" in options)
    return HttpRequest(method, path, keeps_alive)


def _headers(lines: list[bytes]) -> dict[str, list[str]]:
    if len(lines) > HEADERS_MAX:
        raise HttpError(431, f"a request may have {HEADERS_MAX} headers")
    headers: dict[str, list[str]] = {}
    for line in lines:
        match = _HEADER.fullmatch(line)
        if match is None:
            raise HttpError(400, "a header is not Name: value")
        headers.setdefault(match[1].decode("ascii").lower(), []).append(match[2].decode("latin-1").strip(" \t"))
    return headers


def http_head(status: int, body_bytes: int, *, content_type: str = PLAIN_TEXT, keeps_alive: bool) -> bytes:
    """Return what comes before the body, with its length. To a HEAD that is the whole response, with a GET's length."""
    lines = [
        f"HTTP/1.1 {status} {REASONS[status]}",
        f"Content-Type: {content_type}",
        f"Content-Length: {body_bytes}",
        "Cache-Control: no-store",
        f"Connection: {'keep-alive' if keeps_alive else 'close'}",
    ]
    if status == 405:
        lines.append(f"Allow: {', '.join(METHODS)}")
    return "\r\n".join(lines).encode("ascii") + _END
