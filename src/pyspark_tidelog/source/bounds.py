"""Turns what a user says (earliest, a time, an offset for each partition) into offsets.

A time stands for the first record in the log that is not older, as everywhere in Kafka. Where the times of records are
out of order, older records may follow that one.
"""

from collections.abc import Iterable, Mapping

from pyspark_tidelog.kafka.cluster import ClusterView
from pyspark_tidelog.kafka.offsets import EARLIEST, LATEST, ByPartition, ByTime, Earliest, Latest, Offsets, OffsetSpec
from tidelog.model.ids import TopicPartition


def starting(view: ClusterView, spec: OffsetSpec, topic_partitions: Iterable[TopicPartition]) -> Offsets:
    """Return the offset at which each partition starts; partitions that are gone are left out."""
    topic_partitions = list(topic_partitions)
    if isinstance(spec, ByTime):
        found = view.at_times(spec.of(topic_partitions))
        if spec.no_match == "error":
            for topic_partition in (topic_partition for topic_partition, offset in found.items() if offset is None):
                raise spec.missing(topic_partition)
        return _or_latest(view, found)
    return _offsets(view, spec, topic_partitions)


def ending(view: ClusterView, spec: OffsetSpec, topic_partitions: Iterable[TopicPartition]) -> Offsets:
    """Return the offset at which each partition ends, exclusive. A time after the last record is the end of the log."""
    topic_partitions = list(topic_partitions)
    if isinstance(spec, ByTime):
        return _or_latest(view, view.at_times(spec.of(topic_partitions)))
    return _offsets(view, spec, topic_partitions)


def _offsets(
    view: ClusterView, spec: Earliest | Latest | ByPartition, topic_partitions: list[TopicPartition]
) -> Offsets:
    match spec:
        case Earliest():
            return view.earliest(topic_partitions)
        case Latest():
            return view.latest(topic_partitions)
        case ByPartition():
            named = spec.of(topic_partitions)
            found = view.earliest(topic_partition for topic_partition, offset in named.items() if offset == EARLIEST)
            found |= view.latest(topic_partition for topic_partition, offset in named.items() if offset == LATEST)
            return found | {topic_partition: offset for topic_partition, offset in named.items() if offset >= 0}


def _or_latest(view: ClusterView, found: Mapping[TopicPartition, int | None]) -> Offsets:
    offsets = {topic_partition: offset for topic_partition, offset in found.items() if offset is not None}
    return offsets | view.latest(topic_partition for topic_partition, offset in found.items() if offset is None)
