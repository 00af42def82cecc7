"""The examples of consumers do what they promise, and no more, when they are killed with -9 in the middle.

Each is killed while it works on the first of three batches, after some of its records and long before the last.
"""

import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

import tidelog.testing

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "consumers"
RECORDS = 30
BATCH = 10  # records, as the examples have it
KILLED_AT = 1  # the offset of the record that is the last to be worked on
SLOW = "1"  # seconds a record: long enough to kill the program before the batch ends, also on a busy machine
WORK = "12"  # seconds a batch: long enough for another member to start and read the whole topic
LINES_MAX = 200
LIFE_S_MAX = 180  # a program that hangs is killed after this long, which fails the test

Start = Callable[..., "Example"]


class Example:
    """A running example program and the lines that it prints."""

    def __init__(self, name: str, *arguments: str) -> None:
        command = [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self._watchdog = threading.Timer(LIFE_S_MAX, self._process.kill)
        self._watchdog.start()

    def read_until(self, wanted: str) -> list[str]:
        """Return the lines up to the first that begins with `wanted`; fail when the program ends before printing it."""
        assert self._process.stdout is not None
        said: list[str] = []
        for line in self._process.stdout:
            said.append(line.strip())
            if line.startswith(wanted):
                return said
            assert len(said) < LINES_MAX, said
        raise AssertionError(f"it ended before it said {wanted!r}: {said}")

    def kill(self) -> None:
        self._watchdog.cancel()
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    with tidelog.testing.broker(group_min_session_timeout_ms=1000, group_initial_rebalance_delay_ms=0) as broker:
        yield broker.bootstrap_servers


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[Example] = []

    def start(name: str, *arguments: str) -> Example:
        started.append(Example(name, *arguments))
        return started[-1]

    yield start
    for example in started:
        example.kill()


def create(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()


def filled(bootstrap: str, topic: str) -> str:
    """Create a topic of one partition that holds the numbers from 0; return its name."""
    create(bootstrap, topic)
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(RECORDS):
        producer.produce(topic, str(number))
    assert producer.flush(LIFE_S_MAX) == 0
    return topic


def committed(bootstrap: str, group: str, topic: str) -> int:
    asked = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0)])
    admin = AdminClient({"bootstrap.servers": bootstrap})
    (future,) = admin.list_consumer_group_offsets([asked]).values()
    return int(future.result().topic_partitions[0].offset)


def values(bootstrap: str, topic: str, isolation: str) -> list[str]:
    settings = {"bootstrap.servers": bootstrap, "group.id": "reader", "enable.partition.eof": True}
    consumer = Consumer({**settings, "isolation.level": isolation, "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[str] = []
    while (record := consumer.poll(LIFE_S_MAX)) is not None:
        error = record.error()
        if error is None:
            found.append((record.value() or b"").decode())
        elif error.code() == KafkaError._PARTITION_EOF:
            consumer.close()
            return found
    raise AssertionError(f"{topic} has no end: {found}")


def test_at_most_once_loses_what_was_committed_and_repeats_nothing(cluster: str, start: Start, tmp_path: Path) -> None:
    topic, ledger = filled(cluster, "at-most"), tmp_path / "ledger"
    first = start("at_most_once", cluster, topic, str(ledger), "--pace", SLOW)
    first.read_until(f"processed {KILLED_AT}")
    first.kill()
    assert committed(cluster, "at-most-once", topic) == BATCH, "before the batch was done"
    start("at_most_once", cluster, topic, str(ledger)).read_until(f"processed {RECORDS - 1}")
    done = Counter(map(int, ledger.read_text().split()))
    assert max(done.values()) == 1
    lost = sorted(set(range(RECORDS)) - set(done))
    assert lost, "the crash was in the window, so there is a loss"
    assert set(lost) <= set(range(KILLED_AT + 1, BATCH))


def test_at_least_once_loses_nothing_and_repeats_what_was_not_committed(
    cluster: str, start: Start, tmp_path: Path
) -> None:
    topic, ledger = filled(cluster, "at-least"), tmp_path / "ledger"
    first = start("at_least_once", cluster, topic, str(ledger), "--pace", SLOW)
    first.read_until(f"processed {KILLED_AT}")
    first.kill()
    assert committed(cluster, "at-least-once", topic) < 0, "not before the batch is done"
    start("at_least_once", cluster, topic, str(ledger)).read_until(f"committed {RECORDS - 1}")
    done = Counter(map(int, ledger.read_text().split()))
    assert sorted(done) == list(range(RECORDS))
    repeated = {number for number, count in done.items() if count > 1}
    assert repeated >= set(range(KILLED_AT + 1)), "the crash was in the window, so there are duplicates"
    assert repeated < set(range(BATCH))


def test_exactly_once_does_neither(cluster: str, start: Start) -> None:
    topic, output = filled(cluster, "exactly"), "exactly-out"
    create(cluster, output)
    first = start("exactly_once", cluster, topic, output, "--pace", SLOW)
    first.read_until(f"written {KILLED_AT}")
    first.kill()
    assert values(cluster, output, "read_committed") == []
    start("exactly_once", cluster, topic, output).read_until(f"committed {RECORDS - 1}")
    wanted = [f"receipt for {number}" for number in range(RECORDS)]
    assert values(cluster, output, "read_committed") == wanted
    assert committed(cluster, "exactly-once", topic) == RECORDS
    everything = Counter(values(cluster, output, "read_uncommitted"))
    assert everything["receipt for 0"] >= 2, "what the crash left is in the log, and nobody sees it"


def test_who_is_too_slow_is_thrown_out_and_its_commit_refused(cluster: str, start: Start, tmp_path: Path) -> None:
    topic, ledger = filled(cluster, "slow"), tmp_path / "ledger"
    slow = start("too_slow", cluster, topic, "--interval-ms", "4000", "--work", WORK)
    slow.read_until("working on")
    other = start("at_least_once", cluster, topic, str(ledger), "--group", "too-slow")
    other.read_until(f"committed {RECORDS - 1}")  # the whole topic: the slow one had committed nothing
    said = slow.read_until("thrown out")
    *refused, gone, out = said
    assert set(refused) == {"commit refused: UNKNOWN_MEMBER_ID"}, said  # also for records that it had fetched before
    assert out == "thrown out: too long between two polls"
    assert gone in ("lost [0]", "revoked [0]")  # revoked: the other joined before the slow one's time was up
    slow.read_until("assigned []")  # a member again, and the other keeps the partition
    assert committed(cluster, "too-slow", topic) == RECORDS, "and was not moved back"
    slow.kill()
    assert sorted(map(int, ledger.read_text().split())) == list(range(RECORDS))
