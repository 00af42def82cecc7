"""One fetch session, and the partitions that it is about.

A session knows which of its partitions may have something to say (`unsettled`): those that the client has just named or
changed, those whose last answer was an error or left records behind, and those that have moved since. The others are
settled: at their last look there was nothing to read and nothing new, and their partition tells them when it moves
(`Partition.fetch_waiters`). So a request of a session with ten thousand partitions, three of which have moved, looks at
three. A partition that moves while nobody waits forgets the session until its next request: a client that is away costs
each partition one touch, not one for each append.

A request without a session gets one of its own, which ends with its answer, or is kept for the next one like it
(`repeated_fetch`).
"""

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Final

from tidelog.model.ids import ZERO_UUID, TopicPartition, Uuid
from tidelog.protocol.messages.fetch import FetchPartition, FetchRequest, PartitionData
from tidelog.server.hosting.partition import Partition

if TYPE_CHECKING:
    from tidelog.server.fetch.delayed_fetch import DelayedFetch
    from tidelog.server.fetch.repeated_fetch import RepeatedFetch

NO_SESSION: Final = 0
ENTRY_BYTES: Final = 640  # what a partition in a session takes, about: its objects, its key, its share of three dicts

Key = tuple[Uuid, str, int]


class FetchEntry:
    """One partition of a session: what the client last asked of it, and what it was last told."""

    __slots__ = (
        "block",
        "counted_bytes",
        "is_capped",
        "key",
        "piece",
        "rank",
        "request",
        "session",
        "told_high_watermark",
        "told_log_start",
        "topic_id",
        "topic_partition",
        "watched",
    )

    def __init__(
        self,
        session: "FetchSession",
        key: Key,
        topic_partition: TopicPartition,
        topic_id: Uuid,
        request: FetchPartition,
    ) -> None:
        self.session = session
        self.key = key
        self.topic_partition = topic_partition
        self.topic_id = topic_id
        self.request = request
        self.rank = 0  # the order in which the session's partitions are read
        self.counted_bytes = 0  # its share of what the waiting request has counted
        self.is_capped = False  # the share is all that may be sent at once, however much is appended
        self.told_high_watermark = -1
        self.told_log_start = -1
        self.watched: Partition | None = None
        self.block = b""  # from the frame that asked for it; `piece` is the last answer: see `repeated_fetch`
        self.piece = b""

    @property
    def size_bytes(self) -> int:
        return ENTRY_BYTES + len(self.topic_partition.topic)

    def watch(self, partition: Partition) -> None:
        if self.watched is not partition:
            self.unwatch()
            self.watched = partition
        partition.fetch_waiters[self] = None

    def unwatch(self) -> None:
        if self.watched is not None:
            self.watched.fetch_waiters.pop(self, None)
            self.watched = None

    def grown(self) -> None:
        """Note that something was appended to the partition. A reader that is a whole segment behind is not kept
        waiting, so the first record of the next segment is news to all."""
        partition = self.watched
        is_counted = self.is_capped and self.session.parked is not None and partition is not None
        if not is_counted or partition is None or partition.log.segments.active.base_offset > self.request.fetch_offset:
            self.moved()

    def moved(self) -> None:
        """Note that the watched partition has moved: wake the waiting request, or stop watching until the next one."""
        session = self.session
        session.unsettled[self] = None
        if session.parked is None:
            self.unwatch()
        else:
            session.parked.moved(self)

    def is_news(self, data: PartitionData, size_bytes: int) -> bool:
        """Tell whether an incremental response has to name the partition, and note what it then says. An error is told
        again every time, and so is the state after it."""
        high_watermark, log_start = data.high_watermark, data.log_start_offset
        is_new = size_bytes > 0 or high_watermark != self.told_high_watermark or log_start != self.told_log_start
        is_always_told = data.error_code or data.preferred_read_replica >= 0 or data.diverging_epoch.epoch >= 0
        self.told_high_watermark, self.told_log_start = (-1, -1) if data.error_code else (high_watermark, log_start)
        return is_new or bool(is_always_told)


def rank_of(entry: FetchEntry) -> int:
    return entry.rank


class FetchSession:
    """One session, or one request without: its partitions, and which of them may have something to say."""

    __slots__ = (
        "by_id",
        "created_ms",
        "epoch",
        "id",
        "last_used_ms",
        "next_rank",
        "parked",
        "partitions",
        "repeated",
        "size_bytes",
        "unknown",
        "unsettled",
    )

    def __init__(self, session_id: int, by_id: bool, now_ms: int) -> None:
        self.id = session_id
        self.by_id = by_id  # topics are named by id: a session does not change its mind
        self.created_ms = now_ms
        self.last_used_ms = now_ms
        self.epoch = 1  # which the next request has to name
        self.next_rank = 0
        self.size_bytes = 0
        self.partitions: dict[Key, FetchEntry] = {}
        self.unsettled: dict[FetchEntry, None] = {}
        self.unknown: dict[FetchEntry, int] = {}  # partitions that do not exist, and since when; oldest first
        self.parked: DelayedFetch | None = None  # its request that is under way
        self.repeated: RepeatedFetch | None = None  # keeps it for the next request without a session

    def update(self, request: FetchRequest, name_of: Callable[[Uuid], str | None]) -> Generator[None, None, None]:
        """Apply what the request adds, changes and forgets, with a pause at each partition; `name_of` resolves the ids.
        Of a partition that is named twice the last one counts, at the rank of the first."""
        by_id, partitions, unsettled = self.by_id, self.partitions, self.unsettled
        for topic in request.topics:
            topic_id = topic.topic_id if by_id else ZERO_UUID
            name, known_as = (name_of(topic_id) or "", "") if by_id else (topic.topic, topic.topic)
            for each in topic.partitions:
                key = (topic_id, known_as, each.partition)
                entry = partitions.get(key)
                if entry is None:
                    entry = self.add(key, TopicPartition(name, each.partition), topic_id, each)
                entry.request = each
                unsettled[entry] = None
                yield
        for forgotten in request.forgotten_topics_data:
            topic_id, known_as = (forgotten.topic_id, "") if by_id else (ZERO_UUID, forgotten.topic)
            for index in forgotten.partitions:
                self.forget((topic_id, known_as, index))
                yield

    def add(self, key: Key, topic_partition: TopicPartition, topic_id: Uuid, request: FetchPartition) -> FetchEntry:
        entry = self.partitions[key] = FetchEntry(self, key, topic_partition, topic_id, request)
        self.size_bytes += entry.size_bytes
        self.rank_last(entry)
        return entry

    def forget(self, key: Key) -> None:
        entry = self.partitions.pop(key, None)
        if entry is not None:
            self.size_bytes -= entry.size_bytes
            self.unsettled.pop(entry, None)
            self.unknown.pop(entry, None)
            entry.unwatch()

    def rank_last(self, entry: FetchEntry) -> None:
        """Let the partition be read after all others the next time. One that had records is, so that the limit of a
        response starves nobody."""
        entry.rank = self.next_rank
        self.next_rank += 1

    @property
    def is_lasting(self) -> bool:
        """Tell whether it is kept after the answer to its request."""
        return self.id != NO_SESSION or self.repeated is not None

    def to_look_at(self) -> list[FetchEntry]:
        """Return the partitions that may have something to say, in the order in which they are read."""
        unsettled = self.unsettled
        return list(unsettled) if len(unsettled) < 2 else sorted(unsettled, key=rank_of)

    def settle(self, entry: FetchEntry, partition: Partition) -> None:
        """Pass over the partition until it moves: it has nothing to read and nothing new. What an earlier request
        counted of it is gone."""
        self.unsettled.pop(entry, None)
        entry.counted_bytes = 0
        entry.is_capped = False
        entry.watch(partition)

    def release(self) -> None:
        """End the session: no partition keeps anything of it."""
        for entry in self.partitions.values():
            entry.unwatch()
