"""The power fails, or the process dies, after every single file-system operation of a workload; then the broker starts
again, and the durability contract is the oracle (`log_model`): what was durable is there, what was deleted stays so,
nothing is there that never was; and every index, epoch, snapshot and producer fits the log.

Nothing between start and stop waits for the disk (`forbids_waits`): syncs, checkpoints, truncations, retention,
creation and deletion are begun, go on while other things happen, and complete in the disk's own time.

A failure prints its seed and the operation; `run_one(seed, crash_at, ends_by_power)` shows it again.
"""

import random
from collections.abc import Callable
from typing import Any

import pytest
from tests.sim.broker import Broker, batch_of, topic_config
from tests.sim.log_model import Claims, Model, PendingCut, check_partition

from tidelog.model.ids import TopicPartition, Uuid
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.files import SimFileSystem
from tidelog.sim.trace import Trace
from tidelog.storage.append.outcome import Refused
from tidelog.storage.log.group_commit import Append
from tidelog.storage.log.log import Log

PARTITIONS = (TopicPartition("t", 0), TopicPartition("u", 0))
CONFIG = topic_config(
    internal_segment_bytes=400, index_interval_bytes=100, retention_bytes=1500, file_delete_delay_ms=100
)
STEPS = 20
NEVER = 1 << 60


class PowerLoss(BaseException):
    """The crash. It is no Exception, so that nothing in the product catches it."""


class CrashingTrace(Trace):
    """A trace that records every operation that changes the disk, and crashes at one of them."""

    def __init__(self, crash_at: int) -> None:
        super().__init__()
        self.crash_at = crash_at

    def record(self, *parts: object) -> None:
        super().record(*parts)
        if self.count == self.crash_at:
            raise PowerLoss

    def __deepcopy__(self, memo: dict[int, object]) -> "CrashingTrace":
        """Return a fresh trace for the copy of a machine, since the digest of what happened on the first one can not be
        copied."""
        return CrashingTrace(NEVER)


class Workload:
    def __init__(self, seed: int, fs: SimFileSystem, clock: SimClock) -> None:
        self.random = random.Random(seed)
        self.histories: dict[TopicPartition, list[Model]] = {partition: [] for partition in PARTITIONS}
        self.counter = 0
        self.broker = Broker(fs, clock, config=CONFIG)
        self.broker.flushes_new = False

    def run(self) -> None:
        self.broker.start()
        self.broker.fs.forbids_waits = True
        actions: list[Callable[[TopicPartition], None]] = [
            self.produce, self.produce, self.produce, self.flush, self.roll, self.truncate, self.checkpoint,
            self.retain, self.delete_records, self.settle, self.delete,
        ]  # fmt: skip
        for _ in range(STEPS):
            self.random.choice(actions)(self.random.choice(PARTITIONS))
            self.turn()
        self.broker.settle()
        self.broker.fs.forbids_waits = False
        self.broker.stop()

    def turn(self) -> None:
        """Give the disk some time, or none, and let some of the queued work run."""
        broker = self.broker
        broker.clock.advance(self.random.choice((0, 0, 1, 3, 8)))
        broker.logs.complete(broker.fs.completions(), broker.now)
        broker.logs.work(broker.now, self.random.choice((0, 1, 2, 8)))
        for partition, history in self.histories.items():
            log = broker.logs.get(partition)
            if log is not None:
                history[-1].note(log)

    def log(self, partition: TopicPartition) -> Log | None:
        """Return the partition's log, beginning to create it if need be; None while it is being created."""
        logs, history = self.broker.logs, self.histories[partition]
        if not history or history[-1].departure is not None:
            history.append(Model(Uuid(bytes([PARTITIONS.index(partition), len(history), *range(14)]))))
            logs.begin_create({partition: history[-1].topic_id}, self.broker.now)
        return logs.get(partition)

    def settle(self, partition: TopicPartition) -> None:
        self.broker.settle()

    def produce(self, partition: TopicPartition) -> None:
        log, model = self.log(partition), self.histories[partition][-1]
        if log is None:
            return
        if log.is_unsettled:
            assert isinstance(self._append(log, batch_of([b"refused"], self.broker.now)), Refused)
            return
        offset, batches = log.log_end_offset, []
        for _ in range(self.random.randint(1, 4)):
            values = [b"%d" % (self.counter + i) * self.random.randint(1, 12) for i in range(self.random.randint(1, 3))]
            self.counter += len(values)
            batches.append((offset, values))
            for value in values:
                model.ever.setdefault(offset, []).append(value)
                offset += 1
        appends = [self._stage(log, model, values) for _, values in batches]
        self.broker.logs.commit([log], self.broker.now)
        for (base, values), append in zip(batches, appends, strict=True):
            assert append.first_offset == base
            model.committed += [(base + i, value) for i, value in enumerate(values)]

    def _stage(self, log: Log, model: Model, values: list[bytes]) -> Append:
        options: dict[str, Any] = {
            "producer_id": 9,
            "producer_epoch": self.broker.epoch,
            "base_sequence": model.sequence,
        }
        model.sequence += len(values)
        append = self._append(log, batch_of(values, self.broker.now, **options))
        assert isinstance(append, Append), append
        return append

    def _append(self, log: Log, batch: bytes) -> Append | Refused:
        buffer = memoryview(bytearray(batch))
        return log.append_as_leader(buffer, 0, len(buffer), self.broker.epoch, self.broker.now)

    def flush(self, partition: TopicPartition) -> None:
        log = self.log(partition)
        if log is not None:
            log.flush.ask(log)

    def roll(self, partition: TopicPartition) -> None:
        log = self.log(partition)
        if log is not None and not log.is_unsettled:
            log.roll(self.broker.now)

    def truncate(self, partition: TopicPartition) -> None:
        """Truncate, and begin another leader epoch, as follows every truncation; producers begin anew with it."""
        log, model = self.log(partition), self.histories[partition][-1]
        if log is None:
            return
        bases = [b for b in {offset for offset, _ in model.committed} if log.log_start_offset <= b] or [0]
        target = log.end_if_truncated_to(self.random.choice(sorted(bases)))
        is_whole = self.random.random() < 0.15
        model.committed = [each for each in model.committed if each[0] < target and not is_whole]
        starts = log.log_start_offset, log.segments.first.base_offset, target
        cut = PendingCut(None, starts)
        model.cuts.append(cut)
        begun = self.broker.logs.begin_truncate({partition: target}, self.broker.now, is_whole=is_whole)
        if begun:
            (cut.operation,) = begun
        else:
            model.cuts.remove(cut)
        self.broker.epoch += 1
        for history in self.histories.values():
            for each in history:
                each.sequence = 0

    def delete(self, partition: TopicPartition) -> None:
        """Delete the partition. Its name is free again when that is durable; the next call of `log` asks for a new
        one."""
        log, (directory,) = self.log(partition), self.broker.logs.directories.values()
        if log is None:
            return
        model = self.histories[partition][-1]
        model.note(log)
        model.claims = Claims.of(log, directory)
        unique = f"{len(self.histories[partition]):032x}"
        self.broker.logs.delete(partition, unique, self.broker.now)
        model.departure = directory.leaving[partition]

    def checkpoint(self, partition: TopicPartition) -> None:
        self.broker.logs.begin_checkpoint()

    def retain(self, partition: TopicPartition) -> None:
        for each in PARTITIONS:
            log = self.log(each)
            if log is not None:
                log.update_high_watermark(log.log_end_offset)
        self.broker.logs.begin_retention(self.broker.now)
        self.broker.clock.advance(60)

    def delete_records(self, partition: TopicPartition) -> None:
        log = self.log(partition)
        if log is None or log.is_unsettled:
            return
        log.update_high_watermark(log.log_end_offset)
        log.delete_records(self.random.randint(log.log_start_offset, log.log_end_offset))


def machine(seed: int, crash_at: int) -> tuple[SimFileSystem, SimClock]:
    clock = SimClock()
    # Zeros and noise, but no intact sectors of deleted files: a whole batch of another partition there has a right
    # checksum, and nothing in Kafka's format says whose it is. File systems keep them from showing.
    settings = {"/disk": DiskSettings(short_write_chance=0.2, stale_is_intact=False)}
    return SimFileSystem(clock, seed, settings, trace=CrashingTrace(crash_at)), clock


def run_one(seed: int, crash_at: int, ends_by_power: bool) -> bool:
    """Run the workload with a crash, restart, and check; return whether the crash came before the workload's end."""
    fs, clock = machine(seed, crash_at)
    workload = Workload(seed, fs, clock)
    crashed = False
    try:
        workload.run()
    except PowerLoss:
        crashed = True
    (directory,) = workload.broker.logs.directories.values()
    claims = {log.topic_partition: Claims.of(log, directory) for log in directory.logs.values()}
    trace = fs.trace
    assert isinstance(trace, CrashingTrace)
    trace.crash_at = NEVER
    fs.forbids_waits = False
    if ends_by_power:
        fs.lose_power()
    else:
        fs.kill()
    for _ in range(2):  # the second start finds the files that the first one left
        again = Broker(fs, clock, config=CONFIG).start()
        assert not again.logs.directories["/disk/logs"].corrupt, again.progress.problems
        for partition, history in workload.histories.items():
            if history:
                check_partition(again.logs.get(partition), history, claims.get(partition), ends_by_power)
        fs.kill()
    return crashed


@pytest.mark.parametrize(("seed", "ends_by_power"), [(0, True), (24, True), (35, False)])
def test_a_crash_after_every_operation(seed: int, ends_by_power: bool) -> None:
    crash_at = 1
    while True:
        try:
            if not run_one(seed, crash_at, ends_by_power):
                break
        except Exception as error:
            raise AssertionError(f"run_one(seed={seed}, crash_at={crash_at}, ends_by_power={ends_by_power})") from error
        crash_at += 1
    assert crash_at > 100, "the workload does something"
