"""What the parts of one transaction coordinator share: one partition of `__transaction_state`.

Durable is what `replay` wrote: the transactions, and the two indexes over them. Volatile are the markers that are on
their way, who was last heard of, timers, counters.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import TypeAlias

from tidelog.config import BrokerConfig
from tidelog.coordinator.timers import Timers
from tidelog.coordinator.transaction.metadata import (
    Pair,
    Partitions,
    TransactionMetadata,
    metadata_of,
    record_of,
)
from tidelog.coordinator.transaction.records import TransactionLogValue
from tidelog.coordinator.transaction.states import PREPARED, TransactionState
from tidelog.coordinator.transaction.transitions import checked
from tidelog.model.decisions import Record, Result

Steps: TypeAlias = Generator[None, None, Result]


@dataclass(slots=True)
class TransactionShard:
    config: BrokerConfig
    partition: int
    coordinator_epoch: int
    allocate_producer_id: Callable[[], int | None]
    transaction_version: Callable[[], int]
    offsets_partition_for: Callable[[str], int]
    max_record_bytes: int

    transactions: dict[str, TransactionMetadata] = field(default_factory=dict)
    ongoing: dict[str, None] = field(default_factory=dict)
    prepared: dict[str, None] = field(default_factory=dict)

    markers_missing: dict[str, Partitions] = field(default_factory=dict)  # of prepared ones
    decisions: dict[str, int] = field(default_factory=dict)  # the number of the decision whose markers are missing
    decision_count: int = 0
    clients: dict[str, tuple[str, str]] = field(default_factory=dict)  # id and host of the client that was last heard
    seen_open: dict[str, tuple[int, int]] = field(default_factory=dict)  # its start, and when first seen (monotonic)
    timers: Timers = field(default_factory=Timers)
    counters: dict[str, int] = field(default_factory=dict)
    _decided: dict[str, Pair] = field(default_factory=dict)  # what records do not say (`last_producer`), until replay

    def decide(self, before: TransactionMetadata | None, after: TransactionMetadata) -> Record:
        checked(before, after)
        self._decided[after.transactional_id] = after.last_producer
        return record_of(after, self.transaction_version())

    def replay(self, transactional_id: str, value: TransactionLogValue | None) -> None:
        before = self.transactions.get(transactional_id)
        decided = self._decided.pop(transactional_id, None)
        if value is None:
            self._forget(transactional_id)
            return
        after = metadata_of(transactional_id, value)
        if decided is not None:
            after.last_producer = decided
        elif before is not None:  # the second record of one decision
            after.last_producer = before.last_producer
        self.transactions[transactional_id] = after
        self._index(after)

    def count(self, name: str, by: int = 1) -> None:
        self.counters[name] = self.counters.get(name, 0) + by

    def _index(self, metadata: TransactionMetadata) -> None:
        transactional_id = metadata.transactional_id
        if metadata.state is TransactionState.ONGOING:
            self.ongoing[transactional_id] = None
        elif metadata.state in PREPARED:
            self.ongoing.pop(transactional_id, None)
            self.prepared[transactional_id] = None
        else:
            self._close(transactional_id)

    def _close(self, transactional_id: str) -> None:
        for index in (self.ongoing, self.prepared, self.markers_missing, self.decisions, self.clients, self.seen_open):
            index.pop(transactional_id, None)

    def _forget(self, transactional_id: str) -> None:
        self._close(transactional_id)
        self.transactions.pop(transactional_id, None)
