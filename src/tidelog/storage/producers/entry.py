"""What a partition remembers of one producer: its epoch, its last five batches, the transaction it has open.

Entries and batches never change: an append makes a new entry, so an append that is not written is undone by forgetting
it, and an entry may be handed to anyone (a snapshot, the cleaner, DescribeProducers) without a copy.

Compiled by mypyc: an idempotent producer's batch makes one of each. (`__init__` is written out because the one that
`dataclass` makes is not compiled.)
"""

from dataclasses import dataclass
from typing import Final

from tidelog.records.header import MAX_INT32, NO_PRODUCER_EPOCH, NO_SEQUENCE, NO_TIMESTAMP
from tidelog.storage.append.outcome import AppendedBatch

# A producer may have five requests in flight, and resends all of them when it hears of none.
BATCHES_RETAINED: Final = 5
NO_COORDINATOR_EPOCH: Final = -1
NO_OFFSET: Final = -1


@dataclass(init=False, slots=True)
class BatchMetadata:
    """One batch in the window of duplicates, as a snapshot keeps it."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    def __init__(self, last_sequence: int, last_offset: int, offset_delta: int, timestamp: int) -> None:
        self.last_sequence = last_sequence
        self.last_offset = last_offset
        self.offset_delta = offset_delta
        self.timestamp = timestamp

    @property
    def first_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) & MAX_INT32

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


@dataclass(init=False, slots=True)
class ProducerEntry:
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int  # of the last transaction marker
    last_timestamp: int  # of the last batch or marker: expiry counts from it
    current_txn_first_offset: int | None
    batches: tuple[BatchMetadata, ...]  # oldest first, all of `producer_epoch`

    def __init__(
        self,
        producer_id: int,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        coordinator_epoch: int = NO_COORDINATOR_EPOCH,
        last_timestamp: int = NO_TIMESTAMP,
        current_txn_first_offset: int | None = None,
        batches: tuple[BatchMetadata, ...] = (),
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = last_timestamp
        self.current_txn_first_offset = current_txn_first_offset
        self.batches = batches

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_data_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else NO_OFFSET

    @property
    def last_offset_delta(self) -> int:
        return self.batches[-1].offset_delta if self.batches else 0

    def find_duplicate(self, batch: AppendedBatch) -> BatchMetadata | None:
        """Return the batch in the window with exactly this range of sequence numbers, in this epoch. The whole window
        is searched: a replica's need not increase, so even the sequence that is due may have been there before."""
        if batch.producer_epoch != self.producer_epoch:
            return None
        last = batch.last_sequence
        for known in self.batches:
            if known.last_sequence == last and known.first_sequence == batch.base_sequence:
                return known
        return None

    def with_batch(self, batch: AppendedBatch, txn_first_offset: int | None) -> "ProducerEntry":
        """Return the entry after this data batch. Another epoch, a lower one from a leader included, starts an empty
        window."""
        kept = self.batches[1 - BATCHES_RETAINED :] if batch.producer_epoch == self.producer_epoch else ()
        delta = batch.last_offset - batch.base_offset
        added = BatchMetadata(batch.last_sequence, batch.last_offset, delta, batch.max_timestamp)
        return ProducerEntry(
            self.producer_id,
            batch.producer_epoch,
            self.coordinator_epoch,
            batch.max_timestamp,
            txn_first_offset,
            (*kept, added),
        )

    def with_marker(self, producer_epoch: int, coordinator_epoch: int, timestamp: int) -> "ProducerEntry":
        """Return the entry after the end of a transaction. A marker of the same epoch (before transaction version 2)
        keeps the window: the producer's sequence goes on."""
        batches = self.batches if producer_epoch == self.producer_epoch else ()
        return ProducerEntry(self.producer_id, producer_epoch, coordinator_epoch, timestamp, None, batches)
