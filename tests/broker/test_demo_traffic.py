"""`tidelog demo traffic` against a node: what it says it sent is in the topics, also when it is interrupted."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.broker.conftest import Run

from tidelog.client.client import Client
from tidelog.client.fetch.consumer import Consumer
from tidelog.client.record import EARLIEST, ConsumerRecord
from tidelog.model.ids import TopicPartition
from tidelog_pipelines.traffic.answers import Answers
from tidelog_pipelines.traffic.generator import Event, Plan, events
from tidelog_pipelines.traffic.shoppers import TOPICS
from tidelog_pipelines.traffic.truth import truth_of

START_MS = 1_763_000_000_000


def read(bootstrap: str, prefix: str) -> list[ConsumerRecord]:
    with Client(bootstrap) as client, Consumer(client) as consumer:
        topic_partitions = [
            topic_partition for topic in TOPICS for topic_partition in consumer.partitions(prefix + topic)
        ]
        consumer.assign(dict.fromkeys(topic_partitions, EARLIEST))
        return list(consumer.read_to_end())


def sent(record: ConsumerRecord, prefix: str) -> Event:
    assert record.key is not None
    assert record.value is not None
    return Event(record.topic.removeprefix(prefix), record.key, record.value, record.timestamp)


def test_what_is_there_is_the_plan_and_the_truth_is_about_it(
    run: Run, bootstrap: str, kafka_topic_prefix: str, tmp_path: Path
) -> None:
    file = tmp_path / "truth.json"
    options = ["--seed", "3", "--rate", "100000", "--speed", "2000", "--events", "4000", "--start", str(START_MS)]
    (said,) = run("demo", "traffic", *options, "--truth", str(file), "--topic-prefix", kafka_topic_prefix)
    assert (said["events"], said["seed"], said["start_ms"]) == (4_000, 3, START_MS)
    records = read(bootstrap, kafka_topic_prefix)
    made = list(events(Plan(3, START_MS, 100_000.0, 2_000.0, 4_000)))
    assert sorted(sent(record, kafka_topic_prefix) for record in records) == sorted(made)
    assert {record.partition for record in records} == {0, 1}
    truth = truth_of(Plan(3, START_MS, 100_000.0, 2_000.0, 4_000))
    written = json.loads(file.read_text())
    assert Answers.from_json(written) == truth.answers()
    assert (written["events"], written["robots"], written["repeats"]) == (4_000, truth.robots, truth.repeats)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_ends_in_order(
    run: Run, bootstrap: str, kafka_topic_prefix: str, tmp_path: Path, number: int
) -> None:
    run("topics", "create", f"{kafka_topic_prefix}product_viewed")  # the command takes a topic that exists already
    file = tmp_path / "truth.json"
    command = [
        sys.executable,
        "-m",
        "tidelog",
        "demo",
        "traffic",
        "-b",
        bootstrap,
        "--topic-prefix",
        kafka_topic_prefix,
    ]
    with subprocess.Popen(
        [*command, "--rate", "500", "--truth", str(file), "--json"], stdout=subprocess.PIPE
    ) as traffic:
        with Client(bootstrap) as client, Consumer(client) as consumer:
            consumer.assign({TopicPartition(f"{kafka_topic_prefix}product_viewed", 0): EARLIEST})
            while not consumer.poll(1_000):
                assert traffic.poll() is None
        traffic.send_signal(number)
        said: dict[str, Any] = json.loads(traffic.communicate()[0])
    assert traffic.returncode == 0
    there = len(read(bootstrap, kafka_topic_prefix))
    assert there == said["events"] == sum(json.loads(file.read_text())["records"].values()) > 0


def test_the_truth_needs_a_place(fails: Callable[..., str], tmp_path: Path) -> None:
    text = fails(2, "demo", "traffic", "--events", "1", "--truth", str(tmp_path / "none" / "truth.json"))
    assert "there is no directory" in text
