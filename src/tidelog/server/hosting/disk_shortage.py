"""Whether the disk of a log has room, asked ahead of an append that could not be taken back; and what its operator is
told when it has not."""

from typing import TYPE_CHECKING, Final

from tidelog.model.errors import ErrorCode
from tidelog.ports.errors import StorageFault
from tidelog.ports.paths import parent_of
from tidelog.storage.directories.log_directory import LogDirectory, emptiest
from tidelog.storage.log.log import Log

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

MIB: Final = 1 << 20
# For so long a disk must have had room before that is told: around the reserve its free room goes up and down.
SETTLED_MS: Final = 5_000


def is_short_of(broker: "Broker", log: Log, size_bytes: int, wall_ms: int, *, uses_reserve: bool = False) -> bool:
    """Tell whether an append of `size_bytes` would find no room, as far as that is known ahead of it. A disk that does
    not answer the question is reported, and counts as full."""
    path = parent_of(log.directory)
    try:
        return broker.logs.directories[path].room.is_short_of(size_bytes, wall_ms, uses_reserve=uses_reserve)
    except StorageFault as fault:
        broker.logs.report(path, fault)
        return True


def shortage_of(directory: LogDirectory, wall_ms: int) -> str | None:
    """Say why a log directory takes nothing new; None where it has room, or is offline."""
    room = directory.room
    if not directory.is_online or not directory.is_short_of_room(wall_ms):
        return None
    try:
        usable_bytes = room.usable_bytes()
    except StorageFault:
        return None
    free = f"{usable_bytes / MIB:.1f} MiB"
    if room.is_below_reserve(usable_bytes) and room.reserved_bytes > 0:
        return f"{free} free on {directory.path} is below log.dir.reserved.bytes ({room.reserved_bytes / MIB:.1f} MiB)"
    return f"a write to {directory.path} found no room, with {free} free there"


def why_refused(broker: "Broker", code: ErrorCode) -> str | None:
    """Say why a log could not be made just now; None where the cause is not a log directory."""
    logs = broker.logs
    if code is not ErrorCode.KAFKA_STORAGE_ERROR:
        return None
    directory = emptiest(logs.directories.values(), logs.cordoned)
    if directory is None:
        return "every log directory is offline or in cordoned.log.dirs"
    return shortage_of(directory, broker.turn.wall_ms)


class DiskWatch:
    """The watch over the log directories: it logs when one falls short of room, and when it has room again."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._short: dict[str, int] = {}  # when each was found short the last time

    def look(self) -> None:
        """Compare each log directory with the last look, and log what changed. Called at the start, and then from time
        to time."""
        turn, events = self._broker.turn, self._broker.events
        for path, directory in self._broker.logs.directories.items():
            shortage = shortage_of(directory, turn.wall_ms)
            if shortage is not None:
                if path not in self._short:
                    events.disk_short(path, shortage)
                self._short[path] = turn.monotonic_ms
            elif path in self._short and turn.monotonic_ms >= self._short[path] + SETTLED_MS:
                del self._short[path]
                if directory.is_online:
                    events.disk_has_room(path)
