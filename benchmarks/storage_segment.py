"""A segment on a real disk, page cache warm: the recovery scan, and a read by offset at random.

The bars are absolute figures of CPU time, since both have no peer to be held against: 1 GB/s a core for the scan (every
header and checksum, both indexes rebuilt), 25 us from an offset to the bytes of a fetch.
"""

import os
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.harness import console, hold, measure, verdict
from tidelog.io.files import PosixFileSystem
from tidelog.records.builder import BatchBuilder
from tidelog.records.patch import assign_offset
from tidelog.storage.append.outcome import AppendedBatch
from tidelog.storage.segment.descriptors import Descriptors
from tidelog.storage.segment.recovery import recover_segment
from tidelog.storage.segment.segment import Segment

SEGMENT_BYTES = 256 << 20
SCAN_GB_A_SECOND = 1.0
READ_US = 25.0
READS = 2_000
FETCH_BYTES = 1 << 20


@contextmanager
def directory() -> Iterator[str]:
    path = tempfile.mkdtemp(prefix="tidelog-bench-")
    try:
        yield path
    finally:
        shutil.rmtree(path)


def batch_of(records: int, record_bytes: int) -> bytearray:
    chance = random.Random(7)
    builder = BatchBuilder()
    for i in range(records):
        builder.append(1_700_000_000_000 + i, None, chance.randbytes(record_bytes))
    return bytearray(builder.build())


def fill(segment: Segment, batch: bytearray, records: int, total_bytes: int) -> int:
    """Append copies of the batch, 64 a write; return the next offset."""
    offset = 0
    while segment.size_bytes + 64 * len(batch) <= total_bytes:
        pieces, batches = [], []
        for _ in range(64):
            assign_offset(batch, 0, offset, 0)
            pieces.append(bytes(batch))
            batches.append(AppendedBatch(offset, offset + records - 1, 1_700_000_000_000 + offset, len(batch)))
            offset += records
        segment.append(pieces, batches)
    segment.seal()
    return offset


def scan_gb_a_second(descriptors: Descriptors, path: str) -> float:
    segment = Segment.open(descriptors, path, 0)
    (result,) = measure({"scan": lambda: recover_segment(segment, lambda _chunk: None)}, operations=1, rounds=3)
    return segment.size_bytes / result.cpu_ns


def read_us(descriptors: Descriptors, path: str, end_offset: int) -> tuple[float, float]:
    """Return microseconds a read, and those of the bare system calls it can not do without: two into the index, two
    into the log. The second tells how busy the machine is."""
    segment = Segment.open(descriptors, path, 0)
    chance = random.Random(11)
    offsets = [chance.randrange(end_offset) for _ in range(READS)]
    bytes_an_offset = segment.size_bytes / end_offset

    def read_all() -> None:
        for offset in offsets:
            located = segment.locate(offset, FETCH_BYTES)
            assert located is not None
            segment.file_range(located.position, located.size).release()

    def read_bare() -> None:
        descriptor = os.open(segment.path, os.O_RDONLY)
        for offset in offsets:
            position = int(offset * bytes_an_offset)
            for size in (1024, 512, 1024, 512):
                os.pread(descriptor, size, position)
        os.close(descriptor)

    ours, bare = measure({"read": read_all, "bare": read_bare}, operations=READS, rounds=7)
    return ours.cpu_ns / 1_000, bare.cpu_ns / 1_000


def run(records: int, record_bytes: int) -> bool:
    fs = PosixFileSystem()
    with directory() as path:
        descriptors = Descriptors(fs)
        batch = batch_of(records, record_bytes)
        end_offset = fill(Segment.create(descriptors, path, 0), batch, records, SEGMENT_BYTES)
        microseconds, bare = read_us(descriptors, path, end_offset)
        speed = scan_gb_a_second(descriptors, path)
        descriptors.close()
    fs.close()
    name = f"batches of {len(batch):,} bytes"
    scanned = hold(
        f"recovery scan, {name}", f"{speed:.2f} GB/s", f">= {SCAN_GB_A_SECOND:g} GB/s", speed >= SCAN_GB_A_SECOND
    )
    console.print(f"{name}: scan {speed:.2f} GB/s {verdict(scanned)} (bar {SCAN_GB_A_SECOND})")
    found = hold(
        f"read in one segment, {name}", f"{microseconds:.1f} us", f"<= {READ_US:g} us", microseconds <= READ_US
    )
    read = f"read {microseconds:.1f} us, four bare preads {bare:.1f}"
    console.print(f"{name}: {read} {verdict(found)} (bar {READ_US})")
    return scanned and found


def main() -> int:
    sizes = [(16, 1_000), (4, 1_000), (10, 60)]
    met = [run(records, record_bytes) for records, record_bytes in sizes]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
