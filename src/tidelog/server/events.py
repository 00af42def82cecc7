"""What the broker tells its operator: one line an event, with the fields that name it, never a flood.

A line reads well by itself; what it is about (topic, partition, offset, peer) is in its fields as well, where a JSON
log shows it. Lines that strangers can cause (garbage on the port, refused connections), or one bad disk for thousands
of partitions, are limited: so many of a kind in ten seconds, and then how many more there were.
"""

import logging
from typing import TYPE_CHECKING, Final

from tidelog.model.errors import ErrorCode
from tidelog.ports.clock import Clock

if TYPE_CHECKING:
    from tidelog.model.ids import TopicPartition
    from tidelog.ports.network import Accepted, Address
    from tidelog.protocol.errors import ProtocolError
    from tidelog.protocol.server_connection import Request
    from tidelog.server.connection import ClientConnection
    from tidelog.server.handling import RequestContext

LINES_MAX: Final = 10
WINDOW_MS: Final = 10_000
NANOSECONDS_PER_US: Final = 1_000

log = logging.getLogger("tidelog.server")

Fields = dict[str, object]


def of_partition(place: "TopicPartition", **more: object) -> Fields:
    return {"topic": place.topic, "partition": place.partition, **more}


def of_peer(peer: "Address", **more: object) -> Fields:
    return {"peer": f"{peer.host}:{peer.port}", **more}


class Events:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._windows: dict[str, tuple[int, int]] = {}  # by kind: when it began, and the lines in it
        self.tells_requests = log.isEnabledFor(logging.DEBUG)  # asked once: it is looked at with every request
        self.suppressed_total = 0
        self.metadata_errors = 0
        self.page_bugs = 0
        self.coordinator_bugs = 0

    # Clients

    def protocol_error(self, connection: "ClientConnection", error: "ProtocolError") -> None:
        peer = connection.accepted.peer
        text = "%s:%s sent what is no request: %s; closed"
        self._limited("protocol error", of_peer(peer, error=str(error)), text, peer.host, peer.port, error)

    def http_error(self, peer: "Address", error: str) -> None:
        text = "%s:%s asked the listener for metrics wrongly: %s; closed"
        self._limited("http error", of_peer(peer, error=error), text, peer.host, peer.port, error)

    def connection_refused(self, accepted: "Accepted", limit: str) -> None:
        peer = accepted.peer
        fields = of_peer(peer, limit=limit, listener=accepted.listener)
        self._limited("connection refused", fields, "%s: %s is reached; closed", peer.host, limit)

    def disconnected(self, connection: "ClientConnection", reason: str) -> None:
        peer = connection.accepted.peer
        _tell(logging.DEBUG, of_peer(peer, reason=reason), "%s:%s: %s", peer.host, peer.port, reason)

    def request(self, context: "RequestContext", now_ns: int, error_code: int) -> None:
        """Where `tells_requests`. Those of the produce path are not told: they are too many, and all alike."""
        request, peer = context.request, context.connection.accepted.peer
        took_us = (now_ns - context.received_ns) // NANOSECONDS_PER_US
        fields = of_peer(
            peer,
            api_key=request.api_key,
            api_version=request.api_version,
            client_id=request.client_id,
            correlation_id=request.correlation_id,
            error=ErrorCode(error_code).name,
            took_us=took_us,
        )
        text = "api %s v%s from %s:%s (%s): %s after %s us"
        api = (request.api_key, request.api_version, peer.host, peer.port, request.client_id)
        _tell(logging.DEBUG, fields, text, *api, ErrorCode(error_code).name, took_us)

    # Partitions and their disks

    def partition_refused(self, place: "TopicPartition", code: ErrorCode) -> None:
        text = "%s: its log could not be made or opened: %s"
        fields = of_partition(place, error=code.name)
        self._limited("partition refused", fields, text, place, code.name, level=logging.ERROR)

    def epoch_went_back(self, place: "TopicPartition", epoch: int, latest: int) -> None:
        text = "%s: the metadata say leader epoch %d, its log has records of %d: they are older than the log. Not led."
        self._limited(
            "epoch went back", of_partition(place, epoch=epoch), text, place, epoch, latest, level=logging.ERROR
        )

    def log_damaged(self, place: "TopicPartition", offset: int, damage: object) -> None:
        text = "%s: can not be read from offset %d on: %s; look at it with `tidelog log verify`"
        fields = of_partition(place, offset=offset, error=str(damage))
        self._limited("log damaged", fields, text, place, offset, damage, level=logging.ERROR)

    def stray(self, place: "TopicPartition", directory: str) -> None:
        text = "%s: the cluster does not know the topic of %s; it is set aside as -stray"
        self._limited("stray", of_partition(place, directory=directory), text, place, directory)

    def moved(self, place: "TopicPartition", path: str, error: str | None) -> None:
        fields = of_partition(place, directory=path, error=error)
        if error is None:
            _tell(logging.INFO, fields, "%s: moved to %s", place, path)
        else:
            _tell(logging.WARNING, fields, "%s: not moved to %s: %s", place, path, error)

    def directory_failed(self, path: str, fault: object, partitions: int) -> None:
        fields: Fields = {"directory": path, "partitions": partitions, "error": str(fault)}
        text = "%s is offline, and with it %s partitions: %s"
        _tell(logging.ERROR, fields, text, path, partitions, fault)

    # Coordinators

    def coordinator_note(self, place: "TopicPartition", line: str) -> None:
        self._limited("coordinator", of_partition(place), "%s: %s", place, line, level=logging.INFO)

    def coordinator_dropped(self, place: "TopicPartition") -> None:
        text = "%s: what its coordinator decided could not be written; it starts over from the log"
        self._limited("coordinator dropped", of_partition(place), text, place, level=logging.ERROR)

    def coordinator_failed(self, place: "TopicPartition", reason: object) -> None:
        text = "%s: its coordinator can not be loaded, and serves nobody: %s"
        _tell(logging.ERROR, of_partition(place, error=str(reason)), text, place, reason)

    def unknown_record_type(self, place: "TopicPartition", record_type: int) -> None:
        text = "%s: records of type %s are from a newer release, and passed over"
        self._limited("record type", of_partition(place, record_type=record_type), text, place, record_type)

    def internal_topic_refused(self, topic: str, reason: object) -> None:
        text = "%s could not be created, without it there is no coordinator: %s"
        self._limited("internal topic", {"topic": topic, "error": str(reason)}, text, topic, reason)

    # The control plane

    def registration_refused(self, code: object) -> None:
        self._limited("registration", {"error": str(code)}, "the controller refuses this broker: %s", code)

    def metadata_problem(self, problem: str) -> None:
        self.metadata_errors += 1
        self._limited("metadata log", {"error": problem}, "the metadata log: %s", problem)

    def config_problem(self, problem: object) -> None:
        _tell(logging.WARNING, {"error": str(problem)}, "a dynamic setting is left out: %s", problem)

    # The node's life

    def life(self, fields: Fields, text: str, *args: object) -> None:
        _tell(logging.INFO, fields, text, *args)

    # Bugs

    def controller_bug(self, request: object, bug: Exception) -> None:
        self.metadata_errors += 1
        name = type(request).__name__
        text = "the controller failed at %s: a bug, please report it"
        self._limited("bug", {"request": name}, text, name, level=logging.ERROR, bug=bug)

    def coordinator_bug(self, request: object, bug: Exception) -> None:
        self.coordinator_bugs += 1
        name = type(getattr(request, "message", request)).__name__
        text = "a coordinator failed at %s: a bug, please report it"
        self._limited("bug", {"request": name}, text, name, level=logging.ERROR, bug=bug)

    def page_bug(self, path: str, bug: Exception) -> None:
        self.page_bugs += 1
        text = "the page %s: a bug, please report it"
        self._limited("bug", {"path": path}, text, path, level=logging.ERROR, bug=bug)

    def bug(self, connection: "ClientConnection", request: "Request", bug: Exception) -> None:
        peer = connection.accepted.peer
        api_key, version, client_id = request.api_key, request.api_version, request.client_id
        fields = of_peer(peer, api_key=api_key, api_version=version, client_id=client_id)
        text = "api %s v%s from %s (%s): a bug, please report it"
        self._limited("bug", fields, text, api_key, version, peer.host, client_id, level=logging.ERROR, bug=bug)

    # Not a flood

    def _limited(
        self,
        kind: str,
        fields: Fields,
        text: str,
        *args: object,
        level: int = logging.WARNING,
        bug: Exception | None = None,
    ) -> None:
        now_ms = self._clock.monotonic_ms()
        began_ms, count = self._windows.get(kind, (now_ms, 0))
        if now_ms - began_ms >= WINDOW_MS:
            self._sum_up(kind)
            began_ms, count = now_ms, 0
        self._windows[kind] = (began_ms, count + 1)
        if count < LINES_MAX:
            _tell(level, {"kind": kind, **fields}, text, *args, bug=bug)
        else:
            self.suppressed_total += 1

    def settle(self, now_ms: int) -> None:
        """From time to time: what was held back is summed up, even if nothing of its kind comes any more."""
        over = [kind for kind, (began_ms, _count) in self._windows.items() if now_ms - began_ms >= WINDOW_MS]
        for kind in over:
            self._sum_up(kind)

    def _sum_up(self, kind: str) -> None:
        suppressed = self._windows.pop(kind)[1] - LINES_MAX
        if suppressed > 0:
            text = "%s: %s more in the last %s s"
            _tell(logging.WARNING, {"kind": kind, "suppressed": suppressed}, text, kind, suppressed, WINDOW_MS // 1000)


def _tell(level: int, fields: Fields, text: str, *args: object, bug: Exception | None = None) -> None:
    log.log(level, text, *args, exc_info=bug, extra={"fields": fields})
