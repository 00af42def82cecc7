"""The remembered file positions of readers: a reader that comes back is found at its position, and never at one from
before a truncation."""

import pytest
from tests.sim.broker import Broker, batch_of, topic_config

from tidelog.sim.clock import SimClock
from tidelog.sim.faults import Op
from tidelog.sim.files import SimFileSystem
from tidelog.storage.log.log import Log
from tidelog.storage.log.read_positions import REMEMBERED_MAX
from tidelog.storage.log.reading import PLENTY, FetchIsolation, read, readable_bytes

END = FetchIsolation.LOG_END


def broker(sizes: list[int], segment_bytes: int = 1 << 20) -> Broker:
    clock = SimClock()
    node = Broker(SimFileSystem(clock, 1), clock, config=topic_config(internal_segment_bytes=segment_bytes)).start()
    write(node, sizes)
    return node


def write(node: Broker, sizes: list[int]) -> None:
    for size in sizes:
        node.stage(batch_of([bytes(size)], node.now))
        node.commit()


def walked(log: Log, offset: int, max_bytes: int) -> list[tuple[int, int, int]]:
    """Return position, size and end of each answer to a reader that goes on where the last answer ended."""
    found = []
    while offset < log.log_end_offset:
        one = read(log, offset, max_bytes, END)
        found.append((one.position, one.size_bytes, one.end_offset))
        offset = one.end_offset
    return found


def fresh(log: Log) -> None:
    log.positions = type(log.positions)()


@pytest.mark.parametrize("max_bytes", [1, 300, 5_000, 12_000, 1 << 20])
@pytest.mark.parametrize("sizes", [[100] * 40, [9_000] * 8, [9_000, 10, 10, 9_000, 10, 5_000, 5_000, 10]])
@pytest.mark.parametrize("segment_bytes", [1 << 20, 12_000])
def test_a_reader_that_is_remembered_gets_what_a_stranger_gets(
    sizes: list[int], max_bytes: int, segment_bytes: int
) -> None:
    log = broker(sizes, segment_bytes).log()
    remembered = walked(log, 0, max_bytes)
    offset = 0
    for expected in remembered:
        fresh(log)
        one = read(log, offset, max_bytes, END)
        assert (one.position, one.size_bytes, one.end_offset) == expected
        offset = one.end_offset


def test_whoever_comes_back_needs_one_header_and_no_index() -> None:
    node = broker([9_000] * 8)
    log = node.log()
    offset = read(log, 0, 10_000, END).end_offset
    reads: list[str] = []
    disk = next(iter(node.fs._mounts.disks.values()))
    check = disk.faults.check

    def counted(op: Op, path: str) -> None:
        if op is Op.READ:
            reads.append(path.rpartition(".")[2])
        check(op, path)

    disk.faults.check = counted  # type: ignore[method-assign]
    assert read(log, offset, 10_000, END).size_bytes > 9_000
    assert reads == ["log"]


def test_a_cut_moves_what_comes_after_it() -> None:
    """The log ends at the same offset again, but at another position."""
    node = broker([100, 5_000, 100])
    log = node.log()
    assert [end for _position, _size, end in walked(log, 0, 1)] == [1, 2, 3]
    before = read(log, 2, 1, END).position
    node.truncate(1)
    write(node, [50, 100])
    after = read(log, 2, 1, END)
    assert after.position < before
    assert log.segments.active.read(after.position, 8) == (2).to_bytes(8, "big")
    assert readable_bytes(log, 2, END) == after.size_bytes


def test_only_so_many_are_remembered() -> None:
    log = broker([100] * (3 * REMEMBERED_MAX)).log()
    walked(log, 0, 1)
    assert len(log.positions._by_offset) <= REMEMBERED_MAX


def test_bytes_in_the_last_segment_are_counted_and_a_reader_behind_is_not_kept() -> None:
    log = broker([5_000] * 6, 12_000).log()
    active = log.segments.active
    assert readable_bytes(log, active.base_offset, END) == active.size_bytes
    assert readable_bytes(log, log.log_end_offset, END) == 0
    assert readable_bytes(log, 0, END) == PLENTY
