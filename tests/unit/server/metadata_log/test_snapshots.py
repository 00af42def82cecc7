"""Snapshot files: names, contents, and files that are no whole snapshot."""

from collections.abc import Generator
from itertools import pairwise

import pytest
from tests.sim.metadata_node import set_value

from tidelog.ports.files import OpenMode
from tidelog.protocol.control_records import SnapshotFooterRecord, SnapshotHeaderRecord
from tidelog.protocol.stored import UnknownRecordType
from tidelog.raft.voters import parse_dynamic_voters
from tidelog.records.builder import BatchBuilder
from tidelog.server.metadata_log.batches import OversizedBatchError, batches_of, control_batch, encode_steps
from tidelog.server.metadata_log.snapshot_writer import STATIC_QUORUM, QuorumRecords, snapshot_contents
from tidelog.server.metadata_log.snapshots import (
    CorruptMetadataSnapshotError,
    SnapshotId,
    check_snapshot,
    parse_snapshot_name,
    read_snapshot,
    snapshot_file,
    tidy_snapshots,
)
from tidelog.sim.clock import SimClock
from tidelog.sim.files import SimFileSystem

PATH = f"/disk/{SnapshotId(42, 3)}.checkpoint"
RECORDS = [set_value(f"key{each}", "value") for each in range(5)]
DYNAMIC = QuorumRecords(1, parse_dynamic_voters("1@one:9093:ZGRkZGRkZGRkZGRkZGRkZA", "CONTROLLER"))


@pytest.fixture
def fs() -> SimFileSystem:
    return SimFileSystem(SimClock(), seed=1)


def put(fs: SimFileSystem, contents: bytes, path: str = PATH) -> None:
    file = fs.open(path, OpenMode.CREATE)
    file.truncate(0)
    while file.size() < len(contents):
        file.write_at(file.size(), [contents[file.size() :]])
    file.close()


def whole(quorum: QuorumRecords = STATIC_QUORUM, limit_bytes: int = 10_000) -> bytes:
    return b"".join(snapshot_contents(3, 777, quorum, RECORDS, 1000, limit_bytes))


def test_a_whole_one_reads_back(fs: SimFileSystem) -> None:
    for quorum, limit_bytes in ((STATIC_QUORUM, 10_000), (DYNAMIC, 10_000), (DYNAMIC, 150)):
        put(fs, whole(quorum, limit_bytes))
        found = list(read_snapshot(fs, PATH))
        assert [record for batch in found for record in batch.records] == RECORDS
        control = [message for batch in found for message in batch.control]
        assert isinstance(control[0], SnapshotHeaderRecord)
        assert control[1:-1] == quorum.messages()
        assert isinstance(control[-1], SnapshotFooterRecord)
        assert check_snapshot(fs, PATH) == control
        offsets = [(batch.base_offset, batch.last_offset) for batch in found]
        assert all(last + 1 == base for (_, last), (base, _) in pairwise(offsets))
        assert {batch.epoch for batch in found} == {3}
    assert snapshot_file(fs, "/disk", SnapshotId(42, 3)).last_contained_log_timestamp == 777


def test_cut_anywhere_it_is_not_whole(fs: SimFileSystem) -> None:
    contents = whole(DYNAMIC)
    for size in range(len(contents)):
        put(fs, contents[:size])
        with pytest.raises(CorruptMetadataSnapshotError):
            check_snapshot(fs, PATH)


def test_a_flipped_bit_is_noticed(fs: SimFileSystem) -> None:
    contents = bytearray(whole())
    for position in range(17, 83):  # the first batch, from its checksum on
        contents[position] ^= 4
        put(fs, bytes(contents))
        with pytest.raises(CorruptMetadataSnapshotError):
            check_snapshot(fs, PATH)
        contents[position] ^= 4


@pytest.mark.parametrize(
    "contents",
    [
        b"".join(batches_of(RECORDS, 0, 0, 10_000)),
        control_batch([SnapshotFooterRecord(version=0)], 0, 0),
        control_batch([SnapshotHeaderRecord(version=0, last_contained_log_timestamp=0)], 0, 0),
        whole() + b"".join(batches_of(RECORDS, 0, 0, 10_000)),
        whole()[83:],
    ],
)
def test_without_header_or_footer_in_their_place(fs: SimFileSystem, contents: bytes) -> None:
    put(fs, contents)
    with pytest.raises(CorruptMetadataSnapshotError, match=r"does not (begin|end)"):
        list(read_snapshot(fs, PATH))


def test_a_later_releases_record_is_refused_and_not_passed_over(fs: SimFileSystem) -> None:
    builder = BatchBuilder()
    builder.append(0, None, b"\x01\x7f\x00")
    header = control_batch([SnapshotHeaderRecord(version=0, last_contained_log_timestamp=0)], 0, 0)
    put(fs, header + builder.build() + control_batch([SnapshotFooterRecord(version=0)], 0, 0))
    with pytest.raises(UnknownRecordType):
        [list(batch.records) for batch in read_snapshot(fs, PATH)]


def test_names(fs: SimFileSystem) -> None:
    assert str(SnapshotId(42, 3)) == "00000000000000000042-0000000003"
    assert parse_snapshot_name("00000000000000000042-0000000003.checkpoint") == SnapshotId(42, 3)
    for name in ("bootstrap.checkpoint", "42-3.checkpoint", "00000000000000000042-0000000003.checkpoint.part"):
        assert parse_snapshot_name(name) is None


def test_left_overs_are_removed(fs: SimFileSystem) -> None:
    for name in ("", ".part", ".deleted"):
        put(fs, b"", f"/disk/{SnapshotId(7, 1)}.checkpoint{name}")
    put(fs, b"", f"/disk/{SnapshotId(5, 9)}.checkpoint")
    put(fs, b"", f"/disk/{SnapshotId(7, 1)}-4711.checkpoint.part")
    assert tidy_snapshots(fs, "/disk") == [SnapshotId(5, 9), SnapshotId(7, 1)]
    assert len(fs.list_directory("/disk")) == 2


def test_batches_stay_within_their_limit_and_offsets_go_on() -> None:
    parts = list(batches_of(RECORDS, 5, 2, 150, base_offset=10))
    assert len(parts) > 1
    assert all(len(part) <= 150 for part in parts)
    with pytest.raises(OversizedBatchError, match="a ConfigRecord"):
        list(batches_of([set_value("k", "v" * 200)], 5, 2, 150))


def test_encoding_gives_way_and_an_atomic_result_is_one_batch_or_none() -> None:
    with pytest.raises(OversizedBatchError, match="do not fit"):
        list(encode_steps(RECORDS, 5, 2, 150, is_atomic=True))
    found: list[list[bytes]] = []
    yields = len(list(collect(encode_steps(RECORDS * 200, 5, 2, 100_000, is_atomic=True), found)))
    assert (yields, len(found[0])) == (4, 1)


def collect(steps: Generator[None, None, list[bytes]], found: list[list[bytes]]) -> Generator[None, None, None]:
    found.append((yield from steps))
