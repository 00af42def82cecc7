"""The ballast of the metadata log: half allocated, released while it is being allocated, and where it can not be
removed."""

import pytest
from tests.sim.metadata_node import LOG_DIR, MetadataNode, format_node

from tidelog.model.errors import ErrorCode
from tidelog.ports.errors import DiskFull, IoError, StorageFault, TooManyOpenFiles
from tidelog.server.metadata_log.ballast import BALLAST, BALLAST_BYTES, CHUNK_BYTES, LOW_BYTES
from tidelog.sim.clock import SimClock
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem

DIRECTORY = f"{LOG_DIR}/__cluster_metadata-0"
PATH = f"{DIRECTORY}/{BALLAST}"


@pytest.fixture
def clock() -> SimClock:
    return SimClock()


@pytest.fixture
def fs(clock: SimClock) -> SimFileSystem:
    fs = SimFileSystem(clock, seed=4)
    format_node(fs, clock)
    return fs


def with_ballast(fs: SimFileSystem, clock: SimClock) -> MetadataNode:
    node = MetadataNode(fs, clock).start()
    for _ in range(40):
        clock.advance(500)
        node.settle()
        if node.log.ballast.is_held:
            return node
    raise AssertionError("the ballast is not taken")


def half_taken(fs: SimFileSystem, clock: SimClock) -> MetadataNode:
    """Return a node that is in the middle of allocating the ballast."""
    node = MetadataNode(fs, clock).start()
    steps = node.log.ballast.taking()
    for _ in range(5):
        next(steps)
    node.log.operations.begin(node.log.directory, steps)
    return node


def fill(fs: SimFileSystem, leave_bytes: int = 0) -> None:
    fs.disk("/disk").settings.capacity_bytes -= fs.space("/disk").usable_bytes - leave_bytes


def test_what_a_crash_left_of_it_is_released(fs: SimFileSystem, clock: SimClock) -> None:
    half_taken(fs, clock)
    fs.kill()
    assert CHUNK_BYTES <= fs.stat(PATH).size < BALLAST_BYTES
    fill(fs)
    node = MetadataNode(fs, clock).start()
    assert node.quorum.is_leader, "there was room for its vote and its epoch"
    assert BALLAST not in fs.list_directory(DIRECTORY)
    assert node.log.ballast.is_released
    assert node.ask(("a", "1")) == "a is set"


def test_what_a_crash_left_of_it_is_taken_whole_where_there_is_room(fs: SimFileSystem, clock: SimClock) -> None:
    half_taken(fs, clock)
    fs.kill()
    node = with_ballast(fs, clock)
    assert fs.stat(PATH).size == BALLAST_BYTES
    assert not node.log.ballast.is_released


def test_it_is_released_while_it_is_taken(fs: SimFileSystem, clock: SimClock) -> None:
    node = half_taken(fs, clock)
    usable_bytes = fs.space("/disk").usable_bytes
    assert node.log.ballast.release()
    node.settle()
    assert BALLAST not in fs.list_directory(DIRECTORY)
    assert not node.log.ballast.is_held
    assert fs.space("/disk").usable_bytes >= usable_bytes + 5 * CHUNK_BYTES, "nobody goes on writing into it"
    assert not node.log.ballast.release(), "there is no more to give"


@pytest.mark.parametrize("shortage", [DiskFull, TooManyOpenFiles])
def test_one_that_can_not_be_removed_costs_nothing_that_is_staged(
    fs: SimFileSystem, clock: SimClock, shortage: type[StorageFault]
) -> None:
    node = with_ballast(fs, clock)
    fill(fs, LOW_BYTES - 1)
    fs.disk("/disk").faults.fail(Op.NAMES, PATH, fault=shortage)
    assert node.ask(("a", "1")) == "a is set"
    assert node.log.fault is None
    assert node.log.problems or node.log.shortages
    assert node.ask(("b", "2")) == "b is set"
    assert BALLAST not in fs.list_directory(DIRECTORY), "the next write tries again"
    node.validate()


def test_a_disk_that_fails_to_remove_it_ends_the_log(fs: SimFileSystem, clock: SimClock) -> None:
    node = with_ballast(fs, clock)
    end_offset = node.log.end_offset
    fill(fs, LOW_BYTES - 1)
    fs.disk("/disk").faults.fail(Op.NAMES, PATH)
    assert node.ask(("a", "1")) is ErrorCode.NOT_CONTROLLER
    assert isinstance(node.log.fault, IoError)
    assert (node.log.end_offset, node.log.log.staged_bytes) == (end_offset, 0)


@pytest.mark.parametrize("shortage", [DiskFull, TooManyOpenFiles])
def test_a_record_that_found_no_room_is_undone_also_where_the_ballast_stays(
    fs: SimFileSystem, clock: SimClock, shortage: type[StorageFault]
) -> None:
    node = with_ballast(fs, clock)
    fs.disk("/disk").faults.fail(Op.WRITE, f"{DIRECTORY}/{0:020d}.log", fault=DiskFull)
    fs.disk("/disk").faults.fail(Op.NAMES, PATH, fault=shortage)
    assert node.ask(("a", "1")) is ErrorCode.NOT_CONTROLLER
    assert node.log.fault is None
    assert node.ask(("b", "2")) == "b is set"
    node.validate()


@pytest.mark.parametrize("shortage", [DiskFull, TooManyOpenFiles])
def test_a_vote_is_written_although_the_ballast_stays(
    fs: SimFileSystem, clock: SimClock, shortage: type[StorageFault]
) -> None:
    with_ballast(fs, clock)
    fs.kill()
    fill(fs, LOW_BYTES - 1)
    node = MetadataNode(fs, clock)
    fs.disk("/disk").faults.fail(Op.NAMES, PATH, fault=shortage)
    assert node.start().quorum.is_leader
    assert node.log.fault is None


def test_a_stop_is_in_order_although_the_ballast_stays(fs: SimFileSystem, clock: SimClock) -> None:
    node = with_ballast(fs, clock)
    node.ask(("a", "1"))
    fill(fs, LOW_BYTES - 1)
    fs.disk("/disk").faults.fail(Op.NAMES, PATH, fault=DiskFull)
    node.stop()
    assert MetadataNode(fs, clock).start().settings.values == {"a": "1"}
