"""A segment with offsets that no index can hold is split when its log is loaded, whatever happens meanwhile."""

import pytest
from tests.sim.broker import T0, batch_of, contents, topic_config
from tests.unit.storage.power import DIRECTORY, machine, worlds_after_a_cut

from tidelog.ports.durable import write_fully
from tidelog.ports.files import OpenMode
from tidelog.ports.paths import join
from tidelog.sim.files import SimFileSystem
from tidelog.storage.errors import CorruptSegmentError
from tidelog.storage.log.loader import LoadedLog, LogContext, StoredOffsets, load_log
from tidelog.storage.names import LOG_SUFFIX, MAX_INT32, segment_name
from tidelog.storage.segment.descriptors import Descriptors

FAR = MAX_INT32 + 5
OFFSETS = (0, 7, MAX_INT32, FAR, FAR + 1, 2 * FAR)
END = 2 * FAR + 1
CONFIG = topic_config(cleanup_policy=("compact",))


def batch_at(offset: int) -> bytes:
    return offset.to_bytes(8, "big") + batch_of([b"%d" % offset], 5)[8:]  # the checksum does not cover the offset


def write(fs: SimFileSystem, base_offset: int, offsets: tuple[int, ...], *, indexed: bool = True) -> None:
    """Write a segment as an old broker left it: durable, with indexes full of nonsense."""
    data = b"".join(map(batch_at, offsets))
    kinds = {LOG_SUFFIX: data, ".index": b"\xff" * 8, ".timeindex": bytes(12), ".txnindex": b"?" * 34}
    for kind, contents_of in kinds.items():
        if indexed or kind == LOG_SUFFIX:
            file = fs.open(join(DIRECTORY, segment_name(base_offset, kind)), OpenMode.CREATE)
            write_fully(file, 0, [contents_of])
            file.sync()
            file.close()
    fs.sync_directory(DIRECTORY)


def load(fs: SimFileSystem, recovery_point: int = END, *, is_clean: bool = False) -> LoadedLog:
    context = LogContext(Descriptors(fs, 8))
    return load_log(context, DIRECTORY, T0, CONFIG, StoredOffsets(recovery_point), 0, is_clean=is_clean)


def records(offsets: tuple[int, ...] = OFFSETS) -> list[tuple[int, bytes]]:
    return [(offset, b"%d" % offset) for offset in offsets]


@pytest.mark.parametrize("is_clean", [False, True])
def test_an_overflowed_segment_is_split(is_clean: bool) -> None:
    fs = machine()
    write(fs, 0, OFFSETS)
    write(fs, 2 * FAR + 1, (2 * FAR + 1,))
    loaded = load(fs, END + 1, is_clean=is_clean)
    assert list(loaded.log.segments.base_offsets) == [0, MAX_INT32 + 1, 2 * FAR, 2 * FAR + 1]
    assert contents(loaded.log) == [*records(), (2 * FAR + 1, b"%d" % (2 * FAR + 1))]
    assert "split in 3" in loaded.problems[0]
    assert not loaded.truncations
    for segment in loaded.log.segments:
        segment.indexes.offset.sanity_check()
    assert not [name for name in fs.list_directory(DIRECTORY) if name.endswith(("cleaned", "swap", "deleted"))]


def test_the_last_one_is_split_below_the_recovery_point_alone() -> None:
    fs = machine()
    write(fs, 0, OFFSETS)
    loaded = load(fs, 2 * FAR + 1)
    assert list(loaded.log.segments.base_offsets) == [0, MAX_INT32 + 1, 2 * FAR]
    assert contents(loaded.log) == records()


def test_behind_the_recovery_point_only_where_gaps_are_usual_and_a_cleaner_may_have_been() -> None:
    fs = machine()
    write(fs, 0, OFFSETS)
    write(fs, 2 * FAR + 1, (2 * FAR + 1,))
    assert contents(load(fs, 5).log) == [*records(), *records((2 * FAR + 1,))]
    last = machine()
    write(last, 0, OFFSETS)
    assert contents(load(last, 1).log) == records(OFFSETS[:3]), "no cleaner makes the last segment: a torn write"
    plain = machine()
    write(plain, 0, OFFSETS)
    context = LogContext(Descriptors(plain, 8))
    loaded = load_log(context, DIRECTORY, T0, topic_config(), StoredOffsets(1), 0, is_clean=False)
    assert contents(loaded.log) == records(OFFSETS[:1]), "an offset far away may be a torn write"
    assert len(loaded.truncations) == 1


def test_a_first_batch_that_is_far_away_leaves_an_empty_segment() -> None:
    fs = machine()
    write(fs, 0, (FAR, FAR + 1))
    write(fs, FAR + 9, (FAR + 9,))
    loaded = load(fs, FAR + 10)
    assert list(loaded.log.segments.base_offsets) == [0, FAR, FAR + 9]
    assert contents(loaded.log) == records((FAR, FAR + 1, FAR + 9))


def test_a_damaged_one_is_not_touched() -> None:
    fs = machine()
    write(fs, 0, OFFSETS, indexed=False)
    fs.rot(join(DIRECTORY, segment_name(0, LOG_SUFFIX)), [8 * 200])
    with pytest.raises(CorruptSegmentError):
        load(fs)
    assert fs.stat(join(DIRECTORY, segment_name(0, LOG_SUFFIX))).size == len(b"".join(map(batch_at, OFFSETS)))


def test_segments_far_apart_are_nothing_unusual() -> None:
    fs = machine()
    write(fs, 0, (0, 1), indexed=False)
    write(fs, FAR, (FAR,), indexed=False)
    loaded = load(fs, FAR + 1)
    assert list(loaded.log.segments.base_offsets) == [0, FAR]
    assert not any("split" in problem for problem in loaded.problems)


def split(fs: SimFileSystem) -> None:
    load(fs)


def test_the_power_fails_at_every_operation() -> None:
    """The next start after each cut has every record, once, in segments whose indexes can hold the offsets."""
    count = 0
    for fs, _completed in worlds_after_a_cut(lambda fs: write(fs, 0, OFFSETS), split, seeds=4):
        for _ in range(2):
            log = load(fs).log
            assert contents(log) == records()
            assert list(log.segments.base_offsets) == [0, MAX_INT32 + 1, 2 * FAR]
            fs.kill()
        count += 1
    assert count > 40
