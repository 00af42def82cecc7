"""The oracle of the durability contract (ADR 0008): what a crash may and may not leave of a log.

    power                 what lies below the recovery point of that moment is there, record for record
    death of the process  so is everything that was committed
    both                  beyond that only records that were once written at that offset; no holes, never a half one

The log starts where it started at some time: not before what was written down of that, not past where it is now. While
a cut is under way it may also start as before, at the segment that is about to go, or where it is to begin anew.

A partition that was deleted is there as a whole while a power loss can bring it back, and gone afterwards; one that is
made in its place has nothing of it.
"""

from dataclasses import dataclass, field

from tests.sim.broker import contents

from tidelog.model.ids import Uuid
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.directories.operations import Operation
from tidelog.storage.log.log import Log
from tidelog.storage.log.reading import FetchIsolation, read


@dataclass
class PendingCut:
    operation: Operation | None  # None: not begun yet
    starts: tuple[int, int, int]  # the log's start when it was begun, its first segment's, and where it is cut

    @property
    def is_under_way(self) -> bool:
        return self.operation is None or not self.operation.is_done


@dataclass
class Model:
    """The answers that one partition gave, and every record that ever stood at an offset."""

    topic_id: Uuid
    committed: list[tuple[int, bytes]] = field(default_factory=list)
    ever: dict[int, list[bytes]] = field(default_factory=dict)
    sequence: int = 0
    starts: dict[int, None] = field(default_factory=lambda: {0: None})  # every start that it ever had
    cuts: list[PendingCut] = field(default_factory=list)
    departure: Operation | None = None  # set when it was deleted; it is gone for good once this is done
    claims: "Claims | None" = None  # what it promised when it was deleted

    def note(self, log: Log) -> None:
        """Note where the log starts, and forget the cuts that are done. Called in every turn."""
        self.starts[log.log_start_offset] = None
        self.cuts = [cut for cut in self.cuts if cut.is_under_way]

    def acknowledged_to(self, by_power: bool, claims: "Claims") -> int:
        if by_power:
            return claims.recovery_point
        return max((offset + 1 for offset, _ in self.committed), default=0)


@dataclass
class Claims:
    """The promises of a log at the moment of the crash."""

    recovery_point: int
    log_start: int
    written_start: int
    is_named: bool  # its name is durable

    @classmethod
    def of(cls, log: Log, directory: LogDirectory) -> "Claims":
        written_start = directory.durable_log_start(log.topic_partition)
        return cls(log.flush.recovery_point, log.log_start_offset, written_start, not log.flush.is_new)


def check_partition(log: Log | None, history: list[Model], claims: Claims | None, by_power: bool) -> None:
    """Check a partition after a crash. `history` has the topics that had this name; the last one may still have it, and
    `claims` are of that one."""
    if log is None:
        assert claims is None or (by_power and not claims.is_named), "a partition is lost"
        return
    if log.topic_id is None:
        assert claims is None or (by_power and not claims.is_named), "its topic id was durable"
        assert contents(log) == [], "records that are nobody's"
        return
    (model,) = [each for each in history if each.topic_id == log.topic_id]
    if model.departure is not None:
        assert by_power, "a deleted partition is back, without a power loss"
        assert not model.departure.is_done, "a deleted partition is back, although it was durably gone"
        claims = model.claims
    check(log, model, claims or Claims(0, 0, 0, is_named=False), by_power)


def check(log: Log, model: Model, claims: Claims, by_power: bool) -> None:
    check_start(log, model, claims)
    found = contents(log)
    offsets = [offset for offset, _ in found]
    assert offsets == list(range(log.log_start_offset, log.log_end_offset)), "holes"
    durable_to = model.acknowledged_to(by_power, claims)
    assert log.log_end_offset >= durable_to, "the end is lost"
    expected = [each for each in model.committed if claims.log_start <= each[0] < durable_to]
    assert [each for each in found if claims.log_start <= each[0] < durable_to] == expected, "durable records are lost"
    for offset, value in found:
        assert value in model.ever[offset], f"offset {offset} has what was never written there"
    check_indexes(log)
    log.producers.validate_state()
    assert log.producers.map_end_offset == log.log_end_offset
    starts = [entry.start_offset for entry in log.epochs.entries()]
    assert starts == sorted(starts)
    assert all(start <= log.log_end_offset for start in starts)
    assert log.flush.recovery_point <= log.log_end_offset


def check_start(log: Log, model: Model, claims: Claims) -> None:
    while_cut = [start for cut in model.cuts if cut.is_under_way for start in cut.starts]
    start = log.log_start_offset
    assert start in (*model.starts, claims.log_start, *while_cut), f"a start at {start} that nobody asked for"
    assert start <= max(claims.log_start, *while_cut, 0), f"it starts at {start}, past where it was"
    assert while_cut or start >= claims.written_start, f"it starts at {start}, before where that was written down"


def check_indexes(log: Log) -> None:
    """Check that every offset is found in its batch, and that the time index is sound."""
    for offset in range(log.log_start_offset, log.log_end_offset):
        answer = read(log, offset, 1, FetchIsolation.LOG_END)
        assert answer.segment is not None
        assert answer.base_offset <= offset < answer.base_offset + 3
    for segment in log.segments:
        segment.indexes.offset.sanity_check()
        segment.indexes.time.sanity_check()
