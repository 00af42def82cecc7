"""The listener for metrics and health: its connections, and the pages they ask for, a slice of a turn at a time.

A page is a generator of pieces of text, because that of the metrics has a line for every partition. One is made at a
time, as far as the turn's slice goes; the others wait. A connection costs one buffer, and the one answer that is made
or sent; requests that do not fit behind it end it. There are few connections, and a silent one is closed.
"""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from tidelog.model.lazy_dataclass import dataclass, field
from tidelog.ports.clock import Clock
from tidelog.ports.network import Accepted, Network
from tidelog.server.events import Events
from tidelog.server.http.messages import METHODS, PLAIN_TEXT, HttpError, HttpReader, HttpRequest, http_head

CONNECTIONS_MAX: Final = 32
# Longer than the minute between two scrapes that most people settle on, so that a scraper keeps its connection.
IDLE_MS_MAX: Final = 75_000
SLICE_NS: Final = 5_000_000  # the time for pages in one turn


@dataclass(slots=True)
class Page:
    """A page that was asked for: pieces of text, made as they are taken."""

    pieces: Iterator[str]
    status: int = 200
    content_type: str = PLAIN_TEXT


Pages = Mapping[str, Callable[[], Page]]  # by path


def text_page(text: str, status: int = 200) -> Page:
    return Page(iter((f"{text}\n",)), status)


@dataclass(slots=True)
class Answer:
    """A page in the making."""

    connection: "HttpConnection"
    request: HttpRequest
    page: Page
    made: list[bytes] = field(default_factory=list)

    def make_piece(self) -> bool:
        """Make the next piece of the page; return whether there is more to come."""
        piece = next(self.page.pieces, None)
        if piece:
            self.made.append(piece.encode())
        return piece is not None

    def response(self) -> list[bytes]:
        """Return the response in the pieces in which it was made: to join megabytes would take as long as a slice."""
        head = http_head(
            self.page.status,
            sum(map(len, self.made)),
            content_type=self.page.content_type,
            keeps_alive=self.request.keeps_alive,
        )
        return [head] if self.request.method == "HEAD" else [head, *self.made]


class HttpServer:
    """The listener's connections, and the queue of pages that they asked for."""

    def __init__(self, clock: Clock, network: Network, events: Events, pages: Pages) -> None:
        self._clock = clock
        self._pages = pages
        self._queue: deque[Answer] = deque()
        self._connections: dict[HttpConnection, None] = {}
        self.network = network
        self.events = events

    @property
    def has_work(self) -> bool:
        return bool(self._queue)

    def __len__(self) -> int:
        return len(self._connections)

    def accept(self, accepted: Accepted) -> "HttpConnection":
        connection = HttpConnection(self, accepted, self._clock.monotonic_ms())
        if len(self._connections) >= CONNECTIONS_MAX:
            self.events.connection_refused(accepted, f"the limit of {CONNECTIONS_MAX} connections for metrics")
            self.network.close(accepted.connection)
            connection.is_closed = True
        else:
            self._connections[connection] = None
        return connection

    def asked(self, connection: "HttpConnection", request: HttpRequest) -> None:
        self._queue.append(Answer(connection, request, self._page(request)))

    def _page(self, request: HttpRequest) -> Page:
        if request.method not in METHODS:
            return text_page(f"{' and '.join(METHODS)} are served", 405)
        make = self._pages.get(request.path)
        return text_page(f"there are {', '.join(self._pages)}", 404) if make is None else make()

    def work(self, now_ms: int) -> None:
        """Make pages for one slice of a turn, one after the other."""
        clock = self._clock
        until_ns = clock.monotonic_ns() + SLICE_NS
        while self._queue and clock.monotonic_ns() <= until_ns:
            answer = self._queue[0]
            if answer.connection.is_closed or not self._make_piece(answer):
                self._queue.popleft()
                answer.connection.answer(answer.response(), answer.request.keeps_alive, now_ms)

    def _make_piece(self, answer: Answer) -> bool:
        """Make a piece of a page; return whether there is more to come. A bug costs that answer, as in any handler."""
        try:
            return answer.make_piece()
        except Exception as bug:  # noqa: BLE001 - a bug costs one request, not the node
            self.events.page_bug(answer.request.path, bug)
            answer.made.clear()
            answer.page = text_page("an internal error; the node's log has it", 500)
            return True

    def close_idle(self, now_ms: int) -> None:
        """Close silent connections. Called from time to time."""
        for connection in list(self._connections):
            if now_ms - connection.last_active_ms > IDLE_MS_MAX:
                connection.close()

    def closed(self, connection: "HttpConnection") -> None:
        self._connections.pop(connection, None)


class HttpConnection:
    """The Receiver of one connection: listening, or busy with one request."""

    __slots__ = ("_ends", "_id", "_is_busy", "_peer", "_reader", "_server", "is_closed", "last_active_ms")

    def __init__(self, server: HttpServer, accepted: Accepted, now_ms: int) -> None:
        self._server = server
        self._id = accepted.connection
        self._peer = accepted.peer
        self._reader = HttpReader()
        self._is_busy = False  # a request is being answered: no other is looked at
        self._ends = False  # the connection is closed after the answer that is being sent
        self.last_active_ms = now_ms
        self.is_closed = False

    def writable(self) -> memoryview:
        return self._reader.writable()

    def received(self, count: int) -> None:
        self._reader.commit(count)
        if not self._is_busy:
            self._take_request()
        elif not self._reader.has_room:
            self.close()  # it sends more requests ahead of their answers than there is room for

    def connected(self) -> None:
        raise AssertionError("an accepted connection does not connect")

    def drained(self) -> None:
        self._sent()

    def closed(self, _reason: str) -> None:
        self.is_closed = True
        self._server.closed(self)

    def _take_request(self) -> None:
        try:
            request = self._reader.next_request()
        except HttpError as error:
            self._server.events.http_error(self._peer, error.text)
            self._server.network.mute(self._id)
            self._reader.clear()
            body = f"{error.text}\n".encode()
            self.answer([http_head(error.status, len(body), keeps_alive=False) + body], False, self.last_active_ms)
            return
        if request is not None:
            self._is_busy = True
            self._server.asked(self, request)

    def answer(self, response: Sequence[bytes], keeps_alive: bool, now_ms: int) -> None:
        if self.is_closed:
            return
        self.last_active_ms = now_ms
        self._is_busy = True
        self._ends = not keeps_alive
        if self._server.network.send(self._id, response):
            self._sent()

    def _sent(self) -> None:
        self._is_busy = False
        if self._ends:
            self.close()
            return
        if self._reader.pending_bytes:
            self._take_request()

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            self._server.network.close(self._id)
            self._server.closed(self)
