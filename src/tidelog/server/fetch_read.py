"""What one partition answers to a fetch.

Records are a range of a segment file, which the network sends from the page cache. What is not there would stall the
loop: such a range is warmed by a helper first (`FetchedPartition.is_cold`), and the fetch waits for that.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.ports.errors import StorageFault
from tidelog.ports.files import Ticket
from tidelog.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchPartition,
    LeaderIdAndEpoch,
    PartitionData,
)
from tidelog.server.partition import Partition
from tidelog.storage.errors import CorruptSegmentError
from tidelog.storage.log_read import FetchIsolation, LogRead, read

if TYPE_CHECKING:
    from tidelog.server.broker import Broker

UNKNOWN_OFFSET = -1
NO_EPOCH = -1


@dataclass(slots=True)
class Asked:
    """One partition of a fetch, as the request, or its session, has it."""

    place: TopicPartition
    topic_id: Uuid
    request: FetchPartition


@dataclass(slots=True)
class Fetched:
    """The answer of one partition. The read is turned into a file range only when the response leaves: a range pins
    its file."""

    asked: Asked
    data: PartitionData
    partition: Partition | None = None
    found: LogRead | None = None

    @property
    def size_bytes(self) -> int:
        return 0 if self.found is None else self.found.size_bytes

    @property
    def is_urgent(self) -> bool:
        """Not to be waited with, however few bytes there are."""
        return self.data.error_code != ErrorCode.NONE or self.data.diverging_epoch.epoch != NO_EPOCH

    def begin_warm(self, broker: "Broker") -> Ticket | None:
        """None where nothing has to be waited for."""
        try:
            return None if self.found is None or self.found.is_cached() else self.found.begin_warm()
        except StorageFault as fault:
            self._fail(broker, fault)
            return None

    def _fail(self, broker: "Broker", fault: StorageFault) -> None:
        broker.storage_fault(fault)
        self.data, self.found = refused(self.asked.request.partition, ErrorCode.KAFKA_STORAGE_ERROR), None

    def to_send(self, broker: "Broker") -> PartitionData:
        if self.found is not None and self.found.size_bytes:
            try:
                self.data.records = self.found.file_range()
            except StorageFault as fault:
                self._fail(broker, fault)
                return self.data
            if self.partition is not None:
                self.partition.metrics.bytes_out += self.found.size_bytes
        return self.data


def fetch_partition(
    broker: "Broker", asked: Asked, isolation: FetchIsolation, max_bytes: int, *, min_one_batch: bool, by_id: bool
) -> Fetched:
    request = asked.request
    index = request.partition
    found = broker.leader_of_id(asked.topic_id, index) if by_id else broker.leader_of(asked.place)
    if isinstance(found, ErrorCode):
        return Fetched(asked, refused(index, found, _leader(broker, asked, found)))
    code = found.check_epoch(request.current_leader_epoch)
    if code is not ErrorCode.NONE:
        is_fenced = code is ErrorCode.FENCED_LEADER_EPOCH
        leader = LeaderIdAndEpoch(leader_id=found.leader_id, leader_epoch=found.leader_epoch) if is_fenced else None
        return Fetched(asked, refused(index, code, leader), found)
    found.metrics.fetches += 1
    data = _state(found, index)
    code = _compare_epochs(found, request, data)
    if code is not ErrorCode.NONE:
        return Fetched(asked, refused(index, code), found)
    if data.diverging_epoch.epoch != NO_EPOCH:
        return Fetched(asked, data, found)
    limit = min(max_bytes, request.partition_max_bytes)
    try:
        result = read(found.log, request.fetch_offset, limit, isolation, min_one_batch=min_one_batch)
    except StorageFault as fault:
        broker.storage_fault(fault)
        return Fetched(asked, refused(index, ErrorCode.KAFKA_STORAGE_ERROR), found)
    except CorruptSegmentError as damage:
        found.metrics.failed_fetches += 1
        broker.events.log_damaged(asked.place, request.fetch_offset, damage)
        return Fetched(asked, refused(index, ErrorCode.CORRUPT_MESSAGE), found)
    if result.code is not ErrorCode.NONE:
        found.metrics.failed_fetches += 1
        return Fetched(asked, refused(index, result.code), found)
    if isolation is FetchIsolation.TXN_COMMITTED:
        data.aborted_transactions = [
            AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset) for each in result.aborted
        ]
    return Fetched(asked, data, found, result)


def _state(partition: Partition, index: int) -> PartitionData:
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


def _leader(broker: "Broker", asked: Asked, code: ErrorCode) -> LeaderIdAndEpoch | None:
    leader = broker.current_leader(asked.place) if code == ErrorCode.NOT_LEADER_OR_FOLLOWER else None
    return None if leader is None else LeaderIdAndEpoch(leader_id=leader.node_id, leader_epoch=leader.leader_epoch)


def _compare_epochs(partition: Partition, request: FetchPartition, data: PartitionData) -> ErrorCode:
    """A reader that fetched records of an epoch which this log has lost is told where the two part. An offset that is
    out of range is said to be that, and not hidden behind a divergence."""
    log = partition.log
    if request.last_fetched_epoch < 0 or request.fetch_offset < log.log_start_offset:
        return ErrorCode.NONE
    end = log.epochs.end_offset_for(request.last_fetched_epoch, log.log_end_offset)
    if end is None:
        return ErrorCode.OFFSET_OUT_OF_RANGE
    if end.epoch < request.last_fetched_epoch or end.end_offset < request.fetch_offset:
        data.diverging_epoch = EpochEndOffset(epoch=end.epoch, end_offset=end.end_offset)
    return ErrorCode.NONE
