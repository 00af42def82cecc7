"""The coordinator of the transactional ids in one partition of `__transaction_state`: a replicated machine.

Here requests, records and timers find the part that they concern: `init_producer_id`, `add_partitions`, `end_txn`,
`endings` (markers), `expiry`, `admin`. The states are in `states.py`, the epochs in `transitions.py`.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any, Final, TypeAlias

from tidelog.config import BrokerConfig
from tidelog.coordinator.requests import CoordinatorRequest, LogMessage, TransactionMarker
from tidelog.coordinator.transaction import add_partitions, admin, end_txn, endings, expiry, init_producer_id
from tidelog.coordinator.transaction.admin import OpenTransaction
from tidelog.coordinator.transaction.metadata import TransactionMetadata
from tidelog.coordinator.transaction.requests import MarkersWritten
from tidelog.coordinator.transaction.shard import Steps, TransactionShard
from tidelog.coordinator.transaction.states import STATE_NAMES
from tidelog.coordinator.transaction.transitions import completed
from tidelog.metadata.changes import Changes
from tidelog.metadata.image import MetadataImage
from tidelog.model.decisions import Result
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from tidelog.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from tidelog.protocol.messages.describe_transactions import DescribeTransactionsRequest
from tidelog.protocol.messages.end_txn import EndTxnRequest
from tidelog.protocol.messages.init_producer_id import InitProducerIdRequest
from tidelog.protocol.messages.list_transactions import ListTransactionsRequest

Handle: TypeAlias = Callable[[TransactionShard, int, CoordinatorRequest], Result | Steps]
OnTimer: TypeAlias = Callable[[TransactionShard, int, int], Steps]  # now_ms, wall_ms

_HANDLE: Final[dict[type, Handle]] = {
    InitProducerIdRequest: init_producer_id.handle,
    AddPartitionsToTxnRequest: add_partitions.handle,
    AddOffsetsToTxnRequest: add_partitions.handle_offsets,
    EndTxnRequest: end_txn.handle,
    MarkersWritten: endings.markers_written,
    DescribeTransactionsRequest: admin.describe,
    ListTransactionsRequest: admin.list_all,
}
_ON_TIMER: Final[dict[Any, OnTimer]] = {
    expiry.TIMEOUTS: expiry.abort_timed_out,
    expiry.EXPIRY: expiry.forget_unused,
}


class TransactionCoordinator:
    def __init__(
        self,
        config: BrokerConfig,
        partition: int,
        coordinator_epoch: int,
        allocate_producer_id: Callable[[], int | None],
        transaction_version: Callable[[], int],
        offsets_partition_for: Callable[[str], int],
        max_record_bytes: int,
    ) -> None:
        """Make the machine. `coordinator_epoch` is the leader epoch of the partition. `allocate_producer_id` gives one
        that nobody has had, or None where there is none at hand; `transaction_version` is the cluster's;
        `offsets_partition_for` says where a group's offsets are. No record may be larger than `max_record_bytes`, the
        topic's `max.message.bytes`."""
        self.shard = TransactionShard(
            config,
            partition,
            coordinator_epoch,
            allocate_producer_id,
            transaction_version,
            offsets_partition_for,
            max_record_bytes,
        )

    @property
    def deadline(self) -> int | None:
        return self.shard.timers.deadline

    @property
    def counters(self) -> dict[str, int]:
        return self.shard.counters

    def activate(self, now_ms: int) -> Result:
        """Begin after everything is loaded: what was decided before is carried out, and timers start."""
        shard = self.shard
        expiry.activate(shard, now_ms)
        prepared = [shard.transactions[transactional_id] for transactional_id in shard.prepared]
        done = [each for each in prepared if not each.partitions]
        records = [shard.decide(each, completed(each, each.last_update_ms)) for each in done]
        effects = [endings.send_markers(shard, each) for each in prepared if each.partitions]
        return Result(records, None, is_atomic=False, effects=effects)

    def handle(self, now_ms: int, request: CoordinatorRequest) -> Result | Steps:
        handle = _HANDLE.get(type(request.message))
        if handle is None:
            name = type(request.message).__name__
            raise ApiError(ErrorCode.INVALID_REQUEST, f"{name} is not for a transaction coordinator")
        return handle(self.shard, now_ms, request)

    def step(self, now_ms: int, wall_ms: int) -> Result | Steps:
        """Return what the next due timer brings about; look at `deadline` again after it."""
        key = self.shard.timers.pop_due(now_ms)
        return Result([], None) if key is None else _ON_TIMER[key](self.shard, now_ms, wall_ms)

    def replay(self, message: LogMessage) -> None:
        """Replay a record. Apache lets tools write markers and transactions into this log, too: markers are passed
        over, and records inside of a transaction are taken as they are, because the coordinator alone decides."""
        if not isinstance(message, TransactionMarker):
            self.shard.replay(message.key.transactional_id, message.value)

    def image_changed(self, _now_ms: int, _image: MetadataImage, _changes: Changes) -> None:
        """Do nothing: the cluster's transaction version is asked for at each decision, and the server finds out that a
        partition was deleted when its marker is due."""

    def open_transactions(self) -> Iterator[OpenTransaction]:
        """Yield the open transactions, for tools and metrics: since when each is open, and whose it is."""
        return admin.open_transactions(self.shard)

    def durable(self) -> dict[str, Any]:
        """Return the durable state: what a fresh replay must make of the same records."""
        transactions = self.shard.transactions
        return {transactional_id: _printed(transactions[transactional_id]) for transactional_id in sorted(transactions)}

    def printed(self) -> dict[str, Any]:
        """Return the durable and the volatile state, in plain values and a fixed order."""
        shard = self.shard
        missing = {name: [str(each) for each in shard.markers_missing[name]] for name in sorted(shard.markers_missing)}
        last = {name: list(each.last_producer) for name, each in sorted(shard.transactions.items())}
        return {"transactions": self.durable(), "markers_missing": missing, "last_producers": last}


def _printed(metadata: TransactionMetadata) -> dict[str, Any]:
    printed = asdict(metadata)
    del printed["last_producer"]
    return printed | {"state": STATE_NAMES[metadata.state], "partitions": sorted(map(str, metadata.partitions))}
