"""`.txnindex`: Kafka's bytes, and the aborted transactions that a fetch has to be told of."""

import pytest
from tests.unit.storage.segment_data import DIRECTORY, contents, files, machine

from tidelog.ports.files import OpenMode
from tidelog.sim.files import SimFileSystem
from tidelog.storage.errors import CorruptIndexError
from tidelog.storage.segment.transaction_index import AbortedTxn, TransactionIndex

BASE = 100
NAME = "00000000000000000100.txnindex"
# Two transactions that overlap, one that began in an earlier segment, one on its own.
FIRST = AbortedTxn(producer_id=1, first_offset=105, last_offset=115, last_stable_offset=90)
SECOND = AbortedTxn(producer_id=2, first_offset=90, last_offset=120, last_stable_offset=121)
THIRD = AbortedTxn(producer_id=1, first_offset=130, last_offset=140, last_stable_offset=141)


def index_on(fs: SimFileSystem) -> TransactionIndex:
    return TransactionIndex(files(fs, BASE))


def filled(fs: SimFileSystem) -> TransactionIndex:
    index = index_on(fs)
    index.append(FIRST)
    index.append(SECOND)
    index.flush_entries()
    index.append(THIRD)
    return index


def test_the_file_is_kafkas() -> None:
    fs = machine()
    index = index_on(fs)
    index.append(AbortedTxn(1, 2, 300, 4))
    index.flush_entries()
    expected = "0000 0000000000000001 0000000000000002 000000000000012c 0000000000000004"
    assert contents(fs, NAME) == bytes.fromhex(expected)


def test_there_is_no_file_without_aborted_transactions() -> None:
    fs = machine()
    index = index_on(fs)
    index.flush_entries()
    assert fs.list_directory(DIRECTORY) == []
    assert index.collect(0, 1000) == ([], False)


@pytest.mark.parametrize(
    ("fetch_offset", "upper_bound", "expected", "complete"),
    [
        (100, 200, [FIRST, SECOND, THIRD], False),
        (100, 105, [SECOND], True),  # the first one begins at the bound; the second decides everything up to 121
        (100, 121, [FIRST, SECOND], True),
        (100, 122, [FIRST, SECOND], True),
        (116, 130, [SECOND], True),
        (115, 131, [FIRST, SECOND, THIRD], True),
        (121, 141, [THIRD], True),
        (121, 142, [THIRD], False),
        (141, 200, [], False),
    ],
)
def test_a_fetch_hears_of_those_that_overlap_it(
    fetch_offset: int, upper_bound: int, expected: list[AbortedTxn], complete: bool
) -> None:
    assert filled(machine()).collect(fetch_offset, upper_bound) == (expected, complete)


def test_it_is_read_back() -> None:
    fs = machine()
    filled(fs).flush_entries()
    index_on(fs).sanity_check()
    assert index_on(fs).all() == [FIRST, SECOND, THIRD]


@pytest.mark.parametrize(("offset", "left"), [(115, 0), (116, 1), (120, 1), (121, 2), (140, 2), (141, 3)])
def test_truncation_drops_those_whose_marker_goes(offset: int, left: int) -> None:
    fs = machine()
    index = filled(fs)
    index.truncate_to(offset)
    index.flush_entries()
    assert index_on(fs).all() == [FIRST, SECOND, THIRD][:left]


def test_markers_come_in_order() -> None:
    with pytest.raises(AssertionError, match="not past the last"):
        filled(machine()).append(AbortedTxn(9, 100, 140, 141))


@pytest.mark.parametrize(
    ("entries", "extra"),
    [
        ([AbortedTxn(1, 50, 99, 100)], b""),
        ([SECOND, FIRST], b""),
        ([AbortedTxn(1, 120, 110, 100)], b""),
        ([FIRST], b"x"),
    ],
    ids=["before the segment", "order", "ends before it begins", "cut"],
)
def test_a_broken_file_is_noticed(entries: list[AbortedTxn], extra: bytes) -> None:
    fs = machine()
    data = b"".join(b"\0\0" + b"".join(field.to_bytes(8, "big") for field in entry) for entry in entries)
    fs.open(f"{DIRECTORY}/{NAME}", OpenMode.CREATE).write_at(0, [data + extra])
    with pytest.raises(CorruptIndexError, match=NAME):
        index_on(fs).sanity_check()


def test_an_entry_of_a_later_version_is_not_guessed_at() -> None:
    fs = machine()
    filled(fs).flush_entries()
    fs.open(f"{DIRECTORY}/{NAME}", OpenMode.WRITE).write_at(0, [b"\0\1"])
    with pytest.raises(CorruptIndexError, match="version 1"):
        index_on(fs).all()
