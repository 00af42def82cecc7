"""Makes the tasks that Spark's workers are sent from ranges of offsets."""

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
    """Return a task for each range. `topic_ids`: the ids of the topics, so that no task reads another topic of the same
    name; old brokers have none (zero). `leader`: finds the leader of a partition, for a plan that is carried out at
    once; in a long job the leaders may have moved before the last task begins."""
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
