"""`.index`: Kafka's bytes, lookups, truncation, and the entries in memory and in the file."""

import pytest
from tests.unit.storage.segment_data import DIRECTORY, contents, files, machine

from tidelog.ports.errors import IoError
from tidelog.ports.files import OpenMode
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem
from tidelog.storage.errors import CorruptIndexError, SegmentOverflowError
from tidelog.storage.segment.index_file import SPILL_BYTES
from tidelog.storage.segment.offset_index import OffsetIndex, OffsetPosition

BASE = 100
NAME = "00000000000000000100.index"


def index_on(fs: SimFileSystem, max_bytes: int = 1 << 20) -> OffsetIndex:
    return OffsetIndex(files(fs, BASE), max_bytes)


def filled(fs: SimFileSystem, count: int = 5, flush_at: int = 3) -> OffsetIndex:
    """Return an index of entries 110 -> 1000, 120 -> 2000 and so on; the first of them in the file, the others in
    memory."""
    index = index_on(fs)
    for i in range(1, count + 1):
        index.append(BASE + 10 * i, 1000 * i)
        if i == flush_at:
            index.flush_entries()
    return index


def test_the_file_is_kafkas() -> None:
    fs = machine()
    index = index_on(fs)
    index.append(105, 7)
    index.append(BASE + 2**31 - 1, 2**31 - 1)
    index.flush_entries()
    assert contents(fs, NAME) == bytes.fromhex("00000005 00000007 7fffffff 7fffffff")


@pytest.mark.parametrize("flush_at", [0, 3, 5])
def test_a_lookup_finds_the_last_entry_at_or_before(flush_at: int) -> None:
    index = filled(machine(), flush_at=flush_at)
    found = {offset: index.lookup(offset) for offset in (0, 100, 109, 110, 119, 120, 139, 140, 150, 999)}
    start = OffsetPosition(100, 0)
    expected = [start, start, start, (110, 1000), (110, 1000), (120, 2000), (130, 3000), (140, 4000), (150, 5000)]
    assert list(found.values()) == [*expected, (150, 5000)]


def test_a_lookup_by_position() -> None:
    index = filled(machine())
    assert [index.lookup_position(p).position for p in (0, 999, 1000, 3999, 4000, 9999)] == [
        0,
        0,
        1000,
        3000,
        4000,
        5000,
    ]


def test_an_index_read_back_says_the_same() -> None:
    fs = machine()
    filled(fs).flush_entries()
    index = index_on(fs)
    assert index.entries == 5
    assert index.last_entry() == (150, 5000)
    assert [index.entry(slot) for slot in (0, 4)] == [(110, 1000), (150, 5000)]


@pytest.mark.parametrize("flush_at", [0, 3, 5])
@pytest.mark.parametrize(("offset", "left"), [(0, 0), (110, 0), (111, 1), (130, 2), (131, 3), (141, 4), (999, 5)])
def test_truncation_drops_what_is_at_or_past_the_offset(flush_at: int, offset: int, left: int) -> None:
    fs = machine()
    index = filled(fs, flush_at=flush_at)
    index.truncate_to(offset)
    assert index.entries == left
    assert index.last_entry() == ((100, 0) if not left else (100 + 10 * left, 1000 * left))
    index.append(1000, 9000)
    index.flush_entries()
    assert index_on(fs).last_entry() == (1000, 9000)
    assert len(contents(fs, NAME)) == 8 * (left + 1)


def test_it_is_full_at_its_limit() -> None:
    index = index_on(machine(), max_bytes=17)
    full = []
    for offset in (101, 102):
        full.append(index.is_full)
        index.append(offset, 1)
    assert [*full, index.is_full] == [False, False, True]
    with pytest.raises(AssertionError, match="full"):
        index.append(103, 3)
    index.append_entries(b"12345678")
    assert index.entries == 2


def test_offsets_must_grow() -> None:
    index = filled(machine())
    with pytest.raises(AssertionError, match="not past the last"):
        index.append(150, 6000)


@pytest.mark.parametrize(("offset", "position"), [(BASE - 1, 0), (BASE + 2**31, 0), (BASE + 1, 2**31)])
def test_what_needs_more_than_32_bits_is_refused(offset: int, position: int) -> None:
    with pytest.raises(SegmentOverflowError):
        index_on(machine()).append(offset, position)


def test_many_waiting_entries_ask_to_be_written() -> None:
    index = index_on(machine())
    for i in range(SPILL_BYTES // 8):
        assert not index.wants_flush
        index.append(BASE + 1 + i, i)
    assert index.wants_flush
    index.flush_entries()
    assert not index.wants_flush


def test_after_a_failed_write_the_entries_still_wait_and_are_written_later() -> None:
    fs = machine()
    index = filled(fs)
    fs.disk("/disk").faults.fail(Op.WRITE)
    with pytest.raises(IoError):
        index.flush_entries()
    assert index.lookup(150) == (150, 5000)
    index.flush_entries()
    assert [index_on(fs).entry(slot).offset for slot in range(5)] == [110, 120, 130, 140, 150]


def test_reset_empties_the_file_too() -> None:
    fs = machine()
    index = filled(fs)
    index.reset()
    assert (index.entries, contents(fs, NAME)) == (0, b"")
    assert index.lookup(150) == (100, 0)


def test_a_file_that_is_not_there_is_an_empty_index() -> None:
    index = index_on(machine())
    index.sanity_check()
    assert (index.entries, index.file_size(), index.lookup(500)) == (0, None, (100, 0))


@pytest.mark.parametrize("data", [b"\0" * 9, b"\xff" * 8, b"\0\0\0\1\xff\0\0\0"])
def test_a_broken_file_is_noticed(data: bytes) -> None:
    fs = machine()
    fs.open(f"{DIRECTORY}/{NAME}", OpenMode.CREATE).write_at(0, [data])
    with pytest.raises(CorruptIndexError, match=NAME):
        index_on(fs).sanity_check()


def test_a_file_that_shrank_under_us_is_corrupt_and_no_wrong_answer() -> None:
    fs = machine()
    filled(fs).flush_entries()
    index = index_on(fs)
    assert index.entries == 5
    fs.open(f"{DIRECTORY}/{NAME}", OpenMode.WRITE).truncate(12)
    with pytest.raises(CorruptIndexError):
        index.lookup(145)
