"""The records that are written into Apache's broker, and the offsets it gave them: our own tools must find the same.

    plain      three segments' worth of incompressible values, with headers, nulls and timestamps out of order
    packed     every codec
    ledger     transactions: committed, aborted, committed again, by one producer
    table      compacted: few keys written often, tombstones among them
and a consumer group, for `__consumer_offsets`.
"""

import random
import time
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

SEGMENT_BYTES = 1 << 20  # the least that Kafka 4 takes
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
WAIT_SECONDS_MAX = 30
START_MS = 1_700_000_000_000


@dataclass
class Written:
    """A record as the producer knows it after the broker has answered."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


Expectation = dict[str, list[Written]]


class Writer:
    """A producer that remembers which record was delivered at which offset."""

    def __init__(self, bootstrap: str, **settings: object) -> None:
        self.producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, **settings})
        self.delivered: Expectation = {}

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: tuple[tuple[str, bytes | None], ...] = (),
        timestamp: int = START_MS,
    ) -> None:
        def remember(error: KafkaError | None, message: Message) -> None:
            assert error is None, error
            offset, written_at = message.offset(), message.timestamp()[1]
            assert offset is not None
            self.delivered.setdefault(topic, []).append(Written(offset, written_at, key, value, headers))

        self.producer.produce(
            topic, value, key, partition=0, timestamp=timestamp, headers=list(headers), on_delivery=remember
        )
        self.producer.poll(0)

    def flush(self) -> None:
        assert self.producer.flush(WAIT_SECONDS_MAX) == 0


def run_workload(bootstrap: str, directory: Path) -> Expectation:
    _create_topics(bootstrap)
    expected: Expectation = {}
    for part in (_write_plain(bootstrap), _write_packed(bootstrap), _write_ledger(bootstrap), _write_table(bootstrap)):
        for topic, written in part.items():
            expected.setdefault(topic, []).extend(written)
    _commit_offsets(bootstrap, "packed")
    _await_cleaner(directory)
    return {topic: sorted(written, key=lambda each: each.offset) for topic, written in expected.items()}


def _create_topics(bootstrap: str) -> None:
    forever = {"retention.ms": "-1"}  # because the timestamps are years old
    compacted = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.ms": "1000"}
    admin = AdminClient({"bootstrap.servers": bootstrap})
    topics = [
        NewTopic("plain", 1, 1, config={**forever, "segment.bytes": str(SEGMENT_BYTES)}),
        NewTopic("packed", 1, 1, config=forever),
        NewTopic("ledger", 1, 1, config=forever),
        NewTopic("table", 1, 1, config=compacted),
    ]
    for created in admin.create_topics(topics).values():
        created.result(WAIT_SECONDS_MAX)


def _write_plain(bootstrap: str) -> Expectation:
    noise = random.Random(1)
    writer = Writer(bootstrap, **{"enable.idempotence": True, "batch.num.messages": 20})
    for number in range(1500):
        key = None if number % 7 == 0 else b"key-%d" % number
        value = None if number % 50 == 0 else noise.randbytes(2000)
        headers = (("number", b"%d" % number), ("empty", None)) if number % 3 == 0 else ()
        writer.send("plain", key, value, headers, START_MS + number * 10 - noise.randrange(0, 200))
    writer.flush()
    return writer.delivered


def _write_packed(bootstrap: str) -> Expectation:
    delivered: Expectation = {"packed": []}
    for codec in CODECS:
        writer = Writer(bootstrap, **{"compression.type": codec, "linger.ms": 50})
        for number in range(200):
            writer.send("packed", b"%d" % (number % 10), f"{codec} {number} ".encode() * 10)
        writer.flush()
        delivered["packed"] += writer.delivered["packed"]
    return delivered


def _write_ledger(bootstrap: str) -> Expectation:
    writer = Writer(bootstrap, **{"transactional.id": "teller"})
    writer.producer.init_transactions(WAIT_SECONDS_MAX)
    for number in range(6):
        writer.producer.begin_transaction()
        for entry in range(20):
            writer.send("ledger", b"account-%d" % entry, b"transaction %d" % number)
        writer.flush()
        if number % 3 == 1:
            writer.producer.abort_transaction(WAIT_SECONDS_MAX)
        else:
            writer.producer.commit_transaction(WAIT_SECONDS_MAX)
    return writer.delivered


def _write_table(bootstrap: str) -> Expectation:
    writer = Writer(bootstrap)
    for generation in range(4):
        for number in range(100):
            value = None if generation == 2 and number < 10 else b"row %d, generation %d" % (number, generation)
            writer.send("table", b"row-%d" % number, value, timestamp=START_MS + generation * 2000)
        writer.flush()  # the next generation is beyond segment.ms and begins a segment
    return writer.delivered


def _commit_offsets(bootstrap: str, topic: str) -> None:
    settings = {"bootstrap.servers": bootstrap, "group.id": "readers", "enable.auto.commit": False}
    consumer = Consumer(settings)
    consumer.commit(offsets=[TopicPartition(topic, 0, 123)], asynchronous=False)
    consumer.close()


def _await_cleaner(directory: Path) -> None:
    """Wait until the cleaner has cleaned the table up to its last segment but one."""
    checkpoint = directory / "cleaner-offset-checkpoint"
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while "table 0 300" not in checkpoint.read_text():
        assert time.monotonic() < deadline, checkpoint.read_text()
        time.sleep(0.1)
