"""A shortage of descriptors at any moment of a start: the node waits for one, and ends up as it would have without the
shortage. The shortage begins once at each file that the start opens."""

import logging

import pytest
from tests.sim.metadata_node import LOG_DIR, STATIC, format_node
from tests.support.serving import batch_of, create, fetch_values, produced

from tidelog.io import run
from tidelog.io.run import Runner
from tidelog.ports.errors import TooManyOpenFiles
from tidelog.server.metadata_log.loading import LoadedMetadataLog, load_metadata_log
from tidelog.server.metadata_log.log_config import MetadataLogConfig
from tidelog.server.node.node import Phase
from tidelog.sim.clock import SimClock
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem
from tidelog.sim.node_world import GaveUp, NodeWorld
from tidelog.storage.log.loader import LogContext
from tidelog.storage.segment.descriptors import Descriptors

TOPICS = 6
# This many opens in a row fail, so that closing a cached file does not help either.
IN_A_ROW = 12
SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": "1"}


def filled_world(is_stopped: bool) -> NodeWorld:
    """Return a node that is not running, with some topics, and a snapshot in its metadata log."""
    world = NodeWorld(51, SNAPSHOTS)
    client = world.client()
    for index in range(TOPICS):
        create(client, f"t{index}")
        assert produced(client, f"t{index}", batch_of(b"%d" % index)).error_code == 0
    world.run(200)
    assert any(name.endswith(".checkpoint") for name in world.fs.list_directory(metadata_of(world)))
    if is_stopped:
        world.stop()
    else:
        world.kill()
    return world


def metadata_of(world: NodeWorld) -> str:
    return world.running.control._loaded.log.directory


def start(world: NodeWorld) -> int:
    """Start as the runner does, again whenever the files could not be opened; return how often that happened."""
    attempts = 0
    while True:
        try:
            world.start(until_running=False)
        except TooManyOpenFiles:
            attempts += 1
            continue
        world.wait_for(lambda: world.running.phase is Phase.RUNNING or None)
        return attempts


def check_whole(world: NodeWorld) -> None:
    image = world.running.broker.image
    assert sorted(image.topics.by_name) == [f"t{index}" for index in range(TOPICS)]
    client = world.client()
    for index in range(TOPICS):
        assert fetch_values(client, f"t{index}") == [b"%d" % index]
        assert produced(client, f"t{index}", batch_of(b"more")).error_code == 0
    assert all(each.is_online for each in world.running.broker.logs.directories.values())


@pytest.mark.parametrize("is_stopped", [True, False], ids=["after a stop", "after a kill"])
def test_a_start_lives_through_a_shortage_at_any_moment(is_stopped: bool) -> None:
    begun_again = waited = 0
    for skip in range(0, 200, 7):
        world = filled_world(is_stopped)
        faults = world.fs.disk("/disk").faults
        faults.fail(Op.OPEN, "/disk/a", fault=TooManyOpenFiles, skip=skip, times=IN_A_ROW)
        (rule,) = faults.rules
        began_ms = world.clock.monotonic_ms()
        begun_again += start(world)
        waited += world.clock.monotonic_ms() - began_ms >= 1_000
        has_begun = rule.times != IN_A_ROW
        faults.heal()
        check_whole(world)
        world.stop()
        if not has_begun:
            break
    else:
        raise AssertionError("it opens ever more files")
    assert begun_again
    assert waited


def test_a_shortage_is_said_once_with_what_to_do(caplog: pytest.LogCaptureFixture) -> None:
    world = filled_world(is_stopped=True)
    world.start(until_running=False)
    faults = world.fs.disk("/disk").faults
    faults.fail(Op.OPEN, "/disk/a", fault=TooManyOpenFiles, times=None)
    with caplog.at_level(logging.WARNING):
        with pytest.raises(GaveUp):
            world.wait_for(lambda: world.running.phase is Phase.RUNNING or None)
        faults.heal()
        world.wait_for(lambda: world.running.phase is Phase.RUNNING or None)
    lines = [each.getMessage() for each in caplog.records if "ulimit -n" in each.getMessage()]
    assert 1 <= len(lines) <= 2, "of the metadata log, and of the logs"
    check_whole(world)
    world.stop()


def test_a_metadata_log_that_can_not_be_opened_lets_go_of_its_lock() -> None:
    clock = SimClock()
    fs = SimFileSystem(clock, seed=4)
    format_node(fs, clock)

    def load() -> LoadedMetadataLog:
        context = LogContext(Descriptors(fs, 8))
        return load_metadata_log(context, LOG_DIR, MetadataLogConfig(), STATIC, clock.wall_ms(), takes_lock=True)

    fs.disk("/disk").faults.fail(Op.OPEN, f"{LOG_DIR}/__cluster_metadata-0", fault=TooManyOpenFiles, times=IN_A_ROW)
    with pytest.raises(TooManyOpenFiles):
        load()
    fs.disk("/disk").faults.heal()
    assert load().log.end_offset == 0


class Unable:
    """A node whose files can not be opened the first few times."""

    attempts = 0

    def __init__(self, *_ports: object) -> None:
        type(self).attempts += 1
        if self.attempts < 3:
            raise TooManyOpenFiles("/data", "Too many open files in system")


def test_the_runner_begins_again(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(Unable, "attempts", 0)
    monkeypatch.setattr(run, "Node", Unable)
    monkeypatch.setattr(run, "SHORTAGE_REST_MS", 1)
    runner = Runner(NodeWorld(52).config())
    with caplog.at_level(logging.WARNING):
        assert isinstance(runner.start(), Unable)
    runner.node = None
    runner.close()
    (line,) = (each.getMessage() for each in caplog.records if each.name == "tidelog.node")
    assert line.startswith("the start waits: no file descriptor is left: /data: Too many open files in system; raise")


def test_a_stop_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Unable, "attempts", -1_000_000)
    monkeypatch.setattr(run, "Node", Unable)
    runner = Runner(NodeWorld(52).config())
    rest = runner._rest

    def stop_and_rest(duration_ms: int) -> None:
        runner.stop()
        rest(duration_ms)

    monkeypatch.setattr(runner, "_rest", stop_and_rest)
    assert runner.start() is None
    runner.serve()
    runner.close()
