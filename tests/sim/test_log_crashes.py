"""The power fails, or the process dies, after every single file-system operation of a workload; then the broker starts
again, and the durability contract is the oracle:

- power: what lies below the recovery point of that moment is there, record for record
- death of the process: so is everything that was committed
- beyond that only records that were once written at that offset, without holes; never a half one
- every index, epoch, snapshot and producer fits the log, and the log takes further appends

Nothing between start and stop waits for the disk (`forbids_waits`): syncs, checkpoints, truncations, retention,
creation and deletion are begun, go on while other things happen, and complete whenever the disk will have it.

A failure prints its seed and the operation; `run_one(seed, crash_at, ends_by_power)` shows it again.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.sim.broker import Broker, batch_of, contents, topic_config

from tidelog.model.ids import TopicPartition
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.files import SimFileSystem
from tidelog.sim.trace import Trace
from tidelog.storage.appended import Refused
from tidelog.storage.log import Log
from tidelog.storage.log_append import Append
from tidelog.storage.log_read import FetchIsolation, read

PARTITIONS = (TopicPartition("t", 0), TopicPartition("t", 1))
CONFIG = topic_config(
    internal_segment_bytes=400, index_interval_bytes=100, retention_bytes=1500, file_delete_delay_ms=100
)
STEPS = 20
NEVER = 1 << 60


class PowerLoss(BaseException):
    """Not an Exception: nothing in the product may catch it."""


class CrashingTrace(Trace):
    """Every operation that changes the disk is recorded; at one of them the world ends."""

    def __init__(self, crash_at: int) -> None:
        super().__init__()
        self.crash_at = crash_at

    def record(self, *parts: object) -> None:
        super().record(*parts)
        if self.count == self.crash_at:
            raise PowerLoss

    def __deepcopy__(self, memo: dict[int, object]) -> "CrashingTrace":
        """For the copy of a machine: the digest of what happened on the first one can not be copied."""
        return CrashingTrace(NEVER)


@dataclass
class Model:
    """What one partition was told, and everything that ever stood at an offset."""

    committed: list[tuple[int, bytes]] = field(default_factory=list)
    ever: dict[int, list[bytes]] = field(default_factory=dict)
    sequence: int = 0
    anew_at: int = 0  # it was, or is being, dropped as a whole, and begins again here


class Workload:
    def __init__(self, seed: int, fs: SimFileSystem, clock: SimClock) -> None:
        self.random = random.Random(seed)
        self.models = {partition: Model() for partition in PARTITIONS}
        self.counter = 0
        self.broker = Broker(fs, clock, config=CONFIG)
        self.broker.flushes_new = False

    def run(self) -> None:
        self.broker.start()
        self.broker.fs.forbids_waits = True
        actions: list[Callable[[TopicPartition], None]] = [
            self.produce, self.produce, self.produce, self.flush, self.roll, self.truncate, self.checkpoint,
            self.retain, self.delete_records, self.settle,
        ]  # fmt: skip
        for _ in range(STEPS):
            self.random.choice(actions)(self.random.choice(PARTITIONS))
            self.turn()
        self.broker.settle()
        self.broker.fs.forbids_waits = False
        self.broker.stop()

    def turn(self) -> None:
        """The disk gets some time, or none; and so does the work that waits for its turn."""
        broker = self.broker
        broker.clock.advance(self.random.choice((0, 0, 1, 3, 8)))
        broker.logs.complete(broker.fs.completions(), broker.now)
        broker.logs.work(broker.now, self.random.choice((0, 1, 2, 8)))

    def settle(self, partition: TopicPartition) -> None:
        self.broker.settle()

    def produce(self, partition: TopicPartition) -> None:
        model, log = self.models[partition], self.broker.log(partition)
        if log.is_unsettled:
            assert isinstance(self.broker.stage(batch_of([b"refused"], self.broker.now), partition), Refused)
            return
        offset, batches = log.log_end_offset, []
        for _ in range(self.random.randint(1, 4)):
            values = [b"%d" % (self.counter + i) * self.random.randint(1, 12) for i in range(self.random.randint(1, 3))]
            self.counter += len(values)
            batches.append((offset, values))
            for value in values:
                model.ever.setdefault(offset, []).append(value)
                offset += 1
        appends = [self._stage(partition, values) for _, values in batches]
        self.broker.commit(partition)
        for (base, values), append in zip(batches, appends, strict=True):
            assert append.first_offset == base
            model.committed += [(base + i, value) for i, value in enumerate(values)]

    def _stage(self, partition: TopicPartition, values: list[bytes]) -> Append:
        model = self.models[partition]
        options: dict[str, Any] = {
            "producer_id": 9,
            "producer_epoch": self.broker.epoch,
            "base_sequence": model.sequence,
        }
        model.sequence += len(values)
        append = self.broker.stage(batch_of(values, self.broker.now, **options), partition)
        assert isinstance(append, Append), append
        return append

    def flush(self, partition: TopicPartition) -> None:
        log = self.broker.log(partition)
        log.flush.ask(log)

    def roll(self, partition: TopicPartition) -> None:
        if not self.broker.log(partition).is_unsettled:
            self.broker.log(partition).roll(self.broker.now)

    def truncate(self, partition: TopicPartition) -> None:
        """Followed by another leader's epoch, as every truncation is; producers begin anew with it."""
        log, model = self.broker.log(partition), self.models[partition]
        bases = [b for b in {offset for offset, _ in model.committed} if log.log_start_offset <= b] or [0]
        target = log.end_if_truncated_to(self.random.choice(sorted(bases)))
        is_whole = self.random.random() < 0.15
        model.committed = [each for each in model.committed if each[0] < target and not is_whole]
        model.anew_at = target if is_whole else model.anew_at
        self.broker.logs.begin_truncate({partition: target}, self.broker.now, is_whole=is_whole)
        self.broker.epoch += 1
        for each in self.models.values():
            each.sequence = 0

    def checkpoint(self, partition: TopicPartition) -> None:
        self.broker.logs.begin_checkpoint()

    def retain(self, partition: TopicPartition) -> None:
        for each in PARTITIONS:
            log = self.broker.log(each)
            log.update_high_watermark(log.log_end_offset)
        self.broker.logs.begin_retention(self.broker.now)
        self.broker.clock.advance(60)

    def delete_records(self, partition: TopicPartition) -> None:
        log = self.broker.log(partition)
        if log.is_unsettled:
            return
        log.update_high_watermark(log.log_end_offset)
        log.delete_records(self.random.randint(log.log_start_offset, log.log_end_offset))


def machine(seed: int, crash_at: int) -> tuple[SimFileSystem, SimClock]:
    clock = SimClock()
    # Zeros and noise, but no intact sectors of deleted files: a whole batch of another partition there has a right
    # checksum, and nothing in Kafka's format says whose it is. File systems keep them from showing.
    settings = {"/disk": DiskSettings(short_write_chance=0.2, stale_is_intact=False)}
    return SimFileSystem(clock, seed, settings, trace=CrashingTrace(crash_at)), clock


def check(log: Log, model: Model, durable_to: int, log_start: int) -> None:
    found = contents(log)
    offsets = [offset for offset, _ in found]
    assert offsets == list(range(log.log_start_offset, log.log_end_offset)), "holes"
    assert log.log_start_offset <= max(log_start, model.anew_at), "a start that nobody asked for"
    expected = [each for each in model.committed if log_start <= each[0] < durable_to]
    assert [each for each in found if log_start <= each[0] < durable_to] == expected, "durable records are lost"
    for offset, value in found:
        assert value in model.ever[offset], f"offset {offset} has what was never written there"
    check_indexes(log)
    log.producers.validate_state()
    assert log.producers.map_end_offset == log.log_end_offset
    starts = [entry.start_offset for entry in log.epochs.entries()]
    assert starts == sorted(starts)
    assert all(start <= log.log_end_offset for start in starts)
    assert log.flush.recovery_point <= log.log_end_offset


def check_indexes(log: Log) -> None:
    """Every single offset is found in its batch, and every time."""
    for offset in range(log.log_start_offset, log.log_end_offset):
        answer = read(log, offset, 1, FetchIsolation.LOG_END)
        assert answer.segment is not None
        assert answer.base_offset <= offset < answer.base_offset + 3
    for segment in log.segments:
        segment.indexes.offset.sanity_check()
        segment.indexes.time.sanity_check()


def run_one(seed: int, crash_at: int, ends_by_power: bool) -> bool:
    """Whether the world ended before the workload did."""
    fs, clock = machine(seed, crash_at)
    workload = Workload(seed, fs, clock)
    crashed = False
    try:
        workload.run()
    except PowerLoss:
        crashed = True
    claims = {
        partition: (log.flush.recovery_point, log.log_start_offset)
        for partition in PARTITIONS
        if (log := workload.broker.logs.get(partition)) is not None
    }
    trace = fs.trace
    assert isinstance(trace, CrashingTrace)
    trace.crash_at = NEVER
    fs.forbids_waits = False
    if ends_by_power:
        fs.lose_power()
    else:
        fs.kill()
    for _ in range(2):  # the second start finds what the first one left
        again = Broker(fs, clock, config=CONFIG).start()
        assert not again.logs.directories["/disk/logs"].corrupt, again.progress.problems
        for partition, (recovery_point, log_start) in claims.items():
            model = workload.models[partition]
            acknowledged_to = max((offset + 1 for offset, _ in model.committed), default=0)
            check(again.log(partition), model, recovery_point if ends_by_power else acknowledged_to, log_start)
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
