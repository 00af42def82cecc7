"""Each promise of a data directory, broken once: what is found, and where."""

from collections.abc import Callable
from struct import pack

import pytest
from tests.unit.storage.handmade import (
    DATA,
    FIRST,
    LEDGER,
    ORDERS,
    SECOND,
    START_MS,
    batch,
    change,
    healthy,
    marker,
    producer,
    write,
)

from tidelog.model.ids import TopicPartition, Uuid
from tidelog.records.patch import write_crc
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem
from tidelog.storage.checkpoints.partition_metadata import encode_partition_metadata
from tidelog.storage.checkpoints.text import EpochEntry, encode_epochs, encode_offsets
from tidelog.storage.inspect.findings import Finding, Severity
from tidelog.storage.inspect.log_check import LogSummary
from tidelog.storage.inspect.verify import Progress, VerifyOptions, verify_directory
from tidelog.storage.producers.snapshot import encode_snapshot

Break = Callable[[SimFileSystem], None]
LEDGER_FIRST = f"{LEDGER}/00000000000000000000"


def findings(fs: SimFileSystem, directory: str = DATA, options: VerifyOptions | None = None) -> list[Finding]:
    items = verify_directory(fs, directory, options or VerifyOptions(check_records=True))
    return [item for item in items if isinstance(item, Finding)]


def replace_file(path: str, contents: bytes) -> Break:
    return lambda fs: write(fs, path, contents)


def edit_file(path: str, edit: Callable[[bytes], bytes]) -> Break:
    return lambda fs: change(fs, path, edit)


def remove(path: str) -> Break:
    return lambda fs: fs.remove_file(path)


def flip(position: int) -> Callable[[bytes], bytes]:
    return lambda data: data[:position] + bytes([data[position] ^ 1]) + data[position + 1 :]


def offsets(**ends: int) -> bytes:
    return encode_offsets({TopicPartition(topic, 0): end for topic, end in ends.items()})


def lying_timestamp(data: bytes) -> bytes:
    """Give the first batch a wrong latest timestamp, and a right checksum."""
    whole = bytearray(data)
    first = len(batch(0, producer=(8, 0, 0)))
    whole[35:43] = pack(">q", START_MS + 5)
    with memoryview(whole) as view:
        write_crc(view[:first])
    return bytes(whole)


def rename_second_segment(fs: SimFileSystem) -> None:
    for kind in (".log", ".index", ".timeindex"):
        fs.rename(SECOND + kind, f"{ORDERS}/00000000000000000009{kind}")


def lose_second_segment_start(fs: SimFileSystem) -> None:
    change(fs, f"{SECOND}.log", lambda data: data[len(data) // 2 :])
    for kind in (".index", ".timeindex"):
        write(fs, SECOND + kind, b"")


def add_segment(base_offset: int) -> Break:
    def add(fs: SimFileSystem) -> None:
        for kind in (".log", ".index", ".timeindex"):
            write(fs, f"{ORDERS}/{base_offset:020d}{kind}", b"")

    return add


PLAIN = len(batch(0, producer=(8, 0, 0)))
BROKEN: dict[str, tuple[Break, str, str]] = {
    # By name: how the directory is broken, the file of the finding, and a part of its reason.
    "no identity": (remove(f"{DATA}/meta.properties"), "meta.properties", "is missing"),
    "identity": (replace_file(f"{DATA}/meta.properties", b"version=1\n"), "meta.properties", "cluster.id"),
    "shutdown marker": (replace_file(f"{DATA}/.kafka_cleanshutdown", b"{"), ".kafka_cleanshutdown", "JSON"),
    "checkpoint": (
        replace_file(f"{DATA}/recovery-point-offset-checkpoint", b"0\n9\n"),
        "recovery-point-offset-checkpoint",
        "9 are announced",
    ),
    "recovery point": (
        replace_file(f"{DATA}/recovery-point-offset-checkpoint", offsets(orders=21, ledger=17)),
        "orders-0",
        "recovery point is 21",
    ),
    "high watermark": (
        replace_file(f"{DATA}/replication-offset-checkpoint", offsets(orders=20, ledger=18)),
        "ledger-0",
        "high watermark is 18",
    ),
    "log start": (
        replace_file(f"{DATA}/log-start-offset-checkpoint", offsets(orders=30)),
        "orders-0",
        "log start offset is 30",
    ),
    "cleaned": (replace_file(f"{DATA}/cleaner-offset-checkpoint", offsets(orders=30)), "orders-0", "cleaned offset"),
    "directory name": (lambda fs: fs.make_directory(f"{DATA}/lost+found"), "lost+found", "refuses to start"),
    "topic id": (
        replace_file(f"{ORDERS}/partition.metadata", b"version: 0\ntopic_id: ?"),
        "orders-0/partition.metadata",
        "UUID",
    ),
    "flipped bit": (edit_file(f"{FIRST}.log", flip(70)), "00000000000000000000.log at 0", "checksum"),
    "second batch": (edit_file(f"{FIRST}.log", flip(PLAIN + 70)), f"0000.log at {PLAIN}", "checksum"),
    "torn tail": (edit_file(f"{SECOND}.log", lambda data: data[:-1]), f"0010.log at {PLAIN}", "left"),
    "zeros": (edit_file(f"{SECOND}.log", lambda data: data + bytes(500)), f"0010.log at {2 * PLAIN}", "zeros"),
    "magic": (edit_file(f"{FIRST}.log", flip(16)), "0000.log at 0", "format 3"),
    "header says": (edit_file(f"{FIRST}.log", lying_timestamp), "0000.log at 0", "latest record"),
    "base offset": (edit_file(f"{FIRST}.log", flip(PLAIN + 7)), f"0000.log at {PLAIN}", "after 4"),
    "epoch back": (edit_file(f"{FIRST}.log", flip(15)), f"0000.log at {PLAIN}", "leader epoch 0 comes after 1"),
    "gap inside": (lose_second_segment_start, "0010.log at 0", "offsets 10 to 14 are missing"),
    "gap between": (add_segment(30), "0030.log", "offsets 20 to 29 are missing"),
    "overlap": (rename_second_segment, f"0000.log at {PLAIN}", "reaches into the next segment"),
    "index position": (replace_file(f"{FIRST}.index", pack(">ii", 9, 3)), "0000.index at 0", "no batch begins there"),
    "index offset": (replace_file(f"{FIRST}.index", pack(">ii", 4, PLAIN)), "0000.index at 0", "begins with offset 5"),
    "index order": (
        replace_file(f"{FIRST}.index", pack(">iiii", 9, PLAIN, 4, PLAIN + 1)),
        "0000.index at 8",
        "comes after",
    ),
    "index past end": (replace_file(f"{FIRST}.index", pack(">ii", 9, 9999)), "0000.index at 0", "past the last batch"),
    "index cut": (replace_file(f"{FIRST}.index", pack(">ii", 9, PLAIN)[:5]), "0000.index", "no entry"),
    "time early": (
        replace_file(f"{SECOND}.timeindex", pack(">qiqi", START_MS + 11, 4, START_MS + 19, 9)),
        "0010.timeindex at 0",
        "comes before it",
    ),
    "time late": (
        replace_file(f"{SECOND}.timeindex", pack(">qiqi", START_MS + 19, 4, START_MS + 20, 9)),
        "0010.timeindex at 0",
        "not later than",
    ),
    "time order": (
        replace_file(f"{SECOND}.timeindex", pack(">qiqi", START_MS + 19, 9, START_MS + 14, 4)),
        "0010.timeindex at 12",
        "comes after",
    ),
    "time past end": (
        replace_file(f"{SECOND}.timeindex", pack(">qi", START_MS + 99, 77)),
        "0010.timeindex at 0",
        "past the last batch",
    ),
    "time not sealed": (
        replace_file(f"{FIRST}.timeindex", pack(">qi", START_MS + 4, 4)),
        "0000.timeindex",
        f"a record of {START_MS + 9}",
    ),
    "abort not indexed": (remove(f"{LEDGER_FIRST}.txnindex"), "0000.txnindex", "its records would be read"),
    "abort begins late": (
        replace_file(f"{LEDGER_FIRST}.txnindex", pack(">hqqqq", 0, 7, 8, 11, 12)),
        "0000.txnindex",
        "first record at 6",
    ),
    "commit as abort": (
        replace_file(f"{LEDGER_FIRST}.txnindex", pack(">hqqqq", 0, 7, 0, 5, 6) + pack(">hqqqq", 0, 7, 6, 11, 12)),
        "0000.txnindex",
        "no abort there",
    ),
    "stable offset": (
        replace_file(f"{LEDGER_FIRST}.txnindex", pack(">hqqqq", 0, 7, 6, 11, 13)),
        "0000.txnindex",
        "last stable offset of 13",
    ),
    "abort version": (
        replace_file(f"{LEDGER_FIRST}.txnindex", pack(">hqqqq", 1, 7, 6, 11, 12)),
        "0000.txnindex",
        "version 1",
    ),
    "snapshot": (edit_file(f"{ORDERS}/{10:020d}.snapshot", flip(20)), "0010.snapshot", "checksum"),
    "snapshot sequence": (
        replace_file(f"{ORDERS}/{10:020d}.snapshot", encode_snapshot([producer(8, 0, 8, 9)])),
        "0010.snapshot",
        "sequence 8 at offset 9",
    ),
    "snapshot epoch": (
        replace_file(f"{ORDERS}/{20:020d}.snapshot", encode_snapshot([producer(8, 1, 19, 19)])),
        "0020.snapshot",
        "epoch 1, the log says 0",
    ),
    "snapshot ahead": (
        replace_file(f"{ORDERS}/{10:020d}.snapshot", encode_snapshot([producer(9, 0, 3, 12)])),
        "0010.snapshot",
        "not before it",
    ),
    "snapshot transaction": (
        replace_file(f"{LEDGER}/{17:020d}.snapshot", encode_snapshot([producer(7, 0, 14, 16)])),
        "0017.snapshot",
        "open from -1, the log from 12",
    ),
    "snapshot past end": (
        replace_file(f"{ORDERS}/{25:020d}.snapshot", encode_snapshot([])),
        "0025.snapshot",
        "past the end of the log, 20",
    ),
    "epochs damaged": (replace_file(f"{ORDERS}/leader-epoch-checkpoint", b"0\n1\n"), "leader-epoch-checkpoint", "1"),
    "epochs order": (
        replace_file(f"{ORDERS}/leader-epoch-checkpoint", encode_epochs([EpochEntry(2, 0), EpochEntry(0, 10)])),
        "leader-epoch-checkpoint",
        "epoch 0 from 10, after 2 from 0",
    ),
    "epochs past end": (
        replace_file(
            f"{ORDERS}/leader-epoch-checkpoint", encode_epochs([EpochEntry(0, 0), EpochEntry(2, 10), EpochEntry(3, 21)])
        ),
        "leader-epoch-checkpoint",
        "epoch 3 starts at 21",
    ),
    "epochs contradict": (
        replace_file(f"{ORDERS}/leader-epoch-checkpoint", encode_epochs([EpochEntry(0, 0), EpochEntry(2, 15)])),
        "leader-epoch-checkpoint",
        "offset 10 belongs to epoch 0, the log says 2",
    ),
    "quorum state": (replace_file(f"{ORDERS}/quorum-state", b"?"), "quorum-state", "JSON"),
    "metadata snapshot": (
        replace_file(f"{ORDERS}/00000000000000000005-0000000001.checkpoint", batch(0)),
        ".checkpoint",
        "footer",
    ),
}


def test_a_healthy_directory_has_nothing_to_report() -> None:
    fs = healthy()
    assert findings(fs) == []
    summaries = [item for item in verify_directory(fs, DATA, VerifyOptions()) if isinstance(item, LogSummary)]
    assert [(each.path, each.segments, each.batches, each.log_end_offset) for each in summaries] == [
        (LEDGER, 1, 5, 17),
        (ORDERS, 2, 4, 20),
    ]


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_found_where_it_is(name: str) -> None:
    break_it, where, reason = BROKEN[name]
    fs = healthy()
    break_it(fs)
    found = findings(fs)
    told = [each for each in found if each.where.endswith(where) and reason in each.reason]
    assert told, [str(each) for each in found]
    assert told[0].severity is Severity.ERROR


@pytest.mark.parametrize("position", [21, 26, 30, 38, 50, 60, 70])
def test_one_flipped_bit_is_one_finding(position: int) -> None:
    """Wherever the bit is, the fields of the damaged batch are not held against the rest of the log."""
    fs = healthy()
    change(fs, f"{FIRST}.log", flip(position))
    assert [each.where for each in findings(fs)] == [f"{FIRST}.log at 0"]


def test_past_the_recovery_point_of_an_unclean_stop_damage_is_a_warning() -> None:
    fs = healthy()
    fs.remove_file(f"{DATA}/.kafka_cleanshutdown")
    write(fs, f"{DATA}/recovery-point-offset-checkpoint", offsets(orders=15, ledger=17))
    change(fs, f"{SECOND}.log", lambda data: data[:-1])
    found = findings(fs)
    assert {each.severity for each in found} == {Severity.WARNING}
    write(fs, f"{DATA}/recovery-point-offset-checkpoint", offsets(orders=16, ledger=17))
    assert any(each.severity is Severity.ERROR and each.path == f"{SECOND}.log" for each in findings(fs))


def test_gaps_are_none_where_the_topic_is_known_to_be_compacted() -> None:
    fs = healthy()
    lose_second_segment_start(fs)
    assert any("missing" in each.reason for each in findings(fs))
    options = VerifyOptions(compacted_topics=("orders",))
    assert not [each for each in findings(fs, options=options) if "missing" in each.reason]
    write(fs, f"{DATA}/cleaner-offset-checkpoint", offsets(orders=10))
    assert not [each for each in findings(fs) if "missing" in each.reason]


def test_left_overs_are_warnings() -> None:
    fs = healthy()
    for name in ("00000000000000000000.log.deleted", "00000000000000000000.log.swap", "notes.txt"):
        write(fs, f"{ORDERS}/{name}", b"")
    write(fs, f"{DATA}/recovery-point-offset-checkpoint.tmp", b"")
    write(fs, f"{DATA}/cleaner-offset-checkpoint", offsets(gone=1))
    fs.make_directory(f"{DATA}/gone-0.{'0' * 32}-delete")
    found = findings(fs)
    assert {each.severity for each in found} == {Severity.WARNING}
    assert sorted(each.path.rpartition("/")[2] for each in found) == [
        "*.deleted",
        "*.swap",
        "*.tmp",
        "cleaner-offset-checkpoint",
        f"gone-0.{'0' * 32}-delete",
        "notes.txt",
    ]


def test_preallocated_zeros_end_an_index() -> None:
    fs = healthy()
    change(fs, f"{SECOND}.index", lambda data: data + bytes(800))
    change(fs, f"{SECOND}.timeindex", lambda data: data + bytes(1200))
    write(fs, f"{LEDGER_FIRST}.index", bytes(800))
    assert findings(fs) == []


def test_other_partitions_of_a_topic_have_its_id() -> None:
    fs = healthy()
    fs.make_directory(f"{DATA}/orders-1")
    write(fs, f"{DATA}/orders-1/partition.metadata", encode_partition_metadata(Uuid(b"x" * 16)))
    for kind in (".log", ".index", ".timeindex"):
        write(fs, f"{DATA}/orders-1/00000000000000000000{kind}", b"")
    (found,) = findings(fs)
    assert found.path == f"{DATA}/orders-1/partition.metadata"


def test_one_partition_alone() -> None:
    fs = healthy()
    assert findings(fs, LEDGER) == []
    change(fs, f"{LEDGER_FIRST}.log", flip(70))
    assert [each.path for each in findings(fs, LEDGER)] == [f"{LEDGER_FIRST}.log"]


def test_a_producer_whose_records_are_gone_contradicts_nothing() -> None:
    fs = healthy()
    for kind in (".log", ".index", ".timeindex"):
        fs.remove_file(FIRST + kind)
    fs.remove_file(f"{ORDERS}/{10:020d}.snapshot")
    write(fs, f"{DATA}/log-start-offset-checkpoint", offsets(orders=10))
    entries = [producer(3, 0, 4, 4), producer(8, 0, 19, 19)]
    write(fs, f"{ORDERS}/{20:020d}.snapshot", encode_snapshot(entries))
    assert findings(fs) == []


def test_a_marker_of_the_next_epoch_ends_the_transaction_and_begins_a_new_sequence() -> None:
    """Transactions of version 2 end with such a marker."""
    fs = healthy()
    change(fs, f"{LEDGER_FIRST}.log", lambda data: data + marker(17, committed=False, producer=(7, 1)))
    change(fs, f"{LEDGER_FIRST}.txnindex", lambda data: data + pack(">hqqqq", 0, 7, 12, 17, 18))
    entry = producer(7, 1, -1, -1)
    entry.batches = ()
    write(fs, f"{LEDGER}/{18:020d}.snapshot", encode_snapshot([entry]))
    assert findings(fs) == []


def test_a_disk_that_fails_is_reported_and_the_other_logs_are_checked() -> None:
    fs = healthy()
    change(fs, f"{FIRST}.log", flip(70))
    fs.disk("/disk").faults.fail(Op.READ, under=f"{LEDGER_FIRST}.log")
    paths = [each.path for each in findings(fs)]
    assert f"{LEDGER_FIRST}.log" in paths
    assert f"{FIRST}.log" in paths


def test_a_directory_that_is_not_there_is_a_finding() -> None:
    (found,) = findings(healthy(), "/disk/nowhere")
    assert found.path.startswith("/disk/nowhere")


def test_progress_reaches_the_total() -> None:
    steps = [item for item in verify_directory(healthy(), DATA, VerifyOptions()) if isinstance(item, Progress)]
    assert steps[0].done_bytes == 0
    assert steps[-1].done_bytes == steps[-1].total_bytes > 0
    assert [step.done_bytes for step in steps] == sorted(step.done_bytes for step in steps)


def test_nothing_is_written() -> None:
    fs = healthy()
    for op in (Op.WRITE, Op.TRUNCATE, Op.SYNC, Op.SYNC_DIRECTORY, Op.NAMES):
        fs.disk("/disk").faults.fail(op, times=None)
    assert findings(fs) == []


def test_files_of_a_segment_that_lost_its_log_are_left_over() -> None:
    fs = healthy()
    fs.remove_file(f"{FIRST}.log")
    found = findings(fs)
    assert [(each.path, each.severity) for each in found if "without a log" in each.reason] == [
        (f"{FIRST}.index", Severity.WARNING),
        (f"{FIRST}.timeindex", Severity.WARNING),
    ]


def test_a_missing_index_is_a_warning() -> None:
    fs = healthy()
    fs.remove_file(f"{SECOND}.index")
    assert [(each.path, each.severity) for each in findings(fs)] == [(f"{SECOND}.index", Severity.WARNING)]


def test_the_files_that_a_broker_keeps_beside_its_logs_are_no_strangers() -> None:
    fs = healthy()
    write(fs, f"{DATA}/.tidelog-sync", b"every sync of this directory has succeeded\n")
    write(fs, f"{ORDERS}/ballast", bytes(10))
    assert findings(fs) == findings(healthy())
