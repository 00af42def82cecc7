"""A node on a real file system of a few megabytes that somebody else fills to the last block, in tmpfs and in ext4.

Skipped, with the system's error message, only where this process may not mount one.
"""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.support.blocking_connection import BlockingConnection
from tests.support.serving import batch_of, fetch_values, produced

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tidelog.testing import Broker, broker

SIZE = "24M"
PATIENCE_S = 60
SETTINGS = {
    "log.dir.reserved.bytes": "0",
    "log.retention.check.interval.ms": "200",
    "log.segment.delete.delay.ms": "100",
    "log.retention.ms": "-1",
}


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"this process may not do `{' '.join(command)}`: {done.stderr.strip() or done.returncode}")


@pytest.fixture(params=["tmpfs", "ext4"])
def small_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    mount_point = tmp_path / "disk"
    mount_point.mkdir()
    if request.param == "tmpfs":
        _run("mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(mount_point))
    else:
        image = tmp_path / "image"
        _run("truncate", "-s", SIZE, str(image))
        _run("mkfs.ext4", "-q", "-F", "-m", "0", str(image))
        _run("mount", "-o", "loop", str(image), str(mount_point))
    yield mount_point
    subprocess.run(["umount", "-l", str(mount_point)], check=True)


def fill(disk: Path) -> None:
    """Fill the disk to the last block and keep it full: blocks that only wait for a journal to be written are filled
    after a sync."""
    for size in (1 << 20, 4096, 1):
        with (disk / "filler").open("ab", buffering=0) as file:
            for _ in range(3):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError:
                    os.sync()


def make_room(disk: Path) -> None:
    (disk / "filler").unlink()


class Client:
    """A client with one connection at a time, to a node that is restarted now and then."""

    def __init__(self, node: Broker) -> None:
        self._node = node
        self._connection = BlockingConnection(node.bootstrap_servers, "full-disk")

    def ask(self, request: object, version: int) -> Any:
        return self._connection.ask(request, version)

    def connect_again(self) -> None:
        self._connection.close()
        self._connection = BlockingConnection(self._node.bootstrap_servers, "full-disk")

    def close(self) -> None:
        self._connection.close()


def create(client: Any, name: str) -> ErrorCode:
    config = CreatableTopicConfig(name="internal.segment.bytes", value="100000")
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1, assignments=[], configs=[config])
    return ErrorCode(client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=5_000), 7).topics[0].error_code)


def write(client: Any, topic: str, size: int = 1_000) -> ErrorCode:
    return ErrorCode(produced(client, topic, batch_of(b"x" * size)).error_code)


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(0.1)


def test_a_full_disk_costs_the_writes_and_nothing_else(small_disk: Path) -> None:
    with broker({**SETTINGS, "log.dirs": str(small_disk / "logs")}) as node:
        client: Any = Client(node)
        for name in ("big", "small"):
            assert create(client, name) is ErrorCode.NONE
            until(lambda name=name: write(client, name) is ErrorCode.NONE)  # type: ignore[misc]
        until((small_disk / "logs/__cluster_metadata-0/ballast").exists)
        for _ in range(60):
            assert write(client, "big", 50_000) is ErrorCode.NONE
        fill(small_disk)
        until(lambda: write(client, "big", 90_000) is ErrorCode.KAFKA_STORAGE_ERROR)
        assert len(fetch_values(client, "small")) == 1
        assert create(client, "late") is ErrorCode.KAFKA_STORAGE_ERROR, "the ballast is for what makes room"
        for end in (node.kill, node.stop):  # only the metadata log may use the ballast's space
            end()
            node.start()
            client.connect_again()
            assert len(fetch_values(client, "small")) == 1
            assert write(client, "big", 90_000) is ErrorCode.KAFKA_STORAGE_ERROR
        asked = DeleteTopicsRequest(topics=[DeleteTopicState(name="big", topic_id=ZERO_UUID)], timeout_ms=5_000)
        until(lambda: client.ask(asked, 6).responses[0].error_code == ErrorCode.NONE)
        until(lambda: write(client, "small") is ErrorCode.NONE)
        make_room(small_disk)
        until(lambda: create(client, "late") is ErrorCode.NONE)
        until(lambda: write(client, "late") is ErrorCode.NONE)
        assert node.is_running
        assert "is offline" not in node.log_text()
        client.close()


def test_a_node_whose_last_room_a_stranger_took_serves_reads_until_there_is_some(small_disk: Path) -> None:
    ballast = small_disk / "logs/__cluster_metadata-0/ballast"
    with broker({**SETTINGS, "log.dirs": str(small_disk / "logs")}) as node, ThreadPoolExecutor(1) as starting:
        client: Any = Client(node)
        assert create(client, "t") is ErrorCode.NONE
        until(lambda: write(client, "t") is ErrorCode.NONE)
        until(ballast.exists)
        client.close()
        node.kill()
        ballast.unlink()
        fill(small_disk)
        started = starting.submit(node.start)  # returns when the node is a member of its cluster
        try:
            until(lambda: "serves reads only" in node.log_text())
            client.connect_again()
            assert len(fetch_values(client, "t")) == 1
            assert write(client, "t") is ErrorCode.KAFKA_STORAGE_ERROR
            assert not started.done()
        finally:
            make_room(small_disk)
        started.result(PATIENCE_S)
        until(lambda: write(client, "t") is ErrorCode.NONE)
        assert "is offline" not in node.log_text()
        client.close()
