"""A query's offsets in a consumer group, and its lag in its progress."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from tests.spark.test_lake import produce, source

import pyspark_tidelog
from tidelog.client.admin.admin_client import Admin
from tidelog.client.client import Client
from tidelog.model.ids import TopicPartition

TIMEOUT_S = 60


def start(spark: SparkSession, options: dict[str, str], checkpoint: str, **trigger: object) -> StreamingQuery:
    writer: Any = spark.readStream.format("tidelog").options(**options).load().writeStream.format("noop")
    query: StreamingQuery = writer.option("checkpointLocation", checkpoint).trigger(**trigger).start()
    return query


def committed(bootstrap: str, group: str) -> dict[TopicPartition, int]:
    with Client(bootstrap) as client:
        return {
            topic_partition: each.offset for topic_partition, each in Admin(client).list_group_offsets(group).items()
        }


def eventually(ask: Callable[[], object], wanted: object) -> None:
    until = time.monotonic() + TIMEOUT_S
    while (found := ask()) != wanted and time.monotonic() < until:
        time.sleep(0.05)
    assert found == wanted


@pytest.mark.usefixtures("limits")
def test_the_reader_commits_what_the_query_has_finished_while_it_runs(
    spark: SparkSession, bootstrap: str, topic: str, checkpoint: str
) -> None:
    group = f"{topic}-group"
    produce(bootstrap, topic, range(100), partitions=1)
    options = source(
        bootstrap, topic, startingOffsets="earliest", commitOffsetsToGroup=group, maxOffsetsPerTrigger="60"
    )
    query = start(spark, options, checkpoint, processingTime="0 seconds")
    try:
        eventually(lambda: committed(bootstrap, group), {TopicPartition(topic, 0): 100})
        eventually(
            lambda: [
                pyspark_tidelog.lag(each).get(TopicPartition(topic, 0))
                for each in query.recentProgress
                if each.numInputRows
            ],
            [40, 0],
        )
    finally:
        query.stop()


def test_the_listener_commits_the_last_batch_of_a_query_that_ends(
    spark: SparkSession, bootstrap: str, topic: str, checkpoint: str
) -> None:
    """With Trigger.Once the reader is never asked again after the only batch."""
    group = f"{topic}-group"
    produce(bootstrap, topic, range(10), partitions=1)
    listener = pyspark_tidelog.listen(spark)
    try:
        options = source(bootstrap, topic, startingOffsets="earliest", commitOffsetsToGroup=group)
        query = start(spark, options, checkpoint, once=True)
        assert query.awaitTermination(TIMEOUT_S)
        eventually(lambda: committed(bootstrap, group), {TopicPartition(topic, 0): 10})
    finally:
        spark.streams.removeListener(listener)
