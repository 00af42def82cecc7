"""What time does: transactions that stay open too long are aborted, ids that nobody uses are forgotten.

Both look around at intervals, as Kafka does, and by the wall clock, because their times come from records and must mean
the same on the next coordinator. A wall clock that is set back must not keep a transaction open, and its readers
waiting, for as long as it was set back: one that this coordinator has seen open for its whole timeout, by the monotonic
clock, is aborted as well. A pass over many ids gives the turn back now and then; what it finds is decided some
thousands at a time, and the rest at once after that.
"""

from typing import Final

from tidelog.config.settings.transactions import (
    TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS,
    TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS,
    TRANSACTIONAL_ID_EXPIRATION_MS,
)
from tidelog.coordinator.transaction.endings import abort_and_fence
from tidelog.coordinator.transaction.metadata import TransactionMetadata, tombstone_of
from tidelog.coordinator.transaction.requests import SendMarkers
from tidelog.coordinator.transaction.shard import Steps, TransactionShard
from tidelog.coordinator.transaction.states import AT_REST
from tidelog.model.decisions import Record, Result
from tidelog.model.errors import ErrorCode

TIMEOUTS: Final = ("timeouts",)
EXPIRY: Final = ("expiry",)

TRANSACTIONS_A_SLICE: Final = 2_000  # well below a millisecond
ABORTED_AT_ONCE: Final = 1_000
EXPIRED_AT_ONCE: Final = 5_000


def activate(shard: TransactionShard, now_ms: int) -> None:
    shard.timers.set(TIMEOUTS, now_ms + shard.config.get(TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS))
    shard.timers.set(EXPIRY, now_ms + shard.config.get(TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS))


def abort_timed_out(shard: TransactionShard, now_ms: int, wall_ms: int) -> Steps:
    interval_ms = shard.config.get(TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS)
    shard.timers.set(TIMEOUTS, now_ms + interval_ms)
    records: list[Record] = []
    effects: list[SendMarkers] = []
    for count, transactional_id in enumerate(shard.ongoing, 1):
        if count % TRANSACTIONS_A_SLICE == 0:
            yield
        metadata = shard.transactions[transactional_id]
        if not _is_timed_out(shard, metadata, now_ms, wall_ms):
            continue
        if len(effects) >= ABORTED_AT_ONCE:
            shard.timers.set(TIMEOUTS, now_ms)
            break
        ending = abort_and_fence(shard, metadata, wall_ms)
        if isinstance(ending, ErrorCode):  # no producer id at hand: next time
            continue
        shard.count("timed_out")
        records += ending.records
        effects += ending.effects
    return Result(records, None, is_atomic=False, effects=effects)


def _is_timed_out(shard: TransactionShard, metadata: TransactionMetadata, now_ms: int, wall_ms: int) -> bool:
    if metadata.is_two_phase:
        return False
    start_ms, since_ms = shard.seen_open.get(metadata.transactional_id, (None, now_ms))
    if start_ms != metadata.start_ms:
        shard.seen_open[metadata.transactional_id] = metadata.start_ms, now_ms
        since_ms = now_ms
    return metadata.start_ms + metadata.timeout_ms < wall_ms or now_ms - since_ms > metadata.timeout_ms


def forget_unused(shard: TransactionShard, now_ms: int, wall_ms: int) -> Steps:
    interval_ms = shard.config.get(TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS)
    shard.timers.set(EXPIRY, now_ms + interval_ms)
    unused_since_ms = wall_ms - shard.config.get(TRANSACTIONAL_ID_EXPIRATION_MS)
    tombstones: list[Record] = []
    for count, metadata in enumerate(shard.transactions.values(), 1):
        if count % TRANSACTIONS_A_SLICE == 0:
            yield
        if metadata.state not in AT_REST or metadata.last_update_ms > unused_since_ms:
            continue
        if len(tombstones) >= EXPIRED_AT_ONCE:
            shard.timers.set(EXPIRY, now_ms)
            break
        tombstones.append(tombstone_of(metadata.transactional_id))
    shard.count("expired_ids", len(tombstones))
    return Result(tombstones, None, is_atomic=False)
