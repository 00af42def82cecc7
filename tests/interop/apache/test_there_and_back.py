"""A whole directory from Apache's broker to ours and back: every record is there on both sides, and each has the
changes that the other made."""

from pathlib import Path
from typing import cast

from confluent_kafka import Consumer, Message, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from tests.interop.apache.broker import running_broker
from tests.interop.apache.conftest import ApacheDirectory
from tests.interop.apache.our_broker import our_broker
from tests.interop.apache.workload import Expectation, Writer, Written

WAIT_SECONDS_MAX = 30
TABLE_CLEANED_TO = 300  # below it, only the last record of each key is left


def read(bootstrap: str, topic: str, count: int) -> list[Written]:
    """Return all records, also those of aborted transactions, which stay in a log."""
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": "unused",
        "enable.auto.commit": False,
        "isolation.level": "read_uncommitted",
    }
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[Written] = []
    while len(found) < count:
        message = consumer.poll(WAIT_SECONDS_MAX)
        assert message is not None, f"{topic}: {len(found)} of {count} records came"
        assert message.error() is None
        offset = message.offset()
        assert offset is not None
        found.append(
            Written(offset, message.timestamp()[1], _bytes(message.key()), _bytes(message.value()), _headers(message))
        )
    consumer.close()
    return found


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _headers(message: Message) -> tuple[tuple[str, bytes | None], ...]:
    pairs = cast("list[tuple[str, bytes | None]]", message.headers() or [])
    return tuple(pairs)


def assert_all_there(bootstrap: str, expected: Expectation) -> None:
    for topic, written in expected.items():
        assert read(bootstrap, topic, len(written)) == written, topic


def as_cleaned(expected: Expectation) -> Expectation:
    table = expected["table"]
    cleaned = {each.key: each for each in table if each.offset < TABLE_CLEANED_TO}
    tail = [each for each in table if each.offset >= TABLE_CLEANED_TO]
    return {**expected, "table": [*sorted(cleaned.values(), key=lambda each: each.offset), *tail]}


def write_ours(bootstrap: str) -> Expectation:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic("ours", 1, 1, config={"retention.ms": "-1"})])["ours"].result(WAIT_SECONDS_MAX)
    writer = Writer(bootstrap, **{"enable.idempotence": True, "compression.type": "lz4"})
    for number in range(100):
        writer.send("ours", b"%d" % number, b"written by tidelog %d" % number, (("number", b"%d" % number),))
        writer.send("packed", b"%d" % number, b"appended by tidelog")
    writer.flush()
    return writer.delivered


def test_from_apache_to_us_and_back(jars: Path, apache_directory: ApacheDirectory) -> None:
    expected = as_cleaned(apache_directory.expected)
    with our_broker(apache_directory.path) as bootstrap:
        assert_all_there(bootstrap, expected)
        added = write_ours(bootstrap)
    expected = {**expected, "packed": expected["packed"] + added["packed"], "ours": added["ours"]}
    with our_broker(apache_directory.path) as bootstrap:
        assert_all_there(bootstrap, expected)
    with running_broker(jars, apache_directory.path) as bootstrap:
        assert_all_there(bootstrap, expected)
