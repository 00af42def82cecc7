"""The effects of a power loss on names: each change happened or did not, on its own, until its directory was synced."""

from collections.abc import Callable

from tidelog.ports.files import OpenMode
from tidelog.sim.clock import SimClock
from tidelog.sim.files import SimFileSystem

SEEDS = range(120)


def touch(fs: SimFileSystem, path: str, contents: bytes = b"x") -> None:
    file = fs.open(path, OpenMode.CREATE)
    file.write_at(0, [contents])
    file.sync()
    file.close()


def outcomes(
    work: Callable[[SimFileSystem], object], prepare: Callable[[SimFileSystem], object] = lambda _fs: None
) -> list[list[str]]:
    """Return every list of files that a crash after `work` can leave; the files of `prepare` are durable."""
    found: dict[tuple[str, ...], None] = {}
    for seed in SEEDS:
        fs = SimFileSystem(SimClock(), seed)
        prepare(fs)
        for directory in ("/disk", *directories(fs, "/disk")):
            fs.sync_directory(directory)
        work(fs)
        fs.lose_power()
        found[tuple(walk(fs, "/disk"))] = None
    return [list(names) for names in sorted(found)]


def directories(fs: SimFileSystem, path: str) -> list[str]:
    below = [f"{path}/{name}" for name in fs.list_directory(path) if fs.stat(f"{path}/{name}").is_directory]
    return [each for path in below for each in (path, *directories(fs, path))]


def walk(fs: SimFileSystem, path: str) -> list[str]:
    names = []
    for name in fs.list_directory(path):
        below = f"{path}/{name}"
        names += walk(fs, below) if fs.stat(below).is_directory else [below.removeprefix("/disk/")]
    return names


def test_a_new_file_may_vanish_although_it_was_synced() -> None:
    assert outcomes(lambda fs: touch(fs, "/disk/a")) == [[], ["a"]]


def test_a_synced_directory_keeps_its_names() -> None:
    def work(fs: SimFileSystem) -> None:
        touch(fs, "/disk/a")
        fs.sync_directory("/disk")

    assert outcomes(work) == [["a"]]


def test_a_removal_may_be_undone() -> None:
    assert outcomes(lambda fs: fs.remove_file("/disk/a"), lambda fs: touch(fs, "/disk/a")) == [[], ["a"]]


def test_a_rename_happens_or_does_not() -> None:
    assert outcomes(lambda fs: fs.rename("/disk/a", "/disk/b"), lambda fs: touch(fs, "/disk/a")) == [["a"], ["b"]]


def test_a_rename_leaves_the_old_or_the_new_contents() -> None:
    found: dict[bytes, None] = {}
    for seed in SEEDS:
        fs = SimFileSystem(SimClock(), seed)
        touch(fs, "/disk/checkpoint", b"old")
        fs.sync_directory("/disk")
        touch(fs, "/disk/checkpoint.tmp", b"new")
        fs.rename("/disk/checkpoint.tmp", "/disk/checkpoint")
        fs.lose_power()
        found[fs.open("/disk/checkpoint", OpenMode.READ).read_at(0, 10)] = None
    assert sorted(found) == [b"new", b"old"]


def test_a_removed_file_comes_back_with_its_bytes() -> None:
    came_back = 0
    for seed in SEEDS:
        fs = SimFileSystem(SimClock(), seed)
        touch(fs, "/disk/a", b"contents")
        fs.sync_directory("/disk")
        fs.remove_file("/disk/a")
        assert fs.space("/disk").usable_bytes == 1 << 30
        fs.lose_power()
        if fs.list_directory("/disk"):
            assert fs.open("/disk/a", OpenMode.READ).read_at(0, 10) == b"contents"
            assert fs.space("/disk").usable_bytes == (1 << 30) - 8
            came_back += 1
    assert 0 < came_back < len(SEEDS)


def test_changes_survive_in_any_combination_whatever_their_order() -> None:
    def work(fs: SimFileSystem) -> None:
        touch(fs, "/disk/first")
        touch(fs, "/disk/second")

    assert outcomes(work) == [[], ["first"], ["first", "second"], ["second"]]


def test_a_chain_of_renames_never_leaves_two_names() -> None:
    def work(fs: SimFileSystem) -> None:
        fs.rename("/disk/a", "/disk/b")
        fs.rename("/disk/b", "/disk/c")

    assert outcomes(work, lambda fs: touch(fs, "/disk/a")) == [["a"], ["b"], ["c"]]


def test_a_chain_whose_end_was_synced_elsewhere_is_whole() -> None:
    def work(fs: SimFileSystem) -> None:
        fs.rename("/disk/from/a", "/disk/from/b")
        fs.rename("/disk/from/b", "/disk/to/c")
        fs.sync_directory("/disk/to")

    def prepare(fs: SimFileSystem) -> None:
        fs.make_directory("/disk/from")
        fs.make_directory("/disk/to")
        touch(fs, "/disk/from/a")

    assert outcomes(work, prepare) == [["to/c"]]


def test_syncing_a_new_directory_does_not_keep_its_own_name() -> None:
    def work(fs: SimFileSystem) -> None:
        fs.make_directory("/disk/topic-0")
        touch(fs, "/disk/topic-0/0.log")
        fs.sync_directory("/disk/topic-0")

    assert outcomes(work) == [[], ["topic-0/0.log"]]


def test_a_renamed_directory_takes_its_files_along_or_stays() -> None:
    def prepare(fs: SimFileSystem) -> None:
        fs.make_directory("/disk/topic-0")
        touch(fs, "/disk/topic-0/0.log")

    def work(fs: SimFileSystem) -> None:
        fs.rename("/disk/topic-0", "/disk/topic-0.4f-delete")

    assert outcomes(work, prepare) == [["topic-0.4f-delete/0.log"], ["topic-0/0.log"]]


def test_a_file_moved_out_of_a_directory_that_is_removed_is_not_lost() -> None:
    def prepare(fs: SimFileSystem) -> None:
        fs.make_directory("/disk/old")
        touch(fs, "/disk/old/a")

    def work(fs: SimFileSystem) -> None:
        fs.rename("/disk/old/a", "/disk/a")
        fs.remove_directory("/disk/old")

    assert outcomes(work, prepare) == [["a"], ["old/a"]]


def test_a_file_moved_out_of_a_directory_that_is_replaced_is_not_lost() -> None:
    def prepare(fs: SimFileSystem) -> None:
        for name in ("old", "new"):
            fs.make_directory(f"/disk/{name}")
            touch(fs, f"/disk/{name}/{name}")

    def work(fs: SimFileSystem) -> None:
        fs.rename("/disk/old/old", "/disk/kept")
        fs.rename("/disk/new", "/disk/old")

    assert outcomes(work, prepare) == [["kept", "new/new"], ["kept", "old/new"], ["new/new", "old/old"]]


def test_a_file_moved_into_new_directories_is_not_lost() -> None:
    def work(fs: SimFileSystem) -> None:
        fs.make_directory("/disk/new")
        fs.make_directory("/disk/new/er")
        fs.rename("/disk/a", "/disk/new/er/a")

    assert outcomes(work, lambda fs: touch(fs, "/disk/a")) == [["a"], ["new/er/a"]]


def test_a_replacement_under_way_leaves_the_old_or_the_new() -> None:
    found: dict[tuple[bytes, int], None] = {}
    for seed in SEEDS:
        fs = SimFileSystem(SimClock(), seed)
        touch(fs, "/disk/checkpoint", b"old")
        fs.sync_directory("/disk")
        fs.begin_replace("/disk/checkpoint", b"new")
        fs.lose_power()
        found[fs.open("/disk/checkpoint", OpenMode.READ).read_at(0, 10), len(fs.list_directory("/disk"))] = None
    assert sorted(found) == [(b"new", 1), (b"old", 1), (b"old", 2)]
