"""What the broker tells its operator: one line an event, with the fields that name it, never a flood.

Lines that strangers can cause (garbage on the port, refused connections) are limited: so many of a kind in ten
seconds, and then how many more there were.
"""

import logging
from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.ports.clock import Clock

if TYPE_CHECKING:
    from tidelog.model.ids import TopicPartition
    from tidelog.ports.network import Accepted
    from tidelog.protocol.errors import ProtocolError
    from tidelog.protocol.server_connection import Request
    from tidelog.server.connection import ClientConnection

LINES_MAX = 10
WINDOW_MS = 10_000

log = logging.getLogger("tidelog.server")


class Events:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._windows: dict[str, tuple[int, int]] = {}  # when it began, and the lines in it

    def protocol_error(self, connection: "ClientConnection", error: "ProtocolError") -> None:
        peer = connection.accepted.peer
        self._limited("protocol error", "%s:%s sent what is no request: %s; closed", peer.host, peer.port, error)

    def connection_refused(self, accepted: "Accepted", limit: str) -> None:
        self._limited("connection refused", "%s: %s is reached; closed", accepted.peer.host, limit)

    def disconnected(self, connection: "ClientConnection", reason: str) -> None:
        log.debug("%s:%s: %s", *connection.accepted.peer, reason)

    def partition_refused(self, place: "TopicPartition", code: ErrorCode) -> None:
        log.error("%s: its log could not be made or opened: %s", place, code.name)

    def stray(self, place: "TopicPartition", directory: str) -> None:
        log.warning("%s: %s belongs to a topic of that name that was deleted; it is removed", place, directory)

    def registration_refused(self, code: object) -> None:
        self._limited("registration", "the controller refuses this broker: %s", code)

    def directory_failed(self, path: str, fault: object, partitions: int) -> None:
        log.error("%s is offline, and with it %s partitions: %s", path, partitions, fault)

    def config_problem(self, problem: object) -> None:
        log.warning("a dynamic setting is left out: %s", problem)

    def controller_bug(self, request: object, bug: Exception) -> None:
        log.error("the controller failed at %s: a bug, please report it", type(request).__name__, exc_info=bug)

    def bug(self, connection: "ClientConnection", request: "Request", bug: Exception) -> None:
        log.error(
            "api %s v%s from %s (%s): a bug, please report it",
            request.api_key,
            request.api_version,
            connection.accepted.peer.host,
            request.client_id,
            exc_info=bug,
        )

    def _limited(self, kind: str, text: str, *args: object) -> None:
        now_ms = self._clock.monotonic_ms()
        began_ms, count = self._windows.get(kind, (now_ms, 0))
        if now_ms - began_ms >= WINDOW_MS:
            if count > LINES_MAX:
                log.warning("%s: %s more in the last %s s", kind, count - LINES_MAX, WINDOW_MS // 1000)
            began_ms, count = now_ms, 0
        self._windows[kind] = (began_ms, count + 1)
        if count < LINES_MAX:
            log.warning(text, *args)
