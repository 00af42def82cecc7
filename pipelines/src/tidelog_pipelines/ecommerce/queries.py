"""The three queries of the job, each with its own checkpoint and pace.

`results` is the one that people wait for: one stateful operator, one state, one micro-batch for all results, and only
the topics and columns that they are made of. `dead_letters` and `archive` read the topics for themselves at a slower
pace: a micro-batch costs more than a second parse of what is in it.
"""

from typing import TYPE_CHECKING, Final

from pyspark_tidelog.kafka.settings import cluster_options, fetch_settings
from pyspark_tidelog.lake import start_archive
from pyspark_tidelog.sink.foreach import write_exactly_once
from tidelog_pipelines.ecommerce.lookback import TopicLog
from tidelog_pipelines.ecommerce.parse import dead_letters, events_of, parsed
from tidelog_pipelines.ecommerce.repeats import EventLog, first_of_each
from tidelog_pipelines.ecommerce.results import as_records, counted, in_windows, totals
from tidelog_pipelines.ecommerce.settings import DEAD_LETTERS, Settings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

FORMAT: Final = "tidelog"
RESULTS_QUERY: Final = "results"
ARCHIVE: Final = "archive"
# Behind the latest end of a window, which is up to five minutes ahead of the events. All that it costs is a few rows of
# state for each minute.
WATERMARK: Final = "1 hour"
# Of a backlog, that a micro-batch takes: no partition is read further ahead of another, and with the windows' five
# minutes, and the half minutes by which events may be late or early, that leaves half an hour for clocks of brokers.
BACKLOG_TIME: Final = "20m"


def result_records(records: "DataFrame", settings: Settings, log: EventLog) -> "DataFrame":
    """Turn records of the event topics into records of the result topics."""
    events = first_of_each(counted(events_of(parsed(records, settings.topics))), log)
    windowed = in_windows(events).withWatermark("window_end", WATERMARK)
    return as_records(totals(windowed), settings.results_prefix)


def start_results(spark: "SparkSession", settings: Settings) -> "StreamingQuery":
    columns = "value,topic,partition,offset,timestamp"
    records = _read(spark, settings, settings.topics.counted, columns, RESULTS_QUERY, maxTimePerTrigger=BACKLOG_TIME)
    log = TopicLog(cluster_options(settings.cluster), fetch_settings(settings.cluster), settings.topics)
    # By way of foreachBatch, because Spark hands updates to no sink that is written in Python.
    changes = result_records(records, settings, log).writeStream.outputMode("update")
    writer = changes.foreachBatch(lambda batch, batch_id: write_exactly_once(batch, batch_id, settings.cluster))
    writer = writer.option("checkpointLocation", settings.checkpoint_of(RESULTS_QUERY)).queryName(RESULTS_QUERY)
    return writer.trigger(**settings.when(settings.trigger)).start()


def start_dead_letters(spark: "SparkSession", settings: Settings) -> "StreamingQuery":
    records = _read(spark, settings, settings.topics.all, "key,value,topic,partition,offset,timestamp", DEAD_LETTERS)
    letters = dead_letters(parsed(records, settings.topics), settings.dead_letters)
    writer = letters.writeStream.format(FORMAT).options(**settings.cluster)
    writer = writer.option("checkpointLocation", settings.checkpoint_of(DEAD_LETTERS)).queryName(DEAD_LETTERS)
    return writer.trigger(**settings.when(settings.slow_trigger)).start()


def start_archiving(spark: "SparkSession", settings: Settings, directory: str) -> "StreamingQuery":
    return start_archive(
        spark,
        directory,
        settings.checkpoint_of(ARCHIVE),
        _source(settings, settings.topics.all, ARCHIVE),
        trigger=settings.when(settings.slow_trigger),
        query_name=ARCHIVE,
    )


def _read(
    spark: "SparkSession", settings: Settings, topics: "Iterable[str]", columns: str, query: str, **more: str
) -> "DataFrame":
    options = _source(settings, topics, query) | more
    return spark.readStream.format(FORMAT).options(**options).option("columns", columns).load()


def _source(settings: Settings, topics: "Iterable[str]", query: str) -> dict[str, str]:
    return {
        **settings.cluster,
        "subscribe": ",".join(topics),
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(settings.max_offsets),
        "commitOffsetsToGroup": f"{settings.results_prefix}ecommerce-{query}",
    }
