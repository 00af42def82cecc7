"""The files in a partition's directory, sorted into what they are."""

from dataclasses import dataclass, field
from typing import Final

from tidelog.ports.durable import TEMPORARY_SUFFIX
from tidelog.ports.files import FileSystem
from tidelog.ports.paths import join
from tidelog.storage.checkpoints.partition_metadata import PARTITION_METADATA
from tidelog.storage.checkpoints.text import LEADER_EPOCH_CHECKPOINT, RECOVERY_POINT_CHECKPOINT
from tidelog.storage.directories.failed_sync import AWAY_SUFFIX
from tidelog.storage.inspect.findings import Finding, warning
from tidelog.storage.names import LOG_SUFFIX, NO_SUFFIX, SNAPSHOT_SUFFIX, parse_segment_name, segment_name

METADATA_SNAPSHOT_SUFFIX: Final = ".checkpoint"
QUORUM_STATE: Final = "quorum-state"
BALLAST: Final = "ballast"  # room that the metadata log keeps for a full disk
LEFT_OVERS: Final = (TEMPORARY_SUFFIX, AWAY_SUFFIX, ".part", ".deleted", ".cleaned", ".swap")
_SMALL_FILES: Final = (PARTITION_METADATA, QUORUM_STATE, RECOVERY_POINT_CHECKPOINT)


@dataclass(slots=True)
class LogFiles:
    segments: dict[int, set[str]] = field(default_factory=dict)  # base offset to the kinds of files that are there
    snapshots: list[int] = field(default_factory=list)
    metadata_snapshots: list[str] = field(default_factory=list)  # names
    small_files: list[str] = field(default_factory=list)  # names of others that belong here
    findings: list[Finding] = field(default_factory=list)


def list_log(fs: FileSystem, directory: str) -> LogFiles:
    files = LogFiles()
    kinds: dict[int, set[str]] = {}
    strangers: list[str] = []
    for name in fs.list_directory(directory):
        segment = parse_segment_name(name)
        if segment and segment.state == NO_SUFFIX:
            if segment.kind == SNAPSHOT_SUFFIX:
                files.snapshots.append(segment.base_offset)
            else:
                kinds.setdefault(segment.base_offset, set()).add(segment.kind)
        elif name.endswith(METADATA_SNAPSHOT_SUFFIX):
            files.metadata_snapshots.append(name)
        elif name in _SMALL_FILES:
            files.small_files.append(name)
        elif name not in (LEADER_EPOCH_CHECKPOINT, BALLAST):
            strangers.append(name)
    files.segments = {base_offset: found for base_offset, found in kinds.items() if LOG_SUFFIX in found}
    files.findings = [*_orphans(directory, kinds), *left_overs(directory, strangers)]
    return files


def _orphans(directory: str, kinds: dict[int, set[str]]) -> list[Finding]:
    names = [
        segment_name(base_offset, kind)
        for base_offset, found in kinds.items()
        for kind in sorted(found)
        if LOG_SUFFIX not in found
    ]
    return [warning(join(directory, name), "belongs to a segment without a log") for name in names]


def left_overs(directory: str, names: list[str]) -> list[Finding]:
    """Report the files that are no part of a log: those on their way to somewhere (one finding for all of a kind, there
    can be many), and those that nobody knows."""
    findings = []
    for suffix in LEFT_OVERS:
        count = sum(name.endswith(suffix) for name in names)
        if count:
            reason = f"left over, {count} of them: the next start of a broker finishes or removes them"
            findings.append(warning(join(directory, f"*{suffix}"), reason))
    unknown = [name for name in names if not name.endswith(LEFT_OVERS)]
    return findings + [warning(join(directory, name), "no file of a log has such a name") for name in unknown]
