"""A segment against its dumb twin: a list of batches that is searched from the front."""

from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.unit.storage.segment_data import append, batch, contents, machine

from tidelog.records.builder import BatchOptions
from tidelog.records.compression import CompressionType
from tidelog.storage.segment.descriptors import Descriptors
from tidelog.storage.segment.recovery import recover_segment
from tidelog.storage.segment.scan import ScannedChunk
from tidelog.storage.segment.segment import IndexSettings, Segment
from tidelog.storage.segment.transaction_index import AbortedTxn

DIRECTORY = "/disk/t-0"
BASE = 1_000
LOG = "00000000000000001000.log"

timestamps = st.integers(-1, 60)
offsets = st.integers(BASE - 3, BASE + 120)


@dataclass
class TwinBatch:
    data: bytes
    base_offset: int
    timestamps: list[int]

    @property
    def last_offset(self) -> int:
        return self.base_offset + len(self.timestamps) - 1


@dataclass
class Twin:
    batches: list[TwinBatch] = field(default_factory=list)
    aborted: list[AbortedTxn] = field(default_factory=list)

    @property
    def end(self) -> int:
        return self.batches[-1].last_offset + 1 if self.batches else BASE

    def from_offset(self, offset: int) -> list[TwinBatch]:
        return [each for each in self.batches if each.last_offset >= offset]

    def first_at(self, timestamp: int, from_offset: int) -> tuple[int, int] | None:
        for each in self.batches:
            for offset, found in enumerate(each.timestamps, each.base_offset):
                if found >= timestamp and offset >= from_offset:
                    return found, offset
        return None


class SegmentTwin(RuleBasedStateMachine):
    @initialize(interval=st.sampled_from([0, 100, 300]), max_bytes=st.sampled_from([24, 60, 10_000]))
    def start(self, interval: int, max_bytes: int) -> None:
        self.fs = machine(short_write_chance=0.2)
        self.settings = IndexSettings(interval, max_bytes)
        self.segment = Segment.create(Descriptors(self.fs, 1), DIRECTORY, BASE, self.settings)
        self.twin = Twin()

    @rule(
        sizes=st.lists(st.lists(timestamps, min_size=1, max_size=4), min_size=1, max_size=4),
        gap=st.sampled_from([0, 0, 0, 5]),
        codec=st.sampled_from([CompressionType.NONE, CompressionType.NONE, CompressionType.LZ4]),
    )
    def append(self, sizes: list[list[int]], gap: int, codec: CompressionType) -> None:
        if self.segment.is_sealed:
            return
        made, offset = [], self.twin.end + gap
        for times in sizes:
            options = BatchOptions(compression=codec, partition_leader_epoch=0)
            made.append(TwinBatch(batch(offset, times, options=options), offset, times))
            offset += len(times)
        append(self.segment, *[each.data for each in made])
        self.twin.batches += made

    @rule(first=offsets)
    def abort(self, first: int) -> None:
        last = self.twin.end - 1
        if self.segment.is_sealed or not self.twin.batches or (self.twin.aborted and self.twin.aborted[-1][2] >= last):
            return
        aborted = AbortedTxn(7, min(first, last), last, last + 1)
        self.segment.append_aborted(aborted)
        self.twin.aborted.append(aborted)

    @rule(offset=offsets)
    def truncate(self, offset: int) -> None:
        self.segment.truncate_to(offset)
        self.twin.batches = [each for each in self.twin.batches if each.last_offset < offset]
        self.twin.aborted = [each for each in self.twin.aborted if each.last_offset < offset]

    @rule()
    def seal(self) -> None:
        self.segment.seal()

    @rule()
    def reopen(self) -> None:
        sealed = self.segment.is_sealed
        self.segment.close()
        self.segment = Segment.open(Descriptors(self.fs, 1), DIRECTORY, BASE, self.settings)
        self.segment.is_sealed = sealed

    @rule()
    def die_and_recover(self) -> None:
        self.fs.kill()
        self.segment = Segment.open(Descriptors(self.fs, 1), DIRECTORY, BASE, self.settings)
        recovered = recover_segment(self.segment, self._take_over)
        assert (recovered.truncated_bytes, recovered.next_offset) == (0, self.twin.end)

    def _take_over(self, chunk: ScannedChunk) -> None:
        """Take the aborted transactions over from the twin; a log as small as this one is scanned in one chunk."""
        assert chunk.position == 0
        for each in self.twin.aborted:
            self.segment.append_aborted(each)

    @rule(offset=offsets, max_bytes=st.integers(0, 1_500), at_least_one=st.booleans(), hidden=st.integers(0, 3))
    def locate(self, offset: int, max_bytes: int, at_least_one: bool, hidden: int) -> None:
        visible = self.twin.batches[: len(self.twin.batches) - hidden]
        end = sum(len(each.data) for each in visible)
        located = self.segment.locate(offset, max_bytes, end, min_one_batch=at_least_one)
        found = self.twin.from_offset(offset)
        if not found:
            assert located is None
            return
        assert located is not None
        assert located.base_offset == found[0].base_offset
        assert self.segment.position_of(offset) == located.position
        expected, room = b"", max_bytes
        for each in [each for each in found if each in visible]:
            if len(each.data) > room and not (at_least_one and not expected):
                break
            expected += each.data
            room -= len(each.data)
        assert self.segment.read(located.position, located.size) == expected

    @rule(timestamp=timestamps, offset=offsets)
    def find_by_timestamp(self, timestamp: int, offset: int) -> None:
        found = self.segment.find_by_timestamp(timestamp, offset)
        assert (found and found[:2]) == self.twin.first_at(timestamp, offset)

    @rule(fetch=offsets, length=st.integers(1, 40))
    def collect(self, fetch: int, length: int) -> None:
        found, _ = self.segment.collect_aborted(fetch, fetch + length)
        overlapping = [
            each for each in self.twin.aborted if each.last_offset >= fetch and each.first_offset < fetch + length
        ]
        assert found == overlapping[: len(found)]
        assert all(each.first_offset >= found[-1].last_stable_offset for each in overlapping[len(found) :] if found)

    @invariant()
    def facts_agree(self) -> None:
        if not hasattr(self, "twin"):
            return
        assert contents(self.fs, LOG) == b"".join(each.data for each in self.twin.batches)
        assert self.segment.next_offset() == self.twin.end
        assert self.segment.max_timestamp == max((max(each.timestamps) for each in self.twin.batches), default=-1)
        assert self.segment.first_timestamp() == (max(self.twin.batches[0].timestamps) if self.twin.batches else -1)


SegmentTwin.TestCase.settings = settings(max_examples=60, stateful_step_count=25, derandomize=True, deadline=None)
test_segment_and_twin_agree = SegmentTwin.TestCase
