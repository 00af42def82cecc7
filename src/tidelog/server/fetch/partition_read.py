"""What one partition answers to a fetch.

Records are a range of a segment file, which the network sends from the page cache. What is not there would stall the
loop: such a range, and before it the pages of the index and of the batch headers that lead to it, is warmed by a helper
first (`ColdRead`), and the fetch waits for that.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.ports.errors import StorageFault
from tidelog.ports.files import FileRange
from tidelog.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchPartition,
    LeaderIdAndEpoch,
    PartitionData,
)
from tidelog.server.fetch.session import FetchEntry
from tidelog.server.hosting.partition import Partition
from tidelog.storage.errors import ColdRead, CorruptSegmentError
from tidelog.storage.log.log import Log
from tidelog.storage.log.reading import PLENTY, FetchIsolation, LogRead, read, readable_bytes

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker

UNKNOWN_OFFSET: Final = -1
NO_EPOCH: Final = -1
UNKNOWN: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
_DONE: Final = ErrorCode.NONE
UNKNOWN_PARTITION: Final = -1  # in place of a count


@dataclass(slots=True)
class Fetched:
    """The answer of one partition. Its range pins a file, and is released where the answer is not sent."""

    entry: FetchEntry
    data: PartitionData
    partition: Partition | None = None
    found: LogRead | None = None
    is_settled: bool = False  # there is nothing to read, and no error

    @property
    def size_bytes(self) -> int:
        return 0 if self.found is None else self.found.size_bytes

    @property
    def is_unknown(self) -> bool:
        return self.data.error_code in UNKNOWN

    @property
    def is_plain(self) -> bool:
        """Tell whether the answer has offsets and records only: no error, and no diverging epoch."""
        data = self.data
        return not data.error_code and data.diverging_epoch.epoch == NO_EPOCH

    def take_range(self, broker: "Broker", *, may_wait: bool) -> bool:
        """Put the records into the answer; False where they have to be warmed first."""
        found = self.found
        if found is None or not found.size_bytes:
            return True
        try:
            records = records_of(found, may_wait=may_wait)
        except StorageFault as fault:
            broker.storage_fault(fault)
            self.data, self.found = refused(self.entry.request.partition, ErrorCode.KAFKA_STORAGE_ERROR), None
            return True
        if records is None:
            return False
        self.data.records = records
        return True

    def release(self) -> None:
        """Give back the file that the answer pins: the answer is not sent."""
        records = self.data.records
        if records is not None and not isinstance(records, bytes | memoryview):
            _release(records)
        self.data.records = b""

    def leave_out(self) -> None:
        """Leave the records out of this answer."""
        self.found = None


def records_of(found: LogRead, *, may_wait: bool) -> FileRange | bytes | None:
    """Return a range of the file, or the bytes themselves where too many files are pinned already. None where they have
    to be warmed first."""
    if not found.may_pin:
        return found.read_all() if may_wait or found.is_cached() else None
    return found.file_range() if may_wait else found.cached_range()


def _release(records: FileRange) -> None:
    records.release()


def leader_of(broker: "Broker", entry: FetchEntry) -> Partition | ErrorCode:
    """Return the partition of an entry, or an error where this broker does not lead it."""
    if entry.session.by_id:
        return broker.leader_of_id(entry.topic_id, entry.request.partition)
    return broker.leader_of(entry.topic_partition)


def count_bytes(broker: "Broker", entry: FetchEntry, isolation: FetchIsolation) -> int:
    """Count how many bytes the partition could answer with, without looking at them. `PLENTY` where the fetch is not to
    wait: an error, logs that have diverged, a reader that is a whole segment behind, or what only the disk knows."""
    partition = entry.watched
    if partition is None or not (partition.is_leader and partition.is_online):  # the topic may have been made anew
        found = leader_of(broker, entry)
        if isinstance(found, ErrorCode):
            return UNKNOWN_PARTITION if found in UNKNOWN else PLENTY
        partition = found
        entry.watch(partition)
    request, log = entry.request, partition.log
    entry.is_capped = False
    if partition.check_epoch(request.current_leader_epoch) is not _DONE or has_diverged(log, request):
        return PLENTY
    offset = request.fetch_offset
    if not log.log_start_offset <= offset <= log.log_end_offset:
        return PLENTY
    try:
        readable = readable_bytes(log, offset, isolation)
    except (ColdRead, CorruptSegmentError, StorageFault):
        return PLENTY  # the read says what it is
    most = max(0, request.partition_max_bytes)
    if readable == PLENTY or readable < most:
        return readable
    entry.is_capped = True
    return most


def fetch_partition(
    broker: "Broker",
    entry: FetchEntry,
    isolation: FetchIsolation,
    max_bytes: int,
    *,
    min_one_batch: bool,
    may_wait: bool,
) -> Fetched:
    """Read one partition. ColdRead where finding the offset would wait for the disk, and may not."""
    request = entry.request
    index = request.partition
    found = leader_of(broker, entry)
    if isinstance(found, ErrorCode):
        return Fetched(entry, refused(index, found, _leader(broker, entry, found)))
    code = found.check_epoch(request.current_leader_epoch)
    if code is not ErrorCode.NONE:
        is_fenced = code is ErrorCode.FENCED_LEADER_EPOCH
        leader = LeaderIdAndEpoch(leader_id=found.leader_id, leader_epoch=found.leader_epoch) if is_fenced else None
        return Fetched(entry, refused(index, code, leader), found)
    found.metrics.fetches += 1
    data = state_of(found, index)
    code = _compare_epochs(found.log, request, data)
    if code is not ErrorCode.NONE:
        return Fetched(entry, refused(index, code), found)
    if data.diverging_epoch.epoch != NO_EPOCH:
        return Fetched(entry, data, found)
    limit = min(max_bytes, request.partition_max_bytes)
    try:
        result = read(found.log, request.fetch_offset, limit, isolation, min_one_batch=min_one_batch, may_wait=may_wait)
    except StorageFault as fault:
        broker.storage_fault(fault)
        return Fetched(entry, refused(index, ErrorCode.KAFKA_STORAGE_ERROR), found)
    except CorruptSegmentError as damage:
        found.metrics.failed_fetches += 1
        broker.events.log_damaged(found.topic_partition, request.fetch_offset, damage)
        return Fetched(entry, refused(index, ErrorCode.CORRUPT_MESSAGE), found)
    if result.code is not ErrorCode.NONE:
        found.metrics.failed_fetches += 1
        return Fetched(entry, refused(index, result.code), found)
    if isolation is FetchIsolation.TXN_COMMITTED:
        data.aborted_transactions = [
            AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset) for each in result.aborted
        ]
    return Fetched(entry, data, found, result, is_settled=result.is_at_end)


def state_of(partition: Partition, index: int) -> PartitionData:
    """Return the offsets of a partition, without records."""
    log = partition.log
    return PartitionData(
        partition_index=index,
        error_code=ErrorCode.NONE,
        high_watermark=log.high_watermark,
        last_stable_offset=log.last_stable_offset,
        log_start_offset=log.log_start_offset,
        aborted_transactions=None,
        records=b"",
    )


def refused(index: int, code: ErrorCode, leader: LeaderIdAndEpoch | None = None) -> PartitionData:
    data = PartitionData(
        partition_index=index,
        error_code=code,
        high_watermark=UNKNOWN_OFFSET,
        last_stable_offset=UNKNOWN_OFFSET,
        log_start_offset=UNKNOWN_OFFSET,
        aborted_transactions=None,
        records=b"",
    )
    if leader is not None:
        data.current_leader = leader
    return data


def _leader(broker: "Broker", entry: FetchEntry, code: ErrorCode) -> LeaderIdAndEpoch | None:
    if code is not ErrorCode.NOT_LEADER_OR_FOLLOWER:
        return None
    topic_partition = entry.topic_partition
    if entry.session.by_id:  # which may have been unknown when the client named it
        topic_partition = TopicPartition(broker.topic_name(entry.topic_id) or "", topic_partition.partition)
    leader = broker.current_leader(topic_partition)
    return None if leader is None else LeaderIdAndEpoch(leader_id=leader.node_id, leader_epoch=leader.leader_epoch)


def has_diverged(log: Log, request: FetchPartition) -> bool:
    """Tell whether the reader's log and this one differ, or its offset is not in this one."""
    if request.last_fetched_epoch < 0 or request.fetch_offset < log.log_start_offset:
        return False
    end = log.epochs.end_offset_for(request.last_fetched_epoch, log.log_end_offset)
    return end is None or end.epoch < request.last_fetched_epoch or end.end_offset < request.fetch_offset


def _compare_epochs(log: Log, request: FetchPartition, data: PartitionData) -> ErrorCode:
    """Tell a reader that fetched records of an epoch which this log has lost where the two logs part. An offset that is
    out of range is said to be that, and not hidden behind a divergence."""
    if not has_diverged(log, request):
        return ErrorCode.NONE
    end = log.epochs.end_offset_for(request.last_fetched_epoch, log.log_end_offset)
    if end is None:
        return ErrorCode.OFFSET_OUT_OF_RANGE
    data.diverging_epoch = EpochEndOffset(epoch=end.epoch, end_offset=end.end_offset)
    return ErrorCode.NONE
