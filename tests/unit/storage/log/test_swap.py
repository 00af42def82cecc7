"""A cleaned segment is swapped in, unless the log has changed in a way that makes the segment worthless."""

import pytest
from tests.sim.broker import T0, Broker, batch_of, contents, topic_config

from tidelog.ports.errors import DiskFull
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem
from tidelog.storage.append.follower_check import check_follower
from tidelog.storage.append.outcome import Validated
from tidelog.storage.log.group_commit import survives
from tidelog.storage.log.log import Log
from tidelog.storage.log.swap import LogSwap, SwapFault, swap_in
from tidelog.storage.names import CLEANED_SUFFIX
from tidelog.storage.segment.segment import Segment

ONE_BATCH = len(batch_of([b"0"], 0))
CONFIG = topic_config(internal_segment_bytes=2 * ONE_BATCH, file_delete_delay_ms=10)


def broker() -> Broker:
    clock = SimClock()
    node = Broker(SimFileSystem(clock, 1, {"/disk": DiskSettings()}), clock, config=CONFIG).start()
    for i in range(5):
        node.produce([b"%d" % i])
    node.log().update_high_watermark(5)
    return node


def clean(log: Log) -> None:
    """Write a cleaned segment as a cleaner might leave the first two segments: with the batches at 1 and 3."""
    data = b"".join(segment.read(ONE_BATCH, ONE_BATCH) for segment in (log.segments[0], log.segments[1]))
    checked = check_follower(memoryview(data), 0, len(data), 0, 0)
    assert isinstance(checked, Validated)
    cleaned = Segment.create(log.descriptors, log.directory, 0, suffix=CLEANED_SUFFIX)
    cleaned.append(checked.pieces, checked.batches)
    cleaned.seal()
    cleaned.flush()


def test_a_cleaned_segment_takes_the_place_of_its_sources() -> None:
    node = broker()
    log = node.log()
    clean(log)
    assert swap_in(log, log.generation, 0, [0, 2], node.now)
    left = [(1, b"1"), (3, b"3"), (4, b"4")]
    assert contents(log) == left
    assert list(log.segments.base_offsets) == [0, 4]
    assert f"{2:020d}.log.deleted" in node.fs.list_directory(log.directory)
    node.clock.advance(10)
    node.retain()
    assert not [name for name in node.fs.list_directory(log.directory) if "deleted" in name]
    node.fs.lose_power()
    again = Broker(node.fs, node.clock, config=CONFIG).start().log()
    assert contents(again) == left[: len(contents(again))]


def test_a_truncation_meanwhile_makes_it_worthless() -> None:
    node = broker()
    log = node.log()
    generation = log.generation
    clean(log)
    node.truncate(3)
    assert not swap_in(log, generation, 0, [0, 2], node.now)
    assert [value for _, value in contents(log)] == [b"0", b"1", b"2"]
    assert not [name for name in node.fs.list_directory(log.directory) if "cleaned" in name]


def test_the_active_segment_is_never_replaced() -> None:
    node = broker()
    log = node.log()
    clean(log)
    assert not swap_in(log, log.generation, 0, [0, 2, 4], node.now)
    assert len(contents(log)) == 5


def test_deleted_records_make_it_worthless_too() -> None:
    node = broker()
    log = node.log()
    generation = log.generation
    clean(log)
    log.delete_records(1)
    assert not swap_in(log, generation, 0, [0, 2], node.now)
    assert len(contents(log)) == 4
    assert list(log.segments.base_offsets) == [0, 2, 4]


def begun(node: Broker) -> LogSwap:
    log = node.log()
    clean(log)
    swap = LogSwap(log, 0, [0, 2], node.now)
    swap.begin()
    return swap


def test_readers_have_the_old_or_the_new_at_every_step() -> None:
    node = broker()
    swap, seen = begun(node), []
    while not swap.is_done:
        seen.append([value for _, value in contents(node.log())])
        node.log().descriptors.close()
        swap.proceed()
    old, new = [b"0", b"1", b"2", b"3", b"4"], [b"1", b"3", b"4"]
    assert seen == [old, new, new]
    assert [value for _, value in contents(node.log())] == new
    assert node.log().swap is None


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_a_truncation_ends_though_nobody_drives_the_swap(steps: int) -> None:
    """The cleaner may be gone, since the truncation itself called its task off."""
    node = broker()
    swap, log = begun(node), node.log()
    for _ in range(steps):
        swap.proceed()
    node.fs.forbids_waits = True
    (operation,) = node.logs.begin_truncate({T0: 4}, node.now)
    node.settle()
    assert (operation.is_done, operation.fault, swap.is_done, log.swap) == (True, None, True, None)
    assert [value for _, value in contents(log)] == [b"1", b"3"]
    assert not [name for name in node.fs.list_directory(log.directory) if "swap" in name or "cleaned" in name]


def test_a_swap_that_was_taken_over_is_no_longer_its_cleaners() -> None:
    """The cleaner's sync may complete between the steps of the truncation; a step by the cleaner would then come too
    early."""
    node = broker()
    swap, log = begun(node), node.log()
    node.logs.begin_truncate({T0: 4}, node.now)
    for _ in range(20):
        before = list(log.segments.base_offsets)
        if swap.is_taken_over:
            assert swap.proceed() is None
            assert list(log.segments.base_offsets) == before
        node.clock.advance(2)
        node.logs.complete(node.fs.completions(), node.now)
        node.logs.work(node.now, 1)
    node.settle()
    assert [value for _, value in contents(log)] == [b"1", b"3"]


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_closing_completes_a_swap_that_has_begun(steps: int) -> None:
    node = broker()
    swap = begun(node)
    for _ in range(steps):
        swap.proceed()
    node.stop()
    again = Broker(node.fs, node.clock, config=CONFIG).start().log()
    assert [value for _, value in contents(again)] == [b"1", b"3", b"4"]


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_a_log_that_is_deleted_takes_its_swap_with_it(steps: int) -> None:
    node = broker()
    swap, log = begun(node), node.log()
    for _ in range(steps):
        swap.proceed()
    node.logs.delete(T0, "0" * 32, node.now)
    assert swap.is_orphan
    assert swap.proceed() is None
    assert log.swap is None


@pytest.mark.parametrize("name", [f"{2:020d}.log", f"{2:020d}.index", f"{2:020d}.snapshot"])
def test_a_swap_removes_what_has_no_room_for_another_name(name: str) -> None:
    node = broker()
    swap, log = begun(node), node.log()
    node.fs.disk("/disk").faults.fail(Op.NAMES, f"{log.directory}/{name}", fault=DiskFull)
    while swap.proceed() is not None:
        pass
    assert [value for _, value in contents(log)] == [b"1", b"3", b"4"]
    assert name not in node.fs.list_directory(log.directory)
    node.clock.advance(10)
    node.retain()
    assert not [each for each in node.fs.list_directory(log.directory) if each.startswith(f"{2:020d}")]
    node.flush()
    node.checkpoint()
    node.fs.kill()
    again = Broker(node.fs, node.clock, config=CONFIG).start().log()
    assert [value for _, value in contents(again)] == [b"1", b"3", b"4"]


def test_a_swap_that_can_not_go_on_says_so() -> None:
    node = broker()
    swap = begun(node)
    node.fs.disk("/disk").faults.fail(Op.NAMES)
    with pytest.raises(SwapFault):
        swap.proceed()
    assert not survives(SwapFault("/a", "b"))
