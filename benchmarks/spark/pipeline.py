"""The worked pipeline as a user runs it: broker, traffic and job, each a process, on the cores that there are.

Events are sent at the rate of the bar for as long as it takes to see whether the job keeps up; a backlog would show as
a latency that grows. The latency of an event is from its timestamp (when it was due to be sent: a generator that is
late is no excuse) to the moment at which a read_committed consumer has read a result that it is in. In the end the
results are held against the truth: a pipeline that is quick and wrong has not done it.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.broker.systems import OURS as OUR_BROKER
from benchmarks.broker.systems import System, running
from benchmarks.harness import console
from benchmarks.spark.bench import SparkBench
from benchmarks.spark.processes import cpu_seconds
from tidelog.client.client import Client
from tidelog.client.fetch.consumer import Consumer
from tidelog_pipelines.traffic.answers import Answers, epoch_ms
from tidelog_pipelines.traffic.generator import Plan
from tidelog_pipelines.traffic.results import TOP_VIEWED_PRODUCTS, ResultReader
from tidelog_pipelines.traffic.shoppers import TOPICS
from tidelog_pipelines.traffic.truth import truth_of
from tidelog_pipelines.traffic.verdict import Check, is_right, verdict

RATE, P95_S_MAX, SEED = 20_000, 5.0, 7
RATE_TOLERANCE = 0.995  # of a plan that ends between two ticks
READY, READY_S_MAX, FINISH_S_MAX = "running: ", 120.0, 120.0
STEP_MS, LOOK_MS, LAST_MS = 10, 50, 100


def run(bench: SparkBench) -> None:
    bench.end_session()
    seconds, warm_s = bench.sizes.pipeline_seconds, bench.sizes.pipeline_warm_seconds
    with running(OUR_BROKER, bench.scratch / "pipeline") as broker, Client(broker.bootstrap) as client:
        reader = ResultReader(client)
        with job(broker, bench.scratch) as worker, traffic(broker, bench.scratch, seconds) as sender:
            latencies = Latencies(reader, warm_s * 1000)
            cpu, began = cpu_seconds(of=worker.pid), time.perf_counter()
            while sender.poll() is None:
                latencies.sample()
            cores = (cpu_seconds(of=worker.pid) - cpu) / (time.perf_counter() - began)
            sent = json.loads(sender.stdout.read()) if sender.stdout is not None else {}
            checks = finished(client, reader, latencies, sent, worker)
    _show(bench, sent, latencies, checks, cores)


class Latencies:
    """The latencies of events, in milliseconds, by when their results were read. The results of a micro-batch say up to
    which timestamp they go: all events from where the last one ended have become readable with it."""

    def __init__(self, reader: ResultReader, warm_ms: int) -> None:
        self.of_events_ms: list[int] = []
        self._reader = reader
        self._warm_ms = warm_ms
        self._first_ms: int | None = None
        self._readable_to_ms = 0

    def sample(self) -> None:
        self._reader.poll(LOOK_MS)
        now_ms = int(time.time() * 1000)
        rows = self._reader.state.rows[TOP_VIEWED_PRODUCTS].values()
        newest = max((epoch_ms(row["updated_to"]) for row in rows), default=0)
        if newest > self._readable_to_ms:
            self._add(newest, now_ms)
            self._readable_to_ms = newest

    def _add(self, newest_ms: int, now_ms: int) -> None:
        if self._first_ms is None:
            self._first_ms = newest_ms
        first = max(self._readable_to_ms, self._first_ms + self._warm_ms)
        self.of_events_ms += [now_ms - each for each in range(first + STEP_MS, newest_ms + 1, STEP_MS)]

    def are_taken_to(self, end_ms: float) -> bool:
        """Return whether the latencies of all events up to a time are taken, but for the last moment, in which there
        may have been no event."""
        return self._readable_to_ms >= end_ms - LAST_MS

    def percentile_s(self, part: float) -> float:
        ordered = sorted(self.of_events_ms)
        return ordered[min(len(ordered) - 1, int(part * len(ordered)))] / 1000 if ordered else float("inf")


@contextmanager
def job(broker: System, scratch: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Start the job; yield its process when its queries run."""
    log = scratch / "job.log"
    directories = ["--checkpoint", str(scratch / "job"), "--archive", str(scratch / "archive")]
    arguments = ["tidelog_pipelines.ecommerce", "--bootstrap-server", broker.bootstrap, *directories]
    arguments.append("--producer-times")  # the truth goes by the times of the plan
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", *arguments], stdout=output, stderr=subprocess.STDOUT, env=_environment()
        )
    try:
        until = time.monotonic() + READY_S_MAX
        while READY not in log.read_text(errors="replace"):
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the job did not start:\n{log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.1)
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _environment() -> dict[str, str]:
    return os.environ | {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable}


@contextmanager
def traffic(broker: System, scratch: Path, seconds: int) -> Iterator["subprocess.Popen[str]"]:
    """Start the traffic; yield its process, which says on its standard output what it has sent."""
    how = ["--rate", str(RATE), "--seconds", str(seconds), "--seed", str(SEED), "--json"]
    command = [sys.executable, "-m", "tidelog", "demo", "traffic", "-b", broker.bootstrap, *how]
    with (scratch / "traffic.log").open("wb") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


def finished(
    client: Client, reader: ResultReader, latencies: Latencies, sent: dict[str, Any], worker: "subprocess.Popen[bytes]"
) -> list[Check]:
    """Wait until everything is counted, or time is up; return how the results differ from the truth. The truth takes a
    while to find out: before it, what is under way has its latency taken."""
    until = time.monotonic() + FINISH_S_MAX
    while not latencies.are_taken_to(sent["start_ms"] + 1000 * sent["events"] / sent["rate"]):
        latencies.sample()
        if time.monotonic() > until or worker.poll() is not None:
            break
    truth = truth_of(Plan(sent["seed"], sent["start_ms"], sent["rate"], sent["speed"], sent["events"])).answers()
    until = time.monotonic() + FINISH_S_MAX
    while True:
        latencies.sample()
        checks = verdict(truth, _found(client, reader), reader.state.faults)
        if is_right(checks) or time.monotonic() > until or worker.poll() is not None:
            return checks


def _found(client: Client, reader: ResultReader) -> Answers:
    consumer = Consumer(client)
    ends = consumer.end_offsets(each for topic in TOPICS for each in consumer.partitions(topic))
    return reader.state.answers({topic: sum(n for each, n in ends.items() if each.topic == topic) for topic in TOPICS})


def _show(bench: SparkBench, sent: dict[str, Any], latencies: Latencies, checks: list[Check], cores: float) -> None:
    rate, p95_s = sent["events"] / sent["seconds"], latencies.percentile_s(0.95)
    title = "the worked pipeline"
    held = [
        f"{rate:,.0f} events/s {bench.scores.at_least(f'{title}: rate', rate, RATE * RATE_TOLERANCE, ' events/s')}",
        f"p95 {p95_s:.2f} s {bench.scores.at_most(f'{title}: produced to readable, p95', p95_s, P95_S_MAX, ' s')}",
    ]
    console.print(f"[bold]{title}[/]: {'; '.join(held)}; p50 {latencies.percentile_s(0.5):.2f} s")
    console.print(f"[dim]{len(latencies.of_events_ms):,} samples; the job used {cores:.2f} cores[/]")
    bench.scores.at_least(f"{title}: results equal to the truth", float(is_right(checks)), 1, "")
    for check in checks:
        console.print(f"  {check.name}: {check.found} of {check.expected}")
        for difference in check.differences[:5]:
            console.print(f"    [red]{difference}[/]", highlight=False)
