"""A sync fails, the process alone is started again, and then the power fails: nothing is lost that was acknowledged.

Each sync of a short life fails once, of files and of directories. The page cache still shows what the disk never got,
and the process that comes next must not build upon it. `flush.messages=1`, so that each acknowledgement stands for a
sync; what the first process had acknowledged before the fault must be there as well.
"""

import logging

import pytest
from tests.sim.broker import T0, TOPIC_ID, Broker, contents, topic_config
from tests.support.serving import batch_of as produced_batch
from tests.support.serving import create, fetch_values, produced

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.ports.errors import DiskFull, IoError
from tidelog.server.node.node import NodeFailed
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem
from tidelog.sim.node_world import GaveUp, NodeWorld
from tidelog.storage.directories.failed_sync import SYNC_MARK, is_marked_failed, is_marked_intact, mark_failed
from tidelog.storage.log.log import Log

LOGS = "/disk/logs"
T1 = TopicPartition("t", 1)
SYNCED = topic_config(flush_messages=1, internal_segment_bytes=600)
SYNCS = 24
OPS = pytest.mark.parametrize("op", [Op.SYNC, Op.SYNC_DIRECTORY])


@pytest.fixture(autouse=True)
def _quiet() -> None:
    logging.getLogger("tidelog").setLevel(logging.CRITICAL)


class Life:
    """Two partitions, written in turn by one process after another."""

    def __init__(self, seed: int) -> None:
        self.clock = SimClock()
        self.fs = SimFileSystem(self.clock, seed, {"/disk": DiskSettings(stale_is_intact=False)})
        self.acknowledged: dict[TopicPartition, dict[int, bytes]] = {T0: {}, T1: {}}
        self.node = self.start()

    def start(self) -> Broker:
        node = Broker(self.fs, self.clock, (LOGS,), SYNCED)
        node.flushes_new = False
        return node.start()

    @property
    def is_online(self) -> bool:
        return self.node.logs.directories[LOGS].is_online

    def write(self, what: str, count: int) -> None:
        for number in range(count):
            for partition in (T0, T1):
                self._write(partition, b"%s %d" % (what.encode(), number) * 8)
        if self.is_online:
            self.node.checkpoint()

    def _write(self, partition: TopicPartition, value: bytes) -> None:
        log = self.node.logs.get(partition) or self.node.logs.create(partition, TOPIC_ID, self.node.now)
        if not isinstance(log, Log):
            return
        offset = log.log_end_offset
        self.node.produce([value], partition)
        self.node.settle()
        if self.is_online and log.acknowledgeable_offset > offset:
            self.acknowledged[partition][offset] = value

    def check(self) -> None:
        for partition, acknowledged in self.acknowledged.items():
            log = self.node.logs.get(partition)
            found = dict(contents(log)) if log is not None else {}
            lost = [offset for offset, value in acknowledged.items() if found.get(offset) != value]
            assert not lost, f"{partition}: {lost} of {list(acknowledged)}"


def live(seed: int, op: Op, skip: int) -> bool:
    """Live through one failed sync, a restart and a power loss; return whether the life had that many syncs."""
    life = Life(seed)
    life.fs.disk("/disk").faults.fail(op, "/disk", skip=skip)
    life.write("first", 6)
    has_failed = not life.is_online
    life.fs.disk("/disk").faults.heal()
    life.fs.kill()
    life.node = life.start()
    assert life.is_online
    life.write("second", 3)
    life.fs.lose_power()
    life.node = life.start()
    life.check()
    life.write("third", 1)
    return has_failed


@OPS
@pytest.mark.parametrize("seed", range(2))
def test_every_sync_may_fail_and_nothing_acknowledged_is_lost(op: Op, seed: int) -> None:
    failed = [skip for skip in range(SYNCS) if live(seed, op, skip)]
    assert len(failed) > SYNCS // 2, "most of them were syncs of this life"


@OPS
@pytest.mark.parametrize("skip", range(0, 30, 2))
def test_a_repair_that_is_interrupted_is_done_again(op: Op, skip: int) -> None:
    """The second process finds the mark and begins the repair, but a sync fails again; the third one succeeds."""
    life = Life(skip)
    life.fs.disk("/disk").faults.fail(Op.SYNC, "/disk/logs/t-0", skip=4)
    life.write("first", 6)
    assert not life.is_online
    life.fs.kill()
    life.fs.disk("/disk").faults.heal()
    life.fs.disk("/disk").faults.fail(op, "/disk", skip=skip)
    life.node = life.start()
    life.fs.disk("/disk").faults.heal()
    life.fs.kill()
    life.node = life.start()
    assert is_marked_intact(life.fs, LOGS)
    life.write("second", 3)
    life.fs.lose_power()
    life.node = life.start()
    life.check()


def test_the_mark_needs_no_room() -> None:
    life = Life(1)
    life.write("first", 1)
    life.node.produce([b"unsynced"], T0)
    disk = life.fs.disk("/disk")
    disk.settings.capacity_bytes = 0
    disk.faults.fail(Op.SYNC, "/disk/logs/t-0")
    life.node.settle()
    assert not life.is_online
    assert is_marked_failed(life.fs, LOGS)


def test_a_mark_that_can_not_be_written_is_removed_and_an_unclean_stop_without_one_is_doubtful() -> None:
    life = Life(2)
    life.write("first", 2)
    disk = life.fs.disk("/disk")
    disk.faults.fail(Op.SYNC, "/disk/logs/t-0")
    disk.faults.fail(Op.WRITE, f"{LOGS}/{SYNC_MARK}")
    life.write("lost", 1)
    assert not life.is_online
    assert SYNC_MARK not in life.fs.list_directory(LOGS)
    disk.faults.heal()
    life.fs.kill()
    life.node = life.start()
    life.write("second", 2)
    life.fs.lose_power()
    life.node = life.start()
    life.check()


def test_a_mark_that_can_not_even_be_removed_is_told() -> None:
    life = Life(3)
    life.write("first", 2)
    disk = life.fs.disk("/disk")
    disk.faults.fail(Op.SYNC, "/disk/logs/t-0")
    disk.faults.fail(Op.WRITE, f"{LOGS}/{SYNC_MARK}")
    disk.faults.fail(Op.NAMES, f"{LOGS}/{SYNC_MARK}")
    life.write("lost", 1)
    fault = life.node.logs.failures[0].fault
    assert isinstance(fault, IoError)
    assert "restart the machine" in str(fault)


def test_a_stop_in_order_leaves_nothing_to_write_again() -> None:
    life = Life(4)
    life.write("first", 2)
    assert is_marked_intact(life.fs, LOGS)
    life.node.stop()
    life.fs.kill()
    life.node = life.start()
    assert not life.node.logs.directories[LOGS].is_doubtful
    life.fs.kill()
    life.node = life.start()
    assert not life.node.logs.directories[LOGS].is_doubtful, "nor does a death of the process"


@OPS
@pytest.mark.parametrize("skip", range(12))
def test_the_metadata_log_is_written_again_too(op: Op, skip: int) -> None:
    """A failed sync of the metadata log ends the node; the next process acknowledges a topic, and the power fails."""
    world = NodeWorld(skip, {"log.flush.interval.messages": "1"})
    world.fs.disk("/disk").faults.fail(op, "/disk/a", skip=skip)
    for name in ("one", "two", "three"):
        try:
            create(world.client(), name)
        except (NodeFailed, GaveUp, EOFError, AssertionError):
            break
    world.kill()
    world.fs.disk("/disk").faults.heal()
    world.start()
    client = world.client()
    create(client, "after")
    assert produced(client, "after", produced_batch(b"x")).error_code == ErrorCode.NONE
    world.lose_power()
    world.start()
    assert fetch_values(world.client(), "after") == [b"x"]


LONGEST = "t" * 249


def marked_as_failed(*topics: str) -> NodeWorld:
    """Return a node with a record in each topic, killed after a sync has failed."""
    world = NodeWorld(3)
    for name in topics:
        create(world.client(), name)
        assert produced(world.client(), name, produced_batch(b"x")).error_code == ErrorCode.NONE
    world.kill()
    assert mark_failed(world.fs, "/disk/a")
    return world


def test_names_that_have_no_room_for_a_suffix_are_written_again_too() -> None:
    world = marked_as_failed("plain", LONGEST)
    world.start()
    assert [fetch_values(world.client(), name) for name in ("plain", LONGEST)] == [[b"x"], [b"x"]]
    assert is_marked_intact(world.fs, "/disk/a")


@pytest.mark.parametrize("topic", ["plain", LONGEST], ids=["short", "long"])
def test_a_name_that_can_not_be_given_back_is_given_back_by_the_next_start(
    topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The start has to fail: one that went on would make an empty log under the name."""
    world = marked_as_failed(topic)
    rename = SimFileSystem.rename

    def refuse(fs: SimFileSystem, source: str, target: str) -> None:
        if target == f"/disk/a/{topic}-0":
            raise DiskFull(target, "no room for the name")
        rename(fs, source, target)

    with monkeypatch.context() as patch:
        patch.setattr(SimFileSystem, "rename", refuse)
        with pytest.raises(IoError, match="could not be renamed back"):
            world.start()
    world.kill()
    world.start()
    assert fetch_values(world.client(), topic) == [b"x"]


def test_directories_of_others_are_left_alone() -> None:
    world = marked_as_failed("plain")
    world.fs.make_directory("/disk/a/lost+found")
    world.fs.disk("/disk").faults.fail(Op.NAMES, "/disk/a/lost+found", times=None)
    world.start()
    assert fetch_values(world.client(), "plain") == [b"x"]
