"""The three measurements of `tidelog perf`."""

import argparse
import contextlib
import os
import time
from collections.abc import Callable
from typing import Any, Final

from tidelog.cli.cluster.connecting import connected
from tidelog.cli.consume.command import assign
from tidelog.cli.failing import CommandFailed
from tidelog.cli.perf.measurement import Measurement
from tidelog.cli.perf.report import check_png, report
from tidelog.cli.produce.command import ACKS, CODECS
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.client.fetch.consumer import Consumer
from tidelog.client.producer.producer import Producer
from tidelog.client.record import LATEST
from tidelog.model.ids import TopicPartition

SAMPLES: Final = 20_000  # latencies that are taken in a run: a closure for each record would slow down what is measured
SEEN_S_MAX: Final = 30
PERF_POLL_MS: Final = 500
WARM_UP: Final = 20  # round trips that are not counted: connections, metadata, caches


def run_produce(options: argparse.Namespace) -> int:
    check_png(options)
    measured = Measurement("produce", is_shown=not options.json)
    # After Ctrl-C the report shows what was measured so far.
    with connected(options) as client, measured, contextlib.suppress(KeyboardInterrupt):
        _produce(client, options, measured)
    report([measured], options)
    return 0


def _produce(client: Client, options: argparse.Namespace, measured: Measurement) -> None:
    value = os.urandom(options.size // 2).hex().encode().ljust(options.size, b"x")
    every = max(1, options.records // SAMPLES)
    producer = Producer(
        client,
        acks=_acks(options),
        compression=CODECS[options.compression],
        linger_ms=options.linger_ms,
        batch_bytes=options.batch_bytes,
    )
    with producer:
        for number in range(options.records):
            on_delivery = _timed(measured) if number % every == 0 else None
            producer.send(options.topic, value, on_delivery=on_delivery)
            measured.records += 1
            measured.size_bytes += options.size
            if not number % 64:
                measured.tick()
            if options.rate:
                _keep_pace(producer, number, options.rate, measured)
        producer.flush()


def _timed(measured: Measurement) -> Callable[[int | ClientError], None]:
    sent = time.perf_counter()

    def delivered(outcome: int | ClientError) -> None:
        if not isinstance(outcome, ClientError):
            measured.latencies_ms.append((time.perf_counter() - sent) * 1000)

    return delivered


def _keep_pace(producer: Producer, number: int, rate: int, measured: Measurement) -> None:
    ahead_s = (number + 1) / rate - measured.seconds
    while ahead_s > 0:
        producer.poll(max(1, min(10, int(ahead_s * 1000))))
        measured.tick()
        ahead_s = (number + 1) / rate - measured.seconds


def _acks(options: argparse.Namespace) -> Any:
    return ACKS[options.acks]


def run_consume(options: argparse.Namespace) -> int:
    check_png(options)
    measured = Measurement("consume", is_shown=not options.json)
    with connected(options) as client, Consumer(client) as consumer:
        partitions = consumer.partitions(options.topic)
        assign(consumer, partitions, options.start)
        ends = consumer.end_offsets(partitions)
        with measured, contextlib.suppress(KeyboardInterrupt):
            _consume(consumer, ends, options.records, measured)
    if not measured.records:
        raise CommandFailed(f"{options.topic} has no records there; `tidelog perf produce {options.topic}` makes some")
    report([measured], options)
    return 0


def _consume(consumer: Consumer, ends: dict[TopicPartition, int], wanted: int, measured: Measurement) -> None:
    while measured.records < wanted:
        records = consumer.poll(PERF_POLL_MS, max_records=5_000)
        for record in records:
            measured.size_bytes += len(record.value or b"") + len(record.key or b"")
        measured.records += len(records)
        measured.tick()
        if not records and all(consumer.position(each) >= end for each, end in ends.items()):
            return


def run_latency(options: argparse.Namespace) -> int:
    check_png(options)
    acknowledged = Measurement("acknowledged", is_shown=False)
    consumed = Measurement("consumed", is_shown=not options.json)
    with (
        connected(options) as client,
        Producer(client, acks=_acks(options), linger_ms=0) as producer,
        Consumer(client) as consumer,
    ):
        client.topic(options.topic, may_create=True)
        consumer.assign({TopicPartition(options.topic, 0): LATEST})
        consumer.poll(0)
        trips = RoundTrips(producer, consumer, options)
        for number in range(WARM_UP):
            trips.run(number)
        with acknowledged, consumed, contextlib.suppress(KeyboardInterrupt):
            for number in range(WARM_UP, WARM_UP + options.records):
                _count(trips.run(number), acknowledged, consumed, options.size)
    report([acknowledged, consumed], options)
    return 0


def _count(taken_ms: tuple[float, float], acknowledged: Measurement, consumed: Measurement, size_bytes: int) -> None:
    for measured, latency_ms in zip((acknowledged, consumed), taken_ms, strict=True):
        measured.latencies_ms.append(latency_ms)
        measured.records += 1
        measured.size_bytes += size_bytes
        measured.tick()


class RoundTrips:
    """Records that go there and back, each sent when the one before is back. A record is known by its first bytes:
    others may write too."""

    def __init__(self, producer: Producer, consumer: Consumer, options: argparse.Namespace) -> None:
        self._producer = producer
        self._consumer = consumer
        self._topic = options.topic
        self._size = options.size
        self._run = os.urandom(4).hex()

    def run(self, number: int) -> tuple[float, float]:
        """Send a record and read it back; return the milliseconds until it was acknowledged, and until it was read."""
        value = f"{self._run}-{number}-".encode().ljust(self._size, b"x")
        began = time.perf_counter()
        self._producer.send(self._topic, value, partition=0)
        self._producer.flush()
        acknowledged = time.perf_counter()
        while all(record.value != value for record in self._consumer.poll(PERF_POLL_MS)):
            if time.perf_counter() - began > SEEN_S_MAX:
                raise CommandFailed(f"a record of {self._topic} was acknowledged and not seen for {SEEN_S_MAX} s")
        return (acknowledged - began) * 1000, (time.perf_counter() - began) * 1000
