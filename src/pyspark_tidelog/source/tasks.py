"""From ranges of offsets to what Spark's workers are sent."""

from collections.abc import Callable, Iterable, Mapping

from pyspark_tidelog.source.fetch_task import FetchTask
from pyspark_tidelog.source.options import SourceOptions
from pyspark_tidelog.source.planning import OffsetRange
from tidelog.client.fetch.fetch_ahead import KnownLeader
from tidelog.model.ids import ZERO_UUID, TopicPartition, Uuid

LeaderOf = Callable[[TopicPartition], KnownLeader | None]


def fetch_tasks(
    options: SourceOptions,
    ranges: Iterable[OffsetRange],
    topic_ids: Mapping[str, Uuid],
    leader: LeaderOf = lambda _: None,
) -> list[FetchTask]:
    """`topic_ids`: a task that finds another topic of the name must not read it. Old brokers have none (zero).
    `leader`: who leads a partition, where the plan is carried out at once; it will have moved by the time that the
    last task of a long job begins."""
    return [
        FetchTask(
            cluster=options.cluster,
            fetch=options.fetch,
            topic=each.topic_partition.topic,
            topic_id=None
            if topic_ids.get(each.topic_partition.topic, ZERO_UUID) == ZERO_UUID
            else topic_ids[each.topic_partition.topic],
            partition=each.topic_partition.partition,
            start=each.start,
            end=each.end,
            columns=options.columns,
            fail_on_data_loss=options.fail_on_data_loss,
            leader=leader(each.topic_partition),
        )
        for each in ranges
    ]
