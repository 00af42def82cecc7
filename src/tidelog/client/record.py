"""What goes through a client: records as they are handed in and out."""

from typing import Final, Literal, NamedTuple

from tidelog.records.record import Header

Headers = tuple[Header, ...]
Acks = Literal[0, 1, -1]

# Stand for an offset where a consumer starts.
LATEST: Final = -1
EARLIEST: Final = -2


class ConsumerRecord(NamedTuple):
    topic: str
    partition: int
    offset: int
    timestamp: int  # milliseconds, -1 for none
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
