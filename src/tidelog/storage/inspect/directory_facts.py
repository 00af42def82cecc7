"""A log directory as a whole: its own files, the logs in it, and what the checkpoints say about each."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from tidelog.model.ids import TopicPartition, Uuid, format_uuid
from tidelog.ports.files import FileSystem
from tidelog.ports.paths import join
from tidelog.storage.checkpoints.clean_shutdown import CLEAN_SHUTDOWN_MARKER, read_clean_shutdown
from tidelog.storage.checkpoints.errors import CorruptFileError
from tidelog.storage.checkpoints.meta_properties import META_PROPERTIES, read_meta_properties
from tidelog.storage.checkpoints.partition_metadata import PARTITION_METADATA, read_partition_metadata
from tidelog.storage.checkpoints.text import (
    CLEANER_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    read_offsets,
)
from tidelog.storage.directories.failed_sync import SYNC_MARK
from tidelog.storage.errors import InvalidNameError
from tidelog.storage.inspect.findings import Finding, warning
from tidelog.storage.inspect.log_check import LogFacts
from tidelog.storage.inspect.log_files import METADATA_SNAPSHOT_SUFFIX, left_overs
from tidelog.storage.names import DirectoryState, PartitionDirectory, parse_partition_directory

OFFSET_CHECKPOINTS: Final = (
    RECOVERY_POINT_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    CLEANER_OFFSET_CHECKPOINT,
)
# Kept compacted by every broker, whatever a checkpoint says.
COMPACTED_TOPICS: Final = ("__consumer_offsets", "__transaction_state")
LOCK: Final = ".lock"
REMOTE_INDEX_CACHE: Final = "remote-log-index-cache"  # tiered storage's, and no log

Offsets = dict[TopicPartition, int]


@dataclass(slots=True)
class DirectoryFacts:
    logs: list[LogFacts] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def _belongs_here(name: str) -> bool:
    known = (META_PROPERTIES, CLEAN_SHUTDOWN_MARKER, LOCK, SYNC_MARK, *OFFSET_CHECKPOINTS)
    return name in known or name.endswith(METADATA_SNAPSHOT_SUFFIX)


def read_directory(fs: FileSystem, directory: str, compacted_topics: Sequence[str]) -> DirectoryFacts:
    return _DirectoryReader(fs, directory, compacted_topics).read()


class _DirectoryReader:
    def __init__(self, fs: FileSystem, directory: str, compacted_topics: Sequence[str]) -> None:
        self._fs = fs
        self._directory = directory
        self._compacted = {*compacted_topics, *COMPACTED_TOPICS}
        self._facts = DirectoryFacts()

    def read(self) -> DirectoryFacts:
        self._check_identity()
        is_clean = self._is_clean()
        checkpoints = {name: self._read_checkpoint(name) for name in OFFSET_CHECKPOINTS}
        self._compacted.update(partition.topic for partition in checkpoints[CLEANER_OFFSET_CHECKPOINT])
        partitions = self._list()
        for name, found in partitions.items():
            self._facts.logs.append(self._log_facts(name, found, is_clean, checkpoints))
        self._check_orphans(checkpoints, [found.topic_partition for found in partitions.values()])
        self._check_topic_ids(partitions)
        return self._facts

    def _check_identity(self) -> None:
        path = join(self._directory, META_PROPERTIES)
        try:
            if read_meta_properties(self._fs, self._directory) is None:
                self._report(path, "is missing: nothing says whose directory this is")
        except CorruptFileError as damage:
            self._report(damage.path, damage.reason)

    def _is_clean(self) -> bool:
        try:
            return read_clean_shutdown(self._fs, self._directory) is not None
        except CorruptFileError as damage:
            self._report(damage.path, damage.reason)
            return False

    def _read_checkpoint(self, name: str) -> Offsets:
        try:
            return read_offsets(self._fs, join(self._directory, name))
        except CorruptFileError as damage:
            self._report(damage.path, damage.reason)
            return {}

    def _list(self) -> dict[str, PartitionDirectory]:
        """Return the partitions to check, by the names of their directories."""
        partitions: dict[str, PartitionDirectory] = {}
        strangers: list[str] = []
        for name in self._fs.list_directory(self._directory):
            path = join(self._directory, name)
            if not self._fs.stat(path).is_directory:
                strangers += [] if _belongs_here(name) else [name]
            elif name != REMOTE_INDEX_CACHE:
                found = self._partition(path, name)
                if found:
                    partitions[name] = found
        self._facts.findings += left_overs(self._directory, strangers)
        return partitions

    def _partition(self, path: str, name: str) -> PartitionDirectory | None:
        try:
            found = parse_partition_directory(name)
        except InvalidNameError as invalid:
            self._report(path, f"{invalid.reason}: a broker refuses to start on it")
            return None
        if found.state is DirectoryState.DELETE:
            self._facts.findings.append(warning(path, "waits for its deletion"))
            return None
        if found.state is DirectoryState.STRAY:
            self._facts.findings.append(warning(path, "is a stray replica, which no broker uses"))
        return found

    def _log_facts(
        self, name: str, found: PartitionDirectory, is_clean: bool, checkpoints: dict[str, Offsets]
    ) -> LogFacts:
        partition = found.topic_partition
        facts = LogFacts(join(self._directory, name), is_clean, partition.topic in self._compacted)
        if found.state is DirectoryState.CURRENT:  # the checkpoints have entries for current logs alone
            facts.recovery_point = checkpoints[RECOVERY_POINT_CHECKPOINT].get(partition)
            facts.high_watermark = checkpoints[REPLICATION_OFFSET_CHECKPOINT].get(partition)
            facts.log_start_offset = checkpoints[LOG_START_OFFSET_CHECKPOINT].get(partition)
            facts.cleaned_offset = checkpoints[CLEANER_OFFSET_CHECKPOINT].get(partition)
        return facts

    def _check_orphans(self, checkpoints: dict[str, Offsets], partitions: list[TopicPartition]) -> None:
        """Warn of entries in the checkpoints whose partition is not here: a topic may be deleted between two writes of
        a checkpoint."""
        for name, offsets in checkpoints.items():
            for partition in offsets:
                if partition not in partitions:
                    path = join(self._directory, name)
                    self._facts.findings.append(warning(path, f"{partition} is not in this directory"))

    def _check_topic_ids(self, partitions: dict[str, PartitionDirectory]) -> None:
        """Check that all partitions of a topic have one topic id; those of an earlier topic of that name have
        another."""
        ids: dict[str, tuple[Uuid, str]] = {}
        for name, found in partitions.items():
            directory = join(self._directory, name)
            try:
                metadata = read_partition_metadata(self._fs, directory)
            except CorruptFileError:
                continue  # the check of the log reports it
            if metadata is None:
                path = join(directory, PARTITION_METADATA)
                self._facts.findings.append(warning(path, "is missing: nothing says which topic's log this is"))
            if metadata is None or found.state is DirectoryState.STRAY:
                continue
            known, owner = ids.setdefault(found.topic_partition.topic, (metadata.topic_id, name))
            if known != metadata.topic_id:
                reason = f"the topic id is {format_uuid(metadata.topic_id)}, that of {owner} is {format_uuid(known)}"
                self._report(join(directory, PARTITION_METADATA), reason)

    def _report(self, path: str, reason: str) -> None:
        self._facts.findings.append(Finding(path, reason))
