"""The two cleaners as processes of their own, so that the memory of each is its own: a directory and a log end offset
go in as a line, a Pass comes out. Run as a program this file is ours; Apache's is `apache/CleanLogs.java`, compiled
here against the jars that the interop tests fetch.

Both do the same: read twice, write, sync, swap. Both keep everything else out of the figures: the start of the
process, and the opening of the log.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.interop.apache.jars import ApacheMissing, fetch_jars

from tidelog.io.files import PosixFileSystem
from tidelog.storage.cleaner.cleaning import clean_log
from tidelog.storage.cleaner.job import CleanedSegment, CleanerSettings, CleaningJob, CleaningResult, SegmentFacts
from tidelog.storage.cleaner.swap import swap
from tidelog.storage.names import LOG_SUFFIX
from tidelog.storage.segment.descriptors import Descriptors
from tidelog.storage.segment.indexes import DEFAULT_INDEX_SETTINGS

# Kafka's defaults, for both.
DEDUPE_BUFFER_BYTES = 128 << 20
IO_BUFFER_BYTES = 512 << 10
LOAD_FACTOR = 0.9
JAVA_SOURCE = Path(__file__).parent / "apache" / "CleanLogs.java"
LOG4J = Path(__file__).parents[1] / "tests" / "interop" / "apache" / "log4j2.properties"


@dataclass(slots=True)
class Pass:
    """One cleaning. The thread's time leaves out what a JVM does beside: collecting garbage, compiling."""

    cpu_ns: int
    thread_cpu_ns: int
    wall_ns: int
    peak_bytes: int  # the most that the process ever had
    records_read: int
    records_kept: int
    table_bytes: int = 0
    growth_bytes: int = 0  # of the peak, over what the process had before it was given a log


@contextmanager
def running(command: list[str], directory: Path | None = None) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=directory)
    try:
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


def ask(process: "subprocess.Popen[str]", directory: Path, end_offset: int) -> Pass:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{directory}\t{end_offset}\n")
    process.stdin.flush()
    for line in process.stdout:  # Apache's logging goes the same way
        if line.startswith("{"):
            return Pass(**json.loads(line))
    raise RuntimeError(f"{process.args!r} ended without an answer")


def our_command() -> list[str]:
    return [sys.executable, "-m", "benchmarks.cleaners"]


def apache_command(scratch: Path) -> list[str]:
    """Return the command that runs Apache's cleaner; raise ApacheMissing where there is no Java, no compiler for it, or
    no way to get the jars."""
    jars = fetch_jars()
    try:
        compiler = ["javac", "-d", str(scratch), "-cp", f"{jars}/*", str(JAVA_SOURCE)]
        subprocess.run(compiler, check=True, capture_output=True, text=True)
    except FileNotFoundError as missing:
        raise ApacheMissing("there is no `javac` on the path") from missing
    sizes = [str(DEDUPE_BUFFER_BYTES), str(IO_BUFFER_BYTES), str(LOAD_FACTOR)]
    options = ["-Xmx1g", "-XX:+UseG1GC", f"-Dlog4j2.configurationFile={LOG4J}"]
    return ["java", *options, "-cp", f"{scratch}:{jars}/*", "CleanLogs", *sizes]


def job_of(directory: Path, end_offset: int) -> CleaningJob:
    paths = sorted(directory.glob(f"*{LOG_SUFFIX}"))
    facts = [SegmentFacts(int(path.stem), path.stat().st_size) for path in paths if int(path.stem) < end_offset]
    settings = CleanerSettings(
        DEDUPE_BUFFER_BYTES, LOAD_FACTOR, IO_BUFFER_BYTES, DEFAULT_INDEX_SETTINGS, 1 << 30, 86_400_000
    )
    return CleaningJob(str(directory), facts, 0, end_offset, time.time_ns() // 1_000_000, os.urandom(16), settings)


def clean(job: CleaningJob) -> CleaningResult:
    fs = PosixFileSystem()
    descriptors = Descriptors(fs)
    steps = clean_log(fs, job)
    while True:
        try:
            step = next(steps)
        except StopIteration as end:
            descriptors.close()
            result: CleaningResult = end.value
            return result
        if isinstance(step, CleanedSegment):
            swap(descriptors, job.directory, step.base_offset, step.replaced)


def peak_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def measured(job: CleaningJob, before_bytes: int) -> Pass:
    cpu, thread, wall = time.process_time_ns(), time.thread_time_ns(), time.perf_counter_ns()
    stats = clean(job).stats
    cpu, thread, wall = time.process_time_ns() - cpu, time.thread_time_ns() - thread, time.perf_counter_ns() - wall
    peak = peak_bytes()
    return Pass(
        cpu, thread, wall, peak, stats.records_read, stats.records_kept, 24 * stats.map_slots, peak - before_bytes
    )


def main() -> None:
    before = peak_bytes()
    for line in sys.stdin:
        directory, end_offset = line.split("\t")
        print(json.dumps(asdict(measured(job_of(Path(directory), int(end_offset)), before))), flush=True)


if __name__ == "__main__":
    main()
