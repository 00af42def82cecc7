"""A log that moves to and fro between two directories is still a list: appends, truncations, deleted records, restarts
and crashes come between the steps of the moves, and neither a reader nor a restart can tell."""

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.sim.broker import T0, Broker, contents, topic_config

from tidelog.model.errors import ErrorCode
from tidelog.sim.clock import SimClock
from tidelog.sim.files import SimFileSystem
from tidelog.storage.log.group_commit import Append
from tidelog.storage.log.log import Log

PATHS = ("/a/logs", "/b/logs")
CONFIG = topic_config(internal_segment_bytes=400, index_interval_bytes=100, file_delete_delay_ms=50)


class MovingLogAndList(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock = SimClock()
        self.fs = SimFileSystem(self.clock, 11, ("/a", "/b"))
        self.records: list[bytes] = []
        self.batch_starts: list[int] = []
        self.start = 0
        self.counter = 0
        self.moves = 0
        self.broker = self._started(0)

    def _started(self, epoch: int) -> Broker:
        self.fs.forbids_waits = False
        broker = Broker(self.fs, self.clock, PATHS, CONFIG).start()
        broker.epoch = epoch
        broker.logs.moves.slice_bytes = 150
        broker.log()
        self.fs.forbids_waits = True
        return broker

    @property
    def log(self) -> Log:
        log = self.broker.logs.get(T0)
        assert log is not None
        return log

    @rule(count=st.integers(1, 3), repeat=st.integers(1, 40))
    def append(self, count: int, repeat: int) -> None:
        if self.log.is_unsettled:
            return
        values = [b"%d" % (self.counter + i) * repeat for i in range(count)]
        self.counter += count
        self.batch_starts.append(len(self.records))
        self.records += values
        append = self.broker.produce(values)
        assert isinstance(append, Append)
        assert append.code is ErrorCode.NONE

    @rule(path=st.sampled_from(PATHS))
    def alter(self, path: str) -> None:
        self.moves += 1
        code = self.broker.logs.alter_directory(T0, path, f"{self.moves:032x}")
        assert code in (ErrorCode.NONE, ErrorCode.REPLICA_NOT_AVAILABLE)

    @rule(times=st.integers(1, 12))
    def step(self, times: int) -> None:
        for _ in range(times):
            self.broker.logs.step_moves(self.broker.now)
            self.turn(2, 1)

    @rule(duration_ms=st.integers(0, 10), budget=st.integers(0, 4))
    def turn(self, duration_ms: int, budget: int) -> None:
        self.clock.advance(duration_ms)
        self.broker.logs.complete(self.fs.completions(), self.broker.now)
        self.broker.logs.work(self.broker.now, budget)

    @rule()
    def finish(self) -> None:
        for _ in range(200):
            if not self.broker.logs.moves.is_moving(T0):
                return
            self.broker.logs.step_moves(self.broker.now)
            self.broker.settle()
        raise AssertionError("the move does not come to its end")

    @rule()
    def flush(self) -> None:
        self.broker.flush()
        assert self.log.flush.recovery_point == len(self.records)

    @rule()
    def checkpoint(self) -> None:
        self.broker.logs.begin_checkpoint()

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(self.start, len(self.records)))
        self.broker.truncate(offset)
        if offset < len(self.records):
            offset = max(start for start in self.batch_starts if start <= offset)
        self._cut(offset)
        self.broker.epoch += 1

    def _cut(self, offset: int) -> None:
        del self.records[offset:]
        self.batch_starts = [start for start in self.batch_starts if start < offset]
        self.start = min(self.start, offset)

    @rule(data=st.data())
    def delete_records(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(self.start, len(self.records)))
        self.log.update_high_watermark(len(self.records))
        assert self.log.delete_records(offset) is ErrorCode.NONE
        self.start = offset

    @rule()
    def retain(self) -> None:
        self.broker.retain()

    @rule()
    def restart_in_order(self) -> None:
        self.broker.settle()
        self.fs.forbids_waits = False
        self.broker.stop()
        self.fs.lose_power()
        self.broker = self._started(self.broker.epoch + 1)

    @rule(by_power=st.booleans())
    def crash(self, by_power: bool) -> None:
        durable_to = self.log.flush.recovery_point if by_power else len(self.records)
        (self.fs.lose_power if by_power else self.fs.kill)()
        self.broker = self._started(self.broker.epoch + 1)
        assert durable_to <= self.log.log_end_offset <= len(self.records)
        self._cut(self.log.log_end_offset)
        assert self.log.log_start_offset <= self.start, "nobody asked for that"
        self.start = self.log.log_start_offset

    @invariant()
    def the_same(self) -> None:
        log = self.log
        assert (log.log_start_offset, log.log_end_offset) == (self.start, len(self.records))
        assert contents(log) == [(at, value) for at, value in enumerate(self.records) if at >= self.start]
        assert log.producers.map_end_offset == log.log_end_offset
        log.producers.validate_state()

    @invariant()
    def one_name(self) -> None:
        """Check that the partition's plain name is in one directory, or in none between the two renames of a move."""
        plain = [path for path in PATHS if "t-0" in self.fs.list_directory(path)]
        assert len(plain) == 1 or (not plain and self.broker.logs.moves.is_moving(T0))


MovingLogAndList.TestCase.settings = settings(
    max_examples=10,
    stateful_step_count=25,
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow],
)
TestMovingLogAndList = MovingLogAndList.TestCase
