"""Whether a log directory's disk has room, and who may take it.

    everybody                        what is free beyond the reserve (`log.dir.reserved.bytes`) and the ballast
    coordinators and their markers   the reserve too: a commit or the end of a transaction is small, and whoever waits
                                     for it can not get out of the way otherwise
    the metadata log                 everything, its ballast last (`server.metadata_log.ballast`)

The system is not asked at every append. Where there is plenty a part of it is granted in advance, and asked about again
when that is used up or some time later. Somebody else may fill the disk meanwhile; then a write fails, and is undone.

A quota is full while the disk has room, and no question shows that: after a second write that found no room, nothing
is tried again for a while, unless there is more free space than there was.
"""

from typing import Final

from tidelog.ports.files import FileSystem

PLENTY_BYTES: Final = 1 << 30
GRANT_BYTES: Final = 64 << 20
GRANT_TIMES: Final = 1_000
RETRY_MS: Final = 1_000
FORGOTTEN_MS: Final = 10_000  # a failure that long ago has nothing to do with the next
COORDINATOR_TOPICS: Final = ("__consumer_offsets", "__transaction_state")


class DiskRoom:
    __slots__ = (
        "_failed_at_bytes",
        "_failed_ms",
        "_fs",
        "_granted_bytes",
        "_granted_times",
        "_is_known_full",
        "_path",
        "_refused_ms",
        "is_withheld",
        "owed_bytes",
        "reserved_bytes",
    )

    def __init__(self, fs: FileSystem, path: str, reserved_bytes: int) -> None:
        self._fs = fs
        self._path = path
        self.reserved_bytes = reserved_bytes
        self.is_withheld = False  # nobody gets any: the node has no controller yet (`server.node.standing_by`)
        self.owed_bytes = 0  # to the ballast of a metadata log on the same disk, while it is released
        self._granted_bytes = self._granted_times = 0
        self._failed_ms: int | None = None  # when a write found no room the last time
        self._failed_at_bytes = 0  # how many bytes were free then all the same
        self._is_known_full = False
        self._refused_ms: int | None = None  # when `has_room_for` was last False for want of room

    def has_room_for(self, size_bytes: int, now_ms: int, *, uses_reserve: bool = False) -> bool:
        """Tell whether `size_bytes` may be written, and count them as taken. Without `uses_reserve` the reserve must
        stay free."""
        if self.is_withheld:
            return False
        if size_bytes <= self._granted_bytes and self._granted_times:
            self._granted_bytes -= size_bytes
            self._granted_times -= 1
            return True
        usable_bytes = self._fs.space(self._path).usable_bytes
        if self._is_still_full(usable_bytes, now_ms):
            self._refused_ms = now_ms
            return False
        spare_bytes = usable_bytes - self.owed_bytes - size_bytes
        has_plenty = spare_bytes - self.reserved_bytes >= PLENTY_BYTES
        self._granted_bytes = GRANT_BYTES if has_plenty else 0
        self._granted_times = GRANT_TIMES if has_plenty else 0
        has_room = spare_bytes >= (0 if uses_reserve else self.reserved_bytes)
        if not has_room:
            self._refused_ms = now_ms
        return has_room

    def is_short_of(self, size_bytes: int, now_ms: int, *, uses_reserve: bool = False) -> bool:
        """Tell whether an append of `size_bytes` would find no room, without counting the bytes as taken."""
        if size_bytes <= self._granted_bytes and self._granted_times and not self.is_withheld:
            return False
        return not self.has_room_for(size_bytes, now_ms, uses_reserve=uses_reserve)

    def is_low(self, now_ms: int) -> bool:
        """Tell whether the reserve is touched, or a write or a question found no room a short while ago."""
        for last_ms in (self._failed_ms, self._refused_ms):
            if last_ms is not None and last_ms <= now_ms < last_ms + FORGOTTEN_MS:
                return True
        return self.is_below_reserve(self.usable_bytes())

    def usable_bytes(self) -> int:
        """Return how many bytes are free on the disk right now, whoever may take them."""
        return self._fs.space(self._path).usable_bytes

    def is_below_reserve(self, usable_bytes: int) -> bool:
        return usable_bytes - self.owed_bytes < self.reserved_bytes

    def note_full(self, now_ms: int) -> None:
        """Take note that a write found no room."""
        self._granted_bytes = self._granted_times = 0
        last_ms = self._failed_ms
        self._is_known_full = last_ms is not None and last_ms <= now_ms < last_ms + FORGOTTEN_MS
        self._failed_ms = now_ms
        self._failed_at_bytes = self._fs.space(self._path).usable_bytes

    def _is_still_full(self, usable_bytes: int, now_ms: int) -> bool:
        if self._is_known_full and self._failed_ms is not None:
            is_over = not self._failed_ms <= now_ms < self._failed_ms + RETRY_MS
            self._is_known_full = not is_over and usable_bytes <= self._failed_at_bytes
        return self._is_known_full
