"""The swap: step by step, and with the power cut after every single operation of cleaning, swapping and recovering.
Afterwards each group has its old segments or its new one, whole, with the indexes that belong to it."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from tests.unit.storage.cleaner.toylog import (
    DIRECTORY,
    ToyLog,
    machine,
    read_batches,
    read_file,
    segment_bases,
    settings,
)

from tidelog.ports.errors import IoError
from tidelog.ports.files import OpenMode
from tidelog.sim.files import SimFileSystem
from tidelog.storage.cleaner.cleaning import clean_log
from tidelog.storage.cleaner.job import CleanedSegment
from tidelog.storage.cleaner.swap import complete_swap, remove_cleaned, swap, swap_steps
from tidelog.storage.errors import CorruptSegmentError
from tidelog.storage.names import LOG_SUFFIX, TRANSACTION_INDEX_SUFFIX, segment_name
from tidelog.storage.segment.descriptors import Descriptors
from tidelog.storage.segment.segment import Segment

ACTIVE = 12
Snapshot = dict[int, tuple[bytes, bytes]]


def dirty_log(seed: int = 1) -> ToyLog:
    """Return a log of five segments, which cleaning makes into two groups. In the first, all records at its end go, and
    so does the aborted transaction of its old index."""
    log = ToyLog(machine(seed))
    log.data([(b"a", b"1"), (b"b", b"1")], producer=1, transactional=True)
    log.marker(1, committed=False)
    log.roll()
    log.data([(b"c", b"1"), (b"d", b"x" * 200)])
    log.roll()
    log.data([(b"d", b"2"), (b"e", b"1")])
    log.roll()
    log.data([(b"e", b"2"), (b"e", b"3")])
    log.roll()
    log.data([(b"e", b"x" * 200), (b"f", b"1"), (b"f", b"2")])
    log.roll()
    assert log.base_offsets == [0, 3, 5, 7, 9, ACTIVE]
    return log


def cleaned_segments(log: ToyLog) -> list[CleanedSegment]:
    """Run the whole job, and swap nothing in yet."""
    job = log.job(log.now_ms, settings(segment_bytes_max=600), producers={})
    return [step for step in clean_log(log.fs, job) if isinstance(step, CleanedSegment)]


def snapshot(fs: SimFileSystem) -> Snapshot:
    """Return log and aborted transactions of each closed segment. (The active one's survival is not up to the
    cleaner.)"""
    found: Snapshot = {}
    for base in segment_bases(fs):
        if base != ACTIVE:
            index = f"{DIRECTORY}/{segment_name(base, TRANSACTION_INDEX_SUFFIX)}"
            names = fs.list_directory(DIRECTORY)
            aborted = read_file(fs, index) if segment_name(base, TRANSACTION_INDEX_SUFFIX) in names else b""
            found[base] = read_file(fs, f"{DIRECTORY}/{segment_name(base, LOG_SUFFIX)}"), aborted
    return found


def check_indexes(fs: SimFileSystem) -> None:
    """Check that every batch is found through its segment's index."""
    descriptors = Descriptors(fs)
    for base in segment_bases(fs):
        segment = Segment.open(descriptors, DIRECTORY, base, settings().index)
        segment.indexes.offset.sanity_check()
        segment.indexes.time.sanity_check()
    for batch in read_batches(fs):
        base = max(base for base in segment_bases(fs) if base <= batch.header.base_offset)
        located = Segment.open(descriptors, DIRECTORY, base, settings().index).locate(batch.header.base_offset, 1)
        assert located is not None
        assert located.base_offset == batch.header.base_offset
    descriptors.close()


def possible_states() -> list[Snapshot]:
    log = dirty_log()
    segments = cleaned_segments(log)
    states = [snapshot(log.fs)]
    for segment in segments:
        log.swap_in(segment)
        states.append(snapshot(log.fs))
    assert [sorted(state) for state in states] == [[0, 3, 5, 7, 9], [0, 9], [0, 9]]
    assert states[1] != states[2]
    return states


class PowerCut(BaseException):
    """The loss of power in the middle of an operation, which nothing that runs may catch."""


def interrupted(fs: SimFileSystem, steps: int, end: Callable[[], None], work: Callable[[], object]) -> bool:
    """Cut the work when the trace has grown by `steps` lines; clean-up on the way out finds a dead disk. Return whether
    the work had ended before."""
    record, last = fs.trace.record, fs.trace.count + steps
    finished = False

    def cut(*parts: object) -> None:
        record(*parts)
        if fs.trace.count == last:
            fs.disk("/disk").faults.dead = True
            raise PowerCut

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fs.trace, "record", cut)
        with suppress(PowerCut, IoError):
            work()
            finished = True
    fs.disk("/disk").faults.heal()
    end()
    return finished


def clean_and_swap(log: ToyLog) -> None:
    for segment in cleaned_segments(log):
        log.swap_in(segment)


@pytest.mark.parametrize("power", [True, False], ids=["power", "process"])
def test_a_crash_after_any_operation_leaves_the_old_or_the_new(power: bool) -> None:
    states = possible_states()
    seen = [0] * len(states)
    steps, finished = 0, False
    while not finished:
        steps += 1
        for seed in range(4) if power else range(1):
            log = dirty_log(seed)
            fs = log.fs
            end = fs.lose_power if power else fs.kill
            finished = interrupted(fs, steps, end, lambda log=log: clean_and_swap(log))  # type: ignore[misc]
            # Recovery is cut somewhere, too, and then runs to its end.
            interrupted(fs, 1 + steps % 9, end, lambda fs=fs: complete_swap(Descriptors(fs), DIRECTORY))  # type: ignore[misc]
            complete_swap(Descriptors(fs), DIRECTORY)
            found = snapshot(fs)
            assert found in states, f"step {steps}, seed {seed}: {sorted(found)}"
            check_indexes(fs)
            assert not [n for n in fs.list_directory(DIRECTORY) if n.endswith((".cleaned", ".swap"))]
            seen[states.index(found)] += 1
    assert steps > 40
    assert min(seen) > 3
    assert found == states[-1], "what had ended must be there"


def test_what_is_committed_is_completed_by_recovery() -> None:
    log = dirty_log()
    new = possible_states()[1]
    first, _ = cleaned_segments(log)
    steps = swap_steps(log.descriptors, DIRECTORY, first.base_offset, first.replaced)
    next(steps)
    log.fs.sync_directory(DIRECTORY)
    log.fs.lose_power()
    done = complete_swap(Descriptors(log.fs), DIRECTORY)
    assert done.completed == [0]
    assert segment_name(7, LOG_SUFFIX) in done.removed
    assert snapshot(log.fs) == new


def test_a_swap_under_way_ends_with_one_that_is_being_written() -> None:
    """Kafka's rule, by which it can give up several new segments at once, is that none of them counts before all do."""
    log = dirty_log()
    old = snapshot(log.fs)
    first, second = cleaned_segments(log)
    next(swap_steps(log.descriptors, DIRECTORY, second.base_offset, second.replaced))
    log.fs.kill()
    done = complete_swap(Descriptors(log.fs), DIRECTORY)
    assert done.completed == []
    assert snapshot(log.fs) == old
    assert first.base_offset < second.base_offset


def test_the_replaced_wait_for_their_deletion() -> None:
    log = dirty_log()
    first, _ = cleaned_segments(log)
    assert first.replaced == (0, 3, 5, 7)
    swap(log.descriptors, DIRECTORY, first.base_offset, first.replaced)
    waiting = {name for name in log.fs.list_directory(DIRECTORY) if name.endswith(".deleted")}
    assert {segment_name(base, LOG_SUFFIX, ".deleted") for base in (3, 5, 7)} <= waiting
    assert segment_name(0, LOG_SUFFIX, ".deleted") not in waiting


@pytest.mark.parametrize("seed", range(5))
def test_a_finished_swap_needs_no_recovery(seed: int) -> None:
    log = dirty_log(seed)
    clean_and_swap(log)
    log.fs.lose_power()
    assert not [name for name in log.fs.list_directory(DIRECTORY) if name.endswith((".cleaned", ".swap"))]
    assert snapshot(log.fs) == possible_states()[-1]


def test_a_reader_of_the_old_segment_reads_on() -> None:
    log = dirty_log()
    reader = log.fs.open(log.path(0), OpenMode.READ)
    before = reader.read_at(0, 10_000)
    clean_and_swap(log)
    assert reader.read_at(0, 10_000) == before
    assert read_file(log.fs, log.path(0)) != before


def test_a_swap_that_is_off_leaves_the_old() -> None:
    log = dirty_log()
    old, names = snapshot(log.fs), log.fs.list_directory(DIRECTORY)
    for segment in cleaned_segments(log):
        remove_cleaned(log.descriptors, DIRECTORY, segment.base_offset)
    assert snapshot(log.fs) == old
    assert log.fs.list_directory(DIRECTORY) == names


def test_a_directory_without_swaps_is_left_alone() -> None:
    log = dirty_log()
    names = log.fs.list_directory(DIRECTORY)
    done = complete_swap(log.descriptors, DIRECTORY)
    assert (done.completed, done.removed) == ([], [])
    assert log.fs.list_directory(DIRECTORY) == names


def test_a_damaged_swap_is_not_guessed_at() -> None:
    log = dirty_log()
    first, _ = cleaned_segments(log)
    next(swap_steps(log.descriptors, DIRECTORY, first.base_offset, first.replaced))
    log.fs.sync_directory(DIRECTORY)
    log.fs.rot(f"{DIRECTORY}/{segment_name(0, LOG_SUFFIX, '.swap')}", [8 * 30])
    remove_cleaned(log.descriptors, DIRECTORY, 9)
    with pytest.raises(CorruptSegmentError):
        complete_swap(log.descriptors, DIRECTORY)
    assert sorted(snapshot(log.fs)) == [0, 3, 5, 7, 9]
