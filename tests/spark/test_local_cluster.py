"""Executors in processes of their own, one of them killed while it writes: what is committed is there once."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.spark.cluster_driver import ROWS_A_BATCH
from tests.spark.sink_driving import values

from tidelog.client.admin.admin_client import Admin
from tidelog.client.client import Client
from tidelog.client.fetch.consumer import Consumer
from tidelog.client.producer.producer import Producer
from tidelog.client.record import EARLIEST

ROWS = 3 * ROWS_A_BATCH
DRIVER_S_MAX = 300


@pytest.mark.usefixtures("limits")
@pytest.mark.long
def test_a_killed_executor(bootstrap: str, kafka_topic: Callable[..., str], topic: str, tmp_path: Path) -> None:
    places = kafka_topic("input", partitions=2), kafka_topic("output", partitions=3)
    sent = fill(bootstrap, places[0])
    program = [sys.executable, "-m", "tests.spark.cluster_driver", bootstrap, *places, topic, str(tmp_path)]
    ran = subprocess.run(program, capture_output=True, text=True, timeout=DRIVER_S_MAX, check=False)
    assert ran.returncode == 0, ran.stderr[-5000:]
    assert int((tmp_path / "killed").read_text()) > 1
    assert values(bootstrap, places[1]) == sent
    assert len(all_written(bootstrap, places[1])) > ROWS, "nothing was written twice: the kill came too early"
    assert open_in(bootstrap, places[1]) == []
    refused = (tmp_path / "refusal").read_text()
    assert "spark.speculation: a task that runs twice leaves a transaction open" in refused, refused


@pytest.mark.long
def test_a_stage_that_is_tried_again_after_a_task_has_handed_over(
    bootstrap: str, kafka_topic: Callable[..., str], topic: str, tmp_path: Path
) -> None:
    places = kafka_topic("input", partitions=2), kafka_topic("output", partitions=3)
    sent = fill(bootstrap, places[0])
    program = [sys.executable, "-m", "tests.spark.retry_driver", bootstrap, *places, topic, str(tmp_path)]
    ran = subprocess.run(program, capture_output=True, text=True, timeout=DRIVER_S_MAX, check=False)
    assert ran.returncode == 0, ran.stderr[-5000:]
    first, second = ((tmp_path / name).read_text().split() for name in ("first", "second"))
    assert first[0] == second[0] == "0", "Spark has counted attempts from 0 again"
    assert second[1].startswith(f"{first[1]}-")
    assert values(bootstrap, places[1]) == sent
    assert open_in(bootstrap, places[1]) == []


def open_in(bootstrap: str, topic: str) -> list[str]:
    with Client(bootstrap) as client:
        left_open = Admin(client).list_transactions(["Ongoing"], pattern="tidelog-spark.*")
        described = Admin(client).describe_transactions(each.transactional_id for each in left_open)
    return [name for name, each in described.items() if topic in str(each)]


def fill(bootstrap: str, topic: str) -> list[bytes]:
    """Rows so large that a task sends the first of them before it has the last."""
    sent = [(b"row %05d " % number).ljust(6_000, b".") for number in range(ROWS)]
    with Client(bootstrap) as client, Producer(client) as producer:
        for number, value in enumerate(sent):
            producer.send(topic, value, partition=number % 2)
    return sent


def all_written(bootstrap: str, topic: str) -> list[bytes | None]:
    """Committed or not."""
    with Client(bootstrap) as client:
        consumer = Consumer(client)
        consumer.assign(dict.fromkeys(consumer.partitions(topic), EARLIEST))
        return [record.value for record in consumer.read_to_end()]
