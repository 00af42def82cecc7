"""A log is a list: whatever is appended, read, rolled, truncated, flushed, deleted and restarted, both say the same."""

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.sim.broker import T0, Broker, batch_of, contents, topic_config

from tidelog.model.errors import ErrorCode
from tidelog.records.batch import batches
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.files import SimFileSystem
from tidelog.storage.log import Log
from tidelog.storage.log_append import Append
from tidelog.storage.log_read import NOT_FOUND, FetchIsolation, OffsetAtTime, offset_for_time, read

CONFIG = topic_config(
    internal_segment_bytes=350, index_interval_bytes=60, retention_bytes=1200, file_delete_delay_ms=50
)


class LogAndList(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock = SimClock()
        self.fs = SimFileSystem(self.clock, 1, {"/disk": DiskSettings(short_write_chance=0.3)})
        self.broker = Broker(self.fs, self.clock, config=CONFIG).start()
        self.records: list[tuple[int, bytes]] = []  # time and value; the position in the list is the offset
        self.start = 0
        self.batch_starts: list[int] = []

    @property
    def log(self) -> Log:
        return self.broker.log()

    @rule(sizes=st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=4), min_size=1, max_size=4))
    def append_in_one_turn(self, sizes: list[list[int]]) -> None:
        appends = []
        for batch in sizes:
            values = [b"%d " % len(self.records) + bytes(size) for size in batch]
            appends.append((len(self.records), self._stage(values)))
            self.batch_starts.append(len(self.records))
            self.records += [(self.broker.now, value) for value in values]
        self.broker.commit()
        for first_offset, append in appends:
            assert (append.code, append.first_offset) == (ErrorCode.NONE, first_offset)

    def _stage(self, values: list[bytes]) -> Append:
        append = self.broker.stage(batch_of(values, self.broker.now))
        assert isinstance(append, Append)
        return append

    @rule(duration_ms=st.integers(1, 1000))
    def wait(self, duration_ms: int) -> None:
        self.clock.advance(duration_ms)

    @rule()
    def roll(self) -> None:
        self.log.roll(self.broker.now)

    @rule()
    def flush(self) -> None:
        self.broker.flush()
        assert self.log.flush.recovery_point == len(self.records)

    @rule()
    def checkpoint(self) -> None:
        self.broker.logs.checkpoint()

    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(self.start, len(self.records)))
        self.broker.logs.truncate({T0: offset}, self.broker.now)
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
        """By size: the twin takes the log's word for where, and checks that it is a segment and not too much."""
        self.log.update_high_watermark(len(self.records))
        self.broker.logs.retain(self.broker.now)
        if self.log.log_start_offset != self.start:
            assert self.log.log_start_offset > self.start
            assert self.log.log_start_offset == self.log.segments.first.base_offset
            assert self.log.size_bytes >= 1200
            self.start = self.log.log_start_offset

    @rule()
    def restart_in_order(self) -> None:
        self.broker.stop()
        self.fs.lose_power()
        self._start()

    @rule()
    def die(self) -> None:
        """Only what was written down of the log's start comes back."""
        durable = self.broker.logs.directories["/disk/logs"].durable_log_start(T0)
        self.fs.kill()
        self._start()
        assert self.log.log_start_offset >= durable
        self.start = self.log.log_start_offset

    @rule()
    def lose_power(self) -> None:
        durable_to = self.log.flush.recovery_point
        self.fs.lose_power()
        self._start()
        assert durable_to <= self.log.log_end_offset <= len(self.records)
        self._cut(self.log.log_end_offset)
        self.start = self.log.log_start_offset

    def _start(self) -> None:
        epoch = self.broker.epoch
        self.broker = Broker(self.fs, self.clock, config=CONFIG).start()
        self.broker.epoch = epoch + 1

    @rule(data=st.data(), max_bytes=st.integers(1, 500))
    def read_from(self, data: st.DataObject, max_bytes: int) -> None:
        offset = data.draw(st.integers(self.start, len(self.records)))
        bound = data.draw(st.sampled_from([*self.batch_starts, len(self.records)]))
        high_watermark = self.log.update_high_watermark(bound)
        answer = read(self.log, offset, max_bytes, FetchIsolation.HIGH_WATERMARK)
        found = [(each.offset, each.value) for batch in batches(answer.read_all()) for each in batch.records()]
        if offset >= high_watermark:
            assert found == []
            return
        assert found[0][0] <= offset <= found[-1][0] < high_watermark
        assert found == [(at, self.records[at][1]) for at in range(found[0][0], found[-1][0] + 1)]
        first_end = min((each for each in self.batch_starts if each > offset), default=len(self.records))
        assert answer.size_bytes <= max_bytes or found[-1][0] == first_end - 1

    @rule(data=st.data())
    def look_for_a_time(self, data: st.DataObject) -> None:
        times = [time for time, _ in self.records[self.start :]] or [10]
        target = data.draw(st.sampled_from(times)) + data.draw(st.integers(-1, 1))
        found = offset_for_time(self.log, target)
        candidates = [(time, at) for at, (time, _) in enumerate(self.records) if at >= self.start and time >= target]
        expected = candidates[0] if candidates else NOT_FOUND[:2]
        assert (found.timestamp, found.offset) == expected

    @invariant()
    def the_same(self) -> None:
        log = self.log
        assert (log.log_start_offset, log.log_end_offset) == (self.start, len(self.records))
        expected = [(at, value) for at, (_, value) in enumerate(self.records) if at >= self.start]
        assert contents(log) == expected
        log.producers.validate_state()
        assert isinstance(offset_for_time(log, -1), OffsetAtTime)


LogAndList.TestCase.settings = settings(
    max_examples=8,
    stateful_step_count=20,
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow],
)
TestLogAndList = LogAndList.TestCase
