"""What is done to a broker, one function a line of the table; each returns its figures by name.

CPU is that of the broker's process over the load, divided by what was done: noise of the machine hardly shows in it.
A gigabyte is of records' values as the client wrote them for produce, and as they lie in the log for consume.
"""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.broker.frames import bulk_frame, fetch_frame, small_frame, waiting_fetch_frame
from benchmarks.broker.load import Load, LoadFailed
from benchmarks.broker.parked import waiting
from benchmarks.broker.systems import System
from tidelog.records.compression import CompressionType

Figures = dict[str, float]
SMALL, FETCHED, COLD, WAITED = "small", "fetched", "cold", "waited"
WAITED_PARTITIONS = 200
WAITING_CONSUMERS = 50
ROTATIONS = 20  # so many requests differ in where their list of partitions begins
REPEATED = 99  # so often each partition is named in the large requests: 317 KB of them, just below our bound
BULK = {
    CompressionType.NONE: "bulk-plain",
    CompressionType.LZ4: "bulk-lz4",
    CompressionType.ZSTD: "bulk-zstd",
}
SETTLED_SECONDS = 1.2  # consumers that wait half a second have asked three times: what they ask for is known by then
IN_FLIGHT = 5  # as a Java producer has
RATE, CPU_REQUEST, P50, P99 = "requests/s", "CPU us a request", "p50 us", "p99 us"
MB_S, CPU_GB = "MB/s", "CPU s a GB"
BESIDE = "p99 beside a cold reader, of without"
BESIDE_WAITING = "p99 beside fetches that wait, of without"


@dataclass(slots=True)
class BrokerSizes:
    seconds: float
    bulk_requests: int  # of 0.9 MB
    fetched_requests: int  # so large is the log that is read
    rounds: int
    warm_ups: int
    starts: int
    idle_connections: int
    partitions: int


FULL = BrokerSizes(3.0, 500, 600, 5, 3, 5, 5_000, 10_000)
QUICK = BrokerSizes(1.0, 120, 150, 2, 3, 2, 1_000, 1_000)


@dataclass(slots=True)
class BrokerBench:
    """One broker under the load tool."""

    system: System
    load: Load
    sizes: BrokerSizes

    def create_topics(self) -> None:
        admin = AdminClient({"bootstrap.servers": self.system.bootstrap})
        names = [SMALL, FETCHED, COLD, *BULK.values()]
        topics = [*(NewTopic(name, 1, 1) for name in names), NewTopic(WAITED, WAITED_PARTITIONS, 1)]
        for name, made in admin.create_topics(topics).items():
            with suppress(KafkaException):
                made.result(30)
            self._await_leader(name)

    def _await_leader(self, topic: str) -> None:
        """Wait for the leader of a topic, which exists a moment before its partition takes records."""
        until = time.monotonic() + 10
        while True:
            try:
                self.load.produce(self.system.port, small_frame(topic), 1, 1, 0, 1)
                return
            except LoadFailed:
                if time.monotonic() > until:
                    raise
                time.sleep(0.1)

    def fill(self) -> None:
        for topic in (FETCHED, COLD):
            self.load.produce(self.system.port, bulk_frame(topic), 1, IN_FLIGHT, 0, self.sizes.fetched_requests)

    def small(self, connections: int) -> Figures:
        cpu = self.system.cpu_seconds()
        done = self.load.produce(self.system.port, small_frame(SMALL), connections, 1, self.sizes.seconds)
        cpu = self.system.cpu_seconds() - cpu
        return {
            RATE: done.requests / done.seconds,
            CPU_REQUEST: cpu / done.requests * 1e6,
            P50: done.p50_us,
            P99: done.p99_us,
        }

    def bulk(self, codec: CompressionType) -> Figures:
        frame, count = bulk_frame(BULK[codec], codec), self.sizes.bulk_requests
        cpu = self.system.cpu_seconds()
        done = self.load.produce(self.system.port, frame, 1, IN_FLIGHT, 0, count)
        cpu = self.system.cpu_seconds() - cpu
        size_bytes = done.requests * frame.payload_bytes
        return {MB_S: size_bytes / done.seconds / 1e6, CPU_GB: cpu / size_bytes * 1e9}

    def consume(self, consumers: int) -> Figures:
        size_bytes = sum(path.stat().st_size for path in self.system.segments(FETCHED)) * 9 // 10
        cpu = self.system.cpu_seconds()
        done = self.load.fetch(self.system.port, fetch_frame(FETCHED), consumers, size_bytes)
        cpu = self.system.cpu_seconds() - cpu
        return {MB_S: done.size_bytes / done.seconds / 1e6, CPU_GB: cpu / done.size_bytes * 1e9}

    def beside_cold_reader(self) -> Figures:
        """Measure small requests while somebody reads what is not in the page cache."""
        system, frame = self.system, small_frame(SMALL)
        before = self.load.produce(system.port, frame, 32, 1, self.sizes.seconds)
        size_bytes = sum(drop_from_cache(str(path)) for path in system.segments(COLD)) * 9 // 10
        reader = self.load.begin_fetch(system.port, fetch_frame(COLD), size_bytes)
        beside = self.load.produce(system.port, frame, 32, 1, self.sizes.seconds)
        if reader.wait(120):
            raise RuntimeError(f"{system.name}: the cold reader failed")
        return {P99: beside.p99_us, BESIDE: beside.p99_us / before.p99_us}

    def beside_waiting(self, consumers: int, repeated: int, max_wait_ms: int) -> Figures:
        """Measure small requests to a partition that each of the fetches waits for, among two hundred."""
        system, frame = self.system, small_frame(WAITED)
        named = [*range(WAITED_PARTITIONS)]
        fetches = [
            waiting_fetch_frame(WAITED, (named[at:] + named[:at]) * repeated, max_wait_ms) for at in range(ROTATIONS)
        ]
        before = self.load.produce(system.port, frame, 32, 1, self.sizes.seconds)
        with waiting(system.port, fetches, consumers):
            time.sleep(SETTLED_SECONDS)
            beside = self.load.produce(system.port, frame, 32, 1, self.sizes.seconds)
        return {P99: beside.p99_us, BESIDE_WAITING: beside.p99_us / before.p99_us}


Measure = Callable[[BrokerBench], Figures]
SMALL_32, SMALL_1 = "one-record produce, 32 connections", "one-record produce, 1 connection"
BULK_PLAIN, BULK_LZ4, BULK_ZSTD = "bulk produce, acks=1", "bulk produce, lz4", "bulk produce, zstd"
CONSUME_1, CONSUME_10 = "consume, 1 consumer", "consume, 10 consumers of one partition"
COLD_READER = "produce while a consumer reads cold data"
WAITING_50 = f"produce while {WAITING_CONSUMERS} consumers wait for {WAITED_PARTITIONS} partitions each"
WAITING_LARGE = "produce while three fetches of 320 KB wait"

MEASURES: dict[str, Measure] = {
    SMALL_32: lambda bench: bench.small(32),
    SMALL_1: lambda bench: bench.small(1),
    BULK_PLAIN: lambda bench: bench.bulk(CompressionType.NONE),
    BULK_LZ4: lambda bench: bench.bulk(CompressionType.LZ4),
    BULK_ZSTD: lambda bench: bench.bulk(CompressionType.ZSTD),
    CONSUME_1: lambda bench: bench.consume(1),
    CONSUME_10: lambda bench: bench.consume(10),
    COLD_READER: lambda bench: bench.beside_cold_reader(),
    WAITING_50: lambda bench: bench.beside_waiting(WAITING_CONSUMERS, 1, 500),
    WAITING_LARGE: lambda bench: bench.beside_waiting(3, REPEATED, 30_000),
}


def drop_from_cache(path: str, *, is_dirty: bool = True) -> int:
    """Drop a file from the page cache, where it is dirty after it was written to the disk; return its size."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if is_dirty:
            os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)
