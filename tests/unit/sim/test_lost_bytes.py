"""The effects of a power loss on bytes. Each kind of damage has to turn up: a simulator that is too kind proves
nothing."""

from collections.abc import Callable

import pytest

from tidelog.ports.files import File, OpenMode
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import UNSYNCED_OPERATIONS_MAX
from tidelog.sim.files import SimFileSystem
from tidelog.sim.tearing import SECTOR_BYTES

SEEDS = range(300)
SYNCED = b"S" * 2_000
APPENDED = [bytes([65 + i]) * 700 for i in range(5)]
WHOLE = SYNCED + b"".join(APPENDED)


def crash(seed: int, work: Callable[[SimFileSystem, File], object], synced: bytes = SYNCED) -> bytes:
    """Return the bytes that are left of a file that was synced, then worked on, then lost its power."""
    fs = SimFileSystem(SimClock(), seed)
    file = fs.open("/disk/file", OpenMode.CREATE)
    file.write_at(0, [synced])
    file.sync()
    fs.sync_directory("/disk")
    work(fs, file)
    fs.lose_power()
    left = fs.open("/disk/file", OpenMode.READ)
    return left.read_at(0, left.size())


def append(_fs: SimFileSystem, file: File) -> None:
    for data in APPENDED:
        file.write_at(file.size(), [data])


@pytest.fixture(scope="module")
def after_append() -> list[bytes]:
    return [crash(seed, append) for seed in SEEDS]


def sectors_of(left: bytes) -> list[str]:
    """Return the kind of each sector behind the synced bytes: n(ew), z(ero), t(orn: partly new) or s(tale)."""
    kinds = []
    for start in range(2_048, len(left) - SECTOR_BYTES + 1, SECTOR_BYTES):
        sector, new = left[start : start + SECTOR_BYTES], WHOLE[start : start + SECTOR_BYTES]
        matching = sum(a == b for a, b in zip(sector, new, strict=True))
        kinds.append("n" if sector == new else "z" if not any(sector) else "t" if matching > 40 else "s")
    return kinds


def test_what_was_synced_is_always_there(after_append: list[bytes]) -> None:
    assert all(left.startswith(SYNCED) for left in after_append)


def test_never_more_than_was_written(after_append: list[bytes]) -> None:
    assert max(map(len, after_append)) == len(WHOLE)


@pytest.mark.parametrize(
    ("damage", "is_it"),
    [
        ("all of it lost", lambda left: left == SYNCED),
        ("all of it there", lambda left: left == WHOLE),
        ("a clean prefix of whole writes", lambda left: left == WHOLE[: 2_000 + 1_400]),
        ("a prefix torn inside a write", lambda left: WHOLE.startswith(left) and (len(left) - 2_000) % 700),
        ("the size without any of the bytes", lambda left: left == SYNCED + bytes(3_500)),
        ("stale bytes in place of ours", lambda left: "s" in sectors_of(left)),
        ("a later sector without an earlier one", lambda left: "zn" in "".join(sectors_of(left))),
        ("a sector torn inside", lambda left: "t" in sectors_of(left)),
        ("a size that no write ended at", lambda left: len(left) % 700 != 2_000 % 700),
    ],
)
def test_appended_bytes_can_end_as(after_append: list[bytes], damage: str, is_it: Callable[[bytes], bool]) -> None:
    assert any(map(is_it, after_append)), damage


def test_overwritten_bytes_are_old_or_new_sector_by_sector_or_torn() -> None:
    """Writing in place is never safe, because each sector has its own fate."""

    def overwrite(_fs: SimFileSystem, file: File) -> None:
        file.write_at(0, [b"N" * 2_048])

    mixed = torn = 0
    for seed in SEEDS:
        left = crash(seed, overwrite, synced=b"O" * 2_048)
        assert len(left) == 2_048
        assert left.count(b"O") + left.count(b"N") == 2_048
        kinds = [dict.fromkeys(left[at : at + 512]) for at in range(0, 2_048, 512)]
        torn += any(len(kind) == 2 for kind in kinds)
        mixed += all(len(kind) == 1 for kind in kinds) and "ON" in left.decode()
    assert torn > 10
    assert mixed > 10


def test_a_sector_may_be_as_old_as_any_of_its_versions() -> None:
    def rewrite(_fs: SimFileSystem, file: File) -> None:
        for version in (b"1", b"2", b"3"):
            file.write_at(0, [version * 100])

    seen = {left: None for seed in SEEDS if len(dict.fromkeys(left := crash(seed, rewrite, b"0" * 100))) == 1}
    assert sorted(seen) == [digit * 100 for digit in (b"0", b"1", b"2", b"3")]


def test_a_truncation_may_be_undone_or_survive_without_what_followed() -> None:
    def truncate_and_append(_fs: SimFileSystem, file: File) -> None:
        file.truncate(1_000)
        file.write_at(1_000, [b"N" * 300])

    left = [crash(seed, truncate_and_append) for seed in SEEDS]
    assert all(each.startswith(b"S" * 1_000) for each in left)
    for outcome in (SYNCED, b"S" * 1_000, b"S" * 1_000 + b"N" * 300):
        assert outcome in left


def test_preallocation_may_vanish() -> None:
    sizes = [len(crash(seed, lambda _fs, file: file.truncate(100_000))) for seed in range(40)]
    assert sizes.count(2_000) > 5
    assert sizes.count(100_000) > 5


def test_synced_appends_survive_and_later_ones_are_on_their_own() -> None:
    def sync_in_between(fs: SimFileSystem, file: File) -> None:
        append(fs, file)
        file.sync()
        file.write_at(file.size(), [b"late"])

    left = [crash(seed, sync_in_between) for seed in range(100)]
    assert all(each.startswith(WHOLE) for each in left)
    assert {len(WHOLE), len(WHOLE) + 4} <= {*map(len, left)}


def test_files_fare_independently() -> None:
    outcomes: dict[tuple[int, int], None] = {}
    for seed in range(200):
        fs = SimFileSystem(SimClock(), seed)
        for name in "ab":
            fs.open(f"/disk/{name}", OpenMode.CREATE).write_at(0, [b"x" * 10])
        fs.sync_directory("/disk")
        fs.lose_power()
        outcomes[fs.stat("/disk/a").size // 10, fs.stat("/disk/b").size // 10] = None
    assert sorted(outcomes) == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_stale_bytes_are_those_of_deleted_files() -> None:
    found = 0
    for seed in range(100):
        fs = SimFileSystem(SimClock(), seed)
        old = fs.open("/disk/old", OpenMode.CREATE)
        old.write_at(0, [b"SECRET!!" * 64])
        old.close()
        fs.remove_file("/disk/old")
        new = fs.open("/disk/new", OpenMode.CREATE)
        fs.sync_directory("/disk")
        new.write_at(0, [b"x" * 2_048])
        fs.lose_power()
        found += b"SECRET!!" in fs.open("/disk/new", OpenMode.READ).read_at(0, 2_048)
    assert found > 3


def test_a_second_crash_changes_nothing_more() -> None:
    for seed in range(50):
        fs = SimFileSystem(SimClock(), seed)
        append(fs, fs.open("/disk/file", OpenMode.CREATE))
        fs.sync_directory("/disk")
        fs.lose_power()
        once = fs.open("/disk/file", OpenMode.READ).read_at(0, 9_999)
        fs.lose_power()
        assert fs.open("/disk/file", OpenMode.READ).read_at(0, 9_999) == once


def test_the_death_of_a_process_loses_nothing() -> None:
    for seed in range(20):
        fs = SimFileSystem(SimClock(), seed)
        append(fs, fs.open("/disk/file", OpenMode.CREATE))
        fs.kill()
        assert fs.open("/disk/file", OpenMode.READ).read_at(0, 9_999) == b"".join(APPENDED)


def test_what_nobody_syncs_is_written_back_in_time() -> None:
    """Otherwise a long simulation would keep, and at a crash go through, all that it ever wrote."""
    fs = SimFileSystem(SimClock(), 1)
    file = fs.open("/disk/file", OpenMode.CREATE)
    fs.sync_directory("/disk")
    for position in range(3 * UNSYNCED_OPERATIONS_MAX):
        file.write_at(position, [b"x"])
    (inode,) = fs.disk("/disk").inodes.values()
    assert len(inode.unsynced) <= UNSYNCED_OPERATIONS_MAX
    assert inode.medium.data == b"x" * (file.size() - len(inode.unsynced))


@pytest.mark.parametrize("synced", [True, False])
def test_the_time_of_a_file_is_durable_with_its_bytes(synced: bool) -> None:
    fs = SimFileSystem(SimClock(), 1)
    file = fs.open("/disk/file", OpenMode.CREATE)
    file.sync()
    fs.sync_directory("/disk")
    fs.set_modified("/disk/file", 77)
    if synced:
        file.sync()
    fs.lose_power()
    assert (fs.stat("/disk/file").modified_ms == 77) is synced
