"""The producer snapshots of one log, each held against a replay of the log up to its offset."""

from tidelog.ports.files import FileSystem
from tidelog.ports.paths import join
from tidelog.storage.checkpoints.errors import CorruptFileError
from tidelog.storage.checkpoints.small_files import read_whole
from tidelog.storage.inspect.findings import Finding
from tidelog.storage.inspect.producer_check import ProducerReplay
from tidelog.storage.names import SNAPSHOT_SUFFIX, segment_name
from tidelog.storage.producers.snapshot import decode_snapshot


class SnapshotCheck:
    def __init__(self, fs: FileSystem, directory: str, offsets: list[int]) -> None:
        self.findings: list[Finding] = []
        self._fs = fs
        self._directory = directory
        self._offsets = sorted(offsets, reverse=True)  # the next one last

    def check_until(self, offset: int, replay: ProducerReplay | None) -> None:
        """Check the snapshots up to this offset; without a replay only whether they can be read."""
        while self._offsets and self._offsets[-1] <= offset:
            self._check(self._offsets.pop(), replay)

    def _check(self, offset: int, replay: ProducerReplay | None) -> None:
        path = self._path(offset)
        try:
            entries = decode_snapshot(read_whole(self._fs, path), path)
        except CorruptFileError as damage:
            self.findings.append(Finding(damage.path, damage.reason))
            return
        for entry in entries:
            if entry.last_data_offset >= offset:
                reason = f"producer {entry.producer_id} has offset {entry.last_data_offset}, which is not before it"
                self.findings.append(Finding(path, reason))
        if replay:
            self.findings += [Finding(path, reason) for reason in replay.contradictions(entries)]

    def finish(self, log_end_offset: int) -> None:
        for offset in reversed(self._offsets):
            self.findings.append(Finding(self._path(offset), f"is past the end of the log, {log_end_offset}"))

    def _path(self, offset: int) -> str:
        return join(self._directory, segment_name(offset, SNAPSHOT_SUFFIX))
