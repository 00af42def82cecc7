"""One Spark session and one broker for all tests of a worker: both take seconds to start.

`spark` is the session, `bootstrap` the broker's address, `topic` a name that no other test uses, `checkpoint` an empty
directory; `official_connector` is for tests that compare with Spark's own, `limits` for those that PySpark 4.1 can not
pass. A test that kills a broker takes one of its own (`tidelog.testing.broker`).
"""

import socket
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession
from tests.spark.connector_jars import why_no_connector
from tests.spark.sessions import session

from tidelog.testing import Broker

ANSWER_S_MAX = 10


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    made = session(tmp_path_factory.mktemp("spark"))
    yield made
    made.stop()


@pytest.fixture(scope="session")
def official_connector() -> None:
    """For tests that compare with it."""
    missing = why_no_connector()
    if missing is not None:
        pytest.skip(f"SPARK'S OWN KAFKA CONNECTOR IS NOT HERE, OURS WAS NOT COMPARED WITH IT: {missing}")


@pytest.fixture(scope="session")
def limits() -> None:
    """For tests whose micro-batches are limited, which PySpark 4.1 gives a Python source no way to do."""
    if find_spec("pyspark.sql.streaming.datasource") is None:
        pytest.skip(f"PySpark {pyspark.__version__} does not tell a source where a micro-batch begins")


@pytest.fixture(scope="session")
def kafka_broker_settings() -> dict[str, str]:
    """Tests write records with times of their own choice, which retention would take for old."""
    return {"log.retention.ms": "-1"}


@pytest.fixture
def bootstrap(kafka_broker: Broker) -> str:
    socket.create_connection((kafka_broker.host, kafka_broker.port), ANSWER_S_MAX).close()
    return kafka_broker.bootstrap_servers


@pytest.fixture
def topic(kafka_topic_prefix: str) -> str:
    return f"{kafka_topic_prefix}topic"


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    return str(tmp_path / "checkpoint")
