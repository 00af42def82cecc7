"""The demo's traffic: for each stream a producer and a consumer of our own client, in threads, and what they measured.

A record begins with the moment of its sending, so that its reader knows how long it was under way; both run in this
process, by one clock.
"""

import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.client.fetch.consumer import Consumer
from tidelog.client.producer.producer import Producer
from tidelog.client.record import EARLIEST, Acks
from tidelog.records.compression import CompressionType

TICK_S = 0.01
STAMP = struct.Struct(">q")
LATENCIES_MAX = 20_000  # of one refresh; beyond that the percentiles do not change
DRAIN_S_MAX = 20


@dataclass(slots=True)
class Stream:
    topic: str
    records_per_s: int
    value_bytes: int
    partitions: int = 1
    compression: CompressionType = CompressionType.NONE
    acks: Acks = -1


STREAMS = (
    Stream("clicks", 8_000, 120, partitions=3, acks=1),
    Stream("orders", 2_000, 400, partitions=2, compression=CompressionType.LZ4),
    Stream("audit", 200, 2_000, compression=CompressionType.ZSTD),
)


@dataclass(slots=True)
class Counts:
    """The figures of one stream, written by its own threads and read by the one that draws."""

    produced: int = 0
    acknowledged: int = 0
    consumed: int = 0
    produced_bytes: int = 0
    consumed_bytes: int = 0
    ack_ms: list[float] = field(default_factory=list)
    end_to_end_ms: list[float] = field(default_factory=list)


Work = Callable[[Client, Stream, Counts], None]


class Traffic:
    """The streams of the demo, which run from `start` to `finish`; a thread that fails is told by `failure`."""

    def __init__(self, bootstrap: str, streams: tuple[Stream, ...] = STREAMS) -> None:
        self._bootstrap = bootstrap
        self.streams = streams
        self.counts = {stream.topic: Counts() for stream in streams}
        self.failure: Exception | None = None
        self._is_producing = True
        self._is_consuming = True
        self._producers = [self._thread(self._produce, stream) for stream in streams]
        self._consumers = [self._thread(self._consume, stream) for stream in streams]

    def start(self) -> None:
        with Client(self._bootstrap) as client:
            for stream in self.streams:
                Admin(client).create_topic(NewTopic(stream.topic, stream.partitions))
        for thread in (*self._consumers, *self._producers):
            thread.start()

    def finish(self) -> bool:
        """Stop producing and read what is left; return whether every acknowledged record came back."""
        self._is_producing = False
        _join(self._producers)
        deadline = time.monotonic() + DRAIN_S_MAX
        while not self._is_drained() and self.failure is None and time.monotonic() < deadline:
            time.sleep(TICK_S)
        self._is_consuming = False
        _join(self._consumers)
        return self._is_drained()

    def _is_drained(self) -> bool:
        return all(each.consumed == each.acknowledged == each.produced for each in self.counts.values())

    def _thread(self, work: Work, stream: Stream) -> threading.Thread:
        return threading.Thread(target=self._run, args=(work, stream), daemon=True)

    def _run(self, work: Work, stream: Stream) -> None:
        try:
            with Client(self._bootstrap) as client:
                work(client, stream, self.counts[stream.topic])
        except Exception as error:  # noqa: BLE001 (a thread's end; the main thread raises it)
            self.failure = error
            self._is_producing = self._is_consuming = False

    def _produce(self, client: Client, stream: Stream, counts: Counts) -> None:
        body = _body(stream.value_bytes - STAMP.size)
        began = time.monotonic()
        with Producer(client, acks=stream.acks, compression=stream.compression, linger_ms=2) as producer:
            while self._is_producing:
                due = int((time.monotonic() - began) * stream.records_per_s) - counts.produced
                for _ in range(due):
                    self._send(producer, stream.topic, body, counts)
                producer.poll(round(TICK_S * 1000))

    def _send(self, producer: Producer, topic: str, body: bytes, counts: Counts) -> None:
        sent_ns = time.perf_counter_ns()

        def acknowledged(outcome: int | ClientError) -> None:
            if isinstance(outcome, ClientError):
                raise outcome
            counts.acknowledged += 1
            _note(counts.ack_ms, sent_ns)

        key = b"customer-%d" % (counts.produced % 500)
        producer.send(topic, STAMP.pack(sent_ns) + body, key=key, on_delivery=acknowledged)
        counts.produced += 1
        counts.produced_bytes += STAMP.size + len(body)

    def _consume(self, client: Client, stream: Stream, counts: Counts) -> None:
        with Consumer(client, max_wait_ms=100) as consumer:
            consumer.assign(dict.fromkeys(consumer.partitions(stream.topic), EARLIEST))
            while self._is_consuming:
                for record in consumer.poll(100, max_records=5_000):
                    assert record.value is not None
                    counts.consumed += 1
                    counts.consumed_bytes += len(record.value)
                    _note(counts.end_to_end_ms, STAMP.unpack_from(record.value)[0])


def _join(threads: list[threading.Thread]) -> None:
    for thread in threads:
        if thread.ident is not None:  # Ctrl-C may come before all were started
            thread.join()


def _note(latencies: list[float], since_ns: int) -> None:
    if len(latencies) < LATENCIES_MAX:
        latencies.append((time.perf_counter_ns() - since_ns) / 1e6)


def _body(size: int) -> bytes:
    """Return text that compresses as an event does: much structure, some news."""
    events = "".join(f'{{"event": {n * 7919 % 10_007}, "page": "/item/{n * 31 % 997}"}}' for n in range(size // 20 + 1))
    return events.encode()[:size]
