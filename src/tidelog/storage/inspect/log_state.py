"""What is carried from batch to batch and from segment to segment while a log is verified."""

from collections.abc import Iterator

from tidelog.records.batch import RecordBatch
from tidelog.records.header import BatchHeader
from tidelog.storage.inspect.epoch_check import EpochCheck
from tidelog.storage.inspect.findings import Finding
from tidelog.storage.inspect.producer_check import ProducerReplay
from tidelog.storage.inspect.snapshot_check import SnapshotCheck
from tidelog.storage.segment.transaction_index import AbortedTxn


class LogState:
    def __init__(self, epochs: EpochCheck, snapshots: SnapshotCheck, base_offset: int, *, compacted: bool) -> None:
        self.next_offset = base_offset
        self._epochs = epochs
        self._snapshots = snapshots
        self._producers = ProducerReplay()
        self._compacted = compacted
        self._whole = True  # no batch was left out, so that the replay can be believed
        self._lost = False  # damage was passed: the next batch may begin at any offset

    def begin_segment(self, base_offset: int) -> str | None:
        """Return what is wrong with a segment that begins here. (One that begins too early shows in its batches.)"""
        gap = self._gap(base_offset)
        self.next_offset = max(base_offset, self.next_offset)
        self._lost = False
        return gap

    def _gap(self, found: int) -> str | None:
        if found <= self.next_offset or self._compacted or self._lost:
            return None
        return f"offsets {self.next_offset} to {found - 1} are missing, as only compaction would have it"

    def lose_track(self) -> None:
        """Note that damage hides batches: where they end, and what they would have told, is not known."""
        self._whole = False
        self._lost = True

    def problems(self, header: BatchHeader) -> Iterator[str]:
        """Yield what is wrong with a batch as the next one of the log."""
        if header.base_offset < self.next_offset:
            yield f"offset {header.base_offset} comes after {self.next_offset - 1}"
        gap = self._gap(header.base_offset)
        if gap:
            yield gap
        epoch = self._epochs.pass_batch(header)
        if epoch:
            yield epoch

    def pass_batch(self, batch: RecordBatch) -> None:
        """Take over what the batch says. Raises RecordError where a transaction marker makes no sense."""
        self._check_snapshots(batch.header.base_offset)
        self.next_offset = max(self.next_offset, batch.header.last_offset + 1)
        self._lost = False
        self._producers.pass_batch(batch)

    def _check_snapshots(self, until: int) -> None:
        """Check the snapshots of offsets up to `until`: batches from there on were not known when these were taken."""
        believed = self._whole and not self._compacted
        self._snapshots.check_until(until, self._producers if believed else None)

    def check_transactions(self, path: str, entries: list[AbortedTxn]) -> list[Finding]:
        """Return what is wrong with a segment's transaction index, behind its last batch. A compacted log has no
        findings: compaction removes markers, aborted records and entries one by one."""
        findings = self._producers.check_transaction_index(path, entries)
        return findings if self._whole and not self._compacted else []

    def finish(self) -> None:
        self._check_snapshots(self.next_offset)
        self._snapshots.finish(self.next_offset)
        self._epochs.finish(self.next_offset)
