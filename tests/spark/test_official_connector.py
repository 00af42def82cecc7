"""Spark's own Kafka connector beside ours, on the same topics: equal row for row, in both directions."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.spark.rows import (
    OFFICIAL,
    OURS,
    PlainRow,
    create,
    plain,
    produce_a_bit_of_everything,
    produce_in_transactions,
    read,
)

pytestmark = pytest.mark.usefixtures("official_connector")


def test_both_read_the_same_rows(spark: SparkSession, bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, 3)
    count = produce_a_bit_of_everything(bootstrap, topic, range(3))
    official = plain(read(spark, OFFICIAL, bootstrap, subscribe=topic, includeHeaders="true"))
    ours = plain(read(spark, OURS, bootstrap, subscribe=topic, includeHeaders="true"))
    assert len(ours) == count
    assert ours == official


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_both_see_the_same_of_transactions(spark: SparkSession, bootstrap: str, topic: str, isolation: str) -> None:
    create(bootstrap, topic, 1)
    committed = produce_in_transactions(bootstrap, topic, topic)
    options = {"subscribe": topic, "includeHeaders": "true", "kafka.isolation.level": isolation}
    official = plain(read(spark, OFFICIAL, bootstrap, **options))
    ours = plain(read(spark, OURS, bootstrap, **options))
    assert len(ours) == (committed if isolation == "read_committed" else 2 * committed)
    assert ours == official


def test_both_take_the_same_offsets(spark: SparkSession, bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, 2)
    produce_a_bit_of_everything(bootstrap, topic, range(2))
    options = {
        "subscribe": topic,
        "includeHeaders": "true",
        "startingOffsets": f'{{"{topic}": {{"0": 7, "1": -2}}}}',
        "endingOffsets": f'{{"{topic}": {{"0": 61, "1": -1}}}}',
    }
    official = plain(read(spark, OFFICIAL, bootstrap, **options))
    assert plain(read(spark, OURS, bootstrap, **options)) == official
    assert {row[2] for row in official if row[1] == 0} == set(range(7, 61))


def test_both_find_the_same_by_time(spark: SparkSession, bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, 2)
    produce_a_bit_of_everything(bootstrap, topic, range(2))
    options = {
        "subscribe": topic,
        "includeHeaders": "true",
        "startingTimestamp": str(1_700_000_000_000 + 30),
        "endingTimestamp": str(1_700_000_000_000 + 90),
    }
    official = plain(read(spark, OFFICIAL, bootstrap, **options))
    assert plain(read(spark, OURS, bootstrap, **options)) == official
    assert len(official) == 60


def test_a_checkpoint_says_the_same(spark: SparkSession, bootstrap: str, topic: str, tmp_path: Path) -> None:
    """The offsets that a stream leaves behind are in the connector's own form, to the byte."""
    create(bootstrap, topic, 2)
    produce_a_bit_of_everything(bootstrap, topic, range(2))
    said = {}
    for form in (OFFICIAL, OURS):
        stream = spark.readStream.format(form).option("kafka.bootstrap.servers", bootstrap)
        frame = stream.option("subscribe", topic).option("startingOffsets", "earliest").load()
        directory = tmp_path / form
        writer = frame.writeStream.format("noop").option("checkpointLocation", str(directory))
        writer.trigger(availableNow=True).start().awaitTermination(60)
        said[form] = (directory / "offsets" / "0").read_text().splitlines()[-1]
    assert said[OURS].replace(" ", "") == said[OFFICIAL].replace(" ", "")


def test_the_official_one_reads_what_our_sink_wrote(
    spark: SparkSession, bootstrap: str, topic: str, kafka_topic_prefix: str
) -> None:
    copied = f"{kafka_topic_prefix}copied"
    for name in (topic, copied):
        create(bootstrap, name, 3)
    produce_a_bit_of_everything(bootstrap, topic, range(3))
    source = read(spark, OURS, bootstrap, subscribe=topic, includeHeaders="true")
    columns = source.select("key", "value", "headers", "partition")
    columns.write.format(OURS).option("kafka.bootstrap.servers", bootstrap).option("topic", copied).mode(
        "append"
    ).save()
    committed = {"kafka.isolation.level": "read_committed"}
    official = read(spark, OFFICIAL, bootstrap, subscribe=copied, includeHeaders="true", **committed)
    assert _contents(plain(official)) == _contents(plain(source))


def test_we_read_what_the_official_sink_wrote(
    spark: SparkSession, bootstrap: str, topic: str, kafka_topic_prefix: str
) -> None:
    copied = f"{kafka_topic_prefix}copied"
    for name in (topic, copied):
        create(bootstrap, name, 3)
    produce_a_bit_of_everything(bootstrap, topic, range(3))
    source = read(spark, OFFICIAL, bootstrap, subscribe=topic, includeHeaders="true")
    columns = source.select("key", "value", "headers", "partition")
    columns.write.format(OFFICIAL).option("kafka.bootstrap.servers", bootstrap).option("topic", copied).save()
    ours = read(spark, OURS, bootstrap, subscribe=copied, includeHeaders="true")
    assert _contents(plain(ours)) == _contents(plain(source))


def test_keys_go_to_the_same_partitions(
    spark: SparkSession, bootstrap: str, topic: str, kafka_topic_prefix: str
) -> None:
    other = f"{kafka_topic_prefix}other"
    for name in (topic, other):
        create(bootstrap, name, 7)
    keyed = spark.range(500).selectExpr("repeat(cast(id AS string), 1 + id % 3) AS key", "cast(id AS string) AS value")
    for form, name in ((OURS, topic), (OFFICIAL, other)):
        keyed.write.format(form).option("kafka.bootstrap.servers", bootstrap).option("topic", name).mode(
            "append"
        ).save()
    options = {"includeHeaders": "true", "kafka.isolation.level": "read_committed"}
    places = [
        sorted((row[5], row[1]) for row in plain(read(spark, OFFICIAL, bootstrap, subscribe=name, **options)))
        for name in (topic, other)
    ]
    assert places[0] == places[1]
    assert len(places[0]) == 500


def _contents(rows: list[PlainRow]) -> list[tuple[int, bytes, bytes, str]]:
    """Without the place and the time that a copy has of its own."""
    return sorted((row[1], row[5] or b"", row[6] or b"", str(row[7])) for row in rows)
