"""A partition is deleted and made again, records are deleted, segments expire; and the world ends after every single
operation of it, by power and by death. Then the broker starts again:

- a deleted partition is gone or whole, never half; the one made again in its place has its own topic id and nothing of
  the old one; both keep the durability contract
- the log start is one that was asked for, never before the checkpointed one, and every record behind it is there
- what was on its way out goes at last, and `log verify` finds nothing wrong
"""

from dataclasses import dataclass, field

import pytest
from tests.sim.broker import T0, TOPIC_ID, Broker, batch_of, contents, topic_config
from tests.sim.crashing import LOGS, cut_short, problems
from tests.sim.log_model import check_indexes
from tests.sim.test_log_crashes import NEVER, machine

from tidelog.model.ids import Uuid
from tidelog.sim.clock import SimClock
from tidelog.sim.files import SimFileSystem
from tidelog.storage.log.group_commit import Append
from tidelog.storage.log.log import Log

CONFIG = topic_config(internal_segment_bytes=300, index_interval_bytes=60, file_delete_delay_ms=0)
NEW_ID = Uuid(bytes(range(16, 32)))
OPERATIONS_MAX = 1000


@dataclass
class Told:
    """The records that one topic acknowledged, and how far they are durable."""

    records: list[tuple[int, bytes]] = field(default_factory=list)
    acknowledged_to: int = 0
    durable_to: int = 0
    start_asked_for: int = 0
    start_written: int = 0


class Scenario:
    def __init__(self, seed: int) -> None:
        self.fs, self.clock = machine(seed, NEVER)
        self.broker = Broker(self.fs, self.clock, config=CONFIG)
        self.broker.flushes_new = seed % 2 == 0
        self.told: dict[Uuid, Told] = {}
        self.deleting = self.deleted = False

    def produce(self, topic_id: Uuid, count: int) -> None:
        told, log = self.told[topic_id], self.broker.logs.get(T0)
        assert log is not None
        for _ in range(count):
            values = [b"%d of %d" % (len(told.records) + i, topic_id[0]) for i in range(2)]
            told.records += [(log.log_end_offset + i, value) for i, value in enumerate(values)]
            buffer = memoryview(bytearray(batch_of(values, self.broker.now)))
            assert isinstance(log.append_as_leader(buffer, 0, len(buffer), 0, self.broker.now), Append)
            self.broker.logs.commit([log], self.broker.now)
            told.acknowledged_to = len(told.records)

    def flush(self, topic_id: Uuid) -> None:
        log = self.broker.logs.get(T0)
        assert log is not None
        log.flush.ask(log)
        self.broker.settle()
        self.told[topic_id].durable_to = len(self.told[topic_id].records)

    def retain(self) -> None:
        """Delete old segments, and give them the time to go."""
        for _ in range(2):
            self.broker.retain()
            self.clock.advance(10)


class Deletion(Scenario):
    def run(self) -> None:
        self.broker.start()
        self.told[TOPIC_ID] = Told()
        self.broker.log()
        self.produce(TOPIC_ID, 8)
        self.flush(TOPIC_ID)
        self.broker.checkpoint()
        self.produce(TOPIC_ID, 3)
        self.deleting = True
        self.broker.logs.delete(T0, "0" * 32, self.broker.now)
        self.broker.logs.begin_retention(self.broker.now)  # its files are removed as soon as that is safe
        self.told[NEW_ID] = Told()
        creation = self.broker.logs.begin_create({T0: NEW_ID}, self.broker.now)
        self.broker.settle()
        assert isinstance(creation.outcomes[T0], Log)
        self.retain()
        self.produce(NEW_ID, 3)
        self.flush(NEW_ID)
        self.deleted = True
        self.broker.checkpoint()
        self.produce(NEW_ID, 3)

    def check(self, by_power: bool) -> None:
        broker = start(self.fs, self.clock)
        log = broker.logs.get(T0)
        if log is None:
            assert self.deleting or TOPIC_ID not in self.told or not self.told[TOPIC_ID].durable_to
            assert not self.deleted, "the new one is durable"
        elif log.topic_id is None:
            # The topic id is synced with the first flush: without it nothing here was durable.
            told = self.told.get(NEW_ID) or self.told[TOPIC_ID]
            assert not told.durable_to
            assert by_power or not told.acknowledged_to
            assert contents(log) == []
        else:
            assert log.topic_id == NEW_ID or not self.deleted, "the old one is back"
            check_whole(log, self.told[log.topic_id], by_power)
        self.clock.advance(10)
        broker.retain()
        assert [name for name in self.fs.list_directory(LOGS) if "delete" in name] == []
        broker.stop()
        assert [each for each in problems(self.fs) if "partition.metadata" not in each] == []


class OldRecords(Scenario):
    """A scenario of DeleteRecords, then retention of what it left behind, and both again."""

    def run(self) -> None:
        self.broker.start()
        self.told[TOPIC_ID] = Told()
        self.broker.log()
        for target in (5, 6, 15):
            self.produce(TOPIC_ID, 5)
            self.flush(TOPIC_ID)
            self.delete_records(target)
            self.retain()
            self.told[TOPIC_ID].start_written = target

    def delete_records(self, target: int) -> None:
        log = self.broker.log()
        log.update_high_watermark(log.log_end_offset)
        self.told[TOPIC_ID].start_asked_for = target
        log.delete_records(target)

    def check(self, by_power: bool) -> None:
        broker = start(self.fs, self.clock)
        log = broker.logs.get(T0)
        told = self.told.get(TOPIC_ID, Told())
        if log is None:
            assert not told.durable_to
        else:
            assert told.start_written <= log.log_start_offset <= told.start_asked_for
            check_whole(log, told, by_power)
        broker.stop()
        assert [each for each in problems(self.fs) if "partition.metadata" not in each] == []
        assert not [name for name in names_of(self.fs) if name.endswith(".deleted")]


def names_of(fs: SimFileSystem) -> list[str]:
    return [name for each in fs.list_directory(LOGS) if each == "t-0" for name in fs.list_directory(f"{LOGS}/{each}")]


def start(fs: SimFileSystem, clock: SimClock) -> Broker:
    broker = Broker(fs, clock, config=CONFIG).start()
    assert not broker.logs.directories[LOGS].corrupt, broker.progress.problems
    return broker


def check_whole(log: Log, told: Told, by_power: bool) -> None:
    """Check that the records have no hole from the start on, and that all are there, or at least all durable ones."""
    found = contents(log)
    assert found == told.records[log.log_start_offset : log.log_end_offset]
    assert log.log_end_offset >= (told.durable_to if by_power else told.acknowledged_to)
    check_indexes(log)


@pytest.mark.parametrize("by_power", [True, False])
@pytest.mark.parametrize(
    ("kind", "seed"), [(Deletion, 1), (Deletion, 2), (Deletion, 3), (OldRecords, 1), (OldRecords, 2)]
)
def test_a_crash_after_every_operation(kind: type[Deletion] | type[OldRecords], seed: int, by_power: bool) -> None:
    for operation in range(1, OPERATIONS_MAX):
        scenario = kind(seed)
        try:
            was_cut = cut_short(scenario.fs, scenario.run, operation, by_power=by_power)
            if not was_cut:
                assert operation > 50, "the scenario does something"
                return
            scenario.check(by_power)
        except Exception as error:
            raise AssertionError(f"{kind.__name__}({seed}), cut at {operation}, {by_power=}") from error
    raise AssertionError("it never came to its end")
