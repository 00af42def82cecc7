"""The leader epochs of a log: those in its batches do not decrease, and the checkpoint tells of the same."""

from bisect import bisect_right
from itertools import pairwise

from tidelog.ports.files import FileSystem
from tidelog.records.header import NO_PARTITION_LEADER_EPOCH, BatchHeader
from tidelog.storage.checkpoints.errors import CorruptFileError
from tidelog.storage.checkpoints.text import EpochEntry, read_epochs
from tidelog.storage.inspect.findings import Finding


class EpochCheck:
    def __init__(self, fs: FileSystem, path: str) -> None:
        """`path` is the checkpoint, which need not be there: a log without batches has none."""
        self.path = path
        self.findings: list[Finding] = []
        self._entries = self._read(fs)
        self._starts = [entry.start_offset for entry in self._entries]
        self._last_epoch = NO_PARTITION_LEADER_EPOCH
        self._told: set[int] = set()  # epochs that have a finding: one is enough

    def _read(self, fs: FileSystem) -> list[EpochEntry]:
        try:
            entries = read_epochs(fs, self.path)
        except CorruptFileError as damage:
            self.findings.append(Finding(damage.path, damage.reason))
            return []
        for last, entry in pairwise(entries):
            if entry.epoch <= last.epoch or entry.start_offset <= last.start_offset:
                order = f"epoch {entry.epoch} from {entry.start_offset}, after {last.epoch} from {last.start_offset}"
                self.findings.append(Finding(self.path, order))
                return []
        return entries

    def pass_batch(self, header: BatchHeader) -> str | None:
        """Return what is wrong with the batch itself; contradictions with the checkpoint go to `findings`."""
        epoch = header.partition_leader_epoch
        if epoch == NO_PARTITION_LEADER_EPOCH:
            return None
        self._compare(header.base_offset, epoch)
        last, self._last_epoch = self._last_epoch, epoch
        return f"leader epoch {epoch} comes after {last}" if epoch < last else None

    def _compare(self, offset: int, epoch: int) -> None:
        """Report a batch whose epoch is not the one in the checkpoint. Nothing is known about what lies before the
        first entry: the log started there when the checkpoint was written."""
        index = bisect_right(self._starts, offset) - 1
        if index < 0 or self._entries[index].epoch == epoch or epoch in self._told:
            return
        self._told.add(epoch)
        reason = f"offset {offset} belongs to epoch {self._entries[index].epoch}, the log says {epoch}"
        self.findings.append(Finding(self.path, reason))

    def finish(self, log_end_offset: int) -> None:
        for entry in self._entries:
            if entry.start_offset > log_end_offset:
                reason = f"epoch {entry.epoch} starts at {entry.start_offset}, the log ends at {log_end_offset}"
                self.findings.append(Finding(self.path, reason))
