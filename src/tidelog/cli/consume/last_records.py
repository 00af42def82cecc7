"""The last records of partitions, as `tail -n` gives the last lines of a file: so many of all partitions together, the
newest by their timestamps.

The end of a log less the number is not where they begin: offsets are missing where a log was compacted, where a
transaction was aborted, and where its marker stands. So the reading begins there, and earlier where that was too late.
"""

from collections import deque
from collections.abc import Iterable
from itertools import accumulate
from operator import itemgetter
from typing import Final

from tidelog.client.fetch.consumer import Consumer
from tidelog.client.record import ConsumerRecord
from tidelog.model.ids import TopicPartition

WIDER: Final = 4  # how much farther back the next try begins


def last_records(consumer: Consumer, partitions: Iterable[TopicPartition], count: int) -> list[ConsumerRecord]:
    """Return the last `count` records, oldest first. The consumer is assigned the partitions afterwards, each at the
    end up to which it was read, so that a poll gives what comes next."""
    listed = list(partitions)
    beginnings, ends = consumer.beginning_offsets(listed), consumer.end_offsets(listed)
    found = [
        _last_of(consumer, topic_partition, beginnings[topic_partition], ends[topic_partition], count)
        for topic_partition in listed
    ]
    consumer.assign(ends)
    return newest(found, count)


def newest(partitions: Iterable[list[ConsumerRecord]], count: int) -> list[ConsumerRecord]:
    """Return the newest records of several partitions, oldest first. Within a partition the order of the log stays,
    whatever the timestamps say: a record counts as no older than those before it."""
    dated: list[tuple[int, ConsumerRecord]] = []
    for records in partitions:
        dated += zip(accumulate((record.timestamp for record in records), max), records, strict=True)
    dated.sort(key=itemgetter(0))
    return [record for _, record in dated[-count:]]


def _last_of(
    consumer: Consumer, topic_partition: TopicPartition, beginning: int, end: int, count: int
) -> list[ConsumerRecord]:
    span = count
    while True:
        start = max(beginning, end - span)
        consumer.assign({topic_partition: start})
        found: deque[ConsumerRecord] = deque(maxlen=count)
        for record in consumer.read_to_end():
            if record.offset >= end:
                break
            found.append(record)
        if len(found) == count or start == beginning:
            return list(found)
        span *= WIDER
