"""TransactionsCommand on a healthy transaction and on one that hangs, and TransactionalMessageCopier: the Java client's
consume-transform-produce loop, from Apache's system tests, with aborts at random."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from tests.interop.apache.tool_shell import MESSAGE_COPIER, ToolShell, rows, tool_shell
from tests.support.blocking_connection import BlockingConnection

from tidelog import testing
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.init_producer_id import InitProducerIdRequest
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.testing import Broker

WAIT_SECONDS_MAX = 30
HOUR_MS = 3_600_000
INPUTS = 300
PRODUCE_BEFORE_VERIFICATION = 11


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """Run a node without the partition verification that, since KIP-890, keeps transactions from hanging."""
    with testing.broker({"transaction.partition.verification.enable": False}) as started:
        yield started


@pytest.fixture(scope="module")
def shell(jars: Path, broker: Broker) -> Iterator[ToolShell]:
    with tool_shell(jars, broker.bootstrap_servers) as started:
        yield started


def create_topic(broker: Broker, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    admin.create_topics([NewTopic(name, 1)])[name].result(WAIT_SECONDS_MAX)


def leave_a_transaction_hanging(broker: Broker, topic: str) -> int:
    """Write a transactional batch, an hour old, that no coordinator has heard of; return its producer id."""
    connection = BlockingConnection(broker.bootstrap_servers, "hanging")
    producer_id = connection.ask(
        InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000), 4
    ).producer_id
    options = BatchOptions(producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True)
    builder = BatchBuilder(options=options)
    builder.append(int(time.time() * 1_000) - HOUR_MS, None, b"never committed")
    data = PartitionProduceData(index=0, records=bytes(builder.build()))
    topics = [TopicProduceData(name=topic, partition_data=[data])]
    request = ProduceRequest(transactional_id="nobody", acks=-1, timeout_ms=10_000, topic_data=topics)
    (answer,) = connection.ask(request, PRODUCE_BEFORE_VERIFICATION).responses[0].partition_responses
    assert answer.error_code == ErrorCode.NONE
    connection.close()
    return int(producer_id)


def open_transaction(broker: Broker, topic: str) -> Producer:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "healthy"})
    producer.init_transactions(WAIT_SECONDS_MAX)
    producer.begin_transaction()
    producer.produce(topic, b"in a transaction")
    assert producer.flush(WAIT_SECONDS_MAX) == 0
    return producer


def test_a_healthy_transaction(broker: Broker, shell: ToolShell) -> None:
    create_topic(broker, "healthy")
    producer = open_transaction(broker, "healthy")
    (listed,) = [row for row in rows(shell.transactions("list")) if row["TransactionalId"] == "healthy"]
    assert listed["TransactionState"] == "Ongoing"
    assert len(rows(shell.transactions("list", "--duration-filter", str(HOUR_MS)))) == 0
    assert len(rows(shell.transactions("list", "--transactional-id-pattern", "heal.*"))) == 1
    (described,) = rows(shell.transactions("describe", "--transactional-id", "healthy"))
    assert described["ProducerId"] == listed["ProducerId"]
    assert (described["TransactionState"], described["TopicPartitions"]) == ("Ongoing", "healthy-0")
    assert int(described["TransactionDurationMs"]) >= 0
    (of_partition,) = rows(shell.transactions("describe-producers", "--topic", "healthy", "--partition", "0"))
    assert (of_partition["ProducerId"], of_partition["CurrentTransactionStartOffset"]) == (listed["ProducerId"], "0")
    assert rows(shell.transactions("find-hanging", "--topic", "healthy", "--max-transaction-timeout", "0")) == []
    producer.commit_transaction(WAIT_SECONDS_MAX)
    (ended,) = rows(shell.transactions("describe", "--transactional-id", "healthy"))
    assert ended["TransactionState"] == "CompleteCommit"
    (of_partition,) = rows(shell.transactions("describe-producers", "--topic", "healthy", "--partition", "0"))
    assert of_partition["CurrentTransactionStartOffset"] == "None"


def test_a_transaction_that_hangs(broker: Broker, shell: ToolShell) -> None:
    create_topic(broker, "hanging")
    producer_id = leave_a_transaction_hanging(broker, "hanging")
    (found,) = rows(shell.transactions("find-hanging", "--broker-id", "1"))
    assert (found["Topic"], found["Partition"], found["ProducerId"]) == ("hanging", "0", str(producer_id))
    assert found["StartOffset"] == "0"
    assert found["Duration(min)"] in ("59", "60")
    shell.transactions("abort", "--topic", "hanging", "--partition", "0", "--start-offset", found["StartOffset"])
    assert rows(shell.transactions("find-hanging", "--broker-id", "1")) == []
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce("hanging", b"after it")
    assert producer.flush(WAIT_SECONDS_MAX) == 0
    committed = ("--from-beginning", "--isolation-level", "read_committed")
    assert shell.consume("hanging", 1, *committed) == ["after it"]


def test_the_java_client_copies_exactly_once(broker: Broker, shell: ToolShell) -> None:
    create_topic(broker, "in")
    create_topic(broker, "out")
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for index in range(INPUTS):
        producer.produce("in", b"%d" % index)
    assert producer.flush(WAIT_SECONDS_MAX) == 0
    shell.run(
        MESSAGE_COPIER,
        *("--broker-list", broker.bootstrap_servers, "--input-topic", "in", "--input-partition", "0"),
        *("--output-topic", "out", "--transactional-id", "copier", "--consumer-group", "copiers"),
        *("--transaction-size", "25", "--enable-random-aborts", "--group-mode", "--use-group-metadata"),
    )
    copied = shell.consume("out", INPUTS, "--from-beginning", "--isolation-level", "read_committed")
    assert copied == [str(index) for index in range(INPUTS)]
    (offset,) = rows(shell.groups("--describe", "--group", "copiers"))
    assert (offset["CURRENT-OFFSET"], offset["LAG"]) == (str(INPUTS), "0")
