"""A log is deleted on a disk that has no room for another name: its directory is removed under its own name."""

import pytest
from tests.sim.broker import T0, TOPIC_ID, Broker, contents, topic_config

from tidelog.model.errors import ErrorCode
from tidelog.ports.errors import DiskFull, TooManyOpenFiles
from tidelog.ports.files import OpenMode
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem
from tidelog.storage.log.log import Log

CONFIG = topic_config(file_delete_delay_ms=1_000)
PATH = "/disk/logs/t-0"


def deleted_in_place(monkeypatch: pytest.MonkeyPatch) -> tuple[Broker, Log]:
    clock = SimClock()
    node = Broker(SimFileSystem(clock, 1, {"/disk": DiskSettings()}), clock, config=CONFIG).start()
    assert node.produce([b"old"])
    node.settle()
    log = node.log()
    with monkeypatch.context() as patch:

        def refused(_source: str, target: str) -> None:
            raise DiskFull(target, "no room for a longer name")

        patch.setattr(node.fs, "rename", refused)
        node.logs.delete(T0, "0" * 32, node.now)
    return node, log


def test_the_name_is_free_when_the_directory_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    node, _ = deleted_in_place(monkeypatch)
    assert node.logs.create(T0, TOPIC_ID, node.now) is ErrorCode.KAFKA_STORAGE_ERROR
    creation = node.logs.begin_create({T0: TOPIC_ID}, node.now)
    assert T0 not in creation.outcomes
    node.settle()
    made = creation.outcomes[T0]
    assert isinstance(made, Log)
    assert node.produce([b"new"])
    node.settle()
    node.clock.advance(10_000)
    node.retain()
    assert contents(made) == [(0, b"new")]
    assert not node.logs.failures


def test_who_is_still_at_work_there_does_not_take_the_directory_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    node, log = deleted_in_place(monkeypatch)
    node.settle()
    with pytest.raises(Exception, match="t-0") as raised:
        log.segments.first.read(0, 10)
    node.logs.report("/disk/logs", raised.value)  # type: ignore[arg-type]
    assert not node.logs.failures


def test_a_truncation_under_way_ends_without_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimClock()
    node = Broker(SimFileSystem(clock, 1, {"/disk": DiskSettings()}), clock, config=CONFIG).start()
    assert node.produce([b"old"])
    node.settle()
    node.logs.begin_truncate({T0: 5}, node.now, is_whole=True)

    def refused(_source: str, target: str) -> None:
        raise DiskFull(target, "no room for a longer name")

    with monkeypatch.context() as patch:
        patch.setattr(node.fs, "rename", refused)
        node.logs.delete(T0, "0" * 32, node.now)
    node.settle()
    assert not node.logs.failures
    assert "t-0" not in node.fs.list_directory("/disk/logs")


@pytest.mark.parametrize("is_in_use", [True, False])
def test_a_removal_that_was_interrupted_is_taken_up_again(monkeypatch: pytest.MonkeyPatch, is_in_use: bool) -> None:
    node, _ = deleted_in_place(monkeypatch)
    with monkeypatch.context() as patch:
        if is_in_use:  # by a cleaner that has not heard of it yet

            def removed(path: str) -> None:
                node.fs.open(f"{path}/{0:020d}.log.cleaned", OpenMode.CREATE).close()
                SimFileSystem.remove_directory(node.fs, path)

            patch.setattr(node.fs, "remove_directory", removed)
        else:
            node.fs.disk("/disk").faults.fail(Op.NAMES, PATH, fault=TooManyOpenFiles)
        node.settle()
    assert not node.logs.failures
    assert "t-0" in node.fs.list_directory("/disk/logs")
    node.retain()
    node.settle()
    assert "t-0" not in node.fs.list_directory("/disk/logs")
    assert isinstance(node.logs.create(T0, TOPIC_ID, node.now), Log)


def test_a_log_that_took_over_what_was_left_is_not_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    node, _ = deleted_in_place(monkeypatch)
    with monkeypatch.context() as patch:

        def removed(path: str) -> None:
            raise TooManyOpenFiles(path, "no descriptor")

        patch.setattr(node.fs, "remove_directory", removed)
        node.settle()
    creation = node.logs.begin_create({T0: TOPIC_ID}, node.now)
    node.settle()
    assert isinstance(creation.outcomes[T0], Log)
    assert node.produce([b"new"])
    node.settle()
    node.retain()
    node.settle()
    assert contents(node.log()) == [(0, b"new")]
