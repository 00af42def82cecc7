"""Topics archived as Parquet by tasks, and read back by Spark: every record once, whatever is replayed."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from tests.spark.rows import OURS, PlainRow, plain, read

from pyspark_tidelog.lake import LakeError, archive, archived_until, audit, start_archive
from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client
from tidelog.client.producer.producer import Producer
from tidelog.records.record import Header

TIMEOUT_S = 120


def produce(bootstrap: str, topic: str, numbers: range, *, partitions: int = 2) -> None:
    with Client(bootstrap) as client:
        if numbers.start == 0:
            Admin(client).create_topics([NewTopic(topic, partitions)])
        with Producer(client) as producer:
            for number in numbers:
                value = None if number % 5 == 0 else b"value %d" % number
                headers = (Header("number", b"%d" % number),) if number % 2 else ()
                producer.send(topic, value, key=b"key %d" % number, headers=headers)


def source(bootstrap: str, topic: str, **more: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": bootstrap, "subscribe": topic, **more}


def records(spark: SparkSession, bootstrap: str, topic: str) -> list[PlainRow]:
    return plain(read(spark, OURS, bootstrap, subscribe=topic, includeHeaders="true"))


def archived(spark: SparkSession, directory: Path) -> list[PlainRow]:
    return plain(spark.read.parquet(str(directory)))


def finish(query: StreamingQuery) -> None:
    assert query.awaitTermination(TIMEOUT_S)


def test_a_query_archives_what_arrives_once(
    spark: SparkSession, bootstrap: str, topic: str, checkpoint: str, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    options = source(bootstrap, topic, startingOffsets="earliest", minPartitions="4")

    def run(**more: str) -> None:
        finish(start_archive(spark, str(lake), checkpoint, {**options, **more}, trigger={"availableNow": True}))

    produce(bootstrap, topic, range(500))
    run()
    produce(bootstrap, topic, range(500, 800))
    run()
    assert len(archived(spark, lake)) == 800
    assert archived(spark, lake) == records(spark, bootstrap, topic)
    assert audit(str(lake)) == []

    # Spark forgets that it has committed the last batch, and runs it again, cut otherwise.
    for name in ("1", ".1.crc"):
        (Path(checkpoint) / "commits" / name).unlink()
    before = sorted(lake.rglob("*.parquet"))
    run(minPartitions="2")
    assert sorted(lake.rglob("*.parquet")) == before
    assert archived(spark, lake) == records(spark, bootstrap, topic)
    assert audit(str(lake)) == []


def test_an_archive_by_hand_goes_on_where_it_ended(
    spark: SparkSession, bootstrap: str, topic: str, tmp_path: Path
) -> None:
    lake = str(tmp_path / "lake")
    produce(bootstrap, topic, range(100))
    done = archive(spark, lake, source(bootstrap, topic))
    assert (done.rows, len(done.files)) == (100, 2)
    with pytest.raises(LakeError, match="are in the archive already"):
        archive(spark, lake, source(bootstrap, topic))
    produce(bootstrap, topic, range(100, 150))
    start = json.dumps(archived_until(lake))
    assert archive(spark, lake, source(bootstrap, topic, startingOffsets=start)).rows == 50
    assert archived(spark, Path(lake)) == records(spark, bootstrap, topic)
