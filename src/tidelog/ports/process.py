"""What the process takes of the machine, as the system counts it; for the metrics.

What a system can not tell is None, and not shown.
"""

from typing import NamedTuple, Protocol


class ProcessUse(NamedTuple):
    cpu_seconds: float
    started_seconds: float | None  # since 1970 UTC
    resident_bytes: int | None
    virtual_bytes: int | None
    open_descriptors: int | None
    max_descriptors: int | None


class Process(Protocol):
    def use(self) -> ProcessUse:
        """Return what the process takes right now; asked for once a scrape."""
        ...
