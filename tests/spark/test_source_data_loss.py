"""Records that go before a stream has read them: failOnDataLoss, with the place, what was wanted and what is there."""

from pathlib import Path

from pyspark.sql import SparkSession
from tests.spark.source_steps import (
    Seen,
    create,
    delete,
    delete_records,
    failure,
    produce,
    run_available_now,
    stream,
)


def test_a_topic_made_anew_ends_the_query(spark: SparkSession, bootstrap: str, topic: str, checkpoint: str) -> None:
    create(bootstrap, topic)
    produce(bootstrap, topic, ["old", "older"])
    seen = Seen()
    query = seen.writer(stream(spark, bootstrap, subscribe=topic, startingOffsets="earliest"), checkpoint).start()
    query.processAllAvailable()
    delete(bootstrap, topic)
    create(bootstrap, topic)
    produce(bootstrap, topic, ["new", "newer", "newest"])
    told = failure(query)
    # Told when the batch is planned, or, where the topic was remade at that very moment, by the task that reads it:
    # then the text of foreachBatch's own failure comes first.
    loss = next(line for line in told.splitlines() if f"{topic}-0: offset 2 is wanted, " in line)
    assert "failOnDataLoss" in loss
    assert seen.values == ["old", "older"]


def test_a_topic_made_anew_is_read_from_its_beginning_where_the_query_may_go_on(
    spark: SparkSession, bootstrap: str, topic: str, checkpoint: str
) -> None:
    create(bootstrap, topic)
    produce(bootstrap, topic, ["old"])
    seen = Seen()
    options = {"subscribe": topic, "startingOffsets": "earliest", "failOnDataLoss": "false"}
    query = seen.writer(stream(spark, bootstrap, **options), checkpoint).start()
    try:
        query.processAllAvailable()
        delete(bootstrap, topic)
        create(bootstrap, topic)
        produce(bootstrap, topic, ["new", "newer", "newest"])
        query.processAllAvailable()
        assert seen.values == ["new", "newer", "newest", "old"]
    finally:
        query.stop()


def test_a_topic_made_anew_while_the_query_is_down(
    spark: SparkSession, bootstrap: str, topic: str, checkpoint: str, tmp_path: Path
) -> None:
    """The new one is longer than the old one: only its id tells them apart."""
    create(bootstrap, topic)
    produce(bootstrap, topic, ["old", "older"])
    options = {"subscribe": topic, "startingOffsets": "earliest", "topicIdsFile": str(tmp_path / "topics")}
    assert run_available_now(stream(spark, bootstrap, **options), checkpoint).values == ["old", "older"]
    produce(bootstrap, topic, ["oldest"])
    assert run_available_now(stream(spark, bootstrap, **options), checkpoint).values == ["oldest"]
    delete(bootstrap, topic)
    create(bootstrap, topic)
    produce(bootstrap, topic, ["new", "newer", "newest", "very new"])
    writer = stream(spark, bootstrap, **options).writeStream.format("noop").option("checkpointLocation", checkpoint)
    told = failure(writer.start())
    assert f"{topic}-0: offset 3 is wanted, offsets 0 to 3 are available: the topic was deleted and made anew" in told
    going_on = stream(spark, bootstrap, **options, failOnDataLoss="false")
    assert run_available_now(going_on, checkpoint).values == ["new", "newer", "newest", "very new"]
    produce(bootstrap, topic, ["last"])
    assert run_available_now(stream(spark, bootstrap, **options), checkpoint).values == ["last"]


def test_records_that_were_deleted_are_told_by_the_task(
    spark: SparkSession, bootstrap: str, topic: str, checkpoint: str
) -> None:
    create(bootstrap, topic)
    produce(bootstrap, topic, map(str, range(4)))
    run_available_now(stream(spark, bootstrap, subscribe=topic, startingOffsets="earliest"), checkpoint)
    produce(bootstrap, topic, map(str, range(4, 10)))
    delete_records(bootstrap, topic, 7)
    frame = stream(spark, bootstrap, subscribe=topic)
    query = frame.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
    told = failure(query)
    assert f"DataLoss: {topic}-0: offset 4 is wanted, offsets 7 to 9 are available" in told
    assert "Traceback" not in told
    going_on = stream(spark, bootstrap, subscribe=topic, failOnDataLoss="false")
    assert run_available_now(going_on, checkpoint).values == ["7", "8", "9"]
