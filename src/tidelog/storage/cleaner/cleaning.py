"""The cleaning of one log, as steps: `for step in clean_log(fs, job)`.

    BytesMoved        after each buffer: rest for the I/O limit, look whether the job is still wanted
    CleanedSegment    a group is durable as `.cleaned`: hand it to its log, which swaps it in (`swap`)

and the result of the generator is a CleaningResult. Closing the generator is how a job is aborted: what it was writing
is removed. Segments already handed over belong to the log, which swaps them in the order of their offsets or not at
all: a tombstone may go only after what it deleted is gone for good, and that may be in the group before.

The sources are closed segments, which nobody changes; whoever replaces or removes them bumps the log's generation.
"""

from collections.abc import Generator, Sequence

from tidelog.ports.files import FileSystem
from tidelog.ports.paths import join
from tidelog.records.errors import RecordError
from tidelog.storage.cleaner.grouping import group_segments
from tidelog.storage.cleaner.job import BytesMoved, CleanedSegment, CleaningJob, CleaningResult, SegmentFacts
from tidelog.storage.cleaner.mapping import map_log
from tidelog.storage.cleaner.offset_map import new_offset_map
from tidelog.storage.cleaner.reading import SourceChunk, read_chunks
from tidelog.storage.cleaner.retain import Kept, Retention
from tidelog.storage.cleaner.statistics import CleanerStats
from tidelog.storage.cleaner.swap import exists, remove_cleaned
from tidelog.storage.errors import CorruptSegmentError
from tidelog.storage.names import CLEANED_SUFFIX, LOG_SUFFIX, NO_SUFFIX, TRANSACTION_INDEX_SUFFIX, segment_name
from tidelog.storage.segment.descriptors import Descriptors
from tidelog.storage.segment.segment import Segment

Steps = Generator[BytesMoved | CleanedSegment, None, CleaningResult]
_OPEN_FILES: int = 8


def clean_log(fs: FileSystem, job: CleaningJob) -> Steps:
    """Clean one log, step by step. Raises CorruptSegmentError for a source that is damaged; nothing of that source is
    replaced then, and no data are lost."""
    stats = CleanerStats()
    settings = job.settings
    if not job.segments:
        return CleaningResult(job.first_dirty_offset, stats)
    offsets = job.first_uncleanable_offset - job.first_dirty_offset
    table = new_offset_map(settings.dedupe_buffer_bytes, settings.load_factor, offsets, job.seed)
    yield from map_log(fs, job, table, stats)
    end_offset = table.latest + 1
    groups = group_segments(job.segments, settings, job.first_uncleanable_offset)
    retention = Retention(job, table, stats)
    for group in groups:
        if group[0].base_offset >= end_offset:
            break
        if any(segment.size_bytes for segment in group):
            yield from _GroupCleaning(fs, job, group, retention, stats).steps()
    return CleaningResult(end_offset, stats)


class _GroupCleaning:
    """The cleaning of one group: several segments are read, and one is written."""

    def __init__(
        self,
        fs: FileSystem,
        job: CleaningJob,
        group: Sequence[SegmentFacts],
        retention: Retention,
        stats: CleanerStats,
    ) -> None:
        self._fs = fs
        self._job = job
        self._group = [segment for segment in group if segment.size_bytes]
        self._replaced = tuple(segment.base_offset for segment in group)
        self._retention = retention
        self._stats = stats
        self._descriptors = Descriptors(fs, _OPEN_FILES)

    def steps(self) -> Generator[BytesMoved | CleanedSegment, None, None]:
        directory, base_offset = self._job.directory, self._replaced[0]
        remove_cleaned(self._descriptors, directory, base_offset)  # left by an attempt that died
        finished = False
        try:
            target = Segment.create(
                self._descriptors, directory, base_offset, self._job.settings.index, self._job.now_ms, CLEANED_SUFFIX
            )
            for segment in self._group:
                yield from self._clean_into(target, segment)
            self._make_durable(target)
            finished = True
        finally:
            if not finished:
                remove_cleaned(self._descriptors, directory, base_offset)
            self._descriptors.close()
        self._stats.segments_written += 1
        yield CleanedSegment(base_offset, self._replaced, target.size_bytes, target.max_timestamp)

    def _clean_into(self, target: Segment, segment: SegmentFacts) -> Generator[BytesMoved, None, None]:
        path = join(self._job.directory, segment_name(segment.base_offset, LOG_SUFFIX))
        end = segment.size_bytes if segment is self._group[-1] else None
        for chunk in read_chunks(self._fs, path, segment.size_bytes, self._job.settings.io_buffer_bytes):
            kept = self._choose(path, chunk, end)
            written = self._append(target, kept)
            self._stats.bytes_read += chunk.size_bytes
            self._stats.bytes_written += written
            yield BytesMoved(chunk.size_bytes, written)
        self._stats.segments_read += 1

    def _choose(self, path: str, chunk: SourceChunk, end: int | None) -> list[Kept]:
        """Return what stays of the batches of `chunk`. `end` is where in the file the last batch of the whole group
        ends; None where the group's last batch is in another segment."""
        kept = []
        for source in chunk.batches:
            try:
                one = self._retention.keep(source, ends_segment=source.file_end == end)
            except RecordError as error:
                raise CorruptSegmentError(path, source.file_start, error.reason) from error
            if one is not None:
                kept.append(one)
        return kept

    def _append(self, target: Segment, kept: Sequence[Kept]) -> int:
        if not kept:
            return 0
        batches = [one.batch for one in kept]
        target.append([one.bytes for one in kept], batches)
        for aborted in self._retention.transactions.take_kept():
            target.append_aborted(aborted)
        self._stats.records_kept += sum(one.records for one in kept)
        return sum(batch.size_bytes for batch in batches)

    def _make_durable(self, target: Segment) -> None:
        """Sync the bytes and the names of the new segment. A swap renames each file over the one it replaces, so there
        has to be one for each: where all aborted transactions are gone, an empty index replaces theirs."""
        target.seal()
        directory = self._job.directory
        old, new = (
            segment_name(self._replaced[0], TRANSACTION_INDEX_SUFFIX, state) for state in (NO_SUFFIX, CLEANED_SUFFIX)
        )
        if exists(self._fs, join(directory, old)):
            self._descriptors.create(join(directory, new)).sync()
        self._keep_time(target)
        target.flush()
        self._fs.sync_directory(directory)

    def _keep_time(self, target: Segment) -> None:
        """Give the new file the latest time of its sources. Where records have no time, retention goes by the file's,
        and that must not begin anew."""
        paths = [join(self._job.directory, segment_name(each.base_offset, LOG_SUFFIX)) for each in self._group]
        self._fs.set_modified(target.path, max(self._fs.stat(path).modified_ms for path in paths))
