"""One partition's log, checked as a whole: its segments in order, and what the checkpoints say about it.

After an unclean stop everything past the recovery point is scanned at the next start: a torn tail is cut there, and
indexes are built anew. What is wrong there breaks no promise, and is a warning; below the recovery point, and after a
clean stop, it is an error.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tidelog.ports.files import FileSystem
from tidelog.ports.paths import join
from tidelog.storage.checkpoints.errors import CorruptFileError
from tidelog.storage.checkpoints.text import LEADER_EPOCH_CHECKPOINT
from tidelog.storage.inspect.epoch_check import EpochCheck
from tidelog.storage.inspect.findings import Finding, Severity
from tidelog.storage.inspect.log_files import LogFiles, list_log
from tidelog.storage.inspect.log_state import LogState
from tidelog.storage.inspect.metadata_snapshots import check_metadata_snapshot
from tidelog.storage.inspect.segment_check import SegmentCheck, SegmentPlan
from tidelog.storage.inspect.small_rows import dump_small_file
from tidelog.storage.inspect.snapshot_check import SnapshotCheck
from tidelog.storage.names import LOG_SUFFIX


@dataclass(slots=True)
class LogFacts:
    """The facts that the rest of the data directory has about a log; None where it says nothing."""

    path: str
    is_clean: bool = True  # the broker stopped cleanly
    is_compacted: bool = False  # offsets may be missing
    recovery_point: int | None = None
    high_watermark: int | None = None
    log_start_offset: int | None = None
    cleaned_offset: int | None = None


@dataclass(slots=True)
class Passed:
    """A step of the check: `count` more bytes of the log have been read."""

    count: int


@dataclass(slots=True)
class LogSummary:
    path: str
    segments: int = 0
    batches: int = 0
    size_bytes: int = 0
    log_start_offset: int = 0
    log_end_offset: int = 0


Item = Finding | Passed | LogSummary


class LogCheck:
    def __init__(self, fs: FileSystem, facts: LogFacts, *, check_records: bool) -> None:
        self._fs = fs
        self._facts = facts
        self._check_records = check_records
        self.summary = LogSummary(facts.path)

    def run(self) -> Iterator[Item]:
        files = list_log(self._fs, self._facts.path)
        yield from files.findings
        yield from self._check_small_files(files)
        if not files.segments:
            yield self._judged(Finding(self._facts.path, "has no segment"), 0)
            return
        epochs = EpochCheck(self._fs, join(self._facts.path, LEADER_EPOCH_CHECKPOINT))
        snapshots = SnapshotCheck(self._fs, self._facts.path, files.snapshots)
        bases = sorted(files.segments)
        state = LogState(epochs, snapshots, bases[0], compacted=self._facts.is_compacted)
        for base_offset, end_offset in zip(bases, [*bases[1:], None], strict=True):
            yield from self._check_segment(files, base_offset, end_offset, state)
        state.finish()
        for finding in (*epochs.findings, *snapshots.findings):
            yield self._judged(finding, state.next_offset)
        yield from self._compare_checkpoints(state.next_offset)
        self.summary.log_start_offset = max(bases[0], self._facts.log_start_offset or 0)
        self.summary.log_end_offset = state.next_offset
        yield self.summary

    def _check_small_files(self, files: LogFiles) -> Iterator[Finding]:
        for name in files.metadata_snapshots:
            yield from check_metadata_snapshot(self._fs, join(self._facts.path, name))
        for name in files.small_files:
            try:
                for _ in dump_small_file(self._fs, join(self._facts.path, name), name):
                    pass
            except CorruptFileError as damage:
                yield Finding(damage.path, damage.reason)

    def _check_segment(
        self, files: LogFiles, base_offset: int, end_offset: int | None, state: LogState
    ) -> Iterator[Item]:
        kinds = files.segments[base_offset]
        plan = SegmentPlan(self._facts.path, base_offset, kinds, end_offset, self._check_records)
        end_so_far = state.next_offset
        gap = state.begin_segment(base_offset)
        if gap:
            yield self._judged(Finding(plan.path(LOG_SUFFIX), gap), end_so_far)
        check = SegmentCheck(self._fs, plan, state)
        done = 0
        for position in check.run():
            yield Passed(position - done)
            done = position
        for finding in check.findings:
            yield self._judged(finding, state.next_offset)
        self.summary.segments += 1
        self.summary.batches += check.batches
        self.summary.size_bytes += done

    def _judged(self, finding: Finding, offset: int) -> Finding:
        """Lower the finding to a warning where the next recovery will look at it: past the recovery point of an unclean
        stop. `offset` is where the log ends as far as it was read."""
        facts = self._facts
        if not facts.is_clean and offset >= (facts.recovery_point or 0):
            finding.severity = Severity.WARNING
        return finding

    def _compare_checkpoints(self, log_end_offset: int) -> Iterator[Finding]:
        facts = self._facts
        claims = (
            ("recovery point", facts.recovery_point, Severity.ERROR),
            ("log start offset", facts.log_start_offset, Severity.ERROR),
            ("cleaned offset", facts.cleaned_offset, Severity.ERROR),
            # A running broker writes it down before the records below it are synced.
            ("high watermark", facts.high_watermark, Severity.ERROR if facts.is_clean else Severity.WARNING),
        )
        for name, offset, severity in claims:
            if offset is not None and offset > log_end_offset:
                reason = f"the {name} is {offset}, and the log ends at {log_end_offset}"
                yield Finding(facts.path, reason, severity=severity)
