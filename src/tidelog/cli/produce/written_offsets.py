"""Where the records of `tidelog produce` are, partition by partition, as they are acknowledged."""

from typing import Any, Final

from tidelog.model.ids import TopicPartition

PARTITIONS_SHOWN_MAX: Final = 8  # partitions; JSON has all of them


class WrittenOffsets:
    def __init__(self) -> None:
        self._ranges: dict[TopicPartition, tuple[int, int, int]] = {}  # first and last offset, and how many records

    @property
    def records(self) -> int:
        return sum(count for _, _, count in self._ranges.values())

    def add(self, partition: TopicPartition, base_offset: int, count: int) -> None:
        """Add a batch that was acknowledged. `base_offset` is -1 where nobody was asked to acknowledge it."""
        first, last, before = self._ranges.get(partition, (base_offset, -1, 0))
        end = base_offset + count - 1 if base_offset >= 0 else -1
        self._ranges[partition] = (min(first, base_offset), max(last, end), before + count)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row for each partition, for programs. Offsets are -1 where they are not known."""
        return [
            {"partition": topic_partition.partition, "first_offset": first, "last_offset": last, "records": count}
            for topic_partition, (first, last, count) in sorted(self._ranges.items())
        ]

    def lines(self) -> list[str]:
        """Return a line for each partition, for people: `orders-0 offset 12`, `orders-1 offsets 3-9 (7 records)`."""
        shown = [_line(topic_partition, *found) for topic_partition, found in sorted(self._ranges.items())]
        left_out = len(shown) - PARTITIONS_SHOWN_MAX
        return shown if left_out <= 0 else [*shown[:PARTITIONS_SHOWN_MAX], f"and {left_out} more partitions"]


def _line(topic_partition: TopicPartition, first: int, last: int, count: int) -> str:
    name = f"{topic_partition.topic}-{topic_partition.partition}"
    if first < 0:
        return f"{name} ({count:,} record{'' if count == 1 else 's'}, offsets not known)"
    return f"{name} offset {first}" if count == 1 else f"{name} offsets {first}-{last} ({count:,} records)"
