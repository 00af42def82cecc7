"""`.timeindex`: Kafka's bytes, timestamps that only grow, and the slot that is kept for the end."""

import pytest
from tests.unit.storage.segment_data import DIRECTORY, contents, files, machine

from tidelog.ports.files import OpenMode
from tidelog.sim.files import SimFileSystem
from tidelog.storage.errors import CorruptIndexError, SegmentOverflowError
from tidelog.storage.segment.time_index import TimeIndex, TimestampOffset

BASE = 100
NAME = "00000000000000000100.timeindex"


def index_on(fs: SimFileSystem, max_bytes: int = 1 << 20) -> TimeIndex:
    return TimeIndex(files(fs, BASE), max_bytes)


def filled(fs: SimFileSystem) -> TimeIndex:
    index = index_on(fs)
    for i in range(1, 4):
        index.maybe_append(1000 * i, BASE + 10 * i)
    index.flush_entries()
    index.maybe_append(4000, 140)
    return index


def test_the_file_is_kafkas() -> None:
    fs = machine()
    index = index_on(fs)
    index.maybe_append(0x0102030405060708, 105)
    index.flush_entries()
    assert contents(fs, NAME) == bytes.fromhex("0102030405060708 00000005")


def test_a_lookup_finds_the_last_entry_at_or_before() -> None:
    index = filled(machine())
    found = [index.lookup(timestamp) for timestamp in (-1, 999, 1000, 1999, 3000, 3999, 4000, 9999)]
    nothing = TimestampOffset(-1, BASE)
    assert found == [
        nothing, nothing, (1000, 110), (1000, 110), (3000, 130), (3000, 130), (4000, 140), (4000, 140)
    ]  # fmt: skip


def test_only_a_later_timestamp_makes_an_entry() -> None:
    index = filled(machine())
    index.maybe_append(4000, 200)
    index.maybe_append(17, 200)
    index.maybe_append(-1, 200)
    assert (index.entries, index.last_entry()) == (4, (4000, 140))


def test_without_timestamps_it_stays_empty() -> None:
    index = index_on(machine())
    index.maybe_append(-1, 105)
    assert (index.entries, index.last_entry()) == (0, (-1, BASE))


def test_a_timestamp_of_zero_is_one() -> None:
    index = index_on(machine())
    index.maybe_append(0, 105)
    assert index.last_entry() == (0, 105)


def test_the_last_slot_is_kept_for_the_end() -> None:
    index = index_on(machine(), max_bytes=24)
    index.maybe_append(1, 101)
    assert index.is_full
    with pytest.raises(AssertionError, match="full"):
        index.maybe_append(2, 102)
    index.append_entries(b"123456789012")
    assert index.entries == 1
    index.maybe_append(2, 102, use_last_slot=True)
    assert index.last_entry() == (2, 102)


@pytest.mark.parametrize(("offset", "left"), [(100, 0), (110, 0), (111, 1), (140, 3), (141, 4)])
def test_truncation_drops_what_is_at_or_past_the_offset(offset: int, left: int) -> None:
    fs = machine()
    index = filled(fs)
    index.truncate_to(offset)
    index.flush_entries()
    assert index_on(fs).entries == index.entries == left


def test_offsets_of_entries_must_not_go_back() -> None:
    with pytest.raises(AssertionError, match="before the last"):
        filled(machine()).maybe_append(5000, 139)


def test_an_offset_beyond_32_bits_is_refused() -> None:
    with pytest.raises(SegmentOverflowError):
        index_on(machine()).maybe_append(1, BASE + 2**31)


@pytest.mark.parametrize(
    "data",
    [b"\0" * 11, bytes(7) + b"\x09" + bytes(11) + b"\x08" + bytes(4), bytes(8) + b"\xff" * 4],
    ids=["cut", "timestamps go back", "before the base offset"],
)
def test_a_broken_file_is_noticed(data: bytes) -> None:
    fs = machine()
    fs.open(f"{DIRECTORY}/{NAME}", OpenMode.CREATE).write_at(0, [data])
    with pytest.raises(CorruptIndexError, match=NAME):
        index_on(fs).sanity_check()


def test_a_good_file_passes() -> None:
    fs = machine()
    filled(fs).flush_entries()
    index_on(fs).sanity_check()
