"""From ranges of offsets to what Spark's workers are sent."""

from collections.abc import Iterable, Mapping

from pyspark_tidelog.fetch_task import FetchTask
from pyspark_tidelog.options import SourceOptions
from pyspark_tidelog.planning import OffsetRange
from tidelog.model.ids import ZERO_UUID, Uuid


def fetch_tasks(
    options: SourceOptions, ranges: Iterable[OffsetRange], topic_ids: Mapping[str, Uuid]
) -> list[FetchTask]:
    """`topic_ids`: a task that finds another topic of the name must not read it. Old brokers have none (zero)."""
    return [
        FetchTask(
            cluster=options.cluster,
            fetch=options.fetch,
            topic=each.place.topic,
            topic_id=None if topic_ids.get(each.place.topic, ZERO_UUID) == ZERO_UUID else topic_ids[each.place.topic],
            partition=each.place.partition,
            start=each.start,
            end=each.end,
            columns=options.columns,
            fail_on_data_loss=options.fail_on_data_loss,
        )
        for each in ranges
    ]
