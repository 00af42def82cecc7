"""Output modes: what a windowed count puts into a topic, against what Spark's own connector puts there."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from examples.spark import window_counts
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from tests.spark.sink_driving import values
from tests.spark.source_steps import DEADLINE_S, create, failure, produce, stream

from pyspark_tidelog import start_updates
from pyspark_tidelog.errors import OptionError, SinkError

ROWS_A_BATCH = 4
FIRST_MS = 1_700_000_000_000


def time_ms(number: int) -> int:
    return FIRST_MS + 20_000 * number


def key(number: int) -> str:
    return "ab"[number % 2]


@pytest.fixture
def counts(spark: SparkSession, bootstrap: str, topic: str) -> DataFrame:
    """Records of two keys, by minute: two micro-batches, and the second changes windows of the first."""
    create(bootstrap, topic)
    for number in range(2 * ROWS_A_BATCH):
        produce(bootstrap, topic, ["v"], key=key(number).encode(), timestamp=time_ms(number))
    options = {"subscribe": topic, "startingOffsets": "earliest", "maxOffsetsPerTrigger": str(ROWS_A_BATCH)}
    return window_counts.counts(stream(spark, bootstrap, **options))


def result(records: int) -> list[bytes]:
    """The whole result after so many records."""
    windows = Counter((key(number), time_ms(number) // 60_000 * 60) for number in range(records))
    return [
        json.dumps(
            {"key": key, "start": f"{datetime.fromtimestamp(start, UTC):%Y-%m-%dT%H:%M:%S.000Z}", "count": count},
            separators=(",", ":"),
        ).encode()
        for (key, start), count in windows.items()
    ]


def end(query: StreamingQuery) -> StreamingQuery:
    assert query.awaitTermination(DEADLINE_S), "the query does not come to its end"
    return query


@pytest.fixture
def only_data(spark: SparkSession) -> Iterator[None]:
    """No batch that only moves the watermark: the last one has rows to replay."""
    name = "spark.sql.streaming.noDataMicroBatches.enabled"
    before = spark.conf.get(name)
    spark.conf.set(name, "false")
    yield
    spark.conf.set(name, str(before))


def forget_commit(checkpoint: Path, batch_id: int) -> None:
    """As if the driver had died before it wrote down that its last batch is done."""
    commits = checkpoint / "commits"
    assert not (commits / str(batch_id + 1)).exists()
    for name in (str(batch_id), f".{batch_id}.crc"):
        (commits / name).unlink()


@pytest.mark.usefixtures("official_connector", "only_data")
def test_update_is_what_the_connector_writes(
    counts: DataFrame, bootstrap: str, kafka_topic: Callable[..., str], tmp_path: Path
) -> None:
    ours, theirs, checkpoint = kafka_topic("ours"), kafka_topic("theirs"), tmp_path / "ours"
    connector = counts.writeStream.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("topic", theirs)
    connector = connector.outputMode("update").option("checkpointLocation", str(tmp_path / "theirs"))
    end(connector.trigger(availableNow=True).start())
    query = window_counts.start(counts, bootstrap, ours, str(checkpoint), {"availableNow": True})
    assert query.name == "counts"
    end(query)
    written = values(bootstrap, ours)
    assert written == values(bootstrap, theirs)
    assert {*result(ROWS_A_BATCH), *result(2 * ROWS_A_BATCH)} == {*written}
    forget_commit(checkpoint, 1)
    replayed = end(window_counts.start(counts, bootstrap, ours, str(checkpoint), {"availableNow": True}))
    assert [each["batchId"] for each in replayed.recentProgress if each["numInputRows"]] == [1]
    assert values(bootstrap, ours) == written


def test_complete_writes_the_whole_result_with_every_batch(
    counts: DataFrame, bootstrap: str, kafka_topic: Callable[..., str], checkpoint: str
) -> None:
    """As the connector does: a compacted topic keeps the last count of a window."""
    target = kafka_topic("target")
    writer = counts.writeStream.format("tidelog").option("kafka.bootstrap.servers", bootstrap).option("topic", target)
    writer = writer.outputMode("complete").option("checkpointLocation", checkpoint)
    end(writer.trigger(availableNow=True).start())
    assert values(bootstrap, target) == sorted([*result(ROWS_A_BATCH), *result(2 * ROWS_A_BATCH)])


def test_what_is_refused_before_the_start(counts: DataFrame, bootstrap: str, checkpoint: str) -> None:
    options = {"kafka.bootstrap.servers": bootstrap, "topic": "t"}
    with pytest.raises(OptionError, match=r"^checkpointLocation: must be given"):
        start_updates(counts.writeStream, options)
    with pytest.raises(SinkError, match="column `window` would not be written"):
        start_updates(counts.selectExpr("value", "key AS window").writeStream, options)
    with pytest.raises(OptionError, match="did you mean topic"):
        start_updates(counts.writeStream, {**options, "topics": "t", "checkpointLocation": checkpoint})
    writer = counts.writeStream.format("tidelog").options(**options, checkpointLocation=checkpoint)
    told = failure(writer.outputMode("update").start())
    assert "tidelog does not support Update mode" in told, "else the guide would promise too little"
