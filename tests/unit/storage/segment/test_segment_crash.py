"""The power fails after every single operation of a segment's life, in many ways each.

Afterwards everything that a flush had completed is there; beyond it is a stretch of the log as it once was, never a
mixture; and indexes that were synced are right without having been rebuilt.
"""

from collections.abc import Callable
from contextlib import suppress

import pytest
from tests.unit.storage.segment_data import append, batch, contents, machine, new_segment, reopened

from tidelog.ports.errors import NotFound
from tidelog.sim.files import SimFileSystem
from tidelog.storage.segment.recovery import recover_segment
from tidelog.storage.segment.scan import ScannedChunk
from tidelog.storage.segment.segment import Segment
from tidelog.storage.segment.transaction_index import AbortedTxn

INDEXES = ["00000000000000000000.index", "00000000000000000000.timeindex", "00000000000000000000.txnindex"]
SEEDS = 6


class PowerCut(BaseException):
    """The loss of power, which nothing that runs may catch."""


class Life:
    """The life of one segment, and what is known about it from outside."""

    def __init__(self, fs: SimFileSystem) -> None:
        self.fs = fs
        self.log: list[bytes] = []
        self.versions: list[list[bytes]] = [[]]  # every state the log has been in
        self.durable: list[bytes] | None = None  # what the last complete flush covered; None before the first
        self.sealed_indexes: list[bytes] | None = None  # once they are synced

    def run(self) -> None:
        """Live through appends, flushes and truncations. All batches are of one size, so that an old one that comes
        back would fit anywhere."""
        self.segment = new_segment(self.fs)
        self.append(3, epoch=1)
        self.flush()
        self.append(6, epoch=1)
        self.truncate(10)
        self.append(3, epoch=2)
        self.flush()
        self.append(4, epoch=2)
        self.truncate(4)
        self.append(5, epoch=4)
        self.segment.append_aborted(AbortedTxn(1, 3, 9, 10))
        self.segment.seal()
        self.flush()
        self.sealed_indexes = [contents(self.fs, name) for name in INDEXES]

    def append(self, count: int, epoch: int) -> None:
        """Append batches: two in one write, then one by one."""
        offset = 2 * len(self.log)
        made = [batch(offset + 2 * i, [500 + offset + i, 700], epoch) for i in range(count)]
        self.log = self.log + made
        self.versions.append(self.log)
        append(self.segment, *made[:2])
        for each in made[2:]:
            append(self.segment, each)

    def truncate(self, offset: int) -> None:
        self.log = self.log[: offset // 2]
        self.versions.append(self.log)
        if self.durable is not None:
            self.durable = self.durable[: offset // 2]
        self.segment.truncate_to(offset)

    def flush(self) -> None:
        self.segment.flush()
        self.durable = self.log


def cut_after(fs: SimFileSystem, operations: int, work: Callable[[], None]) -> bool:
    """Run the work and cut the power after `operations`; return whether the work had ended before."""
    record, end = fs.trace.record, fs.trace.count + operations

    def cut(*parts: object) -> None:
        record(*parts)
        if fs.trace.count == end:
            raise PowerCut

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fs.trace, "record", cut)
        with suppress(PowerCut):
            work()
            return True
    return False


def operations_of_a_life() -> int:
    fs = machine()
    before = fs.trace.count
    Life(fs).run()
    return fs.trace.count - before


OPERATIONS = operations_of_a_life()


@pytest.mark.parametrize("operation", range(1, OPERATIONS + 2))
def test_power_is_lost_after(operation: int) -> None:
    for seed in range(SEEDS):
        fs = machine(seed)
        life = Life(fs)
        assert cut_after(fs, operation, life.run) == (operation > OPERATIONS)
        fs.lose_power()
        check(life, f"operation {operation}, seed {seed}")


@pytest.mark.parametrize("operation", range(1, OPERATIONS + 2))
def test_the_process_dies_after(operation: int) -> None:
    """Every byte that was written is there after the death of the process."""
    fs = machine()
    life = Life(fs)
    cut_after(fs, operation, life.run)
    fs.kill()
    check(life, f"operation {operation}")


def test_power_is_lost_while_short_writes_are_continued() -> None:
    for seed in range(60):
        fs = machine(seed, short_write_chance=0.5)
        life = Life(fs)
        cut_after(fs, 1 + seed % (OPERATIONS + 10), life.run)
        fs.lose_power()
        check(life, f"seed {seed}")


def check(life: Life, where: str) -> None:
    try:
        segment = reopened(life.fs)
    except NotFound:
        assert life.durable is None, f"{where}: a flushed log has lost its name"
        return
    if life.sealed_indexes is not None:
        assert [contents(life.fs, name) for name in INDEXES] == life.sealed_indexes, where
    found: list[bytes] = []

    def collect(chunk: ScannedChunk) -> None:
        ends = [*list(chunk.batches.positions)[1:], chunk.batches.end]
        found.extend(chunk.data[start:end] for start, end in zip(chunk.batches.positions, ends, strict=True))

    recover_segment(segment, collect)
    durable = life.durable or []
    assert found[: len(durable)] == durable, f"{where}: {len(durable)} batches were durable, {len(found)} are there"
    assert any(found == version[: len(found)] for version in life.versions), f"{where}: a mixture"
    check_lookups(segment, found, where)


def check_lookups(segment: Segment, log: list[bytes], where: str) -> None:
    for i, each in enumerate(log):
        located = segment.locate(2 * i + 1, 1)
        assert located is not None, where
        assert segment.read(located.position, located.size) == each, where
    assert segment.next_offset() == 2 * len(log), where
