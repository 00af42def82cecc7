"""What a task writes, against a real broker without a JVM: where rows go, in which form, and which row is to blame."""

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from tests.spark.sink_driving import Killed, StoppableCommit, in_task, records, rows, values

from pyspark_tidelog.errors import ClusterError, SinkError
from pyspark_tidelog.sink.batch_writer import BatchWriter
from pyspark_tidelog.sink.ledger import Ledger, decisions
from pyspark_tidelog.sink.options import Guarantee, sink_options
from pyspark_tidelog.sink.recovery import finish_decided
from pyspark_tidelog.sink.write_task import Written
from tidelog.client.admin.admin_client import Admin
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.client.producer.kernels_murmur2 import partition_of_key
from tidelog.model.errors import ErrorCode
from tidelog.testing import Broker, broker

COUNT = 3_000
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))


@pytest.fixture(scope="module")
def strict() -> Iterator[Broker]:
    """Makes no topics by itself."""
    with broker(auto_create_topics_enable=False) as started:
        yield started


def write(bootstrap: str, batches: list[Any], **options: str) -> Written:
    """A batch job of one task."""
    writer = BatchWriter(sink_options({"kafka.bootstrap.servers": bootstrap, **options}))
    message: Written = in_task(lambda: writer.write(iter(batches)), 0, 0, {})
    writer.commit([message])
    return message


def every_column(one: str, other: str) -> pa.RecordBatch:
    """The row's number is in a header, if nowhere else."""
    numbers = range(COUNT)
    return pa.record_batch(
        {
            "key": pa.array([None if n % 10 == 7 else f"k{n % 50}" for n in numbers], pa.string()),
            "value": pa.array([None if n % 13 == 5 else b"v%d" % n for n in numbers], pa.binary()),
            "topic": pa.array([one if n % 3 else other for n in numbers], pa.string()),
            "partition": pa.array([1 if n % 100 == 1 else None for n in numbers], pa.int32()),
            "headers": pa.array([[{"key": "n", "value": b"%d" % n}] for n in numbers], HEADERS),
        }
    )


def test_every_column(bootstrap: str, kafka_topic: Callable[..., str]) -> None:
    one, other = kafka_topic("one", partitions=4), kafka_topic("other", partitions=2)
    assert write(bootstrap, [every_column(one, other)], **{"kafka.compression.type": "lz4"}).rows == COUNT
    seen: list[int] = []
    for topic, partitions in ((one, 4), (other, 2)):
        last: dict[tuple[int, bytes | None], int] = {}
        for record in records(bootstrap, topic):
            number = int(record.headers[0].value or b"")
            seen.append(number)
            assert record.value == (None if number % 13 == 5 else b"v%d" % number)
            assert record.key == (None if number % 10 == 7 else b"k%d" % (number % 50))
            assert (topic == one) == bool(number % 3)
            if number % 100 == 1:
                assert record.partition == 1
            elif record.key is not None:
                assert record.partition == partition_of_key(record.key, partitions)
            assert last.get((record.partition, record.key), -1) < number, "they keep their order"
            last[record.partition, record.key] = number
    assert sorted(seen) == list(range(COUNT))


def test_rows_without_keys_reach_all_partitions_a_batch_at_a_time(
    bootstrap: str, kafka_topic: Callable[..., str]
) -> None:
    topic = kafka_topic("topic", partitions=3)
    batches = [rows(*[b"%d" % (1_000 * batch + row) * 10 for row in range(1_000)]) for batch in range(10)]
    write(bootstrap, batches, topic=topic, **{"kafka.batch.size": "5000"})
    found = list(records(bootstrap, topic))
    assert len(found) == 10_000
    assert {record.partition for record in found} == {0, 1, 2}


def test_at_least_once_takes_no_transaction(bootstrap: str, kafka_topic: Callable[..., str]) -> None:
    topic = kafka_topic("topic")
    for options in ({"deliveryGuarantee": "at-least-once"}, {"kafka.acks": "1"}):
        message = write(bootstrap, [rows(b"a"), rows(b"b")], topic=topic, **options)
        assert (message.guarantee, message.rows, message.transaction) == (Guarantee.AT_LEAST_ONCE, 2, None)
    assert values(bootstrap, topic) == [b"a", b"a", b"b", b"b"]


def test_a_batch_job_leaves_nothing_in_the_ledger(bootstrap: str, kafka_topic: Callable[..., str]) -> None:
    topic, ledger = kafka_topic("topic"), kafka_topic("ledger", **{"cleanup.policy": "compact"})
    assert write(bootstrap, [rows(b"a")], topic=topic, ledgerTopic=ledger).transaction is not None
    assert values(bootstrap, topic) == [b"a"]
    with Client(bootstrap) as client:
        assert decisions(client, ledger) == []
    write(bootstrap, [rows(b"b")], topic=topic, ledgerTopic=ledger, exactlyOnceQuery="q", exactlyOnceBatch="5")
    with Client(bootstrap) as client:
        assert [(name, each.batch_id) for name, each in decisions(client, ledger)] == [("q", 5)]
    write(bootstrap, [rows(b"b")], topic=topic, ledgerTopic=ledger, exactlyOnceQuery="q", exactlyOnceBatch="5")
    assert values(bootstrap, topic) == [b"a", b"b"]


def test_a_job_that_failed_leaves_nothing_open_that_is_not_decided(
    bootstrap: str, kafka_topic: Callable[..., str]
) -> None:
    """Spark has no messages for its abort, though a task has written."""
    topic, ledger = kafka_topic("topic"), kafka_topic("ledger", **{"cleanup.policy": "compact"})
    named = {"kafka.bootstrap.servers": bootstrap, "topic": topic, "ledgerTopic": ledger}
    failed, decided = BatchWriter(sink_options(named)), BatchWriter(sink_options(named))
    in_task(lambda: failed.write(iter([rows(b"a")])), 0, 0, {})
    message: Written = in_task(lambda: decided.write(iter([rows(b"b")])), 0, 0, {})
    with Client(bootstrap) as client:
        assert open_in(client, topic) == 2
        failed.abort([None, None])
        assert open_in(client, topic) == 1
        died = StoppableCommit(sink_options(named), 0, [message], writer=decided._writer)
        died.stop_before, died.ran = "commit", []
        with pytest.raises(Killed):
            died.commit(forget=True)
        decided.abort([message])
        assert open_in(client, topic) == 1
    finish_decided(named)
    assert values(bootstrap, topic) == [b"b"]


def test_a_job_is_not_failed_for_a_record_of_it_that_could_not_be_removed(
    bootstrap: str,
    kafka_topic: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its rows are committed: somebody would run it once more, and double them."""
    topic, ledger = kafka_topic("topic"), kafka_topic("ledger", **{"cleanup.policy": "compact"})

    def refuse(_ledger: Ledger) -> None:
        raise ClientError(ErrorCode.NOT_ENOUGH_REPLICAS, "write to the ledger", bootstrap)

    monkeypatch.setattr(Ledger, "forget", refuse)
    write(bootstrap, [rows(b"a")], topic=topic, ledgerTopic=ledger)
    assert values(bootstrap, topic) == [b"a"]
    assert "is committed; its record stays in" in caplog.text


def open_in(client: Client, topic: str) -> int:
    admin = Admin(client)
    listed = [each.transactional_id for each in admin.list_transactions(["Ongoing"])]
    return sum(f"'{topic}'" in str(each) for each in admin.describe_transactions(listed).values())


def test_a_job_whose_driver_died_after_its_decision_is_finished(
    bootstrap: str, kafka_topic: Callable[..., str]
) -> None:
    topic, ledger = kafka_topic("topic"), kafka_topic("ledger", **{"cleanup.policy": "compact"})
    named = {"kafka.bootstrap.servers": bootstrap, "topic": topic, "ledgerTopic": ledger}
    writer = BatchWriter(sink_options(named))
    message: Written = in_task(lambda: writer.write(iter([rows(b"a")])), 0, 0, {})
    died = StoppableCommit(sink_options(named), 0, [message])
    died.stop_before, died.ran = "commit", []
    with pytest.raises(Killed):
        died.commit(forget=True)
    undecided: Written = in_task(lambda: BatchWriter(sink_options(named)).write(iter([rows(b"b")])), 0, 0, {})
    assert undecided.transaction is not None
    assert values(bootstrap, topic) == []
    (finished,) = finish_decided(named)
    assert finished[1:] == (0, 1, 0)
    assert finish_decided(named) == []
    assert values(bootstrap, topic) == [b"a"]


@pytest.mark.parametrize("guarantee", ["exactly-once", "at-least-once"])
def test_a_record_too_large_is_named(bootstrap: str, kafka_topic: Callable[..., str], guarantee: str) -> None:
    topic = kafka_topic("topic", partitions=2, **{"max.message.bytes": 10_000})
    batches = [rows(*[b"small"] * 500), rows(*[b"small"] * 17, b"x" * 20_000, b"small")]
    options = {"topic": topic, "deliveryGuarantee": guarantee, "kafka.batch.size": "5000"}
    with pytest.raises(SinkError) as raised:
        write(bootstrap, batches, **options)
    text = f"row 517 of task 0 (20000 bytes of key and value) is too large for topic {topic}: MESSAGE_TOO_LARGE"
    assert str(raised.value).startswith(text)
    assert f"(task 0, row 517, topic {topic})" in str(raised.value)


def test_a_topic_that_is_not_there_is_named(strict: Broker) -> None:
    options = {"topic": "missing", "kafka.default.api.timeout.ms": "1000", "ledgerTopic": "ledger"}
    with pytest.raises(ClusterError, match=r"^write task 0, row 0, topic missing: UNKNOWN_TOPIC_OR_PARTITION"):
        write(strict.bootstrap_servers, [rows(b"a")], **options)


def test_a_partition_that_is_not_there_is_named(bootstrap: str, kafka_topic: Callable[..., str]) -> None:
    topic = kafka_topic("topic", partitions=2)
    batch = pa.record_batch({"value": [b"a", b"b", b"c"], "partition": pa.array([0, 1, 2], pa.int32())})
    with pytest.raises(SinkError, match=rf"^row 2 of task 0 not written.*the topic has 2 partition.*topic {topic}\)"):
        write(bootstrap, [batch], topic=topic)
    assert values(bootstrap, topic) == []


def test_a_null_topic_is_named_and_nothing_is_visible(bootstrap: str, kafka_topic: Callable[..., str]) -> None:
    topic = kafka_topic("topic")
    good = pa.record_batch({"value": [b"a"] * 3, "topic": [topic] * 3})
    bad = pa.record_batch({"value": [b"a", b"b"], "topic": pa.array([topic, None], pa.string())})
    with pytest.raises(SinkError, match=r"^the topic of row 4 is null"):
        write(bootstrap, [good, bad])
    assert values(bootstrap, topic) == []


def test_nobody_is_there() -> None:
    with pytest.raises(ClusterError, match="write in task 0"):
        write("127.0.0.1:1", [rows(b"a")], topic="t")
