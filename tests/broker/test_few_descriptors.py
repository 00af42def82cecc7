"""A node that may open few files: many partitions, many rolls and many clients cause no failure."""

import json
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.support.recorded_frames import framed

from tidelog.protocol.messages.api_versions import ApiVersionsRequest

TIMEOUT_S = 60
MEGABYTE = 1 << 20


class FewDescriptors:
    """A node in a process that may have `descriptors` files open, with its data in one directory."""

    def __init__(self, directory: Path, descriptors: int) -> None:
        self._directory = directory
        self._descriptors = descriptors
        self.log_path = directory / "node.log"

    @contextmanager
    def running(self) -> Iterator[str]:
        """Run the node; yield the address that it listens on. At the end it has to stop in order."""
        with self.log_path.open("a") as log:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "tidelog",
                    "dev",
                    "--port",
                    "0",
                    "--json",
                    "--dir",
                    str(self._directory / "data"),
                ],
                stdout=subprocess.PIPE,
                stderr=log,
                preexec_fn=self._limit,
            )
        assert process.stdout is not None
        try:
            ready = process.stdout.readline()
            assert ready, self.log_path.read_text()
            yield json.loads(ready)["listeners"][0]["bound"]
            process.send_signal(signal.SIGTERM)
            assert process.wait(TIMEOUT_S) == 0, self.log_path.read_text()[-3_000:]
        finally:
            process.stdout.close()
            if process.poll() is None:
                process.kill()
                process.wait()

    def _limit(self) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (self._descriptors, self._descriptors))

    def lines(self, pattern: str) -> list[str]:
        return [line for line in self.log_path.read_text().splitlines() if re.search(pattern, line)]


@pytest.fixture
def node(tmp_path: Path) -> Callable[[int], FewDescriptors]:
    return lambda descriptors: FewDescriptors(tmp_path, descriptors)


def create(bootstrap: str, topic: str, partitions: int, **configs: str) -> None:
    named = {name.replace("_", "."): value for name, value in configs.items()}
    wanted = NewTopic(topic, partitions, 1, config=named)
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([wanted], operation_timeout=TIMEOUT_S)[topic].result()


def produce(bootstrap: str, topic: str, partitions: int, value: bytes, rounds: int = 1) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "message.max.bytes": 2 * MEGABYTE})
    failed: list[object] = []
    for _ in range(rounds):
        for partition in range(partitions):
            producer.produce(
                topic, value, partition=partition, on_delivery=lambda error, _: failed.append(error) if error else None
            )
        assert producer.flush(TIMEOUT_S) == 0
    assert not failed, failed[:3]


def consumed(bootstrap: str, topic: str, partitions: int, count: int) -> dict[int, int]:
    """Consume from offset 0 until `count` records have come; return how many came from each partition."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "enable.auto.commit": False})
    try:
        consumer.assign([TopicPartition(topic, partition, 0) for partition in range(partitions)])
        found: dict[int, int] = {}
        give_up = time.monotonic() + TIMEOUT_S
        while sum(found.values()) < count:
            assert time.monotonic() < give_up, f"{sum(found.values())} of {count}"
            for message in consumer.consume(500, timeout=0.2):
                assert message.error() is None, message.error()
                partition = message.partition()
                assert partition is not None
                found[partition] = found.get(partition, 0) + 1
        return found
    finally:
        consumer.close()


def test_more_partitions_than_descriptors(node: Callable[[int], FewDescriptors]) -> None:
    partitions = 1_100
    few = node(1_024)
    with few.running() as bootstrap:
        create(bootstrap, "t", partitions)
        produce(bootstrap, "t", partitions, b"x", rounds=2)
        assert consumed(bootstrap, "t", partitions, 2 * partitions) == dict.fromkeys(range(partitions), 2)
    with few.running() as bootstrap:
        assert consumed(bootstrap, "t", partitions, 2 * partitions) == dict.fromkeys(range(partitions), 2)
        produce(bootstrap, "t", partitions, b"y")
    assert few.lines("1024 descriptors \\(ulimit -n\\)")
    assert few.lines("ERROR|CRITICAL|Traceback") == []


def test_segments_roll_beside_more_clients_than_there_are_descriptors_for(
    node: Callable[[int], FewDescriptors],
) -> None:
    partitions, rounds = 8, 6
    few = node(160)
    with few.running() as bootstrap:
        create(bootstrap, "t", partitions, segment_bytes=str(MEGABYTE))
        produce(bootstrap, "t", partitions, b"x")  # this client connects before the crowd does
        host, port = bootstrap.split(":")
        crowd = [socket.create_connection((host, int(port)), TIMEOUT_S) for _ in range(200)]
        try:
            served = [each for each in crowd if is_served(each)]
            assert 10 < len(served) < 100, "some are served, and the others told at once"
            for each in served[:10]:
                each.close()
            produce(bootstrap, "t", partitions, b"x" * (MEGABYTE // 2), rounds)
            total = partitions * (rounds + 1)
            assert consumed(bootstrap, "t", partitions, total) == dict.fromkeys(range(partitions), rounds + 1)
        finally:
            for each in crowd:
                each.close()
    assert len(few.lines("connections that ulimit -n leaves room for are taken")) == 1
    assert few.lines("ERROR|CRITICAL|Traceback") == []
    with few.running() as bootstrap:
        assert consumed(bootstrap, "t", partitions, total) == dict.fromkeys(range(partitions), rounds + 1)


def is_served(client: socket.socket) -> bool:
    """Tell whether the node answers this client. It closes the connections that it does not serve."""
    request = framed(ApiVersionsRequest(client_software_name="crowd", client_software_version="1"), 3)
    with suppress(ConnectionError):
        client.sendall(request)
        return client.recv(1) != b""
    return False
