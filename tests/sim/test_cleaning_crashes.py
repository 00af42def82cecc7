"""A whole scheduled compaction (appends, rolls, job, swaps, checkpoint) with the world ending after every single
file-system operation of it, the worker's included; then the broker starts again:

- power: below the recovery point of that moment, death of the process: below the end of the log, the last value of
  each key is right, and nothing is missing that was not obsolete, or a tombstone past its time
- the cleaner's offset on disk promises no more than was done: below it each key is there once
- no `.cleaned` and no `.swap` is left; indexes fit; the cleaner goes on, and in the end the log is clean

And the same compaction with a truncation, a DeleteRecords, a deletion, or the death of its worker, at every step of it.
A failure prints its seed and the operation: `run_one(seed, crash_at, ends_by_power)` shows it again.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import count

import pytest
from tests.sim.broker import T0
from tests.sim.cleaned_broker import COMPACTED, CleanedBroker, Stored, latest, names, stored

from tidelog.ports.errors import HandleClosed
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.files import SimFileSystem
from tidelog.sim.trace import Trace
from tidelog.storage.log.log import Log

NEVER = 1 << 60
RETENTION_MS = 200
GO_ON_EVERY = 8  # two in eight runs of either half go on, which takes longer than all the rest
CONFIG = replace(COMPACTED, internal_segment_bytes=650, delete_retention_ms=RETENTION_MS)


class TheEnd(BaseException):
    """The crash. It is no Exception, so that nothing in the product catches it."""


class EndingTrace(Trace):
    """A trace that crashes within an operation, so that code which runs on the way out does not touch the disk any
    more."""

    def __init__(self, crash_at: int) -> None:
        super().__init__()
        self.crash_at = crash_at
        self.end: Callable[[], None] = lambda: None

    def record(self, *parts: object) -> None:
        super().record(*parts)
        if self.count == self.crash_at:
            self.crash_at = NEVER
            self.end()
            raise TheEnd


class Workload:
    """Keys that come again and again, some of them deleted, cleaned twice while appends go on."""

    def __init__(self, fs: SimFileSystem, clock: SimClock, seed: int) -> None:
        self.node = CleanedBroker(fs, clock, seed, CONFIG)
        self.written: list[Stored] = []
        self.uncleanable_from = 0  # no job may have touched the records from here on
        self.durable_to = self.acknowledged_to = 0
        self.began_at = 0  # the first operation at which there is something to clean

    def run(self) -> None:
        self.node.start()
        self.node.flush()  # before that a new log does not roll
        for cycle in range(2):
            for i in range(7):
                self.put(i, None if i % 3 == cycle else b"%d.%d" % (cycle, i))
                if i % 2:
                    self.node.log().roll(self.node.now)  # small segments, of which several form a group
            self.node.log().roll(self.node.now)
            self.put(99, b"active")
            self.node.make_durable()
            self.began_at = self.began_at or self.node.fs.trace.count
            self.compact()
        self.node.stop()

    def compact(self) -> None:
        """Run turns until the cleaner rests, with an append now and then."""
        for turn in range(400):
            self.node.turn()
            self.note()
            if turn % 29 == 7:
                self.put(turn, b"meanwhile")
            if turn > 15 and not self.node.cleaner.is_busy:
                break
        self.node.clock.advance(RETENTION_MS)

    def put(self, key: int, value: bytes | None) -> None:
        rows = [(b"k%d" % (key % 4), value), (b"other%d" % (key % 3), b"%d" % key)]
        self.written += [Stored(len(self.written) + i, *row) for i, row in enumerate(rows)]
        self.node.put(rows)
        self.acknowledged_to = len(self.written)
        self.note()

    def note(self) -> None:
        log = self.node.log()
        self.durable_to = log.flush.recovery_point
        self.uncleanable_from = max(self.uncleanable_from, log.segments.active.base_offset)


def check(log: Log, written: list[Stored], sure_to: int, uncleanable_from: int) -> None:
    found = stored(log)
    end = log.log_end_offset
    assert end >= sure_to, "durable records are lost"
    assert all(written[each.offset] == each for each in found), "what was never written there"
    assert [each.offset for each in found] == sorted({each.offset for each in found})
    assert latest(found) == latest(written[:end]), "the last value of a key is not what it was"
    there = {each.offset for each in found}
    last = {each.key: each.offset for each in written[:end]}
    for each in written[:end]:
        if each.offset not in there:
            assert each.offset < uncleanable_from, f"{each} was not to be touched"
            assert last[each.key] > each.offset or each.value is None, f"{each} is lost"
    for segment in log.segments:
        segment.indexes.offset.sanity_check()
        segment.indexes.time.sanity_check()


def check_promise(node: CleanedBroker) -> None:
    offset = node.logs.directories["/disk/logs"].cleaner_offsets.get(T0) or 0
    keys = [each.key for each in stored(node.log()) if each.offset < offset]
    assert len(keys) == len(set(keys)), f"not clean up to {offset}, as the checkpoint says"


def machine(seed: int, crash_at: int, ends_by_power: bool) -> tuple[SimFileSystem, SimClock]:
    clock, trace = SimClock(), EndingTrace(crash_at)
    settings = {"/disk": DiskSettings(short_write_chance=0.2, stale_is_intact=False)}
    fs = SimFileSystem(clock, seed, settings, trace=trace)
    trace.end = fs.lose_power if ends_by_power else fs.kill
    return fs, clock


def run_one(seed: int, crash_at: int, ends_by_power: bool) -> bool:
    """Run the workload with a crash, restart, and check; return whether the crash came before the workload's end."""
    fs, clock = machine(seed, crash_at, ends_by_power)
    workload = Workload(fs, clock, seed)
    ended = False
    try:
        workload.run()
    except (TheEnd, HandleClosed):
        ended = True
    trace = fs.trace
    assert isinstance(trace, EndingTrace)
    trace.crash_at = NEVER
    if not ended:
        fs.kill()
    workload.node.housekeeping.stop()
    goes_on = crash_at % GO_ON_EVERY < 2
    for _ in range(1 + goes_on):  # the second start finds what the first one left
        again = CleanedBroker(fs, clock, seed + 1, CONFIG).start()
        assert not again.logs.directories["/disk/logs"].corrupt, again.progress.problems
        log = again.log()
        assert not names(again, ".cleaned") + names(again, ".swap")
        sure_to = workload.durable_to if ends_by_power and ended else workload.acknowledged_to
        check(log, workload.written, sure_to, workload.uncleanable_from)
        check_promise(again)
        fs.kill()
    if goes_on:
        go_on(CleanedBroker(fs, clock, seed + 2, CONFIG).start(), workload.written)
    return ended


def go_on(node: CleanedBroker, written: list[Stored]) -> None:
    log = node.log()
    before = latest(written[: log.log_end_offset])
    log.update_high_watermark(log.log_end_offset)
    log.roll(node.now)
    node.put([(b"behind", b"it")])
    node.make_durable()
    node.clean()
    found = stored(node.log())
    assert latest(found) == {**before, b"behind": b"it"}
    keys = [each.key for each in found]
    assert len(keys) == len(set(keys))
    assert not node.cleaner.uncleanable


@pytest.mark.parametrize(("seed", "ends_by_power", "first"), [(3, True, 1), (3, True, 2), (8, False, 1)])
def test_the_world_ends_after_every_operation(seed: int, ends_by_power: bool, first: int) -> None:
    """The crashes begin with the first cleaning: what goes before is the log's alone (`test_log_crashes`), and comes
    again between the two cleanings. They run in two halves, for two processes; the death of the process alone runs in
    one half only, as it leaves no more than a power loss may leave."""
    undisturbed = Workload(*machine(seed, NEVER, ends_by_power), seed)
    undisturbed.run()
    for crash_at in count(undisturbed.began_at + first, 2):
        try:
            if not run_one(seed, crash_at, ends_by_power):
                break
        except Exception as error:
            raise AssertionError(f"run_one(seed={seed}, crash_at={crash_at}, ends_by_power={ends_by_power})") from error
    assert crash_at > undisturbed.began_at + 200, "the workload does something"
    counts = undisturbed.node.cleaner.counts
    assert counts.cleanings == 2
    last = counts.last_cleanings[-1].stats
    assert last.segments_read > last.segments_written > 1, "several groups of several segments"


# Other events at any step of a log's cleaning


def prepared(seed: int = 5) -> Workload:
    fs, clock = machine(seed, NEVER, False)
    workload = Workload(fs, clock, seed)
    workload.node.start()
    workload.node.flush()
    for i in range(9):
        workload.put(i, b"%d" % i)
        if i % 2:
            workload.node.log().roll(workload.node.now)
    workload.node.log().roll(workload.node.now)
    workload.put(99, b"active")
    workload.node.make_durable()
    return workload


def truncate(workload: Workload) -> None:
    node, log = workload.node, workload.node.log()
    target = log.end_if_truncated_to(9)
    node.truncate(target)
    del workload.written[log.log_end_offset :]
    node.epoch += 1


def delete_records(workload: Workload) -> None:
    workload.node.log().delete_records(7)


def delete(workload: Workload) -> None:
    workload.node.logs.delete(T0, "0" * 32, workload.node.now)
    workload.written.clear()


def kill_worker(workload: Workload) -> None:
    for work in workload.node.housekeeping.under_way:
        workload.node.housekeeping.kill(work)


def switch_policy(workload: Workload) -> None:
    workload.node.set_config(cleanup_policy=("delete",))
    workload.node.turns(3)
    workload.node.set_config(cleanup_policy=("compact",))


@pytest.mark.parametrize("what", [truncate, delete_records, delete, kill_worker, switch_policy])
def test_it_happens_at_every_step_of_a_cleaning(what: Callable[[Workload], None]) -> None:
    swaps = 0
    for step in count():
        workload = prepared()
        node = workload.node
        node.turns(step)
        is_over = node.cleaner.counts.cleanings > 0
        swaps += node.log().swap is not None
        what(workload)
        for i in range(5):
            node.turns(2)
            workload.put(i, b"after %d" % i)
        node.log().roll(node.now)
        workload.put(99, b"active again")
        node.make_durable()
        node.clean()
        start = node.log().log_start_offset
        expected = latest(each for each in workload.written if each.offset >= start)
        assert latest(each for each in stored(node.log()) if each.offset >= start) == expected, f"step {step}"
        assert not names(node, ".cleaned") + names(node, ".swap")
        assert not node.log().is_being_cleaned
        assert what is kill_worker or not node.cleaner.uncleanable
        node.stop()
        again = CleanedBroker(node.fs, node.clock, 6, CONFIG).start()
        assert stored(again.log()) == stored(node.log())
        check_promise(again)
        node.fs.kill()
        if is_over:
            break
    assert step > 15, "there were steps to interfere with"
    assert swaps > 3, "in the middle of a swap, too"
