"""A log moves between two disks while it is written to and truncated, and the world ends after every single operation;
then the broker starts again, and:

- the partition's plain name is in exactly one of the two directories
- power: what was durable is there, record for record; death of the process: so is everything that was committed
- a copy that is left is completed or removed; the move can be asked for again, and ends with the same records

A failure prints its seed and the operation; `run_one(seed, crash_at, ends_by_power)` shows it again.
"""

import random
from collections.abc import Callable

import pytest
from tests.sim.broker import T0, TOPIC_ID, Broker, contents, topic_config
from tests.sim.log_model import Claims, Model, check
from tests.sim.test_log_crashes import NEVER, CrashingTrace, PowerLoss, Workload

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.files import SimFileSystem
from tidelog.storage.log.log import Log

PATHS = ("/a/logs", "/b/logs")
CONFIG = topic_config(internal_segment_bytes=500, index_interval_bytes=100, file_delete_delay_ms=20)
STEPS_MAX = 120


class Moving(Workload):
    """A workload of one partition that moves from the first directory to the second."""

    def __init__(self, seed: int, fs: SimFileSystem, clock: SimClock) -> None:
        super().__init__(seed, fs, clock)
        self.random = random.Random(seed)
        self.broker = Broker(fs, clock, PATHS, CONFIG)
        self.broker.logs.moves.slice_bytes = 200

    def run(self) -> None:
        self.broker.start()
        self.broker.fs.forbids_waits = True
        for _ in range(3):
            self.produce(T0)
        self.broker.flush(T0)
        others: list[Callable[[TopicPartition], None]] = [
            self.produce, self.produce, self.flush, self.truncate, self.checkpoint, self.retain, self.delete_records,
        ]  # fmt: skip
        assert self.broker.logs.alter_directory(T0, PATHS[1], "1" * 32) is ErrorCode.NONE
        for _ in range(STEPS_MAX):
            if not self.broker.logs.moves.is_moving(T0):
                break
            if self.random.random() < 0.25:
                self.random.choice(others)(T0)
            self.broker.logs.step_moves(self.broker.now)
            self.turn()
        self.produce(T0)
        self.flush(T0)
        self.retain(T0)
        self.broker.settle()
        self.broker.fs.forbids_waits = False
        self.broker.stop()

    def log(self, partition: TopicPartition) -> Log:
        self.histories[partition] = self.histories[partition] or [Model(TOPIC_ID)]
        return self.broker.log(partition)

    def produce(self, partition: TopicPartition) -> None:
        if not self.log(partition).is_unsettled:
            super().produce(partition)

    def flush(self, partition: TopicPartition) -> None:
        """Begin a flush and do not wait for it: most syncs are under way while other things happen."""
        log = self.log(partition)
        log.flush.ask(log)

    def retain(self, partition: TopicPartition) -> None:
        log = self.log(partition)
        log.update_high_watermark(log.log_end_offset)
        self.broker.logs.begin_retention(self.broker.now)
        self.broker.clock.advance(30)


def machine(seed: int, crash_at: int) -> tuple[SimFileSystem, SimClock]:
    clock = SimClock()
    slow = random.Random(seed).choice(("/a", "/b"))
    settings = {disk: DiskSettings(short_write_chance=0.2, stale_is_intact=False) for disk in ("/a", "/b")}
    settings[slow].sync_ms_min, settings[slow].sync_ms_max = 20, 60
    return SimFileSystem(clock, seed, settings, trace=CrashingTrace(crash_at)), clock


def plain_names(fs: SimFileSystem) -> list[str]:
    return [path for path in PATHS if "t-0" in fs.list_directory(path)]


def move_to_the_end(node: Broker) -> None:
    source = next(path for path in PATHS if node.log().directory.startswith(path))
    target = next(path for path in PATHS if path != source)
    assert node.logs.alter_directory(T0, target, "2" * 32) is ErrorCode.NONE
    for _ in range(STEPS_MAX):
        if not node.logs.moves.is_moving(T0):
            break
        node.logs.step_moves(node.now)
        node.settle()
    assert node.log().directory == f"{target}/t-0"
    assert plain_names(node.fs) == [target]


def run_one(seed: int, crash_at: int, ends_by_power: bool) -> bool:
    """Run the workload with a crash, restart, and check; return whether the crash came before the workload's end."""
    fs, clock = machine(seed, crash_at)
    workload = Moving(seed, fs, clock)
    crashed = False
    try:
        workload.run()
    except PowerLoss:
        crashed = True
    log = workload.broker.logs.get(T0)
    assert isinstance(fs.trace, CrashingTrace)
    fs.trace.crash_at = NEVER
    fs.forbids_waits = False
    (fs.lose_power if ends_by_power else fs.kill)()
    if log is None:
        return crashed
    (model,) = workload.histories[T0]
    # The second directory's checkpoint of the log start is lost with the rename that gave it the log.
    claims = Claims(log.flush.recovery_point, log.log_start_offset, written_start=0, is_named=True)
    known_to = model.acknowledged_to(ends_by_power, claims)
    for _ in range(2):  # the second start finds the files that the first one left
        node = Broker(fs, clock, PATHS, CONFIG).start()
        assert not any(each.corrupt for each in node.logs.directories.values()), node.progress.problems
        if known_to:
            assert len(plain_names(fs)) == 1, node.progress.problems
        check(node.log(), model, claims, ends_by_power)
        fs.kill()
    node = Broker(fs, clock, PATHS, CONFIG).start()
    before = contents(node.log())
    move_to_the_end(node)
    assert contents(node.log()) == before
    check(node.log(), model, claims, ends_by_power)
    return crashed


@pytest.mark.parametrize(("seed", "ends_by_power"), [(1, True), (3, False)])
def test_a_crash_after_every_operation_of_a_move(seed: int, ends_by_power: bool) -> None:
    crash_at = 1
    while True:
        try:
            if not run_one(seed, crash_at, ends_by_power):
                break
        except Exception as error:
            raise AssertionError(f"run_one(seed={seed}, crash_at={crash_at}, ends_by_power={ends_by_power})") from error
        crash_at += 1
    assert crash_at > 100, "the workload does something"
