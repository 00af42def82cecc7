"""`replica.alter.log.dirs.io.max.bytes.per.second`: when the copying of logs rests."""

from typing import Final

from tidelog.storage.cleaner.throttle import Throttle

UNLIMITED: Final = 2**63 - 1  # the default


class Pace:
    """The limit on the copying of all moves together; 0 bytes a second stops them."""

    def __init__(self, bytes_per_second: int = UNLIMITED, now_ms: int = 0) -> None:
        self._is_stopped = bytes_per_second == 0
        self._throttle = None if bytes_per_second in (0, UNLIMITED) else Throttle(bytes_per_second, now_ms)
        self._from_ms = self._until_ms = now_ms

    def rests(self, now_ms: int) -> bool:
        """Tell whether the copying rests now. A clock that is set back ends the rest."""
        return self._is_stopped or self._from_ms <= now_ms < self._until_ms

    @property
    def until_ms(self) -> int | None:
        """The time at which the rest ends by itself; None where the copying is stopped."""
        return None if self._is_stopped else self._until_ms

    def note(self, size_bytes: int, now_ms: int) -> None:
        if self._throttle is not None:
            self._from_ms = now_ms
            self._until_ms = now_ms + self._throttle.pause_ms(now_ms, size_bytes)
