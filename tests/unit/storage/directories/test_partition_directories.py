"""A start that finds several directories of one partition: it never loads two logs, and never guesses."""

import pytest
from tests.sim.broker import T0, TOPIC_ID, Broker, contents, topic_config

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.ports.errors import DiskFull, TooManyOpenFiles
from tidelog.ports.files import OpenMode
from tidelog.sim.clock import SimClock
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem
from tidelog.storage.errors import DuplicateLogError

A, B, C = PATHS = ("/a/logs", "/b/logs", "/c/logs")
U, V = "1" * 32, "2" * 32
CONFIG = topic_config(file_delete_delay_ms=0)


def machine() -> SimFileSystem:
    return SimFileSystem(SimClock(), 1, ("/a", "/b", "/c"))


def write_log(fs: SimFileSystem, path: str, name: str, *values: bytes) -> None:
    """Write a log of this partition into this directory, under this name, by a broker that had no other directory."""
    node = start(fs, (path,))
    for value in values:
        node.produce([value])
    node.stop()
    if name != "t-0":
        fs.rename(f"{path}/t-0", f"{path}/{name}")
        fs.sync_directory(path)
    fs.kill()


def start(fs: SimFileSystem, paths: tuple[str, ...] = PATHS) -> Broker:
    assert isinstance(fs.clock, SimClock)
    return Broker(fs, fs.clock, paths, CONFIG).start()


def names(fs: SimFileSystem) -> list[str]:
    return [f"{path}/{name}" for path in PATHS for name in fs.list_directory(path) if name.startswith("t-0")]


def test_a_committed_move_is_completed() -> None:
    fs = machine()
    write_log(fs, A, f"t-0.{U}-delete", b"old")
    write_log(fs, B, f"t-0.{U}-future", b"old", b"new")
    node = start(fs)
    assert node.log().directory == f"{B}/t-0"
    assert contents(node.log()) == [(0, b"old"), (1, b"new")]
    assert "committed" in node.progress.problems[0]
    assert not node.logs.moves.is_moving(T0)
    node.retain()
    assert names(fs) == [f"{B}/t-0"]


@pytest.mark.parametrize("seed", range(12))
def test_completing_a_move_never_leaves_the_name_twice(seed: int) -> None:
    """The process died right after the rename that commits the move, and the machine dies right after the next
    start."""
    fs = SimFileSystem(SimClock(), seed, ("/a", "/b", "/c"))
    write_log(fs, A, "t-0", b"x")
    write_log(fs, B, f"t-0.{U}-future", b"x")
    fs.rename(f"{A}/t-0", f"{A}/t-0.{U}-delete")
    assert start(fs).log().directory == f"{B}/t-0"
    fs.lose_power()
    assert [name for name in names(fs) if name.endswith("t-0")] == [f"{B}/t-0"]


def test_without_the_originals_new_name_it_is_a_copy_that_goes_on() -> None:
    fs = machine()
    write_log(fs, A, "t-0", b"0", b"1", b"2")
    write_log(fs, B, f"t-0.{U}-future", b"0")
    write_log(fs, C, f"t-0.{V}-delete", b"gone")
    node = start(fs)
    assert (node.log().directory, node.logs.moves.future_lag(T0)) == (f"{A}/t-0", 2)
    for _ in range(20):
        node.logs.step_moves(node.now)
        node.settle()
    assert contents(node.log()) == [(0, b"0"), (1, b"1"), (2, b"2")]
    node.retain()
    assert names(fs) == [f"{B}/t-0"]


def test_a_copy_without_its_log_is_left_alone() -> None:
    """It is left alone even next to the original of another move, because the unique parts do not match."""
    fs = machine()
    write_log(fs, A, f"t-0.{V}-delete", b"x")
    write_log(fs, B, f"t-0.{U}-future", b"y")
    node = start(fs)
    assert node.logs.find(T0) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert node.progress.set_aside == [f"{B}/t-0.{U}-future"]
    assert "left alone" in node.progress.problems[0]
    node.retain()
    assert names(fs) == [f"{B}/t-0.{U}-future"]


def test_two_logs_of_one_partition_are_set_aside_and_both_named() -> None:
    fs = machine()
    write_log(fs, A, "t-0", b"x")
    write_log(fs, B, "t-0", b"x", b"y")
    write_log(fs, C, f"t-0.{U}-future", b"x")
    before = names(fs)
    node = start(fs)
    assert node.logs.find(T0) is ErrorCode.KAFKA_STORAGE_ERROR
    assert node.logs.create(T0, TOPIC_ID, node.now) is ErrorCode.KAFKA_STORAGE_ERROR
    error = node.logs.directories[A].corrupt[T0]
    assert isinstance(error, DuplicateLogError)
    assert f"{A}/t-0 and {B}/t-0" in node.progress.problems[0]
    assert f"tidelog log repair {B} --partition t-0" in node.progress.problems[0]
    assert isinstance(node.produce([b"z"], TopicPartition("t", 1)).code, ErrorCode), "the others go on"
    node.retain()
    assert names(fs) == before


def test_a_second_copy_and_one_beside_its_log_are_deleted() -> None:
    fs = machine()
    write_log(fs, A, f"t-0.{V}-future", b"0")
    write_log(fs, A, "t-0", b"0", b"1")
    write_log(fs, B, f"t-0.{U}-future", b"0")
    write_log(fs, C, f"t-0.{V}-future", b"0")
    node = start(fs)
    node.retain()
    assert names(fs) == [f"{A}/t-0", f"{B}/t-0.{U}-future"]


def test_a_copy_of_another_topic_of_the_same_name_is_deleted() -> None:
    fs = machine()
    write_log(fs, A, "t-0", b"0", b"1")
    write_log(fs, B, f"t-0.{U}-future", b"0")
    metadata = fs.open(f"{B}/t-0.{U}-future/partition.metadata", OpenMode.WRITE)
    metadata.write_at(len("version: 0\ntopic_id: "), [b"BBBBBBBBBBBBBBBBBBBBBA"])
    node = start(fs)
    node.settle()
    assert "another topic" in (node.logs.moves.done[0].error or "")
    node.retain()
    assert names(fs) == [f"{A}/t-0"]


@pytest.mark.parametrize("is_dead", [False, True])
def test_the_original_is_kept_while_its_copy_may_be_offline(is_dead: bool) -> None:
    fs = machine()
    write_log(fs, A, f"t-0.{U}-delete", b"x")
    write_log(fs, B, f"t-0.{U}-future", b"x")
    fs.disk("/b").faults.dead = is_dead
    node = start(fs)
    node.retain()
    assert (f"t-0.{U}-delete" in fs.list_directory(A)) is is_dead
    assert (node.logs.find(T0) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) is is_dead


def test_a_damaged_copy_is_deleted_and_the_log_stays() -> None:
    fs = machine()
    write_log(fs, A, "t-0", b"0", b"1")
    write_log(fs, B, f"t-0.{U}-future", b"0", b"1")
    (segment,) = (name for name in fs.list_directory(f"{B}/t-0.{U}-future") if name.endswith(".log"))
    fs.rot(f"{B}/t-0.{U}-future/{segment}", [8 * 66])
    fs.remove_file(f"{B}/.kafka_cleanshutdown")
    node = start(fs)
    assert not node.logs.moves.is_moving(T0)
    assert any("the move of t-0 is off" in problem for problem in node.progress.problems), node.progress.problems
    node.retain()
    assert names(fs) == [f"{A}/t-0"]
    assert contents(node.log()) == [(0, b"0"), (1, b"1")]


def test_a_copy_without_room_for_its_plain_name_is_the_log_all_the_same() -> None:
    fs = machine()
    write_log(fs, A, f"t-0.{U}-delete", b"old")
    write_log(fs, B, f"t-0.{U}-future", b"old", b"new")
    fs.disk("/b").faults.fail(Op.NAMES, f"{B}/t-0.{U}-future", fault=DiskFull)
    node = start(fs)
    assert all(each.is_online for each in node.logs.directories.values())
    assert contents(node.log()) == [(0, b"old"), (1, b"new")]
    node.produce([b"newer"])
    node.flush()
    node.clock.advance(120_000)
    node.retain()
    assert names(fs) == [f"{A}/t-0.{U}-delete", f"{B}/t-0.{U}-future"], "the original says that the copy is the log"
    fs.lose_power()
    fresh = start(fs)
    assert fresh.log().directory == f"{B}/t-0"
    assert contents(fresh.log()) == [(0, b"old"), (1, b"new"), (2, b"newer")]


def test_a_start_that_lacks_descriptors_for_completing_a_move_can_be_repeated() -> None:
    fs = machine()
    write_log(fs, A, f"t-0.{U}-delete", b"old")
    write_log(fs, B, f"t-0.{U}-future", b"old", b"new")
    sync = fs.sync_directory

    def refused(path: str) -> None:
        if path == B and "t-0" in fs.list_directory(B):
            raise TooManyOpenFiles(path, "no descriptor")
        sync(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fs, "sync_directory", refused)
        with pytest.raises(TooManyOpenFiles):
            start(fs)
    fs.kill()
    assert contents(start(fs).log()) == [(0, b"old"), (1, b"new")]
