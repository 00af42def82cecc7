"""API skeleton, being filled in."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from tidelog.client.client import Client
from tidelog.client.record import EARLIEST, ConsumerRecord
from tidelog.model.ids import TopicPartition


class Consumer:
    def __init__(
        self,
        client: Client,
        *,
        isolation: Literal["read_uncommitted", "read_committed"] = "read_uncommitted",
        out_of_range: Literal["earliest", "latest", "error"] = "error",
        max_wait_ms: int = 500,
        min_bytes: int = 1,
        max_bytes: int = 50 << 20,
        partition_bytes: int = 1 << 20,
        verify_crc: bool = True,
    ) -> None: ...

    def partitions(self, topic: str) -> list[TopicPartition]:
        """All partitions of a topic; ClientError where there is none of that name."""
        return []

    def assign(self, starts: Mapping[TopicPartition, int]) -> None:
        """Read these and no others, each from an offset, EARLIEST or LATEST."""

    def assign_from_time(self, partitions: list[TopicPartition], timestamp_ms: int) -> None:
        """Each from its first record that is not older; from its end where there is none."""

    def poll(self, timeout_ms: int, max_records: int = 500) -> list[ConsumerRecord]:
        """Records that are there, or that come within the time."""
        return []

    def read_to_end(self) -> Iterator[ConsumerRecord]:
        """Every record up to the end as it is now, then stop."""
        return iter(())

    def __iter__(self) -> Iterator[ConsumerRecord]:
        """For ever."""
        return iter(())

    def seek(self, partition: TopicPartition, offset: int) -> None: ...

    def position(self, partition: TopicPartition) -> int:
        """The offset of the next record that `poll` will give."""
        return 0

    def beginning_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        return {}

    def end_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        return {}

    def high_watermark(self, partition: TopicPartition) -> int:
        """As the last fetch of the partition reported it; -1 before the first."""
        return -1

    def fetch_arrow(
        self, partition: TopicPartition, offset: int, *, end_offset: int | None = None, headers: bool = False
    ) -> Any:
        """One fetch: ArrowFetch(table, next_offset, high_watermark)."""

    def close(self) -> None: ...

    def __enter__(self) -> "Consumer":
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()


_ = EARLIEST
