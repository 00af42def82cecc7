"""The job as a user runs it, on a cluster of two executors in processes of their own, one of which is killed while it
works; and its orderly end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.spark.sessions import environment

from tidelog.client.client import Client
from tidelog_pipelines.traffic.generator import Plan
from tidelog_pipelines.traffic.results import ResultReader
from tidelog_pipelines.traffic.sending import Sending, create_topics
from tidelog_pipelines.traffic.truth import Truth

START_MS = 1_790_000_000_000
PATIENCE_S = 240
EXECUTOR = b"CoarseGrainedExecutorBackend"


@pytest.fixture
def job(bootstrap: str, kafka_topic_prefix: str, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    environment()
    command = [sys.executable, "-m", "tidelog_pipelines.ecommerce", "--bootstrap-server", bootstrap]
    command += ["--checkpoint", str(tmp_path / "checkpoint"), "--trigger", "500ms", "--slow-trigger", "500ms"]
    command += ["--events-prefix", kafka_topic_prefix, "--results-prefix", f"{kafka_topic_prefix}r-"]
    command += ["--producer-times"]  # of a plan that is of another day
    command += ["--master", "local-cluster[2,1,1024]", "--max-offsets-per-trigger", "1000"]
    command += ["--conf", "spark.executor.memory=512m", "--conf", "spark.driver.host=127.0.0.1"]
    with (tmp_path / "log").open("wb") as log:
        started = subprocess.Popen(command, stdout=log, stderr=log)
        yield started
        started.kill()
        started.wait()
    print((tmp_path / "log").read_text()[-20_000:])


@pytest.mark.usefixtures("limits")
@pytest.mark.long
def test_a_killed_executor_changes_no_result(
    job: subprocess.Popen[bytes], bootstrap: str, kafka_topic_prefix: str
) -> None:
    truth = Truth()
    with Client(bootstrap) as client:
        create_topics(client, kafka_topic_prefix)
        plan = Plan(3, START_MS, rate=1e6, speed=5e4, events=6_000)
        Sending(client, plan, prefix=kafka_topic_prefix, truth=truth).run(lambda _sent: None)
        reader = ResultReader(client, f"{kafka_topic_prefix}r-")

        def has(is_so: Callable[[], bool]) -> Callable[[], bool]:
            def look() -> bool:
                reader.poll(200)
                assert job.poll() is None, "the job has ended"
                return is_so()

            return look

        await_that(has(lambda: reader.state.updates > 0), "the first result")
        os.kill(executors_of(job.pid)[0], signal.SIGKILL)
        await_that(has(lambda: reader.state.answers(dict(truth.records)) == truth.answers()), "the truth")
    assert reader.state.faults == []
    job.send_signal(signal.SIGTERM)
    assert job.wait(PATIENCE_S) == 0


def await_that(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline, f"waited in vain for {what}"


def executors_of(pid: int) -> list[int]:
    """The job's own, found by their parents: other tests may have executors too."""
    return [each for each in descendants(pid) if EXECUTOR in (Path("/proc") / str(each) / "cmdline").read_bytes()]


def descendants(pid: int) -> Iterator[int]:
    for task in (Path("/proc") / str(pid) / "task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            yield child
            yield from descendants(child)
