"""Batches that are much work, beside a client whose requests are small: how long the longest turn takes, what the small
client sees, and how much memory the node and its workers take.

    python -m benchmarks.broker.heavy

Each load has a node of its own. The longest turn is that of the whole life of the node after its start, without the
time in which other programs had the processors (`timed_node`).
"""

import os
import random
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import cramjam
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.broker.frames import PRODUCE_VERSION, framed
from benchmarks.broker.systems import OURS, System, running
from benchmarks.harness import console, hold
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.records.builder import BatchBuilder, BatchOptions, seal_batch
from tidelog.records.compression import CompressionType, compress
from tidelog.records.header import BatchHeader
from tidelog.records.varint import write_varint

SECONDS = 8.0
HEAVY_CLIENTS = 4
TURN_MS_MAX = 50.0
NODE_MB_MAX = 100.0
BATCH_BYTES = 900_000
BOMB_BYTES = 60 << 20
ENDLESS_BYTES = 900 << 20
PAUSE_S = 0.001
SIZE = struct.Struct(">i")


def text_values(count: int, size_bytes: int) -> list[bytes]:
    chance = random.Random(1)
    words = [b"%x" % chance.getrandbits(32) for _ in range(2_000)]
    return [b" ".join(chance.choices(words, k=size_bytes // 9)) for _ in range(count)]


def request_frame(topic: str, *batches: bytes) -> bytes:
    data = [PartitionProduceData(index=index, records=memoryview(each)) for index, each in enumerate(batches)]
    topics = [TopicProduceData(name=topic, partition_data=data)]
    request = ProduceRequest(transactional_id=None, acks=1, timeout_ms=10_000, topic_data=topics)
    return framed(request, PRODUCE_VERSION)


def batch_of(values: list[bytes], codec: CompressionType = CompressionType.NONE) -> bytes:
    builder = BatchBuilder(limit_bytes=1 << 30, options=BatchOptions(compression=codec))
    for each in values:
        builder.append(int(time.time() * 1000), b"key", each)
    return builder.build()


def tiny_records_batch(codec: CompressionType, size_bytes: int) -> bytes:
    """Return a batch of as many records as fit: none has a key or a value."""
    body, count = bytearray(), 0
    while len(body) < size_bytes:
        record = bytearray(b"\0\0")
        write_varint(record, count)
        record += b"\1\1\0"
        write_varint(body, len(record))
        body += record
        count += 1
    now_ms = int(time.time() * 1000)
    header = BatchHeader(
        attributes=int(codec),
        last_offset_delta=count - 1,
        base_timestamp=now_ms,
        max_timestamp=now_ms,
        records_count=count,
    )
    return seal_batch(header, compress(codec, bytes(body)))


def endless_batch() -> bytes:
    """Return frames of zstd one after the other, each of a megabyte: a limit is all that ends them."""
    frame = bytes(cramjam.zstd.compress(bytes(1 << 20)))
    header = BatchHeader(
        attributes=int(CompressionType.ZSTD), last_offset_delta=0, base_timestamp=0, max_timestamp=0, records_count=1
    )
    return seal_batch(header, frame * (ENDLESS_BYTES >> 20))


def bombs(topic: str) -> list[bytes]:
    one_value = [bytes(BOMB_BYTES)]
    codecs = (CompressionType.GZIP, CompressionType.LZ4, CompressionType.ZSTD)
    large = [batch_of(one_value, codec) for codec in codecs]
    snappy = batch_of([bytes(BATCH_BYTES * 18)], CompressionType.SNAPPY)
    batches = [*large, snappy, endless_batch(), tiny_records_batch(CompressionType.ZSTD, 3 << 20)]
    small = batch_of([bytes(1_000_000)], CompressionType.GZIP)  # 1 KB each: what a turn may still do, eighty times
    return [*(request_frame(topic, each) for each in batches), request_frame(topic, *[small] * 80)]


def recompressed(topic: str) -> list[bytes]:
    plain = batch_of(text_values(100, BATCH_BYTES // 100))
    light = batch_of(text_values(3, 1_000))
    return [request_frame(topic, plain), request_frame(topic, *[light] * 80)]


def ask(sock: socket.socket, frame: bytes) -> None:
    sock.sendall(frame)
    left = SIZE.unpack(_receive(sock, SIZE.size))[0]
    _receive(sock, left)


def _receive(sock: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        data = sock.recv(count - len(found))
        if not data:
            raise RuntimeError("the node has closed the connection")
        found += data
    return found


def load_until(system: System, frames: list[bytes], ended: threading.Event, sent: list[int]) -> None:
    with closing(socket.create_connection(("127.0.0.1", system.port))) as sock, suppress(OSError):
        while not ended.is_set():
            for frame in frames:
                ask(sock, frame)
                sent.append(len(frame))


def small_latencies(system: System, topic: str) -> list[float]:
    """Send one request after the other; return their latencies in milliseconds, sorted."""
    frame, found = request_frame(topic, batch_of([b"small"])), []
    until = time.perf_counter() + SECONDS
    with closing(socket.create_connection(("127.0.0.1", system.port))) as sock:
        while (began := time.perf_counter()) < until:
            ask(sock, frame)
            found.append((time.perf_counter() - began) * 1000)
            time.sleep(PAUSE_S)
    return sorted(found)


def peak_mb(process_id: int) -> float:
    with suppress(OSError, IndexError):
        status = Path(f"/proc/{process_id}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1000
    return 0.0


def workers_of(process_id: int) -> Iterator[int]:
    for each in os.listdir("/proc"):
        with suppress(OSError, ValueError):
            stat = Path(f"/proc/{int(each)}/stat").read_text().rpartition(")")[2].split()
            if int(stat[1]) == process_id:
                yield int(each)


def measure(name: str, scratch: Path, make: Callable[[str], list[bytes]] | None, config: dict[str, str]) -> None:
    with running(OURS, scratch / name.replace(" ", "-"), is_timed=True) as system:
        admin = AdminClient({"bootstrap.servers": system.bootstrap})
        topics = [NewTopic("heavy", 80, 1, config=config), NewTopic("small", 1, 1)]
        for future in admin.create_topics(topics).values():
            future.result(60)
        ended, sent = threading.Event(), list[int]()
        frames = make("heavy") if make is not None else []
        base_mb = peak_mb(system.process.pid)
        clients = [
            threading.Thread(target=load_until, args=(system, frames, ended, sent))
            for _ in range(HEAVY_CLIENTS if frames else 0)
        ]
        for client in clients:
            client.start()
        latencies = small_latencies(system, "small")
        node_mb = peak_mb(system.process.pid) - base_mb
        worker_mb = max((peak_mb(each) for each in workers_of(system.process.pid)), default=0.0)
        ended.set()
        for client in clients:
            client.join()
    p50, p99, worst = (latencies[int(len(latencies) * part)] for part in (0.5, 0.99, 0.99999))
    turn_ms = system.longest_turn().own_ms
    console.print(
        f"{name}: {len(latencies)} small requests, p50 {p50:.2f} p99 {p99:.1f} longest {worst:.1f} ms; "
        f"{len(sent)} heavy ones; longest turn {turn_ms:.1f} ms; node +{node_mb:.0f} MB, a worker {worker_mb:.0f} MB"
    )
    hold(f"longest turn, {name}", f"{turn_ms:.1f} ms", f"<= {TURN_MS_MAX:g} ms", turn_ms <= TURN_MS_MAX)
    hold(f"memory of the node, {name}", f"+{node_mb:.0f} MB", f"<= +{NODE_MB_MAX:g} MB", node_mb <= NODE_MB_MAX)


def main() -> int:
    """Run the benchmark; return 0, because the harness tells how many bars were missed."""
    with tempfile.TemporaryDirectory(prefix="tidelog-bench-") as name:
        scratch = Path(name)
        measure("no load", scratch, None, {})
        config = {"compression.type": "zstd", "compression.zstd.level": "19"}
        measure("recompressed at zstd 19", scratch, recompressed, config)
        measure("bombs", scratch, bombs, {})
    return 0


if __name__ == "__main__":
    sys.exit(main())
