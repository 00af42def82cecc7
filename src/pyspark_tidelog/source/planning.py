"""Chooses the offsets that a batch reads, and splits them into tasks. Pure: offsets in, offsets out.

The numbers are those of Spark's Kafka connector (a job that moves here sees the same batches and tasks), but in
integers: the connector's shares are floating point, and may leave the last record of a partition for the next batch.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from pyspark_tidelog.kafka.offsets import Offsets
from tidelog.model.ids import TopicPartition


class OffsetRange(NamedTuple):
    topic_partition: TopicPartition
    start: int
    end: int  # exclusive

    @property
    def size(self) -> int:
        """The number of offsets, and of records at most: compaction and transactions leave gaps."""
        return self.end - self.start


def split(
    ranges: Iterable[OffsetRange], min_partitions: int | None = None, max_records: int | None = None
) -> list[OffsetRange]:
    """Return the ranges of the tasks: at most `max_records` offsets each, and about `min_partitions` tasks at least,
    for which large ranges are split in proportion to their size. Empty ranges are dropped; the pieces of a range stay
    in order."""
    found = [each for each in ranges if each.end > each.start]
    if max_records is not None:
        found = [piece for each in found for piece in _pieces(each, -(-each.size // max_records))]
    if min_partitions is None or len(found) >= min_partitions:
        return found
    return _spread(found, min_partitions)


def _spread(ranges: Sequence[OffsetRange], min_partitions: int) -> list[OffsetRange]:
    """Split the ranges into about `min_partitions` tasks. Ranges that are too small for more than one task are set
    aside first, so that they do not reduce the shares of the large ones."""
    total = sum(each.size for each in ranges)
    small = [each for each in ranges if _share(each.size, total, min_partitions) == 1]
    left_total = total - sum(each.size for each in small)
    left_tasks = max(min_partitions - len(small), 1)
    whole = {each.topic_partition for each in small}
    tasks = []
    for each in ranges:
        parts = 1 if each.topic_partition in whole else _share(each.size, left_total, left_tasks)
        tasks += _pieces(each, parts)
    return tasks


def _share(size: int, total: int, tasks: int) -> int:
    """Return how many of the tasks a range gets: its share by size, rounded half up, and at least one."""
    return max((2 * size * tasks + total) // (2 * total), 1)


def _pieces(whole: OffsetRange, parts: int) -> list[OffsetRange]:
    parts = min(parts, whole.size)
    if parts == 1:
        return [whole]
    pieces, start = [], whole.start
    for left in range(parts, 0, -1):
        end = start + (whole.end - start) // left
        pieces.append(OffsetRange(whole.topic_partition, start, end))
        start = end
    return pieces


def admit(start: Mapping[TopicPartition, int], latest: Offsets, begin_of_new: Offsets, rows: int) -> Offsets:
    """Return the end of a batch of about `rows` records: each partition's share is in proportion to its backlog, and at
    least one record. `begin_of_new`: the first offsets of partitions that `start` does not have; a partition that is in
    neither ends at its latest offset."""
    sizes = {}
    for topic_partition, end in latest.items():
        begin = start.get(topic_partition)
        if begin is None:
            begin = begin_of_new.get(topic_partition, end)
        if end > begin:
            sizes[topic_partition] = end - begin
    total = sum(sizes.values())
    if total <= rows:
        return dict(latest)
    ends = dict(latest)
    for topic_partition, size in sizes.items():
        ends[topic_partition] -= size - max(rows * size // total, 1)
    return ends


def lag(offsets: Mapping[TopicPartition, int], latest: Offsets) -> Offsets:
    """Return how many offsets of each partition are not read yet; a partition that `offsets` does not have counts from
    0."""
    return {topic_partition: max(end - offsets.get(topic_partition, 0), 0) for topic_partition, end in latest.items()}


def backlog(start: Mapping[TopicPartition, int], latest: Offsets, begin_of_new: Offsets) -> int:
    """Return how many offsets wait to be read in all partitions, for `minOffsetsPerTrigger`."""
    begins = (
        (end, start.get(topic_partition, begin_of_new.get(topic_partition, end)))
        for topic_partition, end in latest.items()
    )
    return sum(max(end - begin, 0) for end, begin in begins)
