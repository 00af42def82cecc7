"""One partition of a coordinator's topic as the log that a replicated machine writes to (`replicated.ReplicatedLog`).

    append_steps: records -> drafts of batches     stage: -> the partition's log
    commit: stage, one write, settle               settle: the high watermark moves

Whoever has several of these to write stages all, has their logs written together and settles all (`CoordinatorFamily`).

What a turn decides outside of transactions becomes one batch, or as many as `max.message.bytes` makes it. A decision
whose records must become visible together is never cut: where it does not fit into one batch it is refused. Batches of
transactions and markers go to the log at once, since the log may refuse them (a fenced producer, a transaction that
nobody has verified), and a machine must hear of that before it has replayed them.

Whoever has a group's offsets committed inside of a transaction verifies that first: `ProducerState.start_verification`
on this partition's log, then a question to the transaction coordinator, then the machine. The guard is found here, by
its producer; a marker that came in between has taken it away, and the late commit is refused.
"""

from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from tidelog.coordinator.requests import KeyValue, LogMessage, TransactionalKeyValue, TransactionMarker
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import NO_PRODUCER_ID
from tidelog.ports.errors import StorageFault
from tidelog.records.compression import CompressionType
from tidelog.records.control import EndTransactionMarker
from tidelog.records.header import BATCH_OVERHEAD, NO_PRODUCER_EPOCH
from tidelog.server.coordination.batch_bytes import RECORD_OVERHEAD
from tidelog.server.coordination.batches import (
    ONE_RECORD_OVERHEAD,
    Draft,
    EncodedRecord,
    encode_record,
    marker_batch,
)
from tidelog.server.hosting.disk_shortage import is_short_of
from tidelog.server.hosting.partition import Partition
from tidelog.server.replicated import AppendRefused
from tidelog.storage.append.outcome import AppendedBatch, AppendOrigin, Refused
from tidelog.storage.log.group_commit import Append, append_own, next_offset

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

# Encoded between two yields: about a millisecond of work.
RECORDS_A_SLICE: Final = 250
# The room that the decisions of one turn take at most, but for rare ones.
ROOM_BYTES: Final = 256 << 10

VersionedMessage: TypeAlias = tuple[LogMessage, int]
Part: TypeAlias = Draft | TransactionMarker


def batch_bytes_max(partition: Partition) -> int:
    """Return the largest batch that the partition's topic takes."""
    rules = partition.log.rules
    return min(rules.max_message_bytes, rules.segment_bytes_max)


def record_bytes_max(partition: Partition) -> int:
    """Return how many bytes a key and its value may have together, so that they fit into a batch alone."""
    return batch_bytes_max(partition) - ONE_RECORD_OVERHEAD


class CoordinatorLog:
    """The log of one coordinator, and what this turn has gathered for it."""

    def __init__(self, broker: "Broker", partition: Partition, compression: Callable[[], CompressionType]) -> None:
        self._broker = broker
        self._partition = partition
        self._compression_of = compression
        self._compression = compression()
        self._config = broker.config  # the settings that `_compression` was read from
        self._open: Draft | None = None  # to be filled until the end of the turn
        self._appends: list[Append] = []  # staged in the log
        self._is_refused = False  # the log refused a batch, and must take nothing of this turn
        self._looked_ms = -1  # when it was last asked whether the disk has room
        self._has_room = True

    @property
    def end_offset(self) -> int:
        end_offset = self._appends[-1].last_offset + 1 if self._appends else self._partition.log.log_end_offset
        return end_offset if self._open is None else end_offset + len(self._open.keys)

    @property
    def high_watermark(self) -> int:
        return self._partition.log.high_watermark

    # Staging

    def append_steps(
        self, records: Sequence[VersionedMessage], wall_ms: int, *, is_atomic: bool
    ) -> Generator[None, None, None]:
        limit_bytes = batch_bytes_max(self._partition)
        if len(records) == 1 and isinstance(records[0][0], KeyValue):  # nearly always
            self._gather_one(records[0][0], records[0][1], limit_bytes, wall_ms)
            return
        parts = yield from _parts(records, limit_bytes)
        if is_atomic and len(parts) > 1:
            raise AppendRefused(f"{len(records)} records do not fit into one batch of {limit_bytes} bytes")
        for index, part in enumerate(parts):
            if isinstance(part, Draft) and not part.is_transactional:
                self._gather(part, limit_bytes, wall_ms)
            else:
                refused = self._append_at_once(part, wall_ms)
                if refused is not None:
                    assert index == 0, "a log that takes the first batch of a producer takes the next"
                    raise AppendRefused(refused.message, refused.code)

    def _gather_one(self, message: KeyValue, version: int, limit_bytes: int, wall_ms: int) -> None:
        self._add_to_open(_encoded(message, version, limit_bytes), limit_bytes, wall_ms)

    def _add_to_open(self, record: EncodedRecord, limit_bytes: int, wall_ms: int) -> None:
        into = self._open
        if into is None or into.size_bytes + record[2] > limit_bytes:
            self._close_draft(wall_ms)
            into = self._open = Draft()
        into.add(record)

    def gather_encoded(self, key: bytes, value: bytes, wall_ms: int) -> bool:
        """Stage one record outside of transactions; False, and nothing is staged, where it is too large for a batch."""
        limit_bytes = batch_bytes_max(self._partition)
        size_bytes = RECORD_OVERHEAD + len(key) + len(value)
        if BATCH_OVERHEAD + size_bytes > limit_bytes:
            return False
        self._add_to_open((key, value, size_bytes), limit_bytes, wall_ms)
        return True

    def _gather(self, draft: Draft, limit_bytes: int, wall_ms: int) -> None:
        into = self._open
        if into is not None and into.size_bytes + draft.size_bytes - BATCH_OVERHEAD <= limit_bytes:
            into.take_in(draft)
        else:
            self._close_draft(wall_ms)
            self._open = draft

    def _close_draft(self, wall_ms: int) -> None:
        draft, self._open = self._open, None
        if draft is None:
            return
        if self._stores_as_built(draft):
            refused = self._append_own(draft, wall_ms)
        else:
            refused = self._append(draft.build(wall_ms, self._codec()), wall_ms)
        if refused is not None:
            self._is_refused = True

    def _stores_as_built(self, draft: Draft) -> bool:
        """Tell whether the topic takes the batch as it is built here, plain and unchanged: nearly always. Settings may
        have changed since the draft was begun."""
        log = self._partition.log
        rules = log.rules
        return (
            not log.unsettled
            and self._codec() is CompressionType.NONE
            and rules.compression in (None, CompressionType.NONE)
            and not rules.is_log_append_time
            and draft.size_bytes <= batch_bytes_max(self._partition)
        )

    def _append_own(self, draft: Draft, wall_ms: int) -> Refused | None:
        """Append a batch that was built here. It need not be checked like one that came from outside."""
        partition, log = self._partition, self._partition.log
        leader_epoch, base_offset, count = partition.leader_epoch, next_offset(log), len(draft.keys)
        stored = draft.build_at(base_offset, leader_epoch, wall_ms)
        batch = AppendedBatch(base_offset, base_offset + count - 1, wall_ms, len(stored), count, wall_ms, leader_epoch)
        try:
            return self._note(append_own(log, stored, batch, wall_ms), len(stored))
        except StorageFault as fault:
            self._note_fault(fault)
            return None

    def _codec(self) -> CompressionType:
        """Return the compression that the broker's settings say. They are an object that is replaced when they
        change."""
        config = self._broker.config
        if config is not self._config:
            self._config, self._compression = config, self._compression_of()
        return self._compression

    def _append_at_once(self, part: Part, wall_ms: int) -> Refused | None:
        self._close_draft(wall_ms)
        if isinstance(part, TransactionMarker):
            marker = EndTransactionMarker(part.committed, part.coordinator_epoch)
            batch = marker_batch(part.producer_id, part.producer_epoch, marker, wall_ms)
            return self._append(batch, wall_ms, transaction_version=part.transaction_version)
        return self._append(part.build(wall_ms, self._codec()), wall_ms, producer_id=part.producer_id)

    def _append(
        self,
        batch: bytes,
        wall_ms: int,
        producer_id: int = NO_PRODUCER_ID,
        transaction_version: int | None = None,
    ) -> Refused | None:
        partition, log = self._partition, self._partition.log
        known = log.producers.verifications.get(producer_id)
        try:
            append = log.append_as_leader(
                memoryview(bytearray(batch)),
                0,
                len(batch),
                partition.leader_epoch,
                wall_ms,
                AppendOrigin.COORDINATOR,
                guard=None if known is None else known.guard,
                transaction_version=transaction_version,
            )
        except StorageFault as fault:
            self._note_fault(fault)
            return None
        return self._note(append, len(batch))

    def _note(self, append: Append | Refused, size_bytes: int) -> Refused | None:
        if isinstance(append, Refused):
            return append
        self._appends.append(append)
        metrics = self._partition.metrics
        metrics.bytes_in += size_bytes
        metrics.messages_in += append.last_offset - append.first_offset + 1
        return None

    def _note_fault(self, fault: StorageFault) -> None:
        self._broker.append_fault(self._partition, fault)
        self._is_refused = True  # the machine is dropped, as after a write that failed

    # Writing

    def has_room(self, wall_ms: int) -> bool:
        """Tell whether the disk has room for a turn's decisions, be it in the reserve; asked once a millisecond.
        Decisions are replayed before they are written: a write that finds no room costs the machine, a request that is
        refused before costs only itself."""
        if wall_ms != self._looked_ms:
            self._looked_ms = wall_ms
            log = self._partition.log
            self._has_room = not is_short_of(self._broker, log, ROOM_BYTES, wall_ms, uses_reserve=True)
        return self._has_room

    def commit(self, _now_ms: int, wall_ms: int) -> bool:
        """Write what was gathered, by way of all logs, so that a failure of the disk is noticed by those who look for
        it. False: nothing was written."""
        if self.stage(wall_ms):
            self._broker.logs.commit([self._partition.log], wall_ms, uses_reserve=True)
        return self.settle()

    def stage(self, wall_ms: int) -> bool:
        """Hand what was gathered over to the log; return whether the log has something to write."""
        if self._open is not None:
            self._close_draft(wall_ms)
        if self._is_refused:
            self._partition.log.abandon()
            return False
        return bool(self._appends)

    def settle(self) -> bool:
        """Move the high watermark after the write of what was staged. False: nothing of it was written."""
        appends, self._appends = self._appends, []
        if self._is_refused:
            self._is_refused = False
            return False
        if not appends:
            return True
        if appends[-1].code is not ErrorCode.NONE:
            self._looked_ms = -1
            return False
        partition = self._partition
        if partition.advance():
            self._broker.turn.moved[partition] = None
        return True


def _parts(records: Sequence[VersionedMessage], limit_bytes: int) -> Generator[None, None, list[Part]]:
    """Cut the records into markers and batches of one producer each, as many as the limit makes it."""
    parts: list[Part] = []
    for count, (message, version) in enumerate(records, 1):
        if isinstance(message, TransactionMarker):
            parts.append(message)
        else:
            _add(parts, message, version, limit_bytes)
        if count % RECORDS_A_SLICE == 0:
            yield
    return parts


def _encoded(message: KeyValue | TransactionalKeyValue, version: int, limit_bytes: int) -> EncodedRecord:
    record = encode_record(message.key, message.value, version)
    if BATCH_OVERHEAD + record[2] > limit_bytes:
        name = type(message.key).__name__.removesuffix("Key")
        raise AppendRefused(f"a {name} record of {record[2]} bytes, {limit_bytes} are allowed for a batch")
    return record


def _add(parts: list[Part], message: KeyValue | TransactionalKeyValue, version: int, limit_bytes: int) -> None:
    record = _encoded(message, version, limit_bytes)
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    if isinstance(message, TransactionalKeyValue):
        producer_id, producer_epoch = message.producer_id, message.producer_epoch
    last = parts[-1] if parts else None
    if (
        not isinstance(last, Draft)
        or not last.is_of(producer_id, producer_epoch)
        or last.size_bytes + record[2] > limit_bytes
    ):
        last = Draft(producer_id, producer_epoch)
        parts.append(last)
    last.add(record)
