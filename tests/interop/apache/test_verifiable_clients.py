"""Apache's VerifiableProducer and VerifiableConsumer, the clients of its own system tests, under both group protocols.

They report what they do in lines of JSON. Two consumers share a topic while it is written; one of them is stopped, and
the other takes all of it: every record is consumed, none twice.
"""

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from tests.interop.apache.jars import java_command, run_tool

from tidelog import testing
from tidelog.testing import Broker

TOPIC = "verified"
PARTITIONS = 4
RECORDS = 2_000
WAIT_SECONDS_MAX = 90
Event = dict[str, Any]


# A member hears of a rebalance with its next heartbeat, by default after three or five seconds. The interval is set by
# the broker in the newer protocol, and by the client in the older one.
HEARTBEAT_MS = 300
BROKER_SETTINGS = {
    "num.partitions": PARTITIONS,
    "group.consumer.heartbeat.interval.ms": HEARTBEAT_MS,
    "group.consumer.min.heartbeat.interval.ms": HEARTBEAT_MS,
}


@pytest.fixture
def broker() -> Iterator[Broker]:
    with testing.broker(BROKER_SETTINGS) as started:
        yield started


@pytest.fixture
def client_settings(tmp_path: Path, protocol: str) -> Path:
    path = tmp_path / "client.properties"
    path.write_text(f"heartbeat.interval.ms={HEARTBEAT_MS}\n" if protocol == "classic" else "")
    return path


class VerifiableConsumer:
    """A process of a VerifiableConsumer, and the events that it has reported so far."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._events: list[Event] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                self._events.append(json.loads(line))

    def told(self, name: str) -> list[Event]:
        return [event for event in list(self._events) if event["name"] == name]

    @property
    def assigned(self) -> set[int]:
        """Return the partitions that it has now, summed up over its events: the newer protocol reports only what was
        added and what was revoked."""
        held: set[int] = set()
        for event in list(self._events):
            if event["name"] in ("partitions_assigned", "partitions_revoked"):
                named = {each["partition"] for each in event["partitions"]}
                held = held | named if event["name"] == "partitions_assigned" else held - named
        return held

    @property
    def consumed(self) -> list[tuple[int, int]]:
        """Return partition and offset of every record that it consumed."""
        ranges = [each for event in self.told("records_consumed") for each in event["partitions"]]
        return [(each["partition"], at) for each in ranges for at in range(each["minOffset"], each["maxOffset"] + 1)]

    @property
    def failed_commits(self) -> list[Event]:
        return [event for event in self.told("offsets_committed") if not event["success"]]

    def stop(self) -> None:
        """Stop the process with SIGTERM, as Apache's system tests do; it leaves the group first."""
        self._process.terminate()
        self._process.wait(WAIT_SECONDS_MAX)
        self._reader.join()

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()


@contextmanager
def verifiable_consumer(
    jars: Path, broker: Broker, protocol: str, client_settings: Path
) -> Iterator[VerifiableConsumer]:
    command = java_command(
        jars,
        "org.apache.kafka.tools.VerifiableConsumer",
        *("--bootstrap-server", broker.bootstrap_servers, "--topic", TOPIC, "--group-id", f"verifiers-{protocol}"),
        *("--group-protocol", protocol, "--reset-policy", "earliest"),
        *("--command-config", str(client_settings)),
    )
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    consumer = VerifiableConsumer(process)
    try:
        yield consumer
    finally:
        consumer.end()


def produce(jars: Path, broker: Broker) -> None:
    printed, _ = run_tool(
        jars,
        "org.apache.kafka.tools.VerifiableProducer",
        *("--bootstrap-server", broker.bootstrap_servers, "--topic", TOPIC, "--max-messages", str(RECORDS)),
        *("--repeating-keys", "100"),  # without keys a fast producer stays with one partition
    )
    events = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    assert [event["acked"] for event in events if event["name"] == "tool_data"] == [RECORDS]
    assert len([event for event in events if event["name"] == "producer_send_success"]) == RECORDS


def produce_more(broker: Broker) -> None:
    """Produce with a client that starts at once; the slow Java one has produced before."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for index in range(RECORDS):
        producer.produce(TOPIC, b"more", partition=index % PARTITIONS)
    assert producer.flush(WAIT_SECONDS_MAX) == 0


def wait_for(met: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not met():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_every_record_once(jars: Path, broker: Broker, protocol: str, client_settings: Path) -> None:
    consumers = [verifiable_consumer(jars, broker, protocol, client_settings) for _ in range(2)]
    with consumers[0] as first, consumers[1] as second:
        wait_for(lambda: len(first.assigned) == len(second.assigned) == PARTITIONS // 2)
        assert first.assigned.isdisjoint(second.assigned)
        produce(jars, broker)
        wait_for(lambda: len(first.consumed) + len(second.consumed) >= RECORDS)
        second.stop()
        wait_for(lambda: len(first.assigned) == PARTITIONS)
        produce_more(broker)
        wait_for(lambda: len(first.consumed) + len(second.consumed) >= 2 * RECORDS)
        first.stop()
        consumed = first.consumed + second.consumed
        assert len(consumed) == len(set(consumed)) == 2 * RECORDS
        assert {partition for partition, _ in consumed} == set(range(PARTITIONS))
        assert first.failed_commits + second.failed_commits == []
