"""What the steps of an append say to each other: batches about to be written, or why they will not be.

Values only, so that validation, producer state, segments and the log can each be built and tested without the others.
A batch is described once, when its header is read; nobody behind that reads the bytes again.

Compiled by mypyc. The two that are built for every batch have their `__init__` written out, because the one that
`dataclass` makes is not compiled: it takes three times as long.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import NO_PRODUCER_ID
from tidelog.records.control import EndTransactionMarker
from tidelog.records.header import (
    MAX_INT32,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    BytesLike,
)


class AppendOrigin(Enum):
    """The sender of an append, which decides what must be checked."""

    CLIENT = "client"  # anyone may have written these bytes: everything is checked
    COORDINATOR = "coordinator"  # our own group or transaction coordinator: it alone may write control records
    RAFT_LEADER = "raft leader"  # offsets and epoch are set already, by the quorum's leader
    REPLICATION = "replication"  # the leader has checked it


@dataclass(init=False, slots=True)
class AppendedBatch:
    """One batch with the offsets at which it will be (or was) written."""

    base_offset: int
    last_offset: int
    max_timestamp: int
    size_bytes: int
    records_count: int
    first_timestamp: int  # the header's base timestamp
    leader_epoch: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    is_transactional: bool
    is_control: bool
    marker: EndTransactionMarker | None  # of a control batch that ends a transaction

    def __init__(
        self,
        base_offset: int,
        last_offset: int,
        max_timestamp: int,
        size_bytes: int,
        records_count: int = 0,
        first_timestamp: int = NO_TIMESTAMP,
        leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        is_transactional: bool = False,
        is_control: bool = False,
        marker: EndTransactionMarker | None = None,
    ) -> None:
        self.base_offset = base_offset
        self.last_offset = last_offset
        self.max_timestamp = max_timestamp
        self.size_bytes = size_bytes
        self.records_count = records_count
        self.first_timestamp = first_timestamp
        self.leader_epoch = leader_epoch
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.base_sequence = base_sequence
        self.is_transactional = is_transactional
        self.is_control = is_control
        self.marker = marker

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id > NO_PRODUCER_ID

    @property
    def last_sequence(self) -> int:
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset - self.base_offset) & MAX_INT32  # it wraps around to 0


@dataclass(init=False, slots=True)
class Validated:
    """Batches that are ready to be written: `pieces` one after another are their bytes, offsets and epoch in place.

    Pieces of a batch that was stored as sent are views of the receive buffer: write them before it is used again.
    """

    batches: Sequence[AppendedBatch]
    pieces: Sequence[BytesLike]
    size_bytes: int
    log_append_time: int  # what a produce response says under LogAppendTime

    def __init__(
        self,
        batches: Sequence[AppendedBatch],
        pieces: Sequence[BytesLike],
        size_bytes: int,
        log_append_time: int = NO_TIMESTAMP,
    ) -> None:
        self.batches = batches
        self.pieces = pieces
        self.size_bytes = size_bytes
        self.log_append_time = log_append_time

    @property
    def first_offset(self) -> int:
        return self.batches[0].base_offset

    @property
    def last_offset(self) -> int:
        return self.batches[-1].last_offset

    @property
    def max_timestamp(self) -> int:
        return max(batch.max_timestamp for batch in self.batches)


@dataclass(slots=True)
class RecordError:
    """One record for which its batch was refused; `index` counts the records of the batch from 0."""

    index: int
    message: str


@dataclass(slots=True)
class Refused:
    """An append of which nothing is written, and what a produce response says about it."""

    code: ErrorCode
    message: str
    record_errors: Sequence[RecordError] = field(default_factory=list)


@dataclass(slots=True)
class TooHeavy(Refused):
    """The refusal of a batch that takes longer than a turn may take; nothing was found wrong with it so far. Only a
    caller that asked for it (`is_inline`) is told so; it has the batch prepared elsewhere (`append.preparation`)."""


@dataclass(slots=True)
class Misplaced(Refused):
    """The refusal of a batch that does not belong at the end of the follower's log. An empty log may start over at
    `first_offset`: that is a batch which begins before the leader's log start offset and reaches beyond it."""

    first_offset: int = -1
    last_offset: int = -1
    expected_offset: int = -1


def refused_while_cut(directory: str) -> Refused:
    """Return the answer to an append while a truncation of the log in `directory` is not durable yet."""
    return Refused(ErrorCode.KAFKA_STORAGE_ERROR, f"{directory}: a cut is on its way to the disk")
