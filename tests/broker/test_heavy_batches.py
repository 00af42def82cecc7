"""Batches whose check takes longer than a turn, on a real node: its workers are processes, and may be stopped and
killed."""

import os
import random
import select
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.support.preparing import HEAVY_CONFIG, heavy_batch, produce_request
from tests.support.serving import batch_of

from tidelog.model.errors import ErrorCode
from tidelog.protocol.client_connection import ClientConnection
from tidelog.protocol.messages.registry import RESPONSES
from tidelog.testing import Broker, broker

WAIT_S = 60
RECORDS = 400
WORKER = b"tidelog.io.batch_worker"


@pytest.fixture
def node() -> Iterator[Broker]:
    with broker() as running:
        yield running


def create(node: Broker, topic: str) -> None:
    new = NewTopic(topic, 1, 1, config=HEAVY_CONFIG)
    admin = AdminClient({"bootstrap.servers": node.bootstrap_servers})
    admin.create_topics([new])[topic].result(WAIT_S)


class Link:
    """A connection that can tell whether an answer has arrived."""

    def __init__(self, node: Broker) -> None:
        self._socket = socket.create_connection((node.host, node.port), WAIT_S)
        self._protocol = ClientConnection(RESPONSES, "test")

    def send(self, request: object) -> None:
        self._socket.sendall(b"".join(bytes(part) for part in self._protocol.send(request, 9)))

    def has_answer(self) -> bool:
        return bool(select.select([self._socket], [], [], 0)[0])

    def receive(self) -> Any:
        while (found := self._protocol.next_response()) is None:
            count = self._socket.recv_into(self._protocol.receive.writable())
            assert count, "the node has closed the connection"
            self._protocol.receive.commit(count)
        return found.message.responses[0].partition_responses[0]

    def ask(self, request: object) -> Any:
        self.send(request)
        return self.receive()

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def links(node: Broker) -> Iterator[tuple[Link, Link]]:
    links = Link(node), Link(node)
    yield links
    for link in links:
        link.close()


def worker_of(node: Broker, but: int = 0) -> int:
    """Return the process id of the node's batch worker, as soon as there is one other than `but`."""
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until:
        for each in Path("/proc").glob("[0-9]*"):
            try:
                is_worker = WORKER in (each / "cmdline").read_bytes()
                is_ours = int((each / "stat").read_text().rpartition(")")[2].split()[1]) == node.pid
            except OSError:
                continue
            if is_worker and is_ours and int(each.name) != but:
                return int(each.name)
        time.sleep(0.01)
    raise AssertionError("no worker was started")


@pytest.fixture
def stopped_worker(node: Broker, links: tuple[Link, Link], topic: str) -> int:
    """Write one heavy batch, then stop the worker that did it; the next heavy batch waits until the worker is told to
    go on."""
    create(node, topic)
    heavy, _ = links
    assert heavy.ask(produce_request(topic, (0, heavy_batch(b"heavy")))).base_offset == 0
    worker = worker_of(node)
    os.kill(worker, signal.SIGSTOP)
    return worker


def test_others_are_answered_while_a_batch_is_compressed(
    links: tuple[Link, Link], topic: str, stopped_worker: int
) -> None:
    heavy, light = links
    heavy.send(produce_request(topic, (0, heavy_batch(b"heavy"))))
    try:
        offsets = [light.ask(produce_request(topic, (0, batch_of(b"light")))).base_offset for _ in range(20)]
        assert offsets == list(range(1, 21))
        assert not heavy.has_answer()
    finally:
        os.kill(stopped_worker, signal.SIGCONT)
    assert heavy.receive().base_offset == 21


def test_a_worker_that_is_killed_costs_nothing(
    node: Broker, links: tuple[Link, Link], topic: str, stopped_worker: int
) -> None:
    heavy, light = links
    heavy.send(produce_request(topic, (0, heavy_batch(b"heavy"))))
    light.ask(produce_request(topic, (0, batch_of(b"light"))))  # the worker has its batch when this is answered
    assert not heavy.has_answer()
    os.kill(stopped_worker, signal.SIGKILL)
    assert heavy.receive().error_code == ErrorCode.NONE
    assert worker_of(node, but=stopped_worker)


def test_a_stop_does_not_wait_for_workers_for_ever(
    node: Broker, links: tuple[Link, Link], topic: str, stopped_worker: int
) -> None:
    heavy, light = links
    heavy.send(produce_request(topic, (0, heavy_batch(b"heavy"))))
    light.ask(produce_request(topic, (0, batch_of(b"light"))))  # the worker has its batch when this is answered
    worker = stopped_worker
    node.stop()
    assert not Path(f"/proc/{worker}").exists()


# An unmodified client


def values() -> list[bytes]:
    """Return texts of all sizes: some make light batches, most heavy ones."""
    chance = random.Random(1)
    words = [b"%x" % chance.getrandbits(32) for _ in range(500)]
    return [
        b"%d " % number + b" ".join(chance.choices(words, k=chance.choice([1, 10, 500, 1500])))
        for number in range(RECORDS)
    ]


class Sending:
    def __init__(self, node: Broker, topic: str) -> None:
        self.delivered = 0
        self.failures: list[str] = []
        self._topic = topic
        self._producer = Producer(
            {
                "bootstrap.servers": node.bootstrap_servers,
                "enable.idempotence": True,
                "max.in.flight.requests.per.connection": 5,
                "batch.size": 30_000,
                "linger.ms": 1,
                "compression.type": "lz4",
                "delivery.timeout.ms": 1000 * WAIT_S,
                "reconnect.backoff.max.ms": 200,
            }
        )

    def send(self, all_values: list[bytes]) -> None:
        for value in all_values:
            self._producer.produce(self._topic, value, partition=0, on_delivery=self._delivered)
            self._producer.poll(0)

    def _delivered(self, error: KafkaError | None, _message: Message) -> None:
        if error is None:
            self.delivered += 1
        else:
            self.failures.append(str(error))

    def wait_for(self, count: int) -> None:
        until = time.monotonic() + WAIT_S
        while self.delivered < count and time.monotonic() < until:
            self._producer.poll(0.05)
        assert not self.failures
        assert self.delivered >= count


def consumed(node: Broker, topic: str, count: int) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": node.bootstrap_servers, "group.id": "unused", "check.crcs": True})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[bytes] = []
    until = time.monotonic() + WAIT_S
    while len(found) < count and time.monotonic() < until:
        found += [message.value() or b"" for message in consumer.consume(count, 0.2)]
    _low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0), WAIT_S)
    consumer.close()
    assert high == count
    return found


def test_records_are_in_order_and_there_once(node: Broker, topic: str) -> None:
    create(node, topic)
    sending = Sending(node, topic)
    sending.send(values())
    sending.wait_for(RECORDS)
    assert worker_of(node)
    assert consumed(node, topic, RECORDS) == values()


def test_and_after_a_kill(node: Broker, topic: str) -> None:
    create(node, topic)
    sending = Sending(node, topic)
    sending.send(values())
    for part in (1, 2):
        sending.wait_for(part * RECORDS // 4)
        node.kill()
        node.start()
    sending.wait_for(RECORDS)
    assert consumed(node, topic, RECORDS) == values()
