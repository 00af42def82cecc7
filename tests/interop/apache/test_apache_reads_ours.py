"""Files that we write, read by Apache's tool with deep iteration and index sanity check; and a directory that goes back
and forth between Apache's broker and us."""

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition
from tests.interop.apache.broker import running_broker
from tests.interop.apache.conftest import ApacheDirectory
from tests.interop.apache.node import Node, now_ms, our_node
from tests.interop.apache.printed import apache_dump, facts_only, in_apaches_words, our_dump
from tests.interop.apache.workload import WAIT_SECONDS_MAX, Writer, Written

from tidelog.io.files import PosixFileSystem
from tidelog.model.ids import NodeId, Uuid
from tidelog.records.builder import BatchOptions
from tidelog.records.compression import CompressionType
from tidelog.records.record import Header, Record
from tidelog.storage.checkpoints.meta_properties import MetaProperties, write_meta_properties
from tidelog.storage.inspect.findings import Finding
from tidelog.storage.inspect.verify import VerifyOptions, verify_directory

SEGMENT_BYTES = 100_000
KINDS = ("*.log", "*.index", "*.timeindex", "*.txnindex", "*.snapshot")


def some_records(noise: random.Random, count: int, size: int = 300) -> list[Record]:
    """Return records with timestamps out of order, keys and values that may be missing, and headers."""
    records = []
    for number in range(count):
        headers = (Header("n", b"%d" % number),) if number % 4 == 0 else ()
        key = None if number % 5 == 0 else b"key-%d" % number
        value = None if number % 7 == 0 else noise.randbytes(size)
        records.append(Record(0, now_ms() - noise.randrange(10_000), key, value, headers))
    return records


def transaction(node: Node, topic: str, producer: tuple[int, int], sequence: int, *, committed: bool) -> None:
    options = BatchOptions(
        producer_id=producer[0], producer_epoch=producer[1], base_sequence=sequence, is_transactional=True
    )
    node.append(topic, some_records(random.Random(sequence), 10), options)
    node.end_transaction(topic, *producer, committed=committed)


@pytest.fixture
def our_directory(tmp_path: Path) -> Path:
    directory = tmp_path / "ours"
    directory.mkdir()
    fs = PosixFileSystem()
    write_meta_properties(fs, str(directory), MetaProperties(1, "cluster", NodeId(1), Uuid(b"d" * 16)))
    fs.close()
    noise = random.Random(5)
    with our_node(directory, segment_bytes=SEGMENT_BYTES, index_interval_bytes=2000) as node:
        for _ in range(60):
            node.append("plain", some_records(noise, 20))
        for codec in CompressionType:
            node.append("packed", some_records(noise, 50), BatchOptions(compression=codec))
        for number in range(5):
            transaction(node, "ledger", (7, 0), number * 10, committed=number % 2 == 0)
    return directory


def test_apaches_tool_reads_what_we_write(jars: Path, our_directory: Path) -> None:
    files = [path for kind in KINDS for path in sorted(our_directory.glob(f"*/{kind}"))]
    assert len([path for path in files if path.suffix == ".log"]) >= 5
    printed = apache_dump(jars, files, "--deep-iteration")
    for path in files:
        rows, lines = our_dump(path), printed[str(path)]
        if path.suffix == ".log":
            assert in_apaches_words(rows) == facts_only(lines), path
        elif path.suffix == ".index" and rows:
            assert [f"offset: {r.values['offset']} position: {r.values['position']}" for r in rows] == lines
        elif path.suffix == ".timeindex":
            assert [f"timestamp: {r.values['timestamp']} offset: {r.values['offset']}" for r in rows] == lines
        else:
            assert len(rows) == len([line for line in lines if "is empty" not in line])
    aborted = [line for path in files if path.suffix == ".txnindex" for line in printed[str(path)]]
    assert [line.split(" producerId")[0] for line in aborted] == ["version: 0", "version: 0"]


def test_our_indexes_pass_apaches_sanity_check(jars: Path, our_directory: Path) -> None:
    indexes = [path for kind in KINDS[1:3] for path in sorted(our_directory.glob(f"*/{kind}"))]
    printed = apache_dump(jars, indexes, "--index-sanity-check")
    verdicts = [line for lines in printed.values() for line in lines]
    assert len(verdicts) == len(indexes)
    assert all(line.endswith(("passed sanity check.", "is empty.")) for line in verdicts)
    assert sum(line.endswith("passed sanity check.") for line in verdicts) > len(indexes) // 2


def test_our_own_verification_agrees(our_directory: Path) -> None:
    items = verify_directory(PosixFileSystem(), str(our_directory), VerifyOptions(check_records=True))
    assert [str(item) for item in items if isinstance(item, Finding)] == []


def test_apache_goes_on_where_we_went_on_where_apache_began(jars: Path, apache_directory: ApacheDirectory) -> None:
    directory = apache_directory.path
    with our_node(directory, retention_ms=-1, message_timestamp_before_max_ms=2**62) as node:
        assert node.progress.problems == []
        added = {topic: some_records(random.Random(topic), 30) for topic in ("plain", "packed")}
        for topic, records in added.items():
            node.append(topic, records, BatchOptions(compression=CompressionType.LZ4))
        transaction(node, "ledger", (1000, 0), 0, committed=True)
        transaction(node, "ledger", (1000, 0), 10, committed=False)
    assert_verified(directory)
    with running_broker(jars, directory) as bootstrap:
        for topic, records in added.items():
            expected = [*pairs(apache_directory.expected[topic]), *pairs(records)]
            assert consume(bootstrap, topic, len(expected)) == expected
        committed = [each for each in apache_directory.expected["ledger"] if each.offset // 21 % 3 != 1]
        expected = [*pairs(committed), *pairs(some_records(random.Random(0), 10))]
        assert consume(bootstrap, "ledger", len(expected)) == expected
        writer = Writer(bootstrap)
        writer.send("plain", b"after", b"all")
        writer.flush()
        assert [each.offset for each in writer.delivered["plain"]] == [1530]
    assert_verified(directory)


Pair = tuple[bytes | None, bytes | None]


def pairs(records: Sequence[Written] | Sequence[Record]) -> list[Pair]:
    return [(each.key, each.value) for each in records]


def consume(bootstrap: str, topic: str, count: int) -> list[Pair]:
    """Return all that a read_committed consumer gets, up to the end of the partition."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "check", "enable.partition.eof": True}
    consumer = Consumer(settings | {"isolation.level": "read_committed", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[Pair] = []
    while True:
        message = consumer.poll(WAIT_SECONDS_MAX)
        assert message is not None, f"{len(found)} of {count} records, and no more"
        error = message.error()
        if error is not None:
            assert error.code() == KafkaError._PARTITION_EOF, error
            break
        found.append((message.key(), message.value()))
    consumer.close()
    return found


def assert_verified(directory: Path) -> None:
    items = verify_directory(PosixFileSystem(), str(directory), VerifyOptions(check_records=True))
    findings = [str(item) for item in items if isinstance(item, Finding) and "left over" not in item.reason]
    assert not findings
