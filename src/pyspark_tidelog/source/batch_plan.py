"""The plan of a batch read: a range of offsets for each partition, within what the logs have, split into tasks.

Everything is decided at planning, so that the same query gives the same rows however often a task is tried again.
Offsets that a user names are checked against the logs here: "offset 7 of t-0 is gone" is said before any task runs.
"""

from collections.abc import Iterable, Sequence

from pyspark_tidelog.errors import DataLoss, OptionError
from pyspark_tidelog.kafka.cluster import ClusterView
from pyspark_tidelog.kafka.offsets import ByPartition, ByTime, Offsets
from pyspark_tidelog.source import bounds
from pyspark_tidelog.source.data_loss import report
from pyspark_tidelog.source.fetch_task import FetchTask
from pyspark_tidelog.source.filters import narrow, time_bounds
from pyspark_tidelog.source.options import SourceOptions
from pyspark_tidelog.source.planning import OffsetRange, split
from pyspark_tidelog.source.tasks import fetch_tasks
from tidelog.model.ids import TopicPartition


def batch_tasks(options: SourceOptions, view: ClusterView, predicates: Sequence[object] = ()) -> list[FetchTask]:
    """Return the tasks of a batch read. `predicates`: Spark's filters, by which offsets are left out that cannot
    match."""
    found = view.find_all(options.subscription)
    ranges = _asked_for(options, view, found.topic_partitions)
    if isinstance(options.starting, ByPartition) or isinstance(options.ending, ByPartition):
        first, latest = view.earliest(found.topic_partitions), view.latest(found.topic_partitions)
        ranges = _within(ranges, first, latest, fails=options.fail_on_data_loss)
    _check_order(options, ranges)
    ranges = _not_before(view, narrow(ranges, predicates), time_bounds(predicates).first_ms)
    cut = split(ranges, options.min_partitions, options.max_records_per_partition)
    return fetch_tasks(options, cut, found.topic_ids)


def _asked_for(
    options: SourceOptions, view: ClusterView, topic_partitions: Sequence[TopicPartition]
) -> list[OffsetRange]:
    start = bounds.starting(view, options.starting, topic_partitions)
    end = bounds.ending(view, options.ending, topic_partitions)
    gone = [
        DataLoss(p.topic, p.partition, start.get(p, 0), None)
        for p in topic_partitions
        if p not in start or p not in end
    ]
    report(gone, fails=options.fail_on_data_loss)
    return [
        OffsetRange(topic_partition, start[topic_partition], end[topic_partition])
        for topic_partition in topic_partitions
        if topic_partition in start and topic_partition in end
    ]


def _within(ranges: Sequence[OffsetRange], first: Offsets, latest: Offsets, *, fails: bool) -> list[OffsetRange]:
    """Cut the ranges to the offsets that the logs have; offsets that were asked for and are gone are reported."""
    losses, found = [], []
    for topic_partition, start, end in ranges:
        low, high = first.get(topic_partition, start), latest.get(topic_partition, end)
        if start != end and not (low <= start <= high and end <= high):
            wanted = end - 1 if low <= start <= high else start
            losses.append(DataLoss(topic_partition.topic, topic_partition.partition, wanted, (low, high)))
        found.append(OffsetRange(topic_partition, min(max(start, low), high), min(max(end, low), high)))
    report(losses, fails=fails)
    return found


def _check_order(options: SourceOptions, ranges: Iterable[OffsetRange]) -> None:
    for each in ranges:
        if each.start > each.end and isinstance(options.starting, ByPartition | ByTime):
            problem = f"{each.topic_partition} would start at offset {each.start}, after its end at {each.end}"
            raise OptionError(options.starting.option, problem, "choose an earlier start, or a later end")


def _not_before(view: ClusterView, ranges: list[OffsetRange], time_ms: int | None) -> list[OffsetRange]:
    """Leave out the offsets before the first record that is not older than a time. (There is no such function for
    records that are too young: `filters` says why.)"""
    if time_ms is None:
        return ranges
    found = view.at_times({each.topic_partition: max(time_ms, 0) for each in ranges})
    offsets = {topic_partition: offset for topic_partition, offset in found.items() if offset is not None}
    return [
        OffsetRange(topic_partition, max(start, offsets[topic_partition]), end)
        for topic_partition, start, end in ranges
        if topic_partition in offsets
    ]
