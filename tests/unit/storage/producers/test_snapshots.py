"""Snapshot files: damage is noticed, the right one is loaded, useless ones are removed, and a crash costs at most the
last."""

import pytest
from crc32c import crc32c
from tests.unit.storage.power import DIRECTORY, machine, worlds_after_a_cut
from tests.unit.storage.producing import Partition

from tidelog.model.errors import ErrorCode
from tidelog.ports.durable import replace_durably
from tidelog.sim.files import SimFileSystem
from tidelog.storage.checkpoints.errors import CorruptSnapshotError
from tidelog.storage.producers import snapshots as producer_snapshots
from tidelog.storage.producers.entry import BatchMetadata, ProducerEntry
from tidelog.storage.producers.snapshot import decode_snapshot, encode_snapshot
from tidelog.storage.producers.snapshots import ProducerSnapshots, take_snapshot, truncate_fully
from tidelog.storage.producers.state import ProducerState, ProducerStateConfig

ENTRIES = [
    ProducerEntry(1, 3, 9, 1_000, 40, (BatchMetadata(69, 160, 9, 1_000),)),
    ProducerEntry(2, 0, -1, 2_000, None, (BatchMetadata(0, 161, 0, 2_000),)),
]
CONFIG = ProducerStateConfig(expiration_ms=10_000)


def names(fs: SimFileSystem) -> list[int]:
    return [int(name[:20]) for name in fs.list_directory(DIRECTORY) if name.endswith(".snapshot")]


def reload(
    state: ProducerState, snapshots: ProducerSnapshots, start: int, end: int, now_ms: int
) -> list[CorruptSnapshotError]:
    """Reload the state, piece by piece to the end; return the damaged snapshots."""
    damaged: list[CorruptSnapshotError] = []
    for _ in producer_snapshots.reload(state, snapshots, start, end, now_ms, damaged):
        pass
    return damaged


def with_snapshots(*offsets: int) -> tuple[SimFileSystem, ProducerSnapshots]:
    fs = machine()
    for offset in offsets:
        replace_durably(fs, f"{DIRECTORY}/{offset:020d}.snapshot", encode_snapshot(ENTRIES))
    return fs, ProducerSnapshots(fs, DIRECTORY)


# The format


def test_only_the_last_batch_survives() -> None:
    partition = Partition()
    for sequence in range(4):
        partition.send(sequence=sequence)
    (entry,) = decode_snapshot(encode_snapshot(partition.state.producers.values()), "it")
    assert entry.batches == (BatchMetadata(3, 3, 0, 0),)


def test_offset_zero_is_an_offset() -> None:
    partition = Partition()
    partition.send(txn=True)
    (entry,) = decode_snapshot(encode_snapshot(partition.state.producers.values()), "it")
    assert (entry.current_txn_first_offset, entry.last_data_offset) == (0, 0)


@pytest.mark.parametrize("version", [0, 2, -1])
def test_any_other_version_is_damage(version: int) -> None:
    whole = encode_snapshot(ENTRIES)
    with pytest.raises(CorruptSnapshotError, match="version"):
        decode_snapshot(version.to_bytes(2, signed=True) + whole[2:], "it")


def test_a_snapshot_cut_at_any_byte_is_noticed() -> None:
    whole = encode_snapshot(ENTRIES)
    for size in range(len(whole)):
        with pytest.raises(CorruptSnapshotError):
            decode_snapshot(whole[:size], "it")


def test_every_bit_counts() -> None:
    whole = encode_snapshot(ENTRIES)
    for bit in range(len(whole) * 8):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(CorruptSnapshotError) as caught:
            decode_snapshot(bytes(damaged), "/disk/it")
        assert caught.value.path == "/disk/it"


@pytest.mark.parametrize("count", [-1, 0, 1, 3, 2**31 - 1])
def test_a_count_that_the_bytes_do_not_bear_out(count: int) -> None:
    """The checksum is right, so the error is a bug of the writer, not of the disk."""
    body = count.to_bytes(4, signed=True) + encode_snapshot(ENTRIES)[10:]
    with pytest.raises(CorruptSnapshotError, match="announced"):
        decode_snapshot(b"\0\1" + crc32c(body).to_bytes(4) + body, "it")


# The files


def test_taken_at_the_end_of_the_state_once() -> None:
    fs, snapshots = with_snapshots()
    partition = Partition()
    assert take_snapshot(partition.state, snapshots) is None
    partition.send(count=3)
    assert take_snapshot(partition.state, snapshots) == 3
    assert take_snapshot(partition.state, snapshots) is None
    assert names(fs) == snapshots.offsets == [3]
    assert decode_snapshot(snapshots.read(3), "") == list(partition.state.producers.values())


def test_other_files_are_none_of_them() -> None:
    fs, _ = with_snapshots(7)
    for name in ("00000000000000000008.log", "00000000000000000009.snapshot.deleted", "9.snapshot", "x.snapshot"):
        replace_durably(fs, f"{DIRECTORY}/{name}", b"")
    snapshots = ProducerSnapshots(fs, DIRECTORY)
    assert (snapshots.offsets, snapshots.oldest, snapshots.latest) == ([7], 7, 7)
    assert ProducerSnapshots(fs, DIRECTORY, ["00000000000000000004.snapshot"]).offsets == [4]


def test_those_below_an_offset_go() -> None:
    fs, snapshots = with_snapshots(5, 10, 15)
    snapshots.remove_before(10)
    assert names(fs) == snapshots.offsets == [10, 15]


def test_removing_what_is_gone_already() -> None:
    fs, snapshots = with_snapshots(5)
    fs.remove_file(snapshots.path(5))
    snapshots.remove(5)
    assert snapshots.offsets == []


@pytest.mark.parametrize(
    ("segments", "expected"),
    [
        ([0, 10, 20], [10, 20, 30]),  # 30 was taken at a clean stop
        ([0, 10, 30], [10, 30]),
        ([0, 40], []),
        ([0], [30]),
        ([], [30]),
    ],
)
def test_strays_go_but_for_the_one_at_the_end(segments: list[int], expected: list[int]) -> None:
    fs, snapshots = with_snapshots(5, 10, 20, 30)
    snapshots.remove_strays(segments)
    assert names(fs) == snapshots.offsets == expected


def test_one_that_waits_for_its_deletion() -> None:
    fs, snapshots = with_snapshots(5, 10)
    assert snapshots.mark_deleted(5) == f"{DIRECTORY}/00000000000000000005.snapshot.deleted"
    assert snapshots.mark_deleted(5) is None
    assert snapshots.offsets == names(fs) == [10]
    assert fs.list_directory(DIRECTORY)[0] == "00000000000000000005.snapshot.deleted"


# Reloading


def test_the_latest_in_range_is_loaded() -> None:
    fs, snapshots = with_snapshots(170, 180, 200)
    state = ProducerState(CONFIG)
    assert reload(state, snapshots, 170, 190, now_ms=3_000) == []
    assert names(fs) == snapshots.offsets == [180]
    assert state.producers == {entry.producer_id: entry for entry in ENTRIES}
    assert (state.map_end_offset, state.snapshot_offset) == (180, 180)
    assert state.first_undecided_offset == 40
    state.validate_state()


def test_many_are_loaded_a_piece_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The state has none of the producers until the last piece is loaded."""
    monkeypatch.setattr(producer_snapshots, "ENTRIES_A_PIECE", 1)
    _, snapshots = with_snapshots(180)
    state = ProducerState(CONFIG)
    steps = producer_snapshots.reload(state, snapshots, 0, 190, 3_000, [])
    pieces = [len(state.producers) for _ in steps]
    assert pieces == [0] * len(ENTRIES)
    assert list(state.producers.values()) == ENTRIES


def test_expired_producers_are_not_loaded_unless_a_transaction_is_open() -> None:
    _, snapshots = with_snapshots(180)
    state = ProducerState(CONFIG)
    reload(state, snapshots, 0, 190, now_ms=12_000)
    assert list(state.producers) == [1]


def test_a_damaged_one_is_reported_and_deleted_and_an_older_one_serves() -> None:
    fs, snapshots = with_snapshots(170, 180)
    replace_durably(fs, snapshots.path(180), encode_snapshot(ENTRIES)[:-1])
    state = ProducerState(CONFIG)
    (damage,) = reload(state, snapshots, 0, 190, now_ms=3_000)
    assert damage.path == snapshots.path(180)
    assert (state.map_end_offset, names(fs)) == (170, [170])


def test_without_any_the_log_is_read_from_its_start() -> None:
    fs, snapshots = with_snapshots(180)
    replace_durably(fs, snapshots.path(180), b"")
    partition = Partition()
    partition.send(txn=True)
    assert len(reload(partition.state, snapshots, 50, 190, now_ms=0)) == 1
    assert partition.state.is_empty
    assert partition.state.first_unstable_offset is None
    assert (partition.end, partition.state.snapshot_offset) == (50, 50)


def test_a_state_that_is_of_the_end_already_stays() -> None:
    """The producers stay, but transactions below the log's new start are forgotten."""
    fs, snapshots = with_snapshots(1, 2)
    partition = Partition()
    partition.send(txn=True)
    partition.end_txn()
    partition.send(sequence=1)
    assert reload(partition.state, snapshots, 2, 3, now_ms=0) == []
    assert partition.state.producers[1].last_sequence == 1
    assert partition.state.first_unstable_offset is None
    assert (names(fs), partition.state.snapshot_offset) == ([], 2)


def test_unreplicated_ends_are_forgotten_with_a_truncation() -> None:
    _, snapshots = with_snapshots()
    partition = Partition()
    partition.send(txn=True)
    partition.end_txn()
    reload(partition.state, snapshots, 0, 1, now_ms=0)
    assert partition.state.first_unstable_offset is None


def test_an_emptied_log_has_no_producers_and_no_snapshots() -> None:
    fs, snapshots = with_snapshots(170, 180)
    state = ProducerState(CONFIG)
    reload(state, snapshots, 0, 190, now_ms=3_000)
    truncate_fully(state, snapshots, 500)
    assert names(fs) == snapshots.offsets == []
    assert state.is_empty
    assert (state.map_end_offset, state.snapshot_offset) == (500, 0)
    assert take_snapshot(state, snapshots) == 500


def test_the_sequence_goes_on_after_a_restart() -> None:
    _, snapshots = with_snapshots()
    partition = Partition()
    partition.send(sequence=0, count=4)
    partition.send(sequence=4, count=2)
    take_snapshot(partition.state, snapshots)
    restarted = Partition()
    reload(restarted.state, snapshots, 0, 6, now_ms=0)
    assert restarted.send(sequence=4, count=2) == (4, 5)
    assert restarted.send(sequence=0, count=4) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert restarted.send(sequence=6) is ErrorCode.NONE


def test_a_crash_while_one_is_taken_leaves_the_one_before() -> None:
    def take(fs: SimFileSystem, count: int) -> None:
        partition = Partition()
        partition.send(count=count)
        take_snapshot(partition.state, ProducerSnapshots(fs, DIRECTORY))

    seen = {3: 0, 5: 0}
    for fs, completed in worlds_after_a_cut(lambda fs: take(fs, 3), lambda fs: take(fs, 5)):
        state = ProducerState(CONFIG)
        assert reload(state, ProducerSnapshots(fs, DIRECTORY), 0, 9, now_ms=0) == []
        assert state.map_end_offset == 5 or not completed
        assert state.producers[1].last_data_offset == state.map_end_offset - 1
        seen[state.map_end_offset] += 1
    assert min(seen.values()) > 5, seen
