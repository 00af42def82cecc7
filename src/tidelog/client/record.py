"""What goes through a client: records as they are handed in and out, and what became of them."""

from typing import Final, Literal, NamedTuple

from tidelog.model.ids import TopicPartition
from tidelog.records.record import Header

Headers = tuple[Header, ...]
Acks = Literal[0, 1, -1]

# Where a consumer starts; any other number is an offset.
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


class Delivered(NamedTuple):
    """Records of one batch, acknowledged: as strongly as `acks` asked for."""

    partition: TopicPartition
    base_offset: int  # -1 with acks=0, which is not told
    records_count: int
    timestamp: int  # the broker's, under LogAppendTime; else -1
