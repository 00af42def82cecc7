"""All the faults that a test can give to a simulated disk."""

from collections.abc import Callable

import pytest

from tidelog.ports.durable import replace_durably, write_fully
from tidelog.ports.errors import CrossDevice, DiskFull, HandleClosed, IoError, NotFound, ReadOnly, SyncFailed
from tidelog.ports.files import DiskSpace, File, OpenMode
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem

New = Callable[..., File]


def read(fs: SimFileSystem, path: str) -> bytes:
    return fs.open(path, OpenMode.READ).read_at(0, 1 << 20)


def test_a_disk_is_full_at_a_byte(fs: SimFileSystem, new: New) -> None:
    file = new(contents=bytes(9_000))
    assert fs.space("/a") == DiskSpace(10_000, 1_000)
    assert file.write_at(9_000, [bytes(700), b"x" * 700]) == 1_000
    with pytest.raises(DiskFull):
        file.write_at(10_000, [b"y"])
    assert file.read_at(9_699, 400) == b"\0" + b"x" * 300
    assert file.write_at(5_000, [b"overwriting needs no space"]) == 26
    with pytest.raises(DiskFull):
        fs.open("/a/other", OpenMode.CREATE)
    with pytest.raises(DiskFull):
        fs.make_directory("/a/directory")
    assert fs.space("/b").usable_bytes == 1 << 30


def test_space_returns_with_the_last_name_and_handle(fs: SimFileSystem, new: New) -> None:
    file = new(contents=bytes(4_000))
    fs.remove_file("/a/file")
    assert fs.space("/a").usable_bytes == 6_000
    part = file.range(0, 10)
    file.close()
    assert fs.space("/a").usable_bytes == 6_000
    part.release()
    assert fs.space("/a").usable_bytes == 10_000


def test_space_returns_by_truncation_replacement_and_death(fs: SimFileSystem, new: New) -> None:
    file = new(contents=bytes(4_000))
    file.truncate(1_000)
    assert fs.space("/a").usable_bytes == 9_000
    new("/a/other", bytes(500)).close()
    fs.rename("/a/other", "/a/file")
    assert fs.space("/a").usable_bytes == 8_500
    fs.kill()
    assert fs.space("/a").usable_bytes == 9_500


def test_many_removed_files_are_forgotten(fs: SimFileSystem, new: New) -> None:
    for i in range(1_000):
        new(f"/a/{i}", b"x").close()
        fs.remove_file(f"/a/{i}")
        fs.sync_directory("/a")
    assert len(fs.disk("/a").inodes) < 500
    assert fs.space("/a").usable_bytes == 10_000


def test_a_fault_strikes_where_when_and_as_often_as_told(fs: SimFileSystem, new: New) -> None:
    fs.make_directory("/a/topic-0")
    hit, spared = new("/a/topic-0/0.log"), new("/a/topic-01")
    fs.disk("/a").faults.fail(Op.WRITE, "/a/topic-0", skip=1, times=2)
    assert hit.write_at(0, [b"a"]) == 1
    for _ in range(2):
        with pytest.raises(IoError, match="simulated fault"):
            hit.write_at(1, [b"b"])
        assert spared.write_at(0, [b"b"]) == 1
    assert hit.write_at(1, [b"c"]) == 1
    assert hit.read_at(0, 10) == b"ac"


def test_every_operation_can_fail(fs: SimFileSystem, new: New) -> None:
    file = new(contents=b"x")
    uses: list[tuple[Op, Callable[[], object]]] = [
        (Op.OPEN, lambda: fs.open("/a/file", OpenMode.READ)),
        (Op.READ, lambda: file.read_at(0, 1)),
        (Op.WRITE, lambda: file.write_at(0, [b"y"])),
        (Op.TRUNCATE, lambda: file.truncate(0)),
        (Op.SYNC_DIRECTORY, lambda: fs.sync_directory("/a")),
        (Op.NAMES, lambda: fs.rename("/a/file", "/a/x")),
        (Op.NAMES, lambda: fs.remove_file("/a/file")),
        (Op.NAMES, lambda: fs.make_directory("/a/x")),
        (Op.NAMES, lambda: fs.remove_directory("/a/x")),
        (Op.LOOK, lambda: fs.stat("/a/file")),
        (Op.LOOK, lambda: fs.list_directory("/a")),
        (Op.LOOK, lambda: fs.space("/a")),
    ]
    for op, use in uses:
        fs.disk("/a").faults.fail(op, fault=ReadOnly)
        with pytest.raises(SyncFailed if op is Op.SYNC_DIRECTORY else ReadOnly):
            use()
    assert read(fs, "/a/file") == b"x"
    assert fs.list_directory("/a") == ["file"]


def test_disks_fail_apart_and_heal(fs: SimFileSystem, new: New) -> None:
    on_a, on_b = new(contents=b"x"), new("/b/file", b"y")
    fs.disk("/a").faults.dead = True
    for use in (lambda: on_a.read_at(0, 1), on_a.sync, lambda: fs.list_directory("/a")):
        with pytest.raises(IoError, match="dead"):
            use()
    on_b.sync()
    assert on_b.read_at(0, 1) == b"y"
    fs.disk("/a").faults.heal()
    assert on_a.read_at(0, 1) == b"x"


def test_a_rename_does_not_cross_disks(fs: SimFileSystem, new: New) -> None:
    new()
    with pytest.raises(CrossDevice):
        fs.rename("/a/file", "/b/file")
    with pytest.raises(NotFound, match="no disk is mounted"):
        fs.stat("/c/file")


def test_a_failed_sync_is_final_and_loses_what_it_covered(clock: SimClock) -> None:
    """The trap is that a later sync of another handle succeeds although the bytes are not there."""
    kept = 0
    for seed in range(40):
        fs = SimFileSystem(clock, seed)
        file = fs.open("/disk/file", OpenMode.CREATE)
        fs.sync_directory("/disk")
        file.write_at(0, [b"first"])
        fs.disk("/disk").faults.fail(Op.SYNC)
        for _ in range(2):
            with pytest.raises(IoError):
                file.sync()
        assert file.read_at(0, 10) == b"first"  # still in the cache, as if all were well
        other = fs.open("/disk/file", OpenMode.WRITE)
        other.write_at(5, [b"second"])
        other.sync()
        fs.lose_power()
        after = read(fs, "/disk/file")
        assert after[5:] == b"second"
        kept += after[:5] == b"first"
    assert 0 < kept < 40


def test_what_a_failed_sync_dropped_disappears_with_the_cache(clock: SimClock) -> None:
    seen = []
    for seed in range(20):
        fs = SimFileSystem(clock, seed)
        file = fs.open("/disk/file", OpenMode.CREATE)
        file.write_at(0, [b"x" * 1_000])
        fs.disk("/disk").faults.fail(Op.SYNC)
        with pytest.raises(IoError):
            file.sync()
        file.write_at(1_000, [b"later"])
        fs.disk("/disk").evict()
        assert file.read_at(1_000, 10) == b"later"
        seen.append(file.read_at(0, 1_000))
        assert fs.space("/disk").usable_bytes == (1 << 30) - 1_005
    assert b"x" * 1_000 in seen
    assert bytes(1_000) in seen


def test_a_failed_directory_sync_keeps_some_names_and_forgets_the_others(clock: SimClock) -> None:
    counts = []
    for seed in range(40):
        fs = SimFileSystem(clock, seed)
        for name in "abcd":
            fs.make_directory(f"/disk/{name}")
        fs.disk("/disk").faults.fail(Op.SYNC_DIRECTORY)
        with pytest.raises(IoError):
            fs.sync_directory("/disk")
        fs.sync_directory("/disk")
        fs.lose_power()
        counts.append(len(fs.list_directory("/disk")))
    assert dict.fromkeys(sorted(counts)) == dict.fromkeys(range(5))


def test_a_slow_sync_covers_only_what_came_before_it(clock: SimClock) -> None:
    lost = 0
    for seed in range(40):
        fs = SimFileSystem(clock, seed, {"/disk": DiskSettings(sync_ms_min=100, sync_ms_max=200)})
        file = fs.open("/disk/file", OpenMode.CREATE)
        fs.sync_directory("/disk")
        file.write_at(0, [b"before"])
        ticket = fs.begin_sync(file)
        file.write_at(6, [b"after"])
        due = fs.next_completion_ms()
        assert due is not None
        assert 100 <= due - clock.monotonic_ms() <= 200
        clock.advance_to(due - 1)
        assert fs.completions() == []
        clock.advance(1)
        assert fs.completions() == [(ticket, None)]
        assert fs.next_completion_ms() is None
        fs.lose_power()
        after = read(fs, "/disk/file")
        assert after[:6] == b"before"
        lost += after != b"beforeafter"
    assert 0 < lost < 40


def test_syncs_on_one_disk_complete_in_order(fs: SimFileSystem, new: New, clock: SimClock) -> None:
    files = [new(f"/b/{i}", b"x") for i in range(5)]
    fs.disk("/b").faults.fail(Op.SYNC, "/b/2")
    tickets = [fs.begin_sync(file) for file in files]
    clock.advance(100)
    completed = fs.completions()
    assert [ticket for ticket, _fault in completed] == tickets
    assert [fault is not None for _ticket, fault in completed] == [False, False, True, False, False]


def test_a_sync_queued_behind_a_failure_fails_too(fs: SimFileSystem, new: New, clock: SimClock) -> None:
    file = new(contents=b"x")
    fs.disk("/a").faults.fail(Op.SYNC)
    fs.begin_sync(file), fs.begin_sync(file)
    clock.advance(100)
    assert [type(fault) for _ticket, fault in fs.completions()] == [SyncFailed, SyncFailed]


def test_blocking_work_is_counted(fs: SimFileSystem, new: New) -> None:
    file = new(contents=bytes(9_000))
    assert fs.stall_ms == 0
    file.sync()
    fs.sync_directory("/a")
    assert fs.stall_ms >= 2
    assert fs.cold_reads == 0


def test_cold_pages_warm_up(fs: SimFileSystem, new: New, clock: SimClock) -> None:
    file = new(contents=bytes(9_000))
    file.sync()
    fs.disk("/a").evict()
    assert not file.is_cached(0, 1)
    assert file.is_cached(9_000, 1)  # nothing to read there
    fs.begin_warm(file, 0, 5_000)
    clock.advance(1)
    fs.completions()
    assert file.is_cached(0, 8_192)
    assert not file.is_cached(8_000, 1_000)
    file.read_at(0, 5_000)
    assert fs.cold_reads == 0
    file.read_at(8_000, 1_000)
    assert (fs.cold_reads, file.is_cached(0, 9_000)) == (1, True)


def test_warming_a_bad_sector_is_a_fault(fs: SimFileSystem, new: New, clock: SimClock) -> None:
    file = new(contents=b"x")
    fs.disk("/a").faults.fail(Op.READ)
    fs.begin_warm(file, 0, 1)
    clock.advance(1)
    assert [type(fault) for _ticket, fault in fs.completions()] == [IoError]


def test_bit_rot(fs: SimFileSystem, new: New) -> None:
    file = new(contents=b"\0" * 100)
    file.sync()
    assert fs.rot("/a/file", [3, 799]) == [3, 799]
    assert file.read_at(0, 200) == b"\x08" + bytes(98) + b"\x80"
    (bit,) = fs.rot("/a/file", random_bits=1)
    assert 0 <= bit < 800
    assert sum(byte.bit_count() for byte in file.read_at(0, 100)) in (1, 3)


def test_short_writes_come_by_chance(clock: SimClock) -> None:
    fs = SimFileSystem(clock, 1, {"/disk": DiskSettings(short_write_chance=0.5)})
    file = fs.open("/disk/file", OpenMode.CREATE)
    counts = [file.write_at(0, [b"x" * 50, b"y" * 50]) for _ in range(100)]
    assert 20 < counts.count(100) < 80
    assert all(count > 0 for count in counts)
    data = bytes(range(256)) * 4
    assert write_fully(file, 0, [data[i : i + 7] for i in range(0, 1024, 7)]) == 1024
    assert file.read_at(0, 2_000) == data


def test_handles_and_locks_die_with_the_process(fs: SimFileSystem, new: New) -> None:
    file = new(contents=b"written, not synced")
    part = file.range(0, 1)
    lock = fs.lock("/a/.lock")
    fs.begin_sync(file)
    fs.kill()
    for use in (file.sync, file.size, lambda: part.read(1)):
        with pytest.raises(HandleClosed):
            use()
    file.close()
    part.release()
    assert fs.completions() == []
    again = fs.lock("/a/.lock")
    lock.release()
    assert fs.locks
    again.release()
    assert read(fs, "/a/file") == b"written, not synced"


def test_a_replacement_without_room_gives_back_what_it_took(fs: SimFileSystem) -> None:
    replace_durably(fs, "/a/file", b"old")
    fs.disk("/a").settings.capacity_bytes = 1_000
    with pytest.raises(DiskFull):
        replace_durably(fs, "/a/file", bytes(2_000))
    assert fs.space("/a").usable_bytes == 997
    assert read(fs, "/a/file") == b"old"
