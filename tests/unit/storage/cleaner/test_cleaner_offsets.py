"""The cleaner's checkpoint: on disk it never claims more than was done, and it is replaced once at a time."""

from collections.abc import Iterator

from tidelog.model.ids import TopicPartition
from tidelog.ports.errors import DiskFull, IoError, StorageFault
from tidelog.ports.files import Ticket
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem
from tidelog.storage.checkpoints.text import read_offsets
from tidelog.storage.cleaner.cleaner_offsets import CleanerOffsets

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class World:
    def __init__(self) -> None:
        self.clock = SimClock()
        self.fs = SimFileSystem(self.clock, 1, {"/disk": DiskSettings()})
        self.offsets = CleanerOffsets(self.fs, "/disk")

    def on_disk(self) -> dict[TopicPartition, int]:
        return read_offsets(self.fs, "/disk/cleaner-offset-checkpoint")

    def complete(self) -> list[StorageFault | None]:
        self.clock.advance(100)
        return [self.offsets.complete(each) for each in self.fs.completions()]

    def carry_out(self, steps: Iterator[object]) -> None:
        """Carry out the steps as an operation does, which gets its completions after the cleaner."""
        for waits_for in steps:
            assert isinstance(waits_for, list)
            done: list[Ticket] = []
            while waits_for[0] not in done:
                self.clock.advance(100)
                completions = self.fs.completions()
                assert completions, "nothing will come"
                for each in completions:
                    self.offsets.complete(each)
                    done.append(each.ticket)


def test_what_comes_during_a_replacement_is_written_by_the_next() -> None:
    world = World()
    world.offsets.put(T0, 10, [T0, T1])
    world.offsets.put(T1, 20, [T0, T1])
    world.offsets.put(T0, 30, [T0, T1])
    world.complete()
    assert world.on_disk() == {T0: 10}
    assert world.offsets.is_writing
    world.complete()
    assert world.on_disk() == {T0: 30, T1: 20}
    assert not world.offsets.is_writing


def test_a_log_that_is_gone_is_dropped() -> None:
    world = World()
    world.offsets.load({T1: 5})
    world.offsets.put(T0, 10, [T0])
    world.complete()
    assert world.on_disk() == {T0: 10}


def test_it_is_lowered_on_disk_before_it_goes_on() -> None:
    world = World()
    world.offsets.put(T0, 10, [T0])
    world.complete()
    world.offsets.lower({T0: 4, T1: 2})
    assert world.on_disk() == {T0: 4}
    assert world.offsets.get(T1) is None


def test_lowering_waits_for_a_replacement_that_is_under_way() -> None:
    world = World()
    world.offsets.put(T0, 10, [T0])
    world.carry_out(world.offsets.begin_lower({T0: 4}))
    assert world.on_disk() == {T0: 4}
    assert not world.offsets.is_writing


def test_lowering_what_is_low_costs_nothing() -> None:
    world = World()
    world.offsets.put(T0, 10, [T0])
    world.complete()
    count = world.fs.trace.count
    world.carry_out(world.offsets.begin_lower({T0: 10, T1: 0}))
    world.offsets.lower({T0: 11})
    assert world.fs.trace.count == count


def test_putting_and_waiting_for_it() -> None:
    world = World()
    world.offsets.put(T1, 3, [T0, T1])
    world.carry_out(world.offsets.begin_put(T0, 10, [T0, T1]))
    assert world.on_disk() == {T0: 10, T1: 3}


def test_a_full_disk_passes_and_another_fault_does_not() -> None:
    world = World()
    world.fs.disk("/disk").faults.fail(Op.WRITE, fault=DiskFull)
    world.offsets.put(T0, 10, [T0])
    assert world.complete() == [None]
    world.fs.disk("/disk").faults.fail(Op.SYNC, fault=IoError)
    world.offsets.put(T0, 20, [T0])
    (fault,) = world.complete()
    assert isinstance(fault, IoError)
    world.offsets.put(T0, 30, [T0])
    assert world.complete() == [None]
    assert world.on_disk() == {T0: 30}


def test_a_replacement_that_failed_may_be_on_disk_all_the_same() -> None:
    world = World()
    world.fs.disk("/disk").faults.fail(Op.SYNC_DIRECTORY, fault=IoError)
    world.offsets.put(T0, 10, [T0])
    world.complete()
    world.offsets.lower({T0: 4})
    assert world.on_disk() == {T0: 4}


def test_what_can_not_be_is_forgotten_at_the_start() -> None:
    world = World()
    world.offsets.load({T0: 10, T1: 20})
    world.offsets.keep(lambda partition, offset: offset <= 10)
    assert world.on_disk() == {T0: 10}
    assert world.offsets.get(T1) is None
