"""The reader of a task against a real node and other people's producers; no JVM. Rows are compared with what the
producers were told the records became."""

import threading
from collections.abc import Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]
import pytest
from confluent_kafka import KafkaError, Message, Producer

from pyspark_tidelog.errors import ClusterError, DataLoss
from pyspark_tidelog.kafka.settings import ClusterOptions, FetchSettings
from pyspark_tidelog.source.fetch_task import FetchTask
from pyspark_tidelog.source.record_batches import record_batches
from pyspark_tidelog.source.schema import COLUMNS, arrow_schema
from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.testing import broker

ALL = tuple(COLUMNS)
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SMALL_FETCHES = 20_000


def create(bootstrap: str, topic: str, **configs: str) -> Uuid:
    named = {name.replace("_", "."): value for name, value in configs.items()}
    with Client(bootstrap) as client:
        Admin(client).create_topic(NewTopic(topic, 1, configs=named))
        return client.topic(topic).topic_id


def read(bootstrap: str, topic: str, start: int, end: int, **changes: Any) -> pa.Table:
    columns = changes.pop("columns", ALL)
    found = list(record_batches(task_of(bootstrap, topic, start, end, columns=columns, **changes)))
    table = pa.Table.from_batches(found, arrow_schema(columns))
    table.validate(full=True)
    return table


def task_of(bootstrap: str, topic: str, start: int, end: int, **changes: Any) -> FetchTask:
    cluster = ClusterOptions(bootstrap, "test", 10_000, changes.pop("retry_timeout_ms", 20_000), None)
    topic_id, columns = changes.pop("topic_id", None), changes.pop("columns", ALL)
    fail = changes.pop("fail_on_data_loss", True)
    fetch = FetchSettings(**{"partition_bytes": SMALL_FETCHES, **changes})
    return FetchTask(cluster, fetch, topic, topic_id, 0, start, end, columns, fail)


def write(bootstrap: str, topic: str, values: Sequence[bytes], keys: Sequence[bytes | None] | None = None) -> None:
    # So that there are many batches, however fast the machine is: a fetch has one of them at least.
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "batch.num.messages": 500})
    for value, key in zip(values, keys or [None] * len(values), strict=True):
        producer.produce(topic, value, key, partition=0, on_delivery=_delivered)
        producer.poll(0)
    assert producer.flush(30) == 0


def _delivered(error: KafkaError | None, _message: Message) -> None:
    assert error is None, error


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("stamp", ["CreateTime", "LogAppendTime"])
def test_every_codec_with_nulls_headers_and_times(bootstrap: str, topic: str, codec: str, stamp: str) -> None:
    create(bootstrap, topic, message_timestamp_type=stamp)
    told: list[Message] = []
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 50, "compression.type": codec})
    for number in range(500):
        producer.produce(
            topic,
            value=None if number % 7 == 3 else b"value %d " % number * (number % 40),
            key=None if number % 5 == 1 else b"key %d" % number,
            partition=0,
            timestamp=1_700_000_000_000 + number,
            headers=[("a", b"x"), ("b", None)] if number % 3 == 0 else None,
            on_delivery=lambda _error, message: told.append(message),
        )
    assert producer.flush(30) == 0
    rows = read(bootstrap, topic, 0, 500).to_pylist()
    assert [row["offset"] for row in rows] == list(range(500))
    for row, message in zip(rows, told, strict=True):
        assert (row["key"], row["value"]) == (message.key(), message.value())
        assert int(row["timestamp"].timestamp() * 1000 + 0.5) == message.timestamp()[1]
        assert row["timestampType"] == (0 if stamp == "CreateTime" else 1)
        headers = [{"key": "a", "value": b"x"}, {"key": "b", "value": None}] if row["offset"] % 3 == 0 else None
        assert row["headers"] == headers
        assert row["value_size"] == (None if row["value"] is None else len(row["value"]))
        assert (row["topic"], row["partition"]) == (topic, 0)


def test_transactions(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic)
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic, "linger.ms": 1})
    producer.init_transactions()
    for number in range(6):
        producer.begin_transaction()
        for row in range(10):
            producer.produce(topic, b"%d %d" % (number, row), partition=0)
        producer.flush()
        if number % 2:
            producer.abort_transaction()
        else:
            producer.commit_transaction()
    committed = [b"%d %d" % (number, row) for number in (0, 2, 4) for row in range(10)]
    everything = [b"%d %d" % (number, row) for number in range(6) for row in range(10)]
    end = 66  # six markers
    assert read(bootstrap, topic, 0, end, read_committed=True)["value"].to_pylist() == committed
    assert read(bootstrap, topic, 0, end)["value"].to_pylist() == everything
    small = read(bootstrap, topic, 0, end, read_committed=True, partition_bytes=1)
    assert small["value"].to_pylist() == committed
    # The range ends at a marker, lies inside what was aborted, or is a marker and nothing else.
    assert read(bootstrap, topic, 5, 11, read_committed=True)["offset"].to_pylist() == list(range(5, 10))
    assert read(bootstrap, topic, 12, 20, read_committed=True).num_rows == 0
    assert read(bootstrap, topic, 10, 11).num_rows == 0


def test_a_transaction_that_stays_open_is_said_to_be(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic)
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic, "linger.ms": 1})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    producer.flush()
    with pytest.raises(ClusterError, match="a transaction has been open"):
        read(bootstrap, topic, 0, 1, read_committed=True, retry_timeout_ms=600, max_wait_ms=100)
    producer.abort_transaction()
    assert read(bootstrap, topic, 0, 2, read_committed=True).num_rows == 0


def test_deleted_records_are_data_loss(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic)
    write(bootstrap, topic, [b"%d" % number for number in range(100)])
    with Client(bootstrap) as client:
        Admin(client).delete_records({TopicPartition(topic, 0): 40})
    with pytest.raises(DataLoss, match="offset 10 is wanted, offsets 40 to 99 are available"):
        read(bootstrap, topic, 10, 60)
    assert read(bootstrap, topic, 10, 60, fail_on_data_loss=False)["offset"].to_pylist() == list(range(40, 60))
    assert read(bootstrap, topic, 10, 30, fail_on_data_loss=False).num_rows == 0
    with pytest.raises(DataLoss, match="offset 150 is wanted, offsets 40 to 99 are available"):
        read(bootstrap, topic, 150, 160)


def test_a_topic_that_was_made_anew_is_not_read_for_the_old_one(bootstrap: str, topic: str) -> None:
    former = create(bootstrap, topic)
    with Client(bootstrap) as client:
        Admin(client).delete_topics([topic])
    create(bootstrap, topic)
    write(bootstrap, topic, [b"of the new one"])
    with pytest.raises(DataLoss, match="made anew"):
        read(bootstrap, topic, 0, 1, topic_id=former)
    assert read(bootstrap, topic, 0, 1, topic_id=former, fail_on_data_loss=False).num_rows == 0
    assert read(bootstrap, topic, 0, 1)["value"].to_pylist() == [b"of the new one"]


def test_a_topic_that_is_not_there(bootstrap: str, topic: str) -> None:
    with pytest.raises(DataLoss, match="the partition is gone"):
        read(bootstrap, topic, 0, 1, retry_timeout_ms=300)


def test_a_broker_that_is_killed_and_comes_back_in_the_middle(caplog: pytest.LogCaptureFixture, topic: str) -> None:
    values = [b"%d " % number * 20 for number in range(20_000)]
    with broker() as node:
        create(node.bootstrap_servers, topic)
        write(node.bootstrap_servers, topic, values)
        batches = record_batches(task_of(node.bootstrap_servers, topic, 0, len(values), columns=("value",)))
        found = [next(batches), next(batches)]
        for _ in range(2):
            node.kill()
            returning = threading.Thread(target=node.start)
            returning.start()
            found += [next(batches), next(batches), next(batches)]
            returning.join()
        found += batches
    assert [value for each in found for value in each.column(0).to_pylist()] == values
    assert sum("trying again" in message for message in caplog.messages) == 2
    assert sum("works again" in message for message in caplog.messages) == 2


def test_a_broker_that_stays_away(topic: str) -> None:
    with broker() as node:
        create(node.bootstrap_servers, topic)
        write(node.bootstrap_servers, topic, [b"%d " % number * 20 for number in range(20_000)])
        batches = record_batches(task_of(node.bootstrap_servers, topic, 0, 20_000, retry_timeout_ms=500))
        next(batches)
        node.kill()
        with pytest.raises(ClusterError, match=f"read {topic}-0, offsets 0 to 19999: NETWORK_EXCEPTION"):
            list(batches)
