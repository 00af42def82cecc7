"""Batches and segments for tests, small enough to check by eye."""

from collections.abc import Sequence

from tidelog.ports.files import Ticket
from tidelog.records.batch import batches
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.sim.clock import SimClock
from tidelog.sim.disk import DiskSettings
from tidelog.sim.files import SimFileSystem
from tidelog.storage.append.outcome import AppendedBatch
from tidelog.storage.segment.descriptors import Descriptors
from tidelog.storage.segment.files import SegmentFiles
from tidelog.storage.segment.segment import IndexSettings, Segment

DIRECTORY = "/disk/t-0"
SETTINGS = IndexSettings(interval_bytes=200, max_bytes=1 << 20)


def machine(seed: int = 1, **settings: float) -> SimFileSystem:
    fs = SimFileSystem(SimClock(), seed, {"/disk": DiskSettings(**settings)})  # type: ignore[arg-type]
    fs.make_directory(DIRECTORY)
    fs.sync_directory("/disk")
    return fs


def few_descriptors(fs: SimFileSystem) -> Descriptors:
    """Return descriptors for one open file at a time: code that keeps a file while it opens another is caught."""
    return Descriptors(fs, 1)


def files(fs: SimFileSystem, base_offset: int = 0) -> SegmentFiles:
    return SegmentFiles(few_descriptors(fs), DIRECTORY, base_offset)


def new_segment(fs: SimFileSystem, base_offset: int = 0, settings: IndexSettings = SETTINGS) -> Segment:
    return Segment.create(few_descriptors(fs), DIRECTORY, base_offset, settings)


def reopened(fs: SimFileSystem, base_offset: int = 0, settings: IndexSettings = SETTINGS) -> Segment:
    return Segment.open(few_descriptors(fs), DIRECTORY, base_offset, settings)


def batch(
    base_offset: int,
    timestamps: Sequence[int],
    epoch: int = 0,
    value_bytes: int = 20,
    options: BatchOptions | None = None,
) -> bytes:
    """Return a batch with one record for each timestamp."""
    options = options or BatchOptions(partition_leader_epoch=epoch)
    builder = BatchBuilder(base_offset=base_offset, options=options)
    for timestamp in timestamps:
        builder.append(timestamp, b"key", b"v" * value_bytes)
    return builder.build()


def described(data: bytes) -> list[AppendedBatch]:
    headers = [each.header for each in batches(data)]
    return [AppendedBatch(h.base_offset, h.last_offset, h.max_timestamp, h.size_bytes) for h in headers]


def append(segment: Segment, *parts: bytes) -> None:
    segment.append(parts, described(b"".join(parts)))


def fill(
    segment: Segment, count: int, first_offset: int | None = None, records: int = 2, epoch: int = 0
) -> list[bytes]:
    """Append `count` batches of `records` records each and return them; offsets and timestamps grow by one a record."""
    offset = segment.next_offset() if first_offset is None else first_offset
    made = []
    for _ in range(count):
        timestamps = [1_000 + offset + i for i in range(records)]
        made.append(batch(offset, timestamps, epoch))
        append(segment, made[-1])
        offset += records
    return made


def contents(fs: SimFileSystem, name: str) -> bytes:
    path = f"{DIRECTORY}/{name}"
    return Descriptors(fs).open(path).read_at(0, fs.stat(path).size)


def begun(segment: Segment) -> list[Ticket]:
    """Begin a flush and return its tickets."""
    tickets: list[Ticket] = []
    segment.begin_flush(tickets)
    return tickets
