"""`log.cleaner.io.max.bytes.per.second` as arithmetic on the time.

The pace is kept over a sliding window: what a slow second left over is not caught up with later, or a cleaner that
idled for an hour would then take the whole disk for minutes.
"""

from typing import Final

WINDOW_MS: Final = 300  # Apache's: long enough not to sleep after each buffer, short enough not to stall the disk


class Throttle:
    def __init__(self, bytes_per_second: float, now_ms: int) -> None:
        if bytes_per_second <= 0:
            raise ValueError(f"a cleaner of {bytes_per_second} bytes a second would never finish")
        self.bytes_per_second = bytes_per_second
        self._free_ms: float = now_ms  # when what was moved so far is paid for

    def pause_ms(self, now_ms: int, moved_bytes: int) -> int:
        """Count the bytes that were moved, and return how long to rest for them. Cleaners that share a throttle are
        each told a pause of their own."""
        self._free_ms = max(self._free_ms, now_ms - WINDOW_MS) + 1000 * moved_bytes / self.bytes_per_second
        return max(0, round(self._free_ms - now_ms))
