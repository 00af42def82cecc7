"""What a segment tells about itself, and what it is told about what comes: plain values."""

from typing import NamedTuple


class Located(NamedTuple):
    position: int
    size: int  # 0: there are batches, but none that may be read
    base_offset: int  # of the first batch, which may start before the offset that was asked for


class RecoveredSegment(NamedTuple):
    valid_bytes: int
    truncated_bytes: int
    reason: str | None  # why something was cut
    next_offset: int


class Incoming(NamedTuple):
    """What is about to be appended, as far as rolling asks."""

    size_bytes: int
    last_offset: int
    max_timestamp: int
