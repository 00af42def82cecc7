"""What stays of one batch.

    batch                                    stays
    data, aborted                            nothing
    data                                     the last record of each key; tombstones until the delete horizon
    marker that is needed                    as it is
    marker of a transaction without data     until the delete horizon
    no record left, but its place matters    an empty batch: the header alone

The delete horizon (KIP-534) is a time in the batch itself, `delete.retention.ms` after the first cleaning that found
tombstones in it with everything before them gone. A reader who has seen the deleted value has that long to reach the
tombstone.

A place matters when the batch is the last that a live producer wrote (its sequence number would be forgotten) or the
last of the new segment: then the segment ends where its sources ended, which is how an interrupted swap knows what it
replaces, and the log's end is never lost. At the very end of what is cleaned, which may be the end of the log, a
tombstone or marker also outlives its horizon: consumers compare their position with the last record there is.
"""

from dataclasses import replace
from typing import Final

from tidelog.records.builder import empty_batch, seal_batch
from tidelog.records.compression import CompressionType, Inflater, compress
from tidelog.records.header import DELETE_HORIZON_FLAG, BatchHeader, BytesLike, TimestampType
from tidelog.records.kernels_compact import (
    BatchBody,
    OffsetTable,
    Selection,
    copy_records,
    rebase_records,
    select,
)
from tidelog.storage.append.outcome import AppendedBatch
from tidelog.storage.cleaner.job import NO_OFFSET, CleaningJob
from tidelog.storage.cleaner.reading import SourceBatch
from tidelog.storage.cleaner.statistics import CleanerStats
from tidelog.storage.cleaner.transactions import CleanedTransactions

# Timestamps are stored relative to the horizon. Within these bounds the difference fits 64 bits, however long
# delete.retention.ms is; a batch with a record from before them never gets a horizon, so its tombstones stay.
HORIZON_MAX_MS: Final = 2**62 - 1
RECORD_TIME_MIN_MS: Final = -(2**62)


class Kept:
    """A batch that stays, with the bytes to write for it."""

    __slots__ = ("batch", "bytes", "records")

    def __init__(self, header: BatchHeader, data: BytesLike, records: int) -> None:
        self.bytes = data
        self.records = records
        self.batch = AppendedBatch(header.base_offset, header.last_offset, header.max_timestamp, len(data), records)


class Retention:
    """The decision what stays of each batch. It must be asked about every batch of the log, in order; `table` must not
    change meanwhile."""

    def __init__(self, job: CleaningJob, table: OffsetTable, stats: CleanerStats) -> None:
        self._table = table
        self._stats = stats
        self._now_ms = job.now_ms
        self._new_horizon_ms = min(job.now_ms + job.settings.delete_retention_ms, HORIZON_MAX_MS)
        self._last_records = job.last_records
        self._last_offset = job.first_uncleanable_offset - 1
        self._inflater = Inflater()
        self.transactions = CleanedTransactions(job.aborted_transactions)

    def keep(self, source: SourceBatch, *, ends_segment: bool) -> Kept | None:
        header = source.batch.header
        self._stats.batches_read += 1
        self._stats.records_read += header.records_count
        kept = self._keep_control(source) if header.is_control else self._keep_data(source)
        if kept is None and (ends_segment or self._is_last_data(header)):
            return Kept(header, empty_batch(header), 0)
        return kept

    def _keep_control(self, source: SourceBatch) -> Kept | None:
        header = source.batch.header
        unneeded = self.transactions.is_unneeded(source.batch)
        if not header.records_count:
            return None
        if not unneeded:
            return Kept(header, source.batch.view, header.records_count)
        if header.delete_horizon_ms is None:
            body = source.body(self._inflater)
            return self._rewrite(header, body, _everything(body), self._new_horizon_ms)
        if header.delete_horizon_ms > self._now_ms or self._is_last_marker(header):
            return Kept(header, source.batch.view, header.records_count)
        return None

    def _keep_data(self, source: SourceBatch) -> Kept | None:
        header = source.batch.header
        if self.transactions.is_aborted(header):
            return None
        body = source.body(self._inflater)
        horizon_ms = header.delete_horizon_ms
        keep_tombstones = horizon_ms is None or horizon_ms > self._now_ms
        selection = select(self._table, body, keep_tombstones, self._last_offset)
        self._stats.keyless_records += selection.keyless
        if not selection.records:
            return None
        new_horizon_ms = self._new_horizon_ms if self._starts_horizon(header, selection) else None
        if new_horizon_ms is None and selection.records == header.records_count:
            return Kept(header, source.batch.view, header.records_count)
        return self._rewrite(header, body, selection, new_horizon_ms)

    def _starts_horizon(self, header: BatchHeader, selection: Selection) -> bool:
        """Tell whether the batch gets its delete horizon now. A batch that reaches beyond the table does not: the
        values that its tombstones delete may still be in the log, and be read after the horizon."""
        return (
            selection.tombstones > 0
            and header.delete_horizon_ms is None
            and header.last_offset <= self._table.latest
            and selection.min_timestamp >= RECORD_TIME_MIN_MS
        )

    def _rewrite(self, header: BatchHeader, body: BatchBody, selection: Selection, horizon_ms: int | None) -> Kept:
        """Return the batch with fewer records, or with a horizon. It keeps its offsets and sequence numbers, and their
        ranges even where the first and last record are gone."""
        if horizon_ms is None:
            header = replace(header, records_count=selection.records)
            records = copy_records(body, selection)
        else:
            flagged = header.attributes | DELETE_HORIZON_FLAG
            header = replace(header, attributes=flagged, base_timestamp=horizon_ms, records_count=selection.records)
            records = rebase_records(body, selection, horizon_ms)
        if header.timestamp_type is TimestampType.CREATE_TIME:
            header = replace(header, max_timestamp=selection.max_timestamp)
        return Kept(
            header, seal_batch(header, compress(CompressionType(header.compression_id), records)), selection.records
        )

    def _is_last_data(self, header: BatchHeader) -> bool:
        last = self._last_records.get(header.producer_id) if header.has_producer_id else None
        return last is not None and header.last_offset == last.last_data_offset

    def _is_last_marker(self, header: BatchHeader) -> bool:
        """Tell whether this marker has to outlive its horizon: nothing else in the log tells the epoch of its producer,
        or it is the last batch of all."""
        if header.last_offset == self._last_offset:
            return True
        last = self._last_records.get(header.producer_id)
        return last is not None and last.last_data_offset == NO_OFFSET and last.producer_epoch == header.producer_epoch


def _everything(body: BatchBody) -> Selection:
    """Return a selection of all records, made with a table that has no key in it."""
    return select(OffsetTable(3, 1, bytes(16)), body, True, NO_OFFSET)
