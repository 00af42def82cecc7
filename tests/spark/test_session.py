"""What the other tests stand on: a session that runs Python, and Spark's own connector beside it."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.spark.connector_jars import CONNECTOR_OF, why_no_connector
from tests.spark.sessions import connector_settings

from tidelog.client.client import Client
from tidelog.client.producer.producer import Producer


def test_spark_runs_python_in_its_workers(spark: SparkSession) -> None:
    assert spark.sparkContext.parallelize(range(10), 2).map(lambda number: number * number).sum() == 285


@pytest.mark.usefixtures("official_connector")
def test_sparks_own_connector_reads_our_broker(spark: SparkSession, bootstrap: str, topic: str) -> None:
    with Client(bootstrap) as client, Producer(client) as producer:
        for number in range(5):
            producer.send(topic, b"value %d" % number, key=b"key")
    read = spark.read.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic).load()
    assert sorted(bytes(row.value) for row in read.collect()) == [b"value %d" % number for number in range(5)]


def test_a_session_does_without_the_connector(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No Maven, nothing fetched before; or a Spark that the connector is not for."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("pyspark.__version__", f"{CONNECTOR_OF}0")
    assert "there is no `mvn` on the path" in (why_no_connector() or "")
    assert connector_settings() == {}
    monkeypatch.setattr("pyspark.__version__", "4.9.0")
    assert why_no_connector() == "it is for Spark 4.2.x, and this is 4.9.0"
    assert connector_settings() == {}
