"""Logs, their cleaner and its worker processes on a real disk, and a loop that waits for the next event."""

import os
import select
import time
from collections.abc import Callable
from pathlib import Path

from tests.sim.broker import TOPIC_ID
from tests.sim.cleaned_broker import COMPACTED

from tidelog.io.entropy import SystemEntropy
from tidelog.io.files import PosixFileSystem
from tidelog.io.housekeeping import WorkerProcesses
from tidelog.model.ids import TopicPartition
from tidelog.ports.housekeeping import Event, Stepped
from tidelog.records.builder import BatchBuilder
from tidelog.storage.cleaner.cleaner_config import CleanerConfig
from tidelog.storage.cleaner.scheduler import LogCleaner
from tidelog.storage.directories.logs import Logs
from tidelog.storage.log.group_commit import Append
from tidelog.storage.log.loader import LogContext
from tidelog.storage.log.log import Log
from tidelog.storage.segment.descriptors import Descriptors

WORKER = "tidelog.io.cleaner_worker"
PATIENCE_S = 30.0  # waited in full only when something is broken
SLOW = CleanerConfig(io_bytes_per_second_max=1500.0, dedupe_buffer_bytes=1 << 16, io_buffer_bytes=300, backoff_ms=20)


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def wait_for(is_so: Callable[[], bool], what: str, meanwhile: Callable[[], None] = lambda: time.sleep(0.01)) -> None:
    give_up_at = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < give_up_at, f"still waiting: {what}"
        meanwhile()


class RealBroker:
    def __init__(self, directory: Path, config: CleanerConfig) -> None:
        self.fs = PosixFileSystem()
        self.logs = Logs(LogContext(Descriptors(self.fs)), [str(directory)], lambda _topic: COMPACTED)
        for _ in self.logs.load(now_ms()):
            pass
        self.workers = WorkerProcesses(WORKER)
        self.cleaner = LogCleaner(self.logs, self.workers, SystemEntropy(), config, now_ms())
        self.wakes = 0

    def log(self, partition: TopicPartition) -> Log:
        log = self.logs.create(partition, TOPIC_ID, now_ms())
        assert isinstance(log, Log)
        return log

    def turn(self) -> None:
        self.wakes += bool(select.select([self.workers], [], [], 0.01)[0])
        self.cleaner.tick(now_ms())
        self.logs.work(now_ms())
        completions = self.fs.completions()
        self.logs.complete(completions, now_ms())
        self.cleaner.complete(completions, now_ms())

    def wait_for(self, is_so: Callable[[], bool], what: str) -> None:
        wait_for(is_so, what, self.turn)

    def fill(self, partition: TopicPartition, batches: int = 12) -> None:
        log = self.log(partition)
        log.flush.ask(log)
        self._settle()  # before that a new log does not roll
        for i in range(batches):
            self._put(log, b"k%d" % (i % 3), b"%d" % i * 20)
        log.roll(now_ms())
        self._put(log, b"last", b"one")
        self._settle()
        self.logs.begin_checkpoint()
        self._settle()

    def _settle(self) -> None:
        self.wait_for(lambda: not self.logs.work(now_ms()) and not self.logs.is_flushing, "the disk")

    def _put(self, log: Log, key: bytes, value: bytes) -> None:
        builder = BatchBuilder()
        builder.append(now_ms(), key, value)
        data = memoryview(bytearray(builder.build()))
        assert isinstance(log.append_as_leader(data, 0, len(data), 0, now_ms()), Append)
        self.logs.commit([log], now_ms())
        log.update_high_watermark(log.log_end_offset)

    def cleaned_files(self, partition: TopicPartition) -> list[str]:
        return [name for name in os.listdir(self.log(partition).directory) if name.endswith((".cleaned", ".swap"))]

    def stop(self) -> None:
        self.workers.stop()
        self.fs.close()


def events_until_end(workers: WorkerProcesses) -> list[Event]:
    events: list[Event] = []
    wait_for(
        lambda: bool(events) and not isinstance(events[-1], Stepped),
        "the end of the job",
        lambda: events.extend(workers.events()) if select.select([workers], [], [], 0.1)[0] else None,
    )
    return events


def is_running(process_id: int) -> bool:
    """Tell whether the process runs; a zombie, which is dead but not yet waited for, does not."""
    try:
        state = Path(f"/proc/{process_id}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
