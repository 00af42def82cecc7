"""One partition that this broker hosts: its log, its place in the cluster, and who waits for it to move.

A partition whose only in-sync replica is this broker moves its high watermark by itself, to what its own log may
acknowledge (`Log.acknowledgeable_offset`: with `flush.messages=1` that is what has been synced).
"""

from typing import TYPE_CHECKING

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.storage.log.log import Log

if TYPE_CHECKING:
    from tidelog.server.hosting.topic_counters import TopicMetrics
    from tidelog.server.requests.watchers import FetchWaiter, PartitionWaiter

ALL_REPLICAS = -1  # acks


class Partition:
    """One partition that this broker hosts."""

    __slots__ = (
        "fetch_waiters",
        "is_online",
        "isr_size",
        "leader_epoch",
        "leader_id",
        "local_id",
        "log",
        "metrics",
        "produce_waiters",
        "replica_count",
        "topic_id",
        "topic_partition",
    )

    def __init__(
        self,
        topic_partition: TopicPartition,
        topic_id: Uuid,
        log: Log,
        local_id: int,
        metrics: "TopicMetrics",
    ) -> None:
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.log = log
        self.local_id = local_id
        self.is_online = True  # its log directory works
        self.leader_id = -1
        self.leader_epoch = -1
        self.isr_size = 0
        self.replica_count = 0
        self.metrics = metrics
        self.produce_waiters: dict[PartitionWaiter, None] = {}
        self.fetch_waiters: dict[FetchWaiter, None] = {}

    @property
    def is_leader(self) -> bool:
        return self.leader_id == self.local_id

    @property
    def is_recovering(self) -> bool:
        """Tell whether the log was found at the start with records that must be synced before they count."""
        return self.log.acknowledgeable_offset < self.log.log_end_offset

    @property
    def min_isr(self) -> int:
        """The topic's `min.insync.replicas`, or the number of its replicas where that is smaller."""
        return min(self.log.config.min_insync_replicas, self.replica_count)

    @property
    def is_under_min_isr(self) -> bool:
        return self.isr_size < self.min_isr

    def lead(self, leader_id: int, leader_epoch: int, isr_size: int, replica_count: int) -> None:
        """Take over what the metadata say. A new epoch of this broker begins where the log ends, even before its first
        record."""
        if leader_id == self.local_id and leader_epoch > self.leader_epoch:
            self.log.begin_epoch(leader_epoch)
        self.leader_id, self.leader_epoch = leader_id, leader_epoch
        self.isr_size, self.replica_count = isr_size, replica_count

    def acknowledged_to(self, acks: int) -> int:
        """Return the offset below which appends with these `acks` may be answered."""
        return self.log.high_watermark if acks == ALL_REPLICAS else self.log.acknowledgeable_offset

    def advance(self) -> bool:
        """Move the high watermark as far as it may go; return whether it moved. It stays below the minimum of in-sync
        replicas: what a consumer has seen must not be lost with one broker."""
        log = self.log
        offset = log.acknowledgeable_offset
        if offset <= log.high_watermark or self.is_under_min_isr or not self.is_leader:
            return False
        log.update_high_watermark(offset)
        return True

    def check_epoch(self, current_leader_epoch: int) -> ErrorCode:
        """Compare the leader epoch that a client believes in with the partition's; -1: the client does not say."""
        if current_leader_epoch < 0 or current_leader_epoch == self.leader_epoch:
            return ErrorCode.NONE
        is_old = current_leader_epoch < self.leader_epoch
        return ErrorCode.FENCED_LEADER_EPOCH if is_old else ErrorCode.UNKNOWN_LEADER_EPOCH
