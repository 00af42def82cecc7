"""The first reading: the last offset of each key in the dirty part of the log.

It ends where the table is full, if need be in the middle of a batch. The cleaning is then done up to there, and what
lies behind stays dirty for another pass.
"""

from collections.abc import Generator

from tidelog.ports.files import FileSystem
from tidelog.ports.paths import join
from tidelog.records.compression import Inflater
from tidelog.records.errors import RecordError
from tidelog.records.kernels_compact import OffsetTable, map_keys
from tidelog.storage.cleaner.job import BytesMoved, CleaningJob, SegmentFacts, with_ends
from tidelog.storage.cleaner.reading import SourceBatch, read_chunks
from tidelog.storage.cleaner.statistics import CleanerStats
from tidelog.storage.cleaner.transactions import CleanedTransactions
from tidelog.storage.errors import CorruptSegmentError
from tidelog.storage.names import LOG_SUFFIX, segment_name


def map_log(
    fs: FileSystem, job: CleaningJob, table: OffsetTable, stats: CleanerStats
) -> Generator[BytesMoved, None, None]:
    """Fill the table. Afterwards `table.latest` is the last offset up to which every key is in it."""
    mapper = _Mapper(job, table)
    table.latest = job.first_dirty_offset - 1  # earlier cleanings have cleaned what lies before
    for segment, end in with_ends(job.segments, job.first_uncleanable_offset):
        if end <= job.first_dirty_offset:
            continue
        if not (yield from _map_segment(fs, job, segment, mapper, stats)):
            break
        table.latest = end - 1  # compaction may have removed the segment's last offsets: they count as mapped
    stats.map_entries, stats.map_slots = table.entries, table.slots


def _map_segment(
    fs: FileSystem, job: CleaningJob, segment: SegmentFacts, mapper: "_Mapper", stats: CleanerStats
) -> Generator[BytesMoved, None, bool]:
    path = join(job.directory, segment_name(segment.base_offset, LOG_SUFFIX))
    for chunk in read_chunks(fs, path, segment.size_bytes, job.settings.io_buffer_bytes):
        stats.map_bytes_read += chunk.size_bytes
        for source in chunk.batches:
            try:
                if not mapper.take(source):
                    return False
            except RecordError as error:
                raise CorruptSegmentError(path, source.file_start, error.reason) from error
        yield BytesMoved(chunk.size_bytes, 0)
    return True


class _Mapper:
    def __init__(self, job: CleaningJob, table: OffsetTable) -> None:
        self._lower = job.first_dirty_offset
        self._table = table
        self._transactions = CleanedTransactions(job.aborted_transactions)
        self._inflater = Inflater()

    def take(self, source: SourceBatch) -> bool:
        """Map the keys of one batch; False when the table is full. Aborted data map nothing, because they must not make
        the cleaner drop a committed record of the same key."""
        header = source.batch.header
        if header.last_offset < self._lower:
            return True
        if not header.is_control and not self._transactions.is_aborted(header):
            body = source.body(self._inflater)
            if not map_keys(self._table, body, self._lower):
                return False
        self._table.latest = header.last_offset
        return True
