"""A log moves between two disks, and one of them has no room for another name: nothing goes offline or is lost."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.sim.broker import T0, TOPIC_ID, Broker
from tests.unit.storage.directories.test_moves import (
    A,
    B,
    U,
    V,
    again,
    alter,
    broker,
    directories,
    finish,
    slow,
    step,
    stop,
    turns,
    values,
)

from tidelog.model.errors import ErrorCode
from tidelog.ports.errors import DiskFull, StorageFault, TooManyOpenFiles
from tidelog.sim.faults import Op
from tidelog.storage.directories.operations import PAUSE_MS

ALL = [b"0", b"1", b"2", b"3", b"4"]
shortages = pytest.mark.parametrize("shortage", [DiskFull, TooManyOpenFiles])


@contextmanager
def no_room_for(node: Broker, path: str, shortage: type[StorageFault] = DiskFull) -> Iterator[None]:
    """Refuse every rename to `path`."""
    rename = node.fs.rename

    def refused(source: str, target: str) -> None:
        if target == path:
            raise shortage(target, "no room for the name")
        rename(source, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node.fs, "rename", refused)
        yield


def pass_time(node: Broker) -> None:
    for _ in range(3):
        step(node)
        node.clock.advance(PAUSE_MS)


def are_online(node: Broker) -> bool:
    return not node.logs.failures and all(each.is_online for each in node.logs.directories.values())


@shortages
def test_a_source_without_room_for_the_originals_new_name(shortage: type[StorageFault]) -> None:
    node = broker()
    alter(node)
    with no_room_for(node, f"{A}/t-0.{U}-delete", shortage):
        step(node, 40)
        assert are_online(node)
        assert node.logs.take_shortages()
        assert node.log().directory == f"{A}/t-0", "the original goes on"
        assert directories(node) == {A: ["t-0"], B: [f"t-0.{U}-future"]}
        moves = node.logs.moves
        assert moves.deadline_ms(node.now) == moves._moves[T0].retry_ms > node.now, "and the move is tried again"
        node.produce([b"5"])
        node.flush()
        assert node.log().flush.recovery_point == 6, "its flushes are still heard of"
        pass_time(node)
        assert are_online(node)
    pass_time(node)
    finish(node)
    assert values(node.log()) == [*ALL, b"5"]
    assert directories(node) == {A: [f"t-0.{U}-delete"], B: ["t-0"]}
    stop(node)
    assert values(again(node).log()) == [*ALL, b"5"]


def test_a_flush_under_way_outlives_a_commit_without_room() -> None:
    node = broker()
    node.flush()
    alter(node)
    node.logs.moves.may_commit = lambda _partition, _path: False
    step(node, 40)
    slow(node, "/a", 1_000)
    node.produce([b"5"])
    log = node.log()
    log.flush.ask(log)
    node.logs.moves.may_commit = lambda _partition, _path: True
    with no_room_for(node, f"{A}/t-0.{U}-delete"):
        turns(node, 40)
        assert node.logs.take_shortages()
        assert log.flush.begun is not None
        node.settle()
        assert log.flush.recovery_point == 6
    pass_time(node)
    finish(node)
    assert values(node.log()) == [*ALL, b"5"]


def test_a_move_that_waits_for_room_can_be_called_off_and_its_partition_deleted() -> None:
    node = broker()
    alter(node)
    with no_room_for(node, f"{A}/t-0.{U}-delete"):
        step(node, 40)
        assert alter(node, A) is ErrorCode.NONE
        node.settle()
        assert not node.logs.moves.is_moving(T0)
        assert alter(node, B, V) is ErrorCode.NONE
        step(node, 40)
        node.logs.delete(T0, V, node.now)
        pass_time(node)
    node.clock.advance(1_000)
    node.retain()
    assert directories(node) == {A: [], B: []}
    assert are_online(node)


@shortages
def test_a_target_without_room_for_the_plain_name(shortage: type[StorageFault]) -> None:
    node = broker()
    alter(node)
    with no_room_for(node, f"{B}/t-0", shortage):
        step(node, 40)
        assert are_online(node)
        assert node.log().directory == f"{B}/t-0.{U}-future", "the copy is the log"
        node.produce([b"5"])
        node.flush()
        assert node.log().flush.recovery_point == 6
        node.clock.advance(1_000)
        node.retain()
        assert directories(node)[A] == [f"t-0.{U}-delete"], "which the original's name tells the next start"
        pass_time(node)
        assert are_online(node)
    pass_time(node)
    finish(node)
    assert directories(node)[B] == ["t-0"]
    node.clock.advance(1_000)
    node.retain()
    assert directories(node) == {A: [], B: ["t-0"]}
    assert values(node.log()) == [*ALL, b"5"]


def test_a_copy_without_its_plain_name_is_renamed_only_when_no_flush_is_under_way() -> None:
    node = broker()
    alter(node)
    with no_room_for(node, f"{B}/t-0"):
        step(node, 40)
    log = node.log()
    slow(node, "/b", 5 * PAUSE_MS)
    node.produce([b"5"])
    log.flush.ask(log)
    for _ in range(3):
        node.logs.work(node.now)
        node.clock.advance(PAUSE_MS)
        assert (log.flush.begun is not None, log.directory) == (True, f"{B}/t-0.{U}-future")
    slow(node, "/b", 5)
    pass_time(node)
    pass_time(node)
    assert (log.directory, log.flush.recovery_point) == (f"{B}/t-0", 6)
    assert are_online(node)


@pytest.mark.parametrize("ends_by_power", [True, False])
def test_a_restart_completes_what_had_no_room(ends_by_power: bool) -> None:
    node = broker()
    node.flush()
    alter(node)
    with no_room_for(node, f"{B}/t-0"):
        step(node, 40)
        if ends_by_power:
            node.fs.lose_power()
        else:
            stop(node)
    fresh = again(node)
    assert fresh.log().directory == f"{B}/t-0"
    assert values(fresh.log()) == ALL


def test_the_original_stays_when_the_target_goes_offline_before_there_is_room() -> None:
    node = broker()
    alter(node)
    with no_room_for(node, f"{B}/t-0"):
        step(node, 40)
        node.fs.disk("/b").faults.fail(Op.WRITE, times=None)
        node.produce([b"lost with its disk"])
    pass_time(node)
    assert [each.path for each in node.logs.failures] == [B]
    node.clock.advance(1_000)
    node.retain()
    assert directories(node)[A] == [f"t-0.{U}-delete"]
    assert [each.error for each in node.logs.moves.done] == [f"{B} is offline"]


@shortages
def test_a_half_made_copy_is_removed_when_that_can_be_done(shortage: type[StorageFault]) -> None:
    node = broker()
    faults = node.fs.disk("/b").faults
    faults.fail(Op.OPEN, f"{B}/t-0.{U}-future", fault=shortage)
    faults.fail(Op.NAMES, f"{B}/t-0.{U}-future", fault=shortage, skip=1, times=2)
    alter(node)
    step(node)
    assert not node.logs.moves.is_moving(T0)
    assert directories(node)[B] == [f"t-0.{U}-future"]
    for _ in range(3):
        node.clock.advance(1_000)
        node.retain()
    assert are_online(node)
    assert directories(node) == {A: ["t-0"], B: []}


@shortages
def test_a_copy_that_is_not_wanted_goes_under_its_own_name(shortage: type[StorageFault]) -> None:
    node = broker()
    alter(node)
    step(node, 4)
    with no_room_for(node, f"{B}/t-0.{U}-delete", shortage):
        assert alter(node, A) is ErrorCode.NONE
        node.settle()
        assert are_online(node)
        assert "partition.metadata" not in node.fs.list_directory(f"{B}/t-0.{U}-future"), "no start takes it for a copy"
        node.clock.advance(1_000)
        node.retain()
        assert directories(node) == {A: ["t-0"], B: []}
    assert values(node.log()) == ALL
    assert alter(node, B, V) is ErrorCode.NONE
    finish(node)
    assert values(node.log()) == ALL


def test_a_copy_that_can_not_even_be_disowned_is_tried_again() -> None:
    node = broker()
    alter(node)
    step(node, 4)
    node.fs.disk("/b").faults.fail(Op.NAMES, f"{B}/t-0.{U}-future", fault=DiskFull, times=2)
    alter(node, A)
    node.settle()
    assert directories(node)[B] == [f"t-0.{U}-future"]
    pass_time(node)
    assert directories(node)[B] == [f"t-0.{U}-delete"]
    assert are_online(node)


@pytest.mark.parametrize("pieces", range(24))
def test_a_copy_that_was_half_removed_is_nobodys_after_a_restart(pieces: int) -> None:
    node = broker()
    node.flush()
    node.logs.moves.may_commit = lambda _partition, _path: False
    alter(node)
    step(node, 40)
    with no_room_for(node, f"{B}/t-0.{U}-delete"):
        alter(node, A)
        for _ in range(pieces):
            node.logs.begin_removal(node.now)
            node.logs.work(node.now, 1)
            node.clock.advance(30)
            node.logs.complete(node.fs.completions(), node.now)
        node.fs.lose_power()
    fresh = again(node)
    for _ in range(30):
        step(fresh)
    assert values(fresh.log()) == ALL
    assert fresh.logs.create(T0, TOPIC_ID, fresh.now) is fresh.log()
    fresh.clock.advance(1_000)
    fresh.retain()
    assert are_online(fresh)
    assert [path for path, names in directories(fresh).items() if "t-0" in names] != [A, B]
