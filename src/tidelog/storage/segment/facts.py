"""Plain values that a segment answers with: where batches lie, what recovery found, how much room is left. Compiled by
mypyc.
"""

from dataclasses import dataclass
from typing import NamedTuple

from tidelog.storage.names import MAX_INT64


class Located(NamedTuple):
    position: int
    size: int  # 0: there are batches, but none that may be read
    base_offset: int  # of the first batch, which may start before the offset that was asked for


class RecoveredSegment(NamedTuple):
    valid_bytes: int
    truncated_bytes: int
    reason: str | None  # why something was cut
    next_offset: int


@dataclass(init=False, slots=True)
class Room:
    """The limits up to which a segment takes batches before the log has to roll: bytes, the last offset, the latest
    timestamp."""

    size_bytes: int
    last_offset: int
    max_timestamp: int

    def __init__(self, size_bytes: int, last_offset: int, max_timestamp: int = MAX_INT64) -> None:
        self.size_bytes = size_bytes
        self.last_offset = last_offset
        self.max_timestamp = max_timestamp

    def takes(self, size_bytes: int, last_offset: int, max_timestamp: int) -> bool:
        return size_bytes <= self.size_bytes and last_offset <= self.last_offset and max_timestamp <= self.max_timestamp
