"""The leader epochs of a log: assigned, looked up, truncated, and on disk."""

import pytest
from tests.unit.storage.power import DIRECTORY, machine, worlds_after_a_cut

from tidelog.ports.durable import replace_durably
from tidelog.sim.files import SimFileSystem
from tidelog.storage.checkpoints.errors import CorruptCheckpointError
from tidelog.storage.checkpoints.small_files import read_whole
from tidelog.storage.checkpoints.text import EpochEntry
from tidelog.storage.log.leader_epochs import LeaderEpochs

CHECKPOINT = f"{DIRECTORY}/leader-epoch-checkpoint"


def epochs(*entries: tuple[int, int]) -> LeaderEpochs:
    return LeaderEpochs(EpochEntry(*entry) for entry in entries)


def pairs(epochs: LeaderEpochs) -> list[tuple[int, int]]:
    return [(entry.epoch, entry.start_offset) for entry in epochs.entries()]


def test_nothing_is_known_of_an_empty_log() -> None:
    empty = LeaderEpochs()
    assert (empty.latest, empty.earliest, empty.latest_epoch) == (None, None, None)
    assert empty.epoch_for_offset(0) is None
    assert empty.end_offset_for(0, 10) is None
    empty.truncate_from_end(0)
    empty.truncate_from_start(5)
    assert not empty.is_dirty


def test_epochs_are_assigned_once() -> None:
    assigned = LeaderEpochs()
    assert assigned.assign(1, 10)
    assert not assigned.assign(1, 11)
    assert not assigned.assign(1, 10)
    assert assigned.assign(3, 20)
    assert pairs(assigned) == [(1, 10), (3, 20)]


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ((9, 30), [(1, 10), (4, 20), (9, 30)]),  # the next epoch at the same offset: nothing was written in between
        ((9, 25), [(1, 10), (4, 20), (9, 25)]),
        ((9, 20), [(1, 10), (9, 20)]),
        ((9, 5), [(9, 5)]),
        ((6, 25), [(1, 10), (4, 20), (6, 25)]),
        ((2, 40), [(1, 10), (2, 40)]),
        ((1, 40), [(1, 40)]),
        ((0, 40), [(0, 40)]),
        ((6, 31), [(1, 10), (4, 20), (6, 30)]),
    ],
)
def test_an_assignment_removes_what_it_contradicts(entry: tuple[int, int], expected: list[tuple[int, int]]) -> None:
    assigned = epochs((1, 10), (4, 20), (6, 30))
    assigned.assign(*entry)
    assert pairs(assigned) == expected


@pytest.mark.parametrize("entry", [(-1, 0), (0, -1)])
def test_negative_ones_are_a_bug(entry: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="can not begin"):
        LeaderEpochs().assign(*entry)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (-1, None),
        (0, (0, 10)),  # gone: a follower of that epoch goes on at the first offset that is known
        (1, (1, 20)),
        (2, (1, 20)),
        (3, (1, 20)),
        (4, (4, 30)),
        (6, (6, 99)),  # still being written
        (7, None),
    ],
)
def test_where_an_epoch_ends(asked: int, expected: tuple[int, int] | None) -> None:
    assert epochs((1, 10), (4, 20), (6, 30)).end_offset_for(asked, 99) == expected


@pytest.mark.parametrize(("offset", "expected"), [(9, None), (10, 1), (19, 1), (20, 4), (29, 4), (30, 6), (1_000, 6)])
def test_the_epoch_of_an_offset(offset: int, expected: int | None) -> None:
    assert epochs((1, 10), (4, 20), (6, 30)).epoch_for_offset(offset) == expected


def test_neighbours_and_ends() -> None:
    known = epochs((1, 10), (4, 20))
    assert (known.earliest, known.latest, known.latest_epoch) == ((1, 10), (4, 20), 4)
    assert (known.entry(4), known.entry(3), known.entry(5)) == ((4, 20), None, None)
    assert (known.previous(4), known.previous(1), known.previous(9)) == ((1, 10), None, (4, 20))
    assert (known.next(0), known.next(1), known.next(4)) == ((1, 10), (4, 20), None)


@pytest.mark.parametrize(
    ("offset", "expected"),
    [(31, 3), (30, 2), (29, 2), (20, 1), (11, 1), (10, 0), (0, 0), (-1, 3)],
)
def test_truncation_from_the_end(offset: int, expected: int) -> None:
    known = epochs((1, 10), (4, 20), (6, 30))
    known.truncate_from_end(offset)
    assert pairs(known) == [(1, 10), (4, 20), (6, 30)][:expected]
    assert known.is_dirty == (expected < 3)


@pytest.mark.parametrize(
    ("offset", "expected"),
    [
        (9, [(1, 10), (4, 20), (6, 30)]),
        (10, [(1, 10), (4, 20), (6, 30)]),
        (11, [(1, 11), (4, 20), (6, 30)]),
        (20, [(4, 20), (6, 30)]),
        (25, [(4, 25), (6, 30)]),
        (99, [(6, 99)]),
    ],
)
def test_truncation_from_the_start(offset: int, expected: list[tuple[int, int]]) -> None:
    known = epochs((1, 10), (4, 20), (6, 30))
    known.truncate_from_start(offset)
    assert pairs(known) == expected
    assert known.is_dirty == (offset > 10)


def test_a_range_of_it() -> None:
    known = epochs((1, 10), (4, 20), (6, 30))
    assert known.entries_in_range(15, 30) == [(1, 15), (4, 20)]
    assert not known.is_dirty


def test_flushed_and_loaded() -> None:
    fs = machine()
    assert pairs(LeaderEpochs.load(fs, DIRECTORY)) == []
    known = LeaderEpochs()
    known.assign(1, 10)
    known.assign(4, 20)
    known.flush(fs, DIRECTORY)
    assert read_whole(fs, CHECKPOINT) == known.encode() == b"0\n2\n1 10\n4 20\n"
    assert pairs(LeaderEpochs.load(fs, DIRECTORY)) == [(1, 10), (4, 20)]
    assert not LeaderEpochs.load(fs, DIRECTORY).is_dirty


def test_every_change_is_flushed_and_nothing_else() -> None:
    fs = machine()
    known = LeaderEpochs()
    for change in (
        lambda: known.assign(1, 10),
        lambda: known.assign(4, 20),
        lambda: known.truncate_from_end(20),
        lambda: known.truncate_from_start(15),
        known.clear,
    ):
        change()
        assert known.is_dirty
        known.flush(fs, DIRECTORY)
        assert pairs(LeaderEpochs.load(fs, DIRECTORY)) == pairs(known)
        before = fs.trace.count
        known.flush(fs, DIRECTORY)
        assert fs.trace.count == before


def test_a_flush_that_fails_is_still_due() -> None:
    known = LeaderEpochs()
    known.assign(1, 10)
    fs = machine()
    fs.disk("/disk").faults.dead = True
    with pytest.raises(Exception, match="dead"):
        known.flush(fs, DIRECTORY)
    assert known.is_dirty


def test_contradictions_in_the_file_are_resolved_by_the_later_entry() -> None:
    fs = machine()
    replace_durably(fs, CHECKPOINT, b"0\n3\n1 10\n5 30\n3 20\n")
    assert pairs(LeaderEpochs.load(fs, DIRECTORY)) == [(1, 10), (3, 20)]


def test_a_damaged_file_is_not_an_empty_one() -> None:
    fs = machine()
    replace_durably(fs, CHECKPOINT, b"0\n3\n1 10\n")
    with pytest.raises(CorruptCheckpointError):
        LeaderEpochs.load(fs, DIRECTORY)


def test_a_crash_leaves_the_old_or_the_new() -> None:
    def write(fs: SimFileSystem, *entries: tuple[int, int]) -> None:
        known = LeaderEpochs()
        for entry in entries:
            known.assign(*entry)
        known.flush(fs, DIRECTORY)

    worlds = worlds_after_a_cut(lambda fs: write(fs, (1, 10)), lambda fs: write(fs, (1, 10), (4, 20)))
    for fs, completed in worlds:
        found = pairs(LeaderEpochs.load(fs, DIRECTORY))
        assert found == [(1, 10), (4, 20)] or (found == [(1, 10)] and not completed)
