"""Through Spark Connect: a client that has no JVM, in a process of its own, and the tests' session as its server."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark.sink_driving import values

CLIENT_S_MAX = 240


@pytest.fixture
def port(spark: SparkSession) -> Iterator[int]:
    """Started as Spark's own server program starts it, at a port that is free."""
    context: Any = spark.sparkContext
    context._jsc.sc().conf().set("spark.connect.grpc.binding.port", "0")
    companion = getattr(context._jvm, "org.apache.spark.sql.connect.service.SparkConnectService$")
    service = getattr(companion, "MODULE$")
    service.start(context._jsc.sc())
    yield int(service.localPort())
    service.stop(*(getattr(service, f"stop$default${number}")() for number in (1, 2)))


@pytest.mark.long
def test_read_write_and_stream(
    port: int, bootstrap: str, kafka_topic: Callable[..., str], topic: str, tmp_path: Path
) -> None:
    names = ("input", "output", "several", "updates")
    read, written, several, updates = (kafka_topic(name, partitions=2) for name in names)
    program = [sys.executable, "-m", "tests.spark.connect_client", str(port), bootstrap]
    program += [read, written, several, updates, topic, str(tmp_path)]
    ran = subprocess.run(program, capture_output=True, text=True, timeout=CLIENT_S_MAX, check=False)
    assert ran.returncode == 0, ran.stderr[-5000:]
    seen = json.loads(ran.stdout)
    sent = sorted(f"row {number}" for number in range(90))
    assert seen["is_remote"]
    assert (seen["columns"], seen["values"]) == (["value", "offset"], sent)
    assert "OptionError: startingofsets: a read has no such option" in seen["error"]
    as_bytes = [value.encode() for value in sent]
    assert values(bootstrap, written) == as_bytes
    assert values(bootstrap, several) == as_bytes
    assert values(bootstrap, updates) == [b"10", b"80"], "rows of five characters, and of six"
