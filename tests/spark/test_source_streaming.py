"""Streams: triggers, limits, checkpoints, and topics that grow while the query runs."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.spark.source_steps import (
    Seen,
    add_partitions,
    checkpoint_offsets,
    create,
    produce,
    run_available_now,
    stream,
)

from tidelog.testing import broker


@pytest.mark.usefixtures("limits")
def test_available_now_in_limited_batches_and_again_from_the_checkpoint(
    spark: SparkSession, bootstrap: str, topic: str, checkpoint: str
) -> None:
    create(bootstrap, topic, 2)
    for partition in range(2):
        produce(bootstrap, topic, [f"{partition}.{number}" for number in range(5)], partition)
    frame = stream(spark, bootstrap, subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger="4")
    first = run_available_now(frame, checkpoint)
    assert [len(batch) for batch in first.batches] == [4, 4, 2]
    assert first.values == [f"{partition}.{number}" for partition in range(2) for number in range(5)]
    assert checkpoint_offsets(checkpoint) == {topic: {"0": 5, "1": 5}}
    produce(bootstrap, topic, ["later"], 1)
    assert run_available_now(frame, checkpoint).values == ["later"]
    assert run_available_now(frame, checkpoint).batches == []


@pytest.mark.usefixtures("limits")
def test_once_takes_all_there_is(spark: SparkSession, bootstrap: str, topic: str, checkpoint: str) -> None:
    create(bootstrap, topic)
    produce(bootstrap, topic, map(str, range(10)))
    frame = stream(spark, bootstrap, subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger="4")
    seen = Seen()
    query = seen.writer(frame, checkpoint).trigger(once=True).start()
    assert query.awaitTermination(60)
    assert [len(batch) for batch in seen.batches] == [10]
    assert query.lastProgress is not None
    assert json.loads(query.lastProgress["sources"][0]["latestOffset"]) == {topic: {"0": 10}}


@pytest.mark.usefixtures("limits")
def test_a_batch_that_was_not_finished_is_read_again(
    spark: SparkSession, bootstrap: str, topic: str, checkpoint: str
) -> None:
    create(bootstrap, topic)
    produce(bootstrap, topic, map(str, range(6)))
    frame = stream(spark, bootstrap, subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger="3")
    run_available_now(frame, checkpoint)
    for path in (Path(checkpoint) / "commits").iterdir():
        if path.name in ("1", ".1.crc"):
            path.unlink()
    assert run_available_now(frame, checkpoint).batches == [["3", "4", "5"]]


@pytest.mark.usefixtures("official_connector")
@pytest.mark.parametrize(("before", "after"), [("kafka", "tidelog"), ("tidelog", "kafka")])
def test_a_query_moves_between_sparks_connector_and_ours(
    spark: SparkSession, bootstrap: str, topic: str, checkpoint: str, before: str, after: str
) -> None:
    create(bootstrap, topic, 2)
    produce(bootstrap, topic, ["old 0"], 0)
    produce(bootstrap, topic, ["old 1"], 1)
    options = {"subscribe": topic, "startingOffsets": "earliest"}
    assert run_available_now(stream(spark, bootstrap, before, **options), checkpoint).values == ["old 0", "old 1"]
    produce(bootstrap, topic, ["new"], 1)
    assert run_available_now(stream(spark, bootstrap, after, **options), checkpoint).values == ["new"]
    assert checkpoint_offsets(checkpoint) == {topic: {"0": 1, "1": 2}}


def test_partitions_and_topics_that_come_while_the_query_runs(
    spark: SparkSession, bootstrap: str, topic: str, checkpoint: str
) -> None:
    create(bootstrap, topic)
    produce(bootstrap, topic, ["first"])
    seen = Seen()
    frame = stream(spark, bootstrap, subscribePattern=f"^{topic}", startingOffsets="earliest")
    query = seen.writer(frame, checkpoint).start()
    try:
        query.processAllAvailable()
        assert seen.values == ["first"]
        add_partitions(bootstrap, topic, 2)
        produce(bootstrap, topic, ["in the new partition"], 1)
        create(bootstrap, f"{topic}-sibling")
        produce(bootstrap, f"{topic}-sibling", ["in the new topic"])
        query.processAllAvailable()
        assert seen.values == ["first", "in the new partition", "in the new topic"]
        assert checkpoint_offsets(checkpoint) == {topic: {"0": 1, "1": 1}, f"{topic}-sibling": {"0": 1}}
    finally:
        query.stop()


def test_a_broker_that_dies_and_comes_back(spark: SparkSession, topic: str, checkpoint: str) -> None:
    with broker() as mortal:
        bootstrap = mortal.bootstrap_servers
        create(bootstrap, topic)
        produce(bootstrap, topic, ["before"])
        seen = Seen()
        frame = stream(spark, bootstrap, subscribe=topic, startingOffsets="earliest")
        query = seen.writer(frame, checkpoint).start()
        try:
            query.processAllAvailable()
            mortal.kill()
            mortal.start()
            produce(bootstrap, topic, ["after"])
            query.processAllAvailable()
            assert seen.values == ["after", "before"]
        finally:
            query.stop()
