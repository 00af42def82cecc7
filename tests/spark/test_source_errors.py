"""Bad input: an exception within the timeout, our message in its first line, no traceback before it."""

import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark.source_steps import batch, create, failure, produce, stream

SOON_S = 55  # the patience that was not asked for is a minute


@pytest.fixture
def silent_port() -> Iterator[int]:
    """Somebody listens there, and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def first_line(caught: pytest.ExceptionInfo[Exception]) -> str:
    assert "Traceback" not in str(caught.value)
    return str(caught.value).splitlines()[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"startingOffsets": "{"}, "OptionError: startingOffsets: not JSON"),
        ({"startingOffset": "earliest"}, "did you mean startingOffsets?"),
        ({"kafka.security.protocol": "TLS"}, "OptionError: kafka.security.protocol: "),
        ({"subscribe": "there-is-no-such-topic"}, "UNKNOWN_TOPIC_OR_PARTITION (find topic there-is-no-such-topic"),
    ],
)
def test_a_batch_that_can_not_be_read(
    spark: SparkSession, bootstrap: str, topic: str, options: dict[str, str], message: str
) -> None:
    create(bootstrap, topic)
    with pytest.raises(Exception, match="PYTHON_DATA_SOURCE_ERROR") as caught:
        batch(spark, bootstrap, **{"subscribe": topic, **options}).collect()
    assert message in first_line(caught)


@pytest.mark.parametrize("start", [batch, stream])
def test_a_wrong_name_is_told_before_anything_is_read(spark: SparkSession, bootstrap: str, start: Any) -> None:
    with pytest.raises(Exception, match="PYTHON_DATA_SOURCE_ERROR") as caught:
        start(spark, bootstrap, subscribe="t", startingOffset="earliest")
    told = first_line(caught)  # of the name Spark says here what is left of it in lower case
    assert "OptionError: startingoffset: a read has no such option; did you mean startingOffsets?" in told


def test_a_schema_of_other_types(spark: SparkSession, bootstrap: str, topic: str) -> None:
    create(bootstrap, topic)
    reader = spark.read.format("tidelog").option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic)
    with pytest.raises(Exception, match="PYTHON_DATA_SOURCE_ERROR") as caught:
        reader.schema("value string").load().collect()
    assert "OptionError: schema: value is binary, not string; cast it after the read" in first_line(caught)


def test_a_cluster_that_is_not_there(spark: SparkSession, silent_port: int) -> None:
    began = time.monotonic()
    with pytest.raises(Exception, match="PYTHON_DATA_SOURCE_ERROR") as caught:
        batch(spark, "127.0.0.1:1", subscribe="t").collect()
    assert "NETWORK_EXCEPTION: Connection refused (connect, cluster at 127.0.0.1:1); " in first_line(caught)
    patience = {"kafka.request.timeout.ms": "1000", "kafka.default.api.timeout.ms": "2000"}
    with pytest.raises(Exception, match="PYTHON_DATA_SOURCE_ERROR") as caught:
        batch(spark, f"127.0.0.1:{silent_port}", subscribe="t", **patience).collect()
    assert "REQUEST_TIMED_OUT" in first_line(caught)
    assert time.monotonic() - began < SOON_S


def test_a_stream_that_can_not_start(spark: SparkSession, bootstrap: str, checkpoint: str) -> None:
    frame = stream(spark, bootstrap, subscribe="there-is-no-such-topic")
    query = frame.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
    told = failure(query)
    assert "UNKNOWN_TOPIC_OR_PARTITION (find topic there-is-no-such-topic" in told.splitlines()[0]
    assert "Traceback" not in told


def test_an_option_of_batches_in_a_stream(spark: SparkSession, bootstrap: str, topic: str, checkpoint: str) -> None:
    create(bootstrap, topic)
    produce(bootstrap, topic, ["v"])
    frame = stream(spark, bootstrap, subscribe=topic, endingOffsets="latest")
    query = frame.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
    assert "OptionError: endingOffsets: a stream does not end" in failure(query).splitlines()[0]
