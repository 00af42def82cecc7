"""Records from partitions that the caller names, fetched ahead while the caller works. (With a group: GroupConsumer.)

A position is the caller's: it moves with what `poll` hands out, not with what was fetched. Where a log no longer has
an offset, `out_of_range` decides: an error, unless the caller said earliest or latest.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, Self

from tidelog.client.client import LOOK_AGAIN_MS, Client
from tidelog.client.errors import ClientError, OffsetOutOfRange
from tidelog.client.fetch.assigned import AssignedPartition
from tidelog.client.fetch.fetcher import Fetcher, FetchOptions
from tidelog.client.offsets import list_offsets
from tidelog.client.record import EARLIEST, LATEST, ConsumerRecord
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.records.header import MAX_INT64

OutOfRange = Literal["earliest", "latest", "error"]
Isolation = Literal["read_uncommitted", "read_committed"]

ITERATION_WAIT_MS: Final = 500
ITERATION_RECORDS: Final = 2_000
_RESETS: Final = {"earliest": EARLIEST, "latest": LATEST}


class Consumer:
    def __init__(
        self,
        client: Client,
        *,
        isolation: Isolation = "read_uncommitted",
        out_of_range: OutOfRange = "error",
        max_wait_ms: int = 500,
        min_bytes: int = 1,
        max_bytes: int = 50 << 20,
        partition_bytes: int = 1 << 20,
        verify_crc: bool = True,
    ) -> None:
        """Prepare a consumer. A broker answers when it has `min_bytes`, or after `max_wait_ms`, with about
        `partition_bytes` a partition and `max_bytes` in all; twice that is the memory that is held."""
        self.client = client
        self.options = FetchOptions(isolation == "read_committed", max_wait_ms, min_bytes, max_bytes, partition_bytes)
        self.verify_crc = verify_crc
        self._out_of_range = out_of_range
        self._assigned: dict[TopicPartition, AssignedPartition] = {}
        self._fetcher = Fetcher(client, self.options, self._assigned, self._reset)

    # What to read

    def partitions(self, topic: str) -> list[TopicPartition]:
        """Return all partitions of a topic; ClientError where there is no such topic."""
        return [TopicPartition(topic, each.index) for each in self.client.topic(topic).partitions]

    def assign(self, starts: Mapping[TopicPartition, int]) -> None:
        """Read these partitions and no others, each from an offset, EARLIEST or LATEST."""
        assigned = {topic_partition: self._checked(topic_partition, start) for topic_partition, start in starts.items()}
        self._assigned.clear()
        self._assigned.update(assigned)
        self._fetcher.forget()

    def _checked(self, topic_partition: TopicPartition, start: int) -> AssignedPartition:
        if start < EARLIEST:
            raise ValueError(f"{topic_partition}: {start} is neither an offset nor EARLIEST or LATEST")
        topic = self.client.topic(topic_partition.topic)
        if not 0 <= topic_partition.partition < len(topic.partitions):
            self.client.refresh()  # it may have grown
            topic = self.client.topic(topic_partition.topic)
        if not 0 <= topic_partition.partition < len(topic.partitions):
            message = f"the topic has {len(topic.partitions)} partition(s)"
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            raise ClientError(code, f"read {topic_partition}", self.client.name, message)
        return AssignedPartition(topic_partition, topic.topic_id, start, verify_crc=self.verify_crc)

    def assign_from_time(self, partitions: Iterable[TopicPartition], timestamp_ms: int) -> None:
        """Read each partition from its first record that is not older than the time; from its end where there is
        none."""
        found = self._offsets(dict.fromkeys(partitions, timestamp_ms))
        self.assign({topic_partition: LATEST if offset < 0 else offset for topic_partition, offset in found.items()})

    @property
    def assignment(self) -> list[TopicPartition]:
        return list(self._assigned)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        """Go on from an offset, EARLIEST or LATEST."""
        self._assigned[partition].seek(offset)

    def position(self, partition: TopicPartition) -> int:
        """Return the offset of the next record that `poll` will give."""
        self._resolve_starts()
        return self._assigned[partition].position

    def high_watermark(self, partition: TopicPartition) -> int:
        """Return the high watermark that the last fetch of the partition reported; -1 before the first."""
        return self._assigned[partition].high_watermark

    def beginning_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._offsets(dict.fromkeys(partitions, EARLIEST))

    def end_offsets(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return for each partition the offset one past the last record that this consumer may see."""
        return self._offsets(dict.fromkeys(partitions, LATEST))

    # Reading

    def poll(self, timeout_ms: int, max_records: int = 500) -> list[ConsumerRecord]:
        """Return records that are there, or that come within the time; an empty list if none do. ClientError where a
        partition cannot be read, once the records before that are handed out."""
        client = self.client
        until_ms = client.now_ms() + timeout_ms
        wait_ms = 0
        while True:
            self._turn()
            self._resolve_starts()
            self._fetcher.send(client.now_ms())
            client.poll(wait_ms)
            records = self._next_records(max_records)
            if records:
                self._fetcher.send(client.now_ms())
                return records
            self._check()
            left_ms = until_ms - client.now_ms()
            if left_ms <= 0 or self._is_at_end():
                return []
            wait_ms = min(left_ms, LOOK_AGAIN_MS)

    def __iter__(self) -> Iterator[ConsumerRecord]:
        """Yield records for ever, waiting for the next one where there is none."""
        while True:
            yield from self.poll(ITERATION_WAIT_MS, ITERATION_RECORDS)

    def read_to_end(self) -> Iterator[ConsumerRecord]:
        """Yield every record up to the ends as they are now, then stop. Later records are still there for `poll`."""
        self._resolve_starts()
        for topic_partition, end in self.end_offsets(self._assigned).items():
            self._assigned[topic_partition].upper = end
        try:
            while any(state.position < state.upper for state in self._assigned.values()):
                yield from self.poll(ITERATION_WAIT_MS, ITERATION_RECORDS)
        finally:
            for state in self._assigned.values():
                state.upper = MAX_INT64
                state.seek(state.position)

    def close(self) -> None:
        """Forget the assignment. The client stays open."""
        self._assigned.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    # For `group.consumer`

    def _turn(self) -> None:
        """Do what is due every time that the caller polls; nothing here, heartbeats and commits in a group."""

    def _add(self, starts: Mapping[TopicPartition, int]) -> None:
        """Read these partitions as well."""
        self._assigned.update(
            {topic_partition: self._checked(topic_partition, start) for topic_partition, start in starts.items()}
        )

    def _remove(self, topic_partitions: Iterable[TopicPartition]) -> None:
        for topic_partition in topic_partitions:
            self._assigned.pop(topic_partition, None)

    # Behind the scenes

    def _next_records(self, max_records: int) -> list[ConsumerRecord]:
        """Return records of the first partition that has some, and move that partition to the end of the line."""
        for topic_partition, state in list(self._assigned.items()):
            records = state.next_records(max_records)
            if records:
                self._assigned[topic_partition] = self._assigned.pop(topic_partition)
                return records
        return []

    def _is_at_end(self) -> bool:
        """Tell whether every partition is at its `upper` offset, in a read that has one. The last thing before it may
        be a transaction's marker, after which no record comes."""
        return bool(self._assigned) and all(state.position >= state.upper for state in self._assigned.values())

    def _check(self) -> None:
        for state in self._assigned.values():
            known = self.client.metadata.topics.get(state.topic_partition.topic)
            if known is not None and known.topic_id != state.topic_id:
                asked, message = f"read {state.topic_partition}", "the topic was deleted and made anew"
                raise ClientError(ErrorCode.UNKNOWN_TOPIC_ID, asked, self.client.name, message)
            if state.error is not None:
                raise state.error

    def _resolve_starts(self) -> None:
        """Look up the offsets of partitions that start at EARLIEST or LATEST."""
        wanted = {
            topic_partition: state.position for topic_partition, state in self._assigned.items() if not state.has_offset
        }
        if wanted:
            for topic_partition, offset in self._offsets(wanted).items():
                self._assigned[topic_partition].seek(offset)

    def _offsets(self, wanted: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        found = list_offsets(self.client, wanted, read_committed=self.options.read_committed)
        for outcome in found.values():
            if isinstance(outcome, ClientError):
                raise outcome
        return {
            topic_partition: each.offset for topic_partition, each in found.items() if not isinstance(each, ClientError)
        }

    def _reset(self, state: AssignedPartition, error: OffsetOutOfRange) -> None:
        reset = _RESETS.get(self._out_of_range)
        if reset is None:
            state.error = error
        else:
            state.seek(reset)
