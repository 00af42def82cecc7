"""How far a long command is, on one line of a terminal that is written over and over; silent where nobody watches."""

import sys
import time
from collections.abc import Iterable
from typing import Final

from tidelog.cli.output.rows import size

REFRESH_S: Final = 0.2


class Meter:
    def __init__(self, verb: str, *, is_shown: bool) -> None:
        self.records = 0
        self.size_bytes = 0
        self._verb = verb
        self._is_shown = is_shown
        self._began = time.monotonic()
        self._next = self._began + REFRESH_S
        self._has_shown = False

    @property
    def seconds(self) -> float:
        return max(time.monotonic() - self._began, 1e-9)

    def add(self, size_bytes: int) -> None:
        self.records += 1
        self.size_bytes += size_bytes
        # The clock is asked only now and then: asking takes longer than a record.
        if self._is_shown and not self.records % 256 and time.monotonic() >= self._next:
            self.show()

    def show(self) -> None:
        self._next = time.monotonic() + REFRESH_S
        self._has_shown = True
        rate = f"{self.records / self.seconds:,.0f} records/s, {size(round(self.size_bytes / self.seconds))}/s"
        sys.stderr.write(f"\r\033[K{self.line()}, {rate}")
        sys.stderr.flush()

    def line(self) -> str:
        return f"{self._verb} {self.records:,} record{'' if self.records == 1 else 's'}, {size(self.size_bytes)}"

    def finish(self, details: Iterable[str] = ()) -> None:
        """Write the last line, where somebody watches; details are lines below it."""
        if self._is_shown:
            start = "\r\033[K" if self._has_shown else ""
            below = "".join(f"  {line}\n" for line in details)
            sys.stderr.write(f"{start}{self.line()} in {self.seconds:.1f} s\n{below}")
