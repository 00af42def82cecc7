"""Reads by offset at random in a large log, page cache warm: from an offset to the bytes of a fetch, in a Log of many
segments, each with its indexes.

    python -m benchmarks random_reads            2 GB in segments of 256 MB
    python -m benchmarks random_reads --full     10 GB in segments of 1 GB, Kafka's default
    python -m benchmarks random_reads --quick    256 MB

The bar is an absolute figure of CPU time, since there is no peer: 25 us. Beside it stand the four `pread`s that no
reader can do without (two into the index, two into the log), which tell how busy the machine is. The log is written by
appending the same bytes over and over with other offsets, and every page of it is read once before anything is
measured. It is refused where memory or disk would not hold it.
"""

import os
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.harness import asked_for, console, hold, measure, verdict
from tidelog.config.layers import Layers
from tidelog.config.topic_config import resolve_topic_config
from tidelog.io.files import PosixFileSystem
from tidelog.model.ids import TopicPartition
from tidelog.records.builder import BatchBuilder
from tidelog.records.patch import assign_offset
from tidelog.storage.append.outcome import Refused
from tidelog.storage.log.loader import LogContext, create_log
from tidelog.storage.log.log import Log
from tidelog.storage.log.reading import FetchIsolation, read
from tidelog.storage.segment.descriptors import Descriptors

NOW = 1_700_000_000_000
RECORDS = 16  # of 1,000 bytes: the batches that a producer sends by default
CHUNK_BATCHES = 64
READS = 2_000
FETCH_BYTES = 1 << 20
READ_US = 25.0
GB = 10**9


def sizes() -> tuple[int, int]:
    """Return the bytes of the log and of a segment."""
    if asked_for("--full"):
        return 10 * GB, 1 << 30
    return (GB // 4, 1 << 26) if asked_for("--quick") else (2 * GB, 1 << 28)


def has_room(log_bytes: int) -> bool:
    """Return whether the log fits the page cache, and the disk, with something to spare."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    available = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    free = shutil.disk_usage(tempfile.gettempdir()).free
    return available > log_bytes * 1.3 and free > log_bytes * 1.5


def chunk() -> bytearray:
    """Return batches one behind the other, each to be given its offset."""
    chance = random.Random(7)
    builder = BatchBuilder()
    for i in range(RECORDS):
        builder.append(NOW + i, None, chance.randbytes(1_000))
    return bytearray(builder.build() * CHUNK_BATCHES)


@contextmanager
def filled_log(log_bytes: int, segment_bytes: int) -> Iterator[Log]:
    config = resolve_topic_config({"segment.bytes": str(segment_bytes)}, Layers())
    with tempfile.TemporaryDirectory(prefix="tidelog-bench-") as directory:
        context = LogContext(Descriptors(PosixFileSystem()))
        log = create_log(context, f"{directory}/t-0", TopicPartition("t", 0), None, config, NOW)
        log.flush.now(log)  # before its name is durable a log does not roll
        fill(log, log_bytes)
        yield log
        context.descriptors.close()


def fill(log: Log, log_bytes: int) -> None:
    """Append to the log as a follower does, whose batches have their offsets already."""
    data = chunk()
    view, batch_bytes = memoryview(data), len(data) // CHUNK_BATCHES
    while log.size_bytes < log_bytes:
        for number in range(CHUNK_BATCHES):
            assign_offset(data, number * batch_bytes, log.log_end_offset + number * RECORDS, 0)
        assert not isinstance(log.append_as_follower(view, 0, len(data), 0, NOW), Refused)
        assert log.commit(NOW) is None
    log.update_high_watermark(log.log_end_offset)


def warm(log: Log) -> None:
    for segment in log.segments:
        with Path(segment.path).open("rb", buffering=0) as file:
            while file.read(1 << 20):
                pass


def main() -> int:
    """Run the benchmark; return how many bars were missed."""
    log_bytes, segment_bytes = sizes()
    if not has_room(log_bytes):
        console.print(f"[bold red]RANDOM READS WERE NOT MEASURED: no room for a log of {log_bytes / GB:g} GB")
        hold(f"random reads, {log_bytes / GB:g} GB", "no room", f"<= {READ_US:g} us", False)
        return 1
    with filled_log(log_bytes, segment_bytes) as log:
        warm(log)
        microseconds, bare = read_us(log)
        size, segments = log.size_bytes / GB, len(log.segments)
    what = f"random reads, {size:.1f} GB in {segments} segments"
    met = hold(what, f"{microseconds:.1f} us", f"<= {READ_US:g} us", microseconds <= READ_US)
    console.print(f"{what}: {microseconds:.1f} us, four bare preads {bare:.1f}: {verdict(met)} (bar {READ_US:g} us)")
    return 0 if met else 1


def read_us(log: Log) -> tuple[float, float]:
    chance = random.Random(11)
    offsets = [chance.randrange(log.log_end_offset) for _ in range(READS)]

    def read_all() -> None:
        for offset in offsets:
            pinned = read(log, offset, FETCH_BYTES, FetchIsolation.HIGH_WATERMARK).file_range()
            assert pinned is not None
            pinned.release()

    def read_bare() -> None:
        for segment in log.segments:
            descriptor = os.open(segment.path, os.O_RDONLY)
            for _ in range(READS // len(log.segments)):
                position = chance.randrange(segment.size_bytes)
                for size in (1024, 512, 1024, 512):
                    os.pread(descriptor, size, position)
            os.close(descriptor)

    ours, bare = measure({"read": read_all, "bare": read_bare}, operations=READS, rounds=7)
    return ours.cpu_ns / 1_000, bare.cpu_ns / 1_000


if __name__ == "__main__":
    sys.exit(main())
