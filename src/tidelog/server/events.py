"""What the broker tells its operator: one line an event, with the fields that name it, never a flood.

A line reads well by itself; what it is about (topic, partition, offset, peer) is in its fields as well, where a JSON
log shows it. Lines that strangers can cause (garbage on the port, refused connections), or one bad disk for thousands
of partitions, are limited: so many of a kind in ten seconds, and then how many more there were.
"""

import logging
from typing import TYPE_CHECKING, Final

from tidelog.model.errors import ErrorCode
from tidelog.ports.clock import Clock
from tidelog.protocol.api import ApiKey
from tidelog.server.node.descriptor_budget import WAY_OUT

if TYPE_CHECKING:
    from tidelog.config.problems import Problem
    from tidelog.model.ids import TopicPartition
    from tidelog.ports.network import Accepted, Address
    from tidelog.protocol.errors import ProtocolError
    from tidelog.protocol.server_connection import Request
    from tidelog.server.requests.connection import ClientConnection
    from tidelog.server.requests.handler import RequestContext

LINES_MAX: Final = 10
WINDOW_MS: Final = 10_000
REMINDER_MS: Final = 60_000  # between two lines about a problem that lasts
NANOSECONDS_PER_US: Final = 1_000

log = logging.getLogger("tidelog.server")

Fields = dict[str, object]


def of_partition(topic_partition: "TopicPartition", **more: object) -> Fields:
    return {"topic": topic_partition.topic, "partition": topic_partition.partition, **more}


def of_peer(peer: "Address", **more: object) -> Fields:
    return {"peer": f"{peer.host}:{peer.port}", **more}


class Events:
    """Every line of the broker's log, a method for each kind, and the limit on how many of a kind are written."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # By kind: when its window began, how many events fell into it, and how many lines a window may have.
        self._windows: dict[str, tuple[int, int, int]] = {}
        self.tells_requests = log.isEnabledFor(logging.DEBUG)  # asked once: every request looks at the answer
        self._failed_coordinators: dict[TopicPartition, str] = {}
        self._metadata_shortage_ms: int | None = None  # when the shortage was told the last time
        self.suppressed_total = 0
        self.metadata_errors = 0
        self.page_bugs = 0
        self.coordinator_bugs = 0

    # Clients

    def protocol_error(self, connection: "ClientConnection", error: "ProtocolError") -> None:
        peer = connection.accepted.peer
        text = "%s:%s sent what is no request: %s; closed"
        self._limited("protocol error", of_peer(peer, error=str(error)), text, peer.host, peer.port, error)

    def too_large(self, connection: "ClientConnection", request: "Request", what: str) -> None:
        peer, api = connection.accepted.peer, ApiKey(request.api_key).name
        text = "%s:%s sent a %s request with %s; refused: it has to ask for less at a time"
        self._limited("too large", of_peer(peer, api=api, what=what), text, peer.host, peer.port, api, what)

    def too_slow(self, connection: "ClientConnection", size_bytes: int) -> None:
        peer = connection.accepted.peer
        text = (
            "%s:%s has sent a part of a request of %s bytes and not the rest, while others waited for the memory that"
            " queued.max.request.bytes allows; closed. Where clients are honest and slow, raise the setting"
        )
        self._limited("too slow", of_peer(peer, size_bytes=size_bytes), text, peer.host, peer.port, size_bytes)

    def http_error(self, peer: "Address", error: str) -> None:
        text = "%s:%s asked the listener for metrics wrongly: %s; closed"
        self._limited("http error", of_peer(peer, error=error), text, peer.host, peer.port, error)

    def connection_refused(self, accepted: "Accepted", limit: str) -> None:
        peer = accepted.peer
        fields = of_peer(peer, limit=limit, listener=accepted.listener)
        self._limited("connection refused", fields, "%s: %s is reached; closed", peer.host, limit)

    def connections_short(self, accepted: "Accepted", budget: int) -> None:
        fields = of_peer(accepted.peer, limit="ulimit -n", listener=accepted.listener)
        text = "all %s connections that ulimit -n leaves room for are taken, and more are closed: raise the limit"
        self._limited("connections beyond ulimit -n", fields, text, budget, lines_max=1)

    def disconnected(self, connection: "ClientConnection", reason: str) -> None:
        peer = connection.accepted.peer
        _tell(logging.DEBUG, of_peer(peer, reason=reason), "%s:%s: %s", peer.host, peer.port, reason)

    def request(self, context: "RequestContext", now_ns: int, error_code: int) -> None:
        """Log one answered request; called only where `tells_requests` is set. Requests of the produce path are not
        logged: they are too many, and all alike."""
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

    def partition_refused(self, topic_partition: "TopicPartition", code: ErrorCode, reason: str | None = None) -> None:
        text = "%s: its log could not be made or opened, and is tried again every few seconds: %s"
        what = code.name if reason is None else f"{code.name}: {reason}"
        self._limited(
            "partition refused",
            of_partition(topic_partition, error=what),
            text,
            topic_partition,
            what,
            level=logging.ERROR,
        )

    def epoch_went_back(self, topic_partition: "TopicPartition", epoch: int, latest: int) -> None:
        text = "%s: the metadata say leader epoch %d, its log has records of %d: they are older than the log. Not led."
        self._limited(
            "epoch went back",
            of_partition(topic_partition, epoch=epoch),
            text,
            topic_partition,
            epoch,
            latest,
            level=logging.ERROR,
        )

    def log_damaged(self, topic_partition: "TopicPartition", offset: int, damage: object) -> None:
        text = "%s: can not be read from offset %d on: %s; look at it with `tidelog log verify`"
        fields = of_partition(topic_partition, offset=offset, error=str(damage))
        self._limited("log damaged", fields, text, topic_partition, offset, damage, level=logging.ERROR)

    def stray(self, topic_partition: "TopicPartition", directory: str) -> None:
        text = (
            "%s: the cluster does not know the topic of %s; it is set aside as -stray. Its topic was deleted while the "
            "broker was down, or the metadata are not this directory's; remove it once nobody needs its records"
        )
        self._limited("stray", of_partition(topic_partition, directory=directory), text, topic_partition, directory)

    def moved(self, topic_partition: "TopicPartition", path: str, error: str | None) -> None:
        fields = of_partition(topic_partition, directory=path, error=error)
        if error is None:
            _tell(logging.INFO, fields, "%s: moved to %s", topic_partition, path)
        else:
            _tell(logging.WARNING, fields, "%s: not moved to %s: %s", topic_partition, path, error)

    def directory_failed(self, path: str, fault: object, partitions: int) -> None:
        fields: Fields = {"directory": path, "partitions": partitions, "error": str(fault)}
        text = "%s is offline, and with it %s partitions: %s"
        _tell(logging.ERROR, fields, text, path, partitions, fault)

    def shortage(self, what: str) -> None:
        text = (
            "postponed for want of disk room or file descriptors: %s. Nothing is lost: it is tried again when it is "
            "due next. Free room on that disk, or raise ulimit -n"
        )
        self._limited("shortage", {"error": what}, text, what)

    def disk_short(self, path: str, shortage: str) -> None:
        text = (
            "%s is short of room: %s. Produced records and new partitions there are refused with KAFKA_STORAGE_ERROR, "
            "reads go on. Delete topics, lower their retention or free room otherwise: writes resume by themselves"
        )
        _tell(logging.ERROR, {"directory": path, "error": shortage}, text, path, shortage)

    def disk_has_room(self, path: str) -> None:
        _tell(logging.INFO, {"directory": path}, "%s has room again, and takes writes", path)

    # Coordinators

    def coordinator_note(self, topic_partition: "TopicPartition", line: str) -> None:
        self._limited("coordinator", of_partition(topic_partition), "%s: %s", topic_partition, line, level=logging.INFO)

    def coordinator_dropped(self, topic_partition: "TopicPartition") -> None:
        text = "%s: what its coordinator decided could not be written; it starts over from the log"
        self._limited("coordinator dropped", of_partition(topic_partition), text, topic_partition, level=logging.ERROR)

    def coordinator_failed(self, topic_partition: "TopicPartition", directory: str, reason: str) -> None:
        """Log that a coordinator can not be loaded, once for each reason: every new leader epoch loads it again, and
        meets the same record."""
        if self._failed_coordinators.get(topic_partition) == reason:
            return
        self._failed_coordinators[topic_partition] = reason
        log_dir, _, name = directory.rpartition("/")
        text = (
            "%s: its coordinator is out: %s. Groups and transactional ids of this partition wait, all others are "
            "served. Look at it with `tidelog log dump %s`; a newer release may be able to read it. To give up what "
            "the partition holds, stop the broker and run `tidelog log repair %s --partition %s --start-over`"
        )
        _tell(
            logging.ERROR,
            of_partition(topic_partition, error=reason),
            text,
            topic_partition,
            reason,
            directory,
            log_dir,
            name,
        )

    def unknown_record_type(self, topic_partition: "TopicPartition", record_type: int) -> None:
        text = "%s: records of type %s are from a newer release, and passed over"
        self._limited(
            "record type", of_partition(topic_partition, record_type=record_type), text, topic_partition, record_type
        )

    def internal_topic_refused(self, topic: str, reason: object) -> None:
        text = "%s could not be created, without it there is no coordinator: %s"
        fields: Fields = {"topic": topic, "error": str(reason)}
        self._limited("internal topic", fields, text, topic, reason, level=logging.ERROR)

    # The control plane

    def registration_refused(self, code: object) -> None:
        self._limited("registration", {"error": str(code)}, "the controller refuses this broker: %s", code)

    def metadata_problem(self, problem: str) -> None:
        self.metadata_errors += 1
        self._limited("metadata log", {"error": problem}, "the metadata log: %s", problem)

    def metadata_shortage(self, log_dir: str, wanted_bytes: int, error: str) -> None:
        """Log that the disk of the metadata log is full: at once, and then once a minute. The write itself is tried
        again every second."""
        self.metadata_errors += 1
        now_ms = self._clock.monotonic_ms()
        if self._metadata_shortage_ms is not None and now_ms < self._metadata_shortage_ms + REMINDER_MS:
            self.suppressed_total += 1
            return
        self._metadata_shortage_ms = now_ms
        text = "the metadata log has no room: %s; free %s MiB on %s, what waits for it goes on by itself then"
        fields: Fields = {"directory": log_dir, "wanted_bytes": wanted_bytes, "error": error}
        _tell(logging.WARNING, fields, text, error, wanted_bytes >> 20, log_dir)

    def config_problem(self, problem: object) -> None:
        text = "a dynamic setting is left out: %s; `tidelog configs unset` deletes it"
        _tell(logging.ERROR, {"error": str(problem)}, text, problem)

    def config_ignored(self, problem: "Problem") -> None:
        fields: Fields = {"setting": problem.name, "reason": problem.reason}
        _tell(logging.WARNING, fields, "%s is set and has no effect: %s", problem.name, problem.reason)

    def restart_needed(self, name: str) -> None:
        _tell(logging.WARNING, {"setting": name}, "%s takes effect at the next start", name)

    def shortfall(self, line: str) -> None:
        _tell(logging.ERROR, {"error": line}, "%s", line)

    def changed(self, client_id: str, peer: "Address", action: str, names: str, count: int) -> None:
        """Log an administrator's change. The number of these lines is not limited: whoever looks for the one change
        that broke something must find it."""
        fields = of_peer(peer, client_id=client_id, action=action, names=names, count=count)
        _tell(logging.INFO, fields, "%s at %s:%s %s %s", client_id or "a client", peer.host, peer.port, action, names)

    # The node's life

    def descriptors(self, fields: Fields, *args: object, is_few: bool) -> None:
        text = "%s descriptors (ulimit -n): %s for connections, %s for open and %s for pinned files, %s in reserve"
        if is_few:
            text += (
                ". That is few: a client needs one, an open segment three; clients beyond them are closed, and files "
                "are opened again and again. Raise the limit (ulimit -n, or LimitNOFILE= of a systemd unit) to 100000"
            )
        _tell(logging.WARNING if is_few else logging.INFO, fields, text, *args)

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

    def import_short(self, request: "Request", error: Exception) -> None:
        text = "api %s waits for file descriptors, its client is sent away to try again: %s. Raise ulimit -n"
        self._limited("import", {"api_key": request.api_key, "error": str(error)}, text, request.api_key, error)

    def preparation_failed(self, reason: str) -> None:
        text = "a produced batch could not be prepared: %s; it was refused. Please report it"
        self._limited("preparation failed", {}, text, reason, level=logging.ERROR)

    def no_descriptor(self, error: str) -> None:
        """Log that the start waits for a file descriptor. The start tries every second; at most one line in ten seconds
        is written."""
        text = f"no file descriptor is left: %s; {WAY_OUT}"
        self._limited("no descriptor", {"error": error}, text, error, lines_max=1)

    def cleaning_failed(self, problem: str) -> None:
        text = "a log is not compacted any more: %s. Its records are safe; it is tried again after a restart"
        self._limited("cleaning failed", {}, text, problem, level=logging.ERROR)

    # Not a flood

    def _limited(
        self,
        kind: str,
        fields: Fields,
        text: str,
        *args: object,
        level: int = logging.WARNING,
        bug: Exception | None = None,
        lines_max: int = LINES_MAX,
    ) -> None:
        """Log a line, unless `lines_max` lines of its kind were written in the current window of `WINDOW_MS`."""
        now_ms = self._clock.monotonic_ms()
        began_ms, count, _told = self._windows.get(kind, (now_ms, 0, lines_max))
        if now_ms - began_ms >= WINDOW_MS:
            self._sum_up(kind)
            began_ms, count = now_ms, 0
        self._windows[kind] = (began_ms, count + 1, lines_max)
        if count < lines_max:
            _tell(level, {"kind": kind, **fields}, text, *args, bug=bug)
        else:
            self.suppressed_total += 1

    def settle(self, now_ms: int) -> None:
        """Sum up the lines that were held back in windows that are over. Called from time to time, so that the sum is
        logged even if nothing of the kind happens any more."""
        over = [kind for kind, (began_ms, _count, _told) in self._windows.items() if now_ms - began_ms >= WINDOW_MS]
        for kind in over:
            self._sum_up(kind)

    def _sum_up(self, kind: str) -> None:
        _began_ms, count, told = self._windows.pop(kind)
        suppressed = count - told
        if suppressed > 0:
            text = "%s: %s more in the last %s s"
            _tell(logging.WARNING, {"kind": kind, "suppressed": suppressed}, text, kind, suppressed, WINDOW_MS // 1000)


def _tell(level: int, fields: Fields, text: str, *args: object, bug: Exception | None = None) -> None:
    log.log(level, text, *args, exc_info=bug, extra={"fields": fields})
