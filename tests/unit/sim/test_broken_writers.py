"""The simulator's own proof: a writer that keeps the rules never loses what it acknowledged, and each writer that
breaks one rule is caught within a few seeds. Were the simulator too kind, or too cruel, one of these would fail."""

import struct
from collections.abc import Callable
from contextlib import suppress
from random import Random
from zlib import crc32

import pytest

from tidelog.ports.durable import TEMPORARY_SUFFIX, replace_durably, write_fully
from tidelog.ports.files import File, OpenMode
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.files import SimFileSystem

HEAD = struct.Struct(">II")  # length, CRC
LOG, CHECKPOINT = "/disk/log", "/disk/checkpoint"
CORRECT_SEEDS = range(2_000)
CAUGHT_WITHIN = range(100)


class Lost(AssertionError):
    """The loss of something acknowledged, which is not there after the crash."""


def machine(seed: int) -> SimFileSystem:
    return SimFileSystem(SimClock(), seed, {"/disk": DiskSettings(short_write_chance=0.1)})


def create_log(fs: SimFileSystem) -> File:
    file = fs.open(LOG, OpenMode.CREATE_NEW)
    fs.sync_directory("/disk")
    return file


def create_log_without_directory_sync(fs: SimFileSystem) -> File:
    return fs.open(LOG, OpenMode.CREATE_NEW)


def append(file: File, position: int, record: bytes) -> int:
    position = write_fully(file, position, [HEAD.pack(len(record), crc32(record)), record])
    file.sync()
    return position


def append_without_sync(file: File, position: int, record: bytes) -> int:
    return write_fully(file, position, [HEAD.pack(len(record), crc32(record)), record])


def append_and_sync_too_early(file: File, position: int, record: bytes) -> int:
    file.sync()
    return append_without_sync(file, position, record)


def recover(fs: SimFileSystem) -> list[bytes]:
    """Return the records up to the first that is not whole, as a log does after an unclean stop."""
    file = fs.open(LOG, OpenMode.CREATE)
    records: list[bytes] = []
    position = 0
    while len(head := file.read_at(position, HEAD.size)) == HEAD.size:
        length, checksum = HEAD.unpack(head)
        record = file.read_at(position + HEAD.size, length)
        if not length or len(record) != length or crc32(record) != checksum:
            break
        records.append(record)
        position += HEAD.size + length
    return records


def crash_a_log(
    seed: int,
    create: Callable[[SimFileSystem], File] = create_log,
    append: Callable[[File, int, bytes], int] = append,
) -> tuple[int, int]:
    """Append records, and crash while one more is being written; return how many were acknowledged, and how many are
    there."""
    chance, fs = Random(seed), machine(seed)
    file, position = create(fs), 0
    records = [chance.randbytes(chance.randrange(1, 1_500)) for _ in range(chance.randrange(1, 6))]
    for record in records[:-1]:
        position = append(file, position, record)
    append_without_sync(file, position, records[-1])
    fs.lose_power()
    recovered = recover(fs)
    if recovered[: len(records) - 1] != records[:-1]:
        raise Lost(f"{len(recovered)} of {len(records) - 1} records")
    assert recovered == records[: len(recovered)], "recovered what was never written"
    return len(records) - 1, len(recovered)


def replace_in_place(fs: SimFileSystem, path: str, contents: bytes) -> None:
    file = fs.open(path, OpenMode.CREATE)
    file.truncate(0)
    write_fully(file, 0, [contents])
    file.sync()


def replace_without_directory_sync(fs: SimFileSystem, path: str, contents: bytes) -> None:
    file = fs.open(path + TEMPORARY_SUFFIX, OpenMode.CREATE)
    file.truncate(0)
    write_fully(file, 0, [contents])
    file.sync()
    fs.rename(path + TEMPORARY_SUFFIX, path)


def replace_without_file_sync(fs: SimFileSystem, path: str, contents: bytes) -> None:
    file = fs.open(path + TEMPORARY_SUFFIX, OpenMode.CREATE)
    file.truncate(0)
    write_fully(file, 0, [contents])
    fs.rename(path + TEMPORARY_SUFFIX, path)
    fs.sync_directory("/disk")


def crash_a_checkpoint(seed: int, replace: Callable[[SimFileSystem, str, bytes], None] = replace_durably) -> bytes:
    """Replace the checkpoint, then lose power at some step of the next replacement; return what is there."""
    chance, fs = Random(seed), machine(seed)
    contents = [b"%d" % i * chance.randrange(1, 1_000) for i in range(3)]
    replace_durably(fs, CHECKPOINT, contents[0])
    replace(fs, CHECKPOINT, contents[1])
    interrupted(fs, chance.randrange(1, 12), lambda: replace(fs, CHECKPOINT, contents[2]))
    found = fs.open(CHECKPOINT, OpenMode.READ).read_at(0, 9_999)
    if found not in contents[1:]:
        raise Lost(f"the checkpoint reads {found[:20]!r}")
    return found


class PowerCut(BaseException):
    """The loss of power in the middle of an operation, which nothing that runs may catch."""


def interrupted(fs: SimFileSystem, steps: int, work: Callable[[], None]) -> None:
    """Cut the power when the trace has grown by `steps` lines, or after the work."""
    record, end = fs.trace.record, fs.trace.count + steps

    def cut(*parts: object) -> None:
        record(*parts)
        if fs.trace.count == end:
            raise PowerCut

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fs.trace, "record", cut)
        with suppress(PowerCut):
            work()
    fs.lose_power()


def test_the_correct_log_never_loses_what_it_acknowledged() -> None:
    outcomes = [crash_a_log(seed) for seed in CORRECT_SEEDS]
    beyond = [recovered - acknowledged for acknowledged, recovered in outcomes]
    assert beyond.count(0) > 100  # the record that was being written is lost...
    assert beyond.count(1) > 100  # ...or survives, by luck


def test_the_correct_checkpoint_is_always_old_or_new() -> None:
    found = [crash_a_checkpoint(seed)[:1] for seed in CORRECT_SEEDS]
    assert found.count(b"1") > 100
    assert found.count(b"2") > 100


@pytest.mark.parametrize(
    "broken",
    [
        lambda seed: crash_a_log(seed, append=append_without_sync),
        lambda seed: crash_a_log(seed, append=append_and_sync_too_early),
        lambda seed: crash_a_log(seed, create=create_log_without_directory_sync),
        lambda seed: crash_a_checkpoint(seed, replace_in_place),
        lambda seed: crash_a_checkpoint(seed, replace_without_directory_sync),
        lambda seed: crash_a_checkpoint(seed, replace_without_file_sync),
    ],
    ids=["no sync", "sync before the write", "no directory sync", "in place", "rename only", "rename unsynced bytes"],
)
def test_a_broken_writer_is_caught(broken: Callable[[int], object]) -> None:
    caught = 0
    for seed in CAUGHT_WITHIN:
        try:
            broken(seed)
        except Lost:
            caught += 1
    assert caught >= 3, f"{caught} of {len(CAUGHT_WITHIN)} seeds"
