"""Cases in which verification must not report too much: after damage, and where a transaction outlives its producer's
epoch. And a case in which it must not begin at all."""

from struct import pack

import pytest
from tests.unit.storage.handmade import (
    DATA,
    FIRST,
    LEDGER,
    ORDERS,
    batch,
    change,
    healthy,
    marker,
    producer,
    read,
    write,
)
from tests.unit.storage.inspect.test_verify import findings

from tidelog.storage.inspect.findings import Severity
from tidelog.storage.producers.snapshot import encode_snapshot

LEDGER_FIRST = f"{LEDGER}/00000000000000000000"


def test_producers_are_not_judged_by_a_log_that_has_damage() -> None:
    """The snapshot at 10 has the last batch before it, which can not be read: that is no contradiction."""
    fs = healthy()
    last = len(read(fs, f"{FIRST}.log")) - 1
    change(fs, f"{FIRST}.log", lambda data: data[:last] + bytes([data[last] ^ 1]))
    assert [each.path for each in findings(fs)] == [f"{FIRST}.log"]


def test_aborts_are_not_judged_by_a_log_that_has_damage() -> None:
    """The first batch of the aborted transaction is damaged, so the index entry of that transaction is not disputed."""
    fs = healthy()
    at = len(batch(0, producer=(7, 0, 0), transactional=True) + marker(5, committed=True, producer=(7, 0))) + 70
    change(fs, f"{LEDGER_FIRST}.log", lambda data: data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
    assert [each.path for each in findings(fs)] == [f"{LEDGER_FIRST}.log"]


@pytest.mark.parametrize(("first_offset", "is_wrong"), [(12, False), (13, True)])
def test_a_transaction_is_as_old_as_its_first_record_whatever_epoch_ends_it(first_offset: int, is_wrong: bool) -> None:
    fs = healthy()
    change(fs, f"{LEDGER_FIRST}.log", lambda data: data + marker(17, committed=False, producer=(7, 1)))
    entry = pack(">hqqqq", 0, 7, first_offset, 17, 18)
    change(fs, f"{LEDGER_FIRST}.txnindex", lambda data: data + entry)
    found = [each for each in findings(fs) if each.path == f"{LEDGER_FIRST}.txnindex"]
    assert [("the first record at 12" in each.reason) for each in found] == ([True] if is_wrong else [])


def test_a_transaction_that_an_epoch_has_outlived_is_open_in_the_snapshot() -> None:
    """Data of a higher epoch continues the same open transaction, which began with its first batch."""
    fs = healthy()
    change(fs, f"{LEDGER_FIRST}.log", lambda data: data + batch(17, producer=(7, 1, 0), transactional=True))
    path = f"{LEDGER}/{22:020d}.snapshot"
    write(fs, path, encode_snapshot([producer(7, 1, 4, 21, txn_first=12)]))
    assert [each for each in findings(fs) if each.path == path] == []
    write(fs, path, encode_snapshot([producer(7, 1, 4, 21, txn_first=17)]))
    assert ["transaction open from 17, the log from 12" in each.reason for each in findings(fs) if each.path == path]


def test_a_log_without_its_topics_id() -> None:
    fs = healthy()
    fs.remove_file(f"{ORDERS}/partition.metadata")
    found = findings(fs)
    assert [(each.path, each.severity) for each in found] == [(f"{ORDERS}/partition.metadata", Severity.WARNING)]


@pytest.mark.parametrize("directory", [DATA, ORDERS])
def test_no_verdict_about_a_directory_that_a_broker_has(directory: str) -> None:
    fs = healthy()
    held = fs.lock(f"{DATA}/.lock")
    change(fs, f"{FIRST}.log", lambda data: data[:-1])
    assert [(each.path, each.severity) for each in findings(fs, directory)] == [(f"{DATA}/.lock", Severity.ERROR)]
    held.release()
    assert [each.path for each in findings(fs, directory)][:1] == [f"{FIRST}.log"]
