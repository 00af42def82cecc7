"""A clean restart with ten thousand partitions: how long until all logs are loaded, and what each costs in memory.

The directory is made by copying one partition that was written and closed properly, because making ten thousand with
all their syncs would take longer than everything else here.
"""

import shutil
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.harness import console, hold, verdict
from tidelog.config.layers import Layers
from tidelog.config.topic_config import TopicConfig, resolve_topic_config
from tidelog.io.files import PosixFileSystem
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.records.builder import BatchBuilder
from tidelog.storage.append.outcome import Refused
from tidelog.storage.directories.logs import Logs
from tidelog.storage.log.loader import LogContext
from tidelog.storage.log.log import Log
from tidelog.storage.segment.descriptors import Descriptors

PARTITIONS = 10_000
MAX_SECONDS = 3.0
MAX_BYTES = 10_000
NOW_MS = 1_700_000_000_000
CHECKPOINTS = ("recovery-point-offset-checkpoint", "replication-offset-checkpoint")


def started(directory: Path, config: TopicConfig) -> Logs:
    logs = Logs(LogContext(Descriptors(PosixFileSystem(), 256)), [str(directory)], lambda _topic: config, 0)
    for _ in logs.load(NOW_MS):
        pass
    return logs


def write_one(directory: Path, config: TopicConfig) -> int:
    """Write one log; return its log end offset."""
    logs = started(directory, config)
    log = logs.create(TopicPartition("t", 0), Uuid(bytes(range(16))), NOW_MS)
    assert isinstance(log, Log), log
    builder = BatchBuilder()
    for _ in range(10):
        builder.append(NOW_MS, b"key", bytes(100))
    batch = memoryview(bytearray(builder.build()))
    assert not isinstance(log.append_as_leader(batch, 0, len(batch), 0, NOW_MS), Refused)
    logs.commit([log], NOW_MS)
    logs.close(1, NOW_MS)
    return log.log_end_offset


def multiply(directory: Path, end_offset: int) -> None:
    for partition in range(1, PARTITIONS):
        shutil.copytree(directory / "t-0", directory / f"t-{partition}")
    lines = "".join(f"t {partition} {end_offset}\n" for partition in range(PARTITIONS))
    for name in CHECKPOINTS:
        (directory / name).write_text(f"0\n{PARTITIONS}\n{lines}")


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def main() -> int:
    config = resolve_topic_config({}, Layers())
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        multiply(directory, write_one(directory, config))
        before, cpu, wall = resident_bytes(), time.process_time(), time.perf_counter()
        logs = started(directory, config)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        each = (resident_bytes() - before) / PARTITIONS
        loaded = logs.get(TopicPartition("t", PARTITIONS - 1))
        assert loaded is not None
        assert loaded.log_end_offset == 10
        met = wall <= MAX_SECONDS and each <= MAX_BYTES
        wanted = f"<= {MAX_SECONDS:g} s, {MAX_BYTES:,} bytes each"
        hold(f"restart of {PARTITIONS:,} partitions", f"{wall:.2f} s, {each:,.0f} bytes each", wanted, met)
        console.print(
            f"{PARTITIONS:,} partitions: {wall:.2f} s (CPU {cpu:.2f}), {each:,.0f} bytes a partition: "
            f"{verdict(met)} (bar {MAX_SECONDS:g} s, {MAX_BYTES:,} bytes)"
        )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
