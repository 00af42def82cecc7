"""The cleaner's real worker processes: they work, can be called off, killed and orphaned, and inherit nothing."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.sim.cleaned_broker import latest, stored
from tests.unit.io.real_cleaner import SLOW, WORKER, RealBroker, events_until_end, is_running, now_ms, wait_for

from tidelog.io.housekeeping import WorkerProcesses
from tidelog.model.ids import TopicPartition
from tidelog.ports.errors import NotFound
from tidelog.ports.housekeeping import Failed, Finished
from tidelog.storage.cleaner.cleaner_config import CleanerConfig
from tidelog.storage.cleaner.job import CleanerSettings, CleaningJob, CleaningResult, SegmentFacts
from tidelog.storage.segment.indexes import IndexSettings

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
FAST = CleanerConfig(dedupe_buffer_bytes=1 << 16, io_buffer_bytes=300, backoff_ms=20)
needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[RealBroker]:
    broker = RealBroker(tmp_path, SLOW)
    yield broker
    broker.stop()


def job(directory: Path, *, segments: int = 0) -> CleaningJob:
    settings = CleanerSettings(1 << 12, 0.9, 512, IndexSettings(100, 1000), 1000, 0)
    facts = [SegmentFacts(10 * i, 100) for i in range(segments)]
    return CleaningJob(str(directory), facts, 0, 10 * segments, now_ms(), bytes(16), settings)


def test_a_log_is_cleaned_by_a_process_of_its_own(tmp_path: Path) -> None:
    broker = RealBroker(tmp_path, FAST)
    try:
        broker.fill(T0)
        before = latest(stored(broker.log(T0)))
        broker.wait_for(lambda: broker.cleaner.counts.cleanings > 0 and not broker.cleaner.is_busy, "a cleaning")
        assert latest(stored(broker.log(T0))) == before
        keys = [each.key for each in stored(broker.log(T0))]
        assert len(keys) == len(set(keys))
        assert broker.wakes > 0, "the descriptor says when there is something"
        assert not broker.cleaned_files(T0)
        assert broker.workers.process_ids != [os.getpid()]
        pids = broker.workers.process_ids
    finally:
        broker.stop()
    assert len(pids) == 1
    assert not any(map(is_running, pids))


def test_kill_9_of_a_worker_costs_one_partition_and_another_worker_takes_its_place(slow: RealBroker) -> None:
    slow.fill(T0)
    slow.wait_for(lambda: bool(slow.cleaned_files(T0)), "the worker writes")
    (victim,) = slow.workers.process_ids
    os.kill(victim, signal.SIGKILL)
    slow.wait_for(lambda: T0 in slow.cleaner.uncleanable, "it is set aside")
    assert "signal 9" in slow.cleaner.uncleanable[T0].reason
    assert slow.cleaner.metrics(now_ms()).dead_thread_count == 1
    assert not slow.cleaned_files(T0)
    slow.cleaner.reconfigure(FAST)
    slow.fill(T1, batches=5)
    slow.wait_for(lambda: slow.cleaner.counts.cleanings > 0, "the other one is cleaned")
    assert slow.workers.process_ids != [victim]
    assert list(slow.cleaner.uncleanable) == [T0]


def test_a_worker_that_is_called_off_clears_up_and_goes_on_with_the_next(slow: RealBroker) -> None:
    slow.fill(T0)
    slow.wait_for(lambda: bool(slow.cleaned_files(T0)), "the worker writes")
    workers = slow.workers.process_ids
    slow.log(T0).delete_records(1)
    slow.cleaner.reconfigure(FAST)
    slow.wait_for(lambda: slow.cleaner.counts.cleanings > 0 and not slow.cleaner.is_busy, "the second attempt")
    assert slow.workers.process_ids == workers
    assert not slow.cleaned_files(T0)
    assert not slow.cleaner.uncleanable


PARENT = """
import sys
from pathlib import Path
from tests.unit.io.real_cleaner import SLOW, RealBroker
from tidelog.model.ids import TopicPartition
T = TopicPartition("t", 0)
broker = RealBroker(Path(sys.argv[1]), SLOW)
broker.fill(T)
broker.wait_for(lambda: bool(broker.cleaned_files(T)), "the worker writes")
print(*broker.workers.process_ids, flush=True)
broker.wait_for(lambda: False, "the end")
"""


@needs_proc
def test_the_death_of_the_node_leaves_no_worker(tmp_path: Path) -> None:
    root = Path(__file__).parent.parent.parent.parent
    script = [sys.executable, "-c", PARENT, str(tmp_path)]
    paths = os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])
    with subprocess.Popen(script, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": paths}) as node:
        assert node.stdout is not None
        workers = [int(each) for each in node.stdout.readline().split()]
        assert len(workers) == 1
        assert is_running(workers[0])
        node.kill()
    wait_for(lambda: not is_running(workers[0]), "the worker ends")
    again = RealBroker(tmp_path, FAST)
    try:
        assert not again.cleaned_files(T0), "the worker cleared up, or else recovery did"
    finally:
        again.stop()


@needs_proc
def test_a_worker_inherits_nothing_and_stands_back(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(descriptor, True)
    workers = WorkerProcesses(WORKER)
    try:
        workers.begin(job(tmp_path))
        events_until_end(workers)
        (pid,) = workers.process_ids
        opened = [os.readlink(f"/proc/{pid}/fd/{each}") for each in os.listdir(f"/proc/{pid}/fd")]
        assert str(tmp_path) not in opened
        assert sum(path.startswith("socket:") for path in opened) == 2, "its standard input, and a copy of it"
        assert os.getpriority(os.PRIO_PROCESS, pid) > os.getpriority(os.PRIO_PROCESS, 0)
    finally:
        workers.stop()
        os.close(descriptor)


def test_the_results_and_the_faults_of_a_job_come_back_as_they_are(tmp_path: Path) -> None:
    workers = WorkerProcesses(WORKER)
    try:
        first = workers.begin(job(tmp_path))
        (done,) = [each for each in events_until_end(workers) if isinstance(each, Finished)]
        assert done.work == first
        assert isinstance(done.result, CleaningResult)
        second = workers.begin(job(tmp_path, segments=2))
        failed = events_until_end(workers)[-1]
        assert isinstance(failed, Failed)
        assert (failed.work, failed.worker_died) == (second, False)
        assert isinstance(failed.fault, NotFound)
        assert failed.fault.path.startswith(str(tmp_path))
    finally:
        workers.stop()


def test_a_job_larger_than_the_socket_takes_does_not_stop_the_loop(tmp_path: Path) -> None:
    workers = WorkerProcesses(WORKER)
    try:
        large = job(tmp_path)
        large.seed = bytes(8 << 20)
        work = workers.begin(large)
        assert workers.events() == [], "begin came back before the worker could have read it"
        done = events_until_end(workers)[-1]
        assert isinstance(done, Finished)
        assert done.work == work
    finally:
        workers.stop()


def test_two_jobs_have_two_workers_and_a_third_reuses_one(tmp_path: Path) -> None:
    workers = WorkerProcesses(WORKER)
    try:
        ends = 0
        workers.begin(job(tmp_path))
        workers.begin(job(tmp_path))
        pids = workers.process_ids
        assert len(pids) == 2
        while ends < 2:
            ends += sum(isinstance(each, Finished) for each in events_until_end(workers))
        workers.begin(job(tmp_path))
        events_until_end(workers)
        assert workers.process_ids == pids
    finally:
        workers.stop()
