"""A compacted topic: the reader passes over what is gone, at the beginning, in the middle and at the end of its range,
and finds exactly what a consumer finds."""

import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Position
from tests.spark.test_read_broker import create, read, write

from tidelog.testing import broker

KEYS = 50
ROUNDS = 40
PATIENCE_S = 120
SETTINGS = {
    "log.cleaner.backoff.ms": 50,
    "log.segment.bytes": 1 << 20,
    "log.segment.delete.delay.ms": 0,
}
TOPIC = "table"


@pytest.fixture(scope="module")
def compacted() -> Iterator[tuple[str, list[int], int]]:
    """Address, offsets that are left, and the end."""
    with broker(SETTINGS) as node:
        bootstrap = node.bootstrap_servers
        create(bootstrap, TOPIC, cleanup_policy="compact", min_cleanable_dirty_ratio="0.01", segment_ms="100")
        values = [b"%d " % number * 300 for number in range(KEYS * ROUNDS)]
        keys = [
            b"once %d" % number if number % 20 == 7 else b"key %d" % (number % KEYS) for number in range(len(values))
        ]
        end = len(values)
        for begin in range(0, end, end // 4):
            some = slice(begin, begin + end // 4)
            write(bootstrap, TOPIC, values[some], keys[some])
            node.restart()  # a log that was never flushed does not roll
        wait_until_clean(node.data_directory)
        yield bootstrap, consumed(bootstrap, end), end


def wait_until_clean(directory: Path) -> None:
    """Until the cleaner has come to the active segment, behind which it has nothing more to do."""
    active = max(int(file.stem) for file in (directory / f"{TOPIC}-0").glob("*.log"))
    give_up = time.monotonic() + PATIENCE_S
    while f"{TOPIC} 0 {active}" not in cleaned_to(directory):
        assert time.monotonic() < give_up, cleaned_to(directory)
        time.sleep(0.1)


def cleaned_to(directory: Path) -> list[str]:
    checkpoint = directory / "cleaner-offset-checkpoint"
    return checkpoint.read_text().splitlines() if checkpoint.exists() else []


def consumed(bootstrap: str, end: int) -> list[int]:
    """What an unmodified client sees, to the end."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "x", "enable.partition.eof": True}
    consumer = Consumer({**settings, "auto.offset.reset": "error"})
    consumer.assign([Position(TOPIC, 0, 0)])
    found: list[int] = []
    while not found or found[-1] < end - 1:
        message = consumer.poll(5)
        assert message is not None
        if message.error() is None:
            found.append(message.offset() or 0)
    consumer.close()
    return found


def test_what_is_left_is_found_and_nothing_else(compacted: tuple[str, list[int], int]) -> None:
    bootstrap, left, end = compacted
    assert len(left) < end // 2, "nothing was compacted"
    found = read(bootstrap, TOPIC, 0, end)
    assert found["offset"].to_pylist() == left
    assert [int(value.split()[0]) for value in found["value"].to_pylist()] == left


def test_ranges_that_begin_and_end_in_gaps(compacted: tuple[str, list[int], int]) -> None:
    bootstrap, left, end = compacted
    gap_end = next(after for before, after in pairwise(left) if after - before > 10)
    for start, stop in ((gap_end - 5, gap_end - 2), (0, gap_end - 3), (gap_end - 3, end), (0, 1)):
        found = read(bootstrap, TOPIC, start, stop, columns=("offset",))
        assert found["offset"].to_pylist() == [offset for offset in left if start <= offset < stop]
