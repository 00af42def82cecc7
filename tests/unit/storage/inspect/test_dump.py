"""The dump of each kind of file, and what it reports where the contents make no sense."""

from struct import pack

import pytest
from tests.unit.storage.handmade import DATA, FIRST, LEDGER, ORDERS, SECOND, START_MS, batch, change, healthy, write

from tidelog.ports.files import OpenMode
from tidelog.protocol.control_records import EndTxnMarker
from tidelog.protocol.errors import MalformedMessage
from tidelog.records.header import BATCH_OVERHEAD
from tidelog.records.record import Record
from tidelog.sim.files import SimFileSystem
from tidelog.storage.errors import CorruptSegmentError
from tidelog.storage.inspect.batches import read_batches
from tidelog.storage.inspect.dump import DumpOptions, dump_file, is_log_file
from tidelog.storage.inspect.findings import Finding
from tidelog.storage.inspect.rows import Row

LEDGER_LOG = f"{LEDGER}/00000000000000000000.log"


def dump(fs: SimFileSystem, path: str, options: DumpOptions | None = None) -> tuple[list[Row], list[Finding]]:
    items = list(dump_file(fs, path, options or DumpOptions()))
    return [each for each in items if isinstance(each, Row)], [each for each in items if isinstance(each, Finding)]


def values(rows: list[Row], *names: str) -> list[tuple[object, ...]]:
    return [tuple(row.values[name] for name in names) for row in rows]


def test_batches() -> None:
    rows, found = dump(healthy(), LEDGER_LOG)
    assert found == []
    assert {row.kind for row in rows} == {"batch"}
    first = len(batch(0, producer=(7, 0, 0), transactional=True))
    assert values(rows[:3], "position", "base_offset", "last_offset", "size_bytes", "base_sequence", "is_control") == [
        (0, 0, 4, first, 0, False),
        (first, 5, 5, 78, -1, True),
        (first + 78, 6, 10, first, 5, False),
    ]
    assert values(rows[:1], "producer_id", "producer_epoch", "last_sequence", "is_transactional", "valid") == [
        (7, 0, 4, True, True)
    ]
    assert values(rows[:1], "max_timestamp", "timestamp_type", "compression", "partition_leader_epoch") == [
        (START_MS + 4, "CREATE_TIME", "none", 0)
    ]


def test_records() -> None:
    rows, found = dump(healthy(), f"{SECOND}.log", DumpOptions(records=True))
    assert found == []
    records = [row for row in rows if row.kind == "record"]
    assert values(records, "offset", "timestamp", "sequence", "key", "value") == [
        (offset, START_MS + offset, offset, b"key-%d" % (offset % 5), b"value at %03d" % offset)
        for offset in range(10, 20)
    ]


def test_control_records_say_what_they_are() -> None:
    rows, _ = dump(healthy(), LEDGER_LOG, DumpOptions(records=True))
    control = [row.values["meaning"] for row in rows if row.kind == "record" and row.values["offset"] in (5, 11)]
    marker = EndTxnMarker(coordinator_epoch=3)
    assert control == [{"type": "COMMIT", "value": marker}, {"type": "ABORT", "value": marker}]


def test_a_decoder_gives_records_their_meaning_and_may_refuse() -> None:
    def decode(record: Record) -> dict[str, object]:
        if record.offset == 3:
            raise MalformedMessage("nonsense", 0)
        return {"type": "Number", "value": record.offset * 2}

    rows, found = dump(healthy(), f"{FIRST}.log", DumpOptions(records=True, decoder=decode))
    meanings = [row.values["meaning"] for row in rows if row.kind == "record"]
    assert meanings[2:5] == [{"type": "Number", "value": 4}, None, {"type": "Number", "value": 8}]
    assert [("offset 3" in each.reason, each.position) for each in found] == [(True, 0)]


def test_a_wrong_checksum_is_shown_with_the_batch_and_the_next_ones_follow() -> None:
    fs = healthy()
    change(fs, f"{FIRST}.log", lambda data: data[:70] + b"?" + data[71:])
    rows, found = dump(fs, f"{FIRST}.log", DumpOptions(records=True))
    assert values([row for row in rows if row.kind == "batch"], "base_offset", "valid") == [(0, False), (5, True)]
    assert [row.values["offset"] for row in rows if row.kind == "record"] == [5, 6, 7, 8, 9]
    assert [(each.position, "checksum" in each.reason) for each in found] == [(0, True)]


@pytest.mark.parametrize("kept", [1, 16, 17, 60, 61, 100])
def test_a_batch_that_is_cut_ends_the_dump_with_its_position(kept: int) -> None:
    fs = healthy()
    whole = batch(0)
    write(fs, f"{FIRST}.log", whole + batch(5)[:kept])
    rows, found = dump(fs, f"{FIRST}.log")
    assert len(rows) == 1
    assert [each.position for each in found] == [len(whole)]


def test_a_batch_larger_than_a_chunk_and_batches_across_chunks() -> None:
    fs = healthy()
    batches = [batch(0, 200), batch(200, 3), batch(203, 50)]
    write(fs, f"{FIRST}.log", b"".join(batches))
    for chunk_bytes in (1, 61, 100, 1000, 10_000):
        found = list(read_batches(fs, f"{FIRST}.log", chunk_bytes))
        assert [bytes(each.batch.view) for each in found] == batches
        assert [each.position for each in found] == [0, len(batches[0]), len(batches[0] + batches[1])]


def test_a_file_that_shrinks_while_it_is_read_is_a_fault_and_not_a_loop() -> None:
    fs = healthy()
    write(fs, f"{FIRST}.log", batch(0, 3) + batch(3, 3))
    batches = read_batches(fs, f"{FIRST}.log", chunk_bytes=1)  # one batch at a time
    first = next(batches)
    file = fs.open(f"{FIRST}.log", OpenMode.WRITE)
    file.truncate(first.batch.header.size_bytes + BATCH_OVERHEAD)
    with pytest.raises(CorruptSegmentError, match="shrank"):
        list(batches)


def test_damage_says_which_offset_follows_the_last_good_batch() -> None:
    fs = healthy()
    write(fs, f"{FIRST}.log", batch(0) + b"?" * 100)
    with pytest.raises(CorruptSegmentError) as caught:
        list(read_batches(fs, f"{FIRST}.log"))
    assert (caught.value.position, caught.value.next_offset) == (len(batch(0)), 5)


def test_indexes() -> None:
    fs = healthy()
    rows, found = dump(fs, f"{SECOND}.index", DumpOptions(verify_index=True))
    assert (values(rows, "offset", "position"), found) == ([(19, len(batch(10, producer=(8, 0, 10))))], [])
    rows, found = dump(fs, f"{SECOND}.timeindex", DumpOptions(verify_index=True))
    assert (values(rows, "timestamp", "offset"), found) == ([(START_MS + 14, 14), (START_MS + 19, 19)], [])
    rows, found = dump(fs, f"{LEDGER}/00000000000000000000.txnindex")
    assert values(rows, "producer_id", "first_offset", "last_offset", "last_stable_offset") == [(7, 6, 11, 12)]
    assert found == []


def test_index_entries_out_of_order_are_found_without_the_log() -> None:
    fs = healthy()
    write(fs, f"{FIRST}.index", pack(">iiii", 9, 176, 4, 300))
    write(fs, f"{FIRST}.timeindex", pack(">qiqi", START_MS, 4, START_MS, 5))
    assert [each.position for each in dump(fs, f"{FIRST}.index")[1]] == [8]
    assert [each.position for each in dump(fs, f"{FIRST}.timeindex")[1]] == [12]
    aborted = f"{LEDGER}/00000000000000000000.txnindex"
    write(fs, aborted, pack(">hqqqq", 0, 7, 6, 11, 12) + pack(">hqqqq", 0, 7, 3, 2, 3))
    assert [each.position for each in dump(fs, aborted)[1]] == [34, 34]


def test_only_verify_index_asks_the_log() -> None:
    fs = healthy()
    write(fs, f"{FIRST}.index", pack(">ii", 9, 3))
    assert dump(fs, f"{FIRST}.index")[1] == []
    assert len(dump(fs, f"{FIRST}.index", DumpOptions(verify_index=True))[1]) == 1


def test_an_index_beside_a_damaged_log_is_judged_as_far_as_the_log_goes() -> None:
    fs = healthy()
    write(fs, f"{FIRST}.index", pack(">iiii", 2, 3, 9, 176))
    change(fs, f"{FIRST}.log", lambda data: data[:-1])
    found = dump(fs, f"{FIRST}.index", DumpOptions(verify_index=True))[1]
    assert [each.path for each in found] == [f"{FIRST}.log"]


@pytest.mark.parametrize(
    ("path", "kind", "first"),
    [
        (f"{DATA}/meta.properties", "meta properties", 1),
        (f"{DATA}/.kafka_cleanshutdown", "clean shutdown", 5),
        (f"{DATA}/recovery-point-offset-checkpoint", "checkpoint entry", "orders"),
        (f"{ORDERS}/leader-epoch-checkpoint", "leader epoch", 0),
        (f"{ORDERS}/partition.metadata", "partition metadata", 0),
        (f"{ORDERS}/00000000000000000010.snapshot", "producer", 8),
    ],
)
def test_small_files(path: str, kind: str, first: object) -> None:
    rows, found = dump(healthy(), path)
    assert found == []
    assert (rows[0].kind, next(iter(rows[0].values.values()))) == (kind, first)


@pytest.mark.parametrize(
    "path",
    [
        f"{DATA}/meta.properties",
        f"{DATA}/.kafka_cleanshutdown",
        f"{DATA}/recovery-point-offset-checkpoint",
        f"{ORDERS}/leader-epoch-checkpoint",
        f"{ORDERS}/partition.metadata",
        f"{ORDERS}/00000000000000000010.snapshot",
        f"{ORDERS}/quorum-state",
    ],
)
def test_a_damaged_small_file_is_a_finding(path: str) -> None:
    fs = healthy()
    write(fs, path, b"version=7\n\xff")
    assert [each.path for each in dump(fs, path)[1]] == [path]


def test_what_is_missing_or_nobodys_is_a_finding() -> None:
    fs = healthy()
    assert [each.path for each in dump(fs, f"{ORDERS}/00000000000000000099.log")[1]] == [
        f"{ORDERS}/00000000000000000099.log"
    ]
    assert dump(fs, f"{ORDERS}/notes.txt")[1][0].reason == "no such file or directory"
    write(fs, f"{ORDERS}/notes.txt", b"remember")
    assert dump(fs, f"{ORDERS}/notes.txt")[1][0].reason == "no file of a log has such a name"
    assert not is_log_file("notes.txt")
    assert is_log_file("00000000000000000099.log.deleted")
    assert is_log_file("00000000000000000099-0000000001.checkpoint")
