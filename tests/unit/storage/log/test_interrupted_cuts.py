"""Undoing a write, or truncating a log, that lacks room or a descriptor: it is tried again until it succeeds.

Meanwhile that log takes no writes, and its directory stays online.
"""

from typing import Any

import pytest
from tests.sim.broker import T0, Broker, batch_of, contents, marker, topic_config

from tidelog.model.errors import ErrorCode
from tidelog.ports.errors import DiskFull, StorageFault, TooManyOpenFiles
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem
from tidelog.storage.append.outcome import AppendOrigin, Refused
from tidelog.storage.checkpoints.text import write_offsets
from tidelog.storage.directories.operations import PAUSE_MS
from tidelog.storage.log.group_commit import Append
from tidelog.storage.log.log import Log
from tidelog.storage.log.reading import FetchIsolation, read

ONE_BATCH = len(batch_of([b"0"], 0))
DIRECTORY = "/disk/logs/t-0"


def broker(**config: Any) -> Broker:
    clock = SimClock()
    fs = SimFileSystem(clock, 1, {"/disk": DiskSettings(1 << 20)})
    return Broker(fs, clock, config=topic_config(**config)).start()


def restarted(node: Broker) -> Broker:
    return Broker(node.fs, node.clock).start()


def is_online(node: Broker) -> bool:
    return not node.logs.failures and node.logs.directories["/disk/logs"].is_online


def until_over(node: Broker) -> None:
    """End the shortage, and wait until all interrupted work has been done."""
    node.fs.disk("/disk").faults.heal()
    for _ in range(3):
        node.settle()
        node.clock.advance(PAUSE_MS)
    node.settle()


def values(log: Log) -> list[bytes | None]:
    return [value for _, value in contents(log)]


def assert_takes_writes(node: Broker, expected: list[bytes]) -> None:
    log = node.log()
    assert log.unsettled == 0
    assert isinstance(append := node.produce([b"after"]), Append)
    assert append.code is ErrorCode.NONE
    assert values(log) == [*expected, b"after"]
    node.flush()
    node.checkpoint()
    node.fs.lose_power()
    assert values(restarted(node).log()) == [*expected, b"after"]


@pytest.mark.parametrize("shortage", [DiskFull, TooManyOpenFiles])
def test_a_write_that_can_not_be_taken_back_is_taken_back_later(shortage: type[StorageFault]) -> None:
    node = broker()
    node.produce([b"0"])
    log, faults = node.log(), node.fs.disk("/disk").faults
    size_bytes = log.size_bytes
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            node.fs.disk("/disk").settings,
            "capacity_bytes",
            (1 << 20) - node.fs.disk("/disk").space().usable_bytes + 10,
        )
        faults.fail(Op.TRUNCATE, f"{DIRECTORY}/{0:020d}.log", fault=shortage, times=3)
        append = node.stage(batch_of([b"x" * 500], node.now))
        node.logs.directories["/disk/logs"].room.owed_bytes = -(1 << 20)  # the broker does not know of the shortage
        node.commit()
    assert isinstance(append, Append)
    assert append.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert is_online(node)
    assert node.fs.stat(f"{DIRECTORY}/{0:020d}.log").size > size_bytes, "it is there, and nobody reads it"
    assert values(log) == [b"0"]
    assert isinstance(node.stage(batch_of([b"1"], node.now)), Refused), "nothing behind it"
    until_over(node)
    assert node.fs.stat(f"{DIRECTORY}/{0:020d}.log").size == size_bytes
    assert_takes_writes(node, [b"0"])


CUT_OPS = [Op.OPEN, Op.READ, Op.TRUNCATE, Op.NAMES]


@pytest.mark.parametrize("shortage", [DiskFull, TooManyOpenFiles])
@pytest.mark.parametrize("op", CUT_OPS)
@pytest.mark.parametrize("offset", [3, 0, -1])
def test_a_cut_goes_on_after_a_shortage_wherever_it_met_it(shortage: type[StorageFault], op: Op, offset: int) -> None:
    """The log is truncated to `offset`; -1 stands for emptying it as a whole."""
    is_whole, struck = offset < 0, 0
    for skip in range(24):
        node = broker(internal_segment_bytes=2 * ONE_BATCH, index_interval_bytes=1)
        for number in range(6):
            node.produce([b"%d" % number], producer_id=7, producer_epoch=0, base_sequence=number)
        node.flush()
        log, faults = node.log(), node.fs.disk("/disk").faults
        log.descriptors.close()
        faults.fail(op, DIRECTORY, fault=shortage, skip=skip, times=2)
        node.logs.begin_truncate({T0: max(offset, 0)}, node.now, is_whole=is_whole)
        node.settle()
        assert is_online(node), f"skip {skip}"
        struck += faults.rules[0].times != 2
        if log.unsettled:
            assert isinstance(node.stage(batch_of([b"no"], node.now)), Refused)
        until_over(node)
        if log.log_end_offset == 6:  # it had not begun, and reports so: the follower tries again
            node.truncate(max(offset, 0))
        expected = [b"%d" % number for number in range(max(offset, 0))]
        assert values(log) == expected, f"skip {skip}"
        assert_takes_writes(node, expected)
    assert struck, "no shortage was met at all"


def test_a_stop_does_not_wait_for_a_cut_that_pauses_and_leaves_no_mark_of_a_clean_one() -> None:
    node = broker(internal_segment_bytes=2 * ONE_BATCH)
    for number in range(4):
        node.produce([b"%d" % number])
    node.flush()
    node.fs.disk("/disk").faults.fail(Op.TRUNCATE, DIRECTORY, fault=DiskFull, times=None)
    node.logs.begin_truncate({T0: 1}, node.now)
    node.settle()
    assert node.log().is_unsettled
    node.stop()
    assert not node.logs.failures
    node.fs.disk("/disk").faults.heal()
    after = restarted(node)
    assert not after.logs.directories["/disk/logs"].was_clean


def test_an_abort_marker_without_a_descriptor_for_its_index_is_indexed_by_the_next_flush() -> None:
    """The commit that writes the marker also rolls the log."""
    node = broker(internal_segment_bytes=2 * ONE_BATCH)
    node.logs._context.producer_config.verification_enabled = False
    node.produce([b"a"], producer_id=8, producer_epoch=0, base_sequence=0, is_transactional=True)
    node.stage(marker(node.now, 8, 0, False), origin=AppendOrigin.COORDINATOR, transaction_version=1)
    rolled = node.stage(batch_of([b"x"], node.now))
    index = f"{DIRECTORY}/{node.log().segments.active.base_offset:020d}.txnindex"
    node.fs.disk("/disk").faults.fail(Op.OPEN, index, fault=TooManyOpenFiles)
    node.commit()
    assert is_online(node)
    assert isinstance(rolled, Append)
    assert rolled.code is ErrorCode.NONE
    node.log().update_high_watermark(3)
    node.settle()
    node.stop()
    again = restarted(node).log()
    again.update_high_watermark(3)
    assert [each.first_offset for each in read(again, 0, 1000, FetchIsolation.TXN_COMMITTED).aborted] == [0]


@pytest.mark.parametrize("op", [Op.NAMES, Op.TRUNCATE, Op.OPEN, Op.SYNC, Op.SYNC_DIRECTORY])
@pytest.mark.parametrize("start", [0, 3])
def test_a_start_that_dies_while_it_empties_a_log_leaves_a_log(op: Op, start: int) -> None:
    """A power loss has brought back records without the topic id, so the log is begun anew."""
    for skip in range(12):
        node = broker(internal_segment_bytes=2 * ONE_BATCH)
        node.flushes_new = False
        for number in range(5):
            node.produce([b"%d" % number])
        node.fs.kill()
        node.fs.remove_file(f"{DIRECTORY}/partition.metadata")
        if start:
            checkpoint = {T0: start}
            write_offsets(node.fs, "/disk/logs/log-start-offset-checkpoint", checkpoint)
        node.fs.disk("/disk").faults.fail(op, DIRECTORY, skip=skip, times=None)  # from here on every operation fails
        restarted(node)
        node.fs.kill()
        node.fs.disk("/disk").faults.heal()
        assert [name for name in node.fs.list_directory(DIRECTORY) if name.endswith(".log")], f"skip {skip}"
        again = restarted(node)
        log = again.logs.get(T0)
        assert log is not None, f"skip {skip}"
        assert contents(log) == []
        assert log.log_start_offset == start
