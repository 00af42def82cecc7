"""What the other tests stand on: a session that runs Python, and Spark's own connector beside it."""

from pyspark.sql import SparkSession

from tidelog.client.client import Client
from tidelog.client.producer import Producer


def test_spark_runs_python_in_its_workers(spark: SparkSession) -> None:
    assert spark.sparkContext.parallelize(range(10), 2).map(lambda number: number * number).sum() == 285


def test_sparks_own_connector_reads_our_broker(spark: SparkSession, bootstrap: str, topic: str) -> None:
    with Client(bootstrap) as client, Producer(client) as producer:
        for number in range(5):
            producer.send(topic, b"value %d" % number, key=b"key")
    read = spark.read.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic).load()
    assert sorted(bytes(row.value) for row in read.collect()) == [b"value %d" % number for number in range(5)]
