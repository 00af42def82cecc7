"""A log from its directory: left-overs tidied up, segments opened, and after an unclean stop recovered (`recovery`).

    .deleted                 removed: their time was up, or the log has moved on
    .cleaned, .swap          a compaction under way is completed or forgotten (`cleaner.swap`)
    an index without a log   removed
    segments                 opened; only their sizes are read after a clean stop
    one that overflowed      split (`segment.split`)
    an index that is missing or makes no sense: its segment, and all behind it, are scanned as after an unclean stop
    epochs, producers        read, or rebuilt where the file is damaged

The broker's checkpoints say how far the log is known to be durable and where it starts; the log's own files win where
they know better. Everything that was found wrong is told, in words, with the log.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tidelog.config.topic_config import TopicConfig
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.model.lazy_dataclass import dataclass, field
from tidelog.ports.durable import TEMPORARY_SUFFIX
from tidelog.ports.errors import AlreadyExists, DiskFull
from tidelog.ports.files import FileSystem
from tidelog.ports.filled_directory import make_filled_directory
from tidelog.ports.paths import join, parent_of
from tidelog.records.compression import Inflater
from tidelog.storage.append.rules import append_rules
from tidelog.storage.checkpoints.errors import CorruptCheckpointError, CorruptPartitionMetadataError
from tidelog.storage.checkpoints.partition_metadata import (
    PARTITION_METADATA,
    encode_partition_metadata,
    read_partition_metadata,
)
from tidelog.storage.checkpoints.small_files import remove_if_present, write_whole
from tidelog.storage.cleaner.swap import complete_swap
from tidelog.storage.directories.half_made import remove_half_made
from tidelog.storage.errors import CorruptIndexError, SegmentOverflowError
from tidelog.storage.log.flush import Flush
from tidelog.storage.log.flush_queue import FlushQueue
from tidelog.storage.log.leader_epochs import LeaderEpochs
from tidelog.storage.log.log import Log
from tidelog.storage.log.recovery import Truncation, recover
from tidelog.storage.log.segments import LogSegments
from tidelog.storage.log.truncation_at_start import begin_anew_at_start
from tidelog.storage.names import (
    DELETED_SUFFIX,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    MAX_INT64,
    NO_SUFFIX,
    SNAPSHOT_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    SegmentName,
    parse_segment_name,
    segment_name,
)
from tidelog.storage.producers.replay import rebuild_epochs, rebuild_producers
from tidelog.storage.producers.snapshots import ProducerSnapshots
from tidelog.storage.producers.state import ProducerState, ProducerStateConfig
from tidelog.storage.segment.descriptors import Descriptors
from tidelog.storage.segment.segment import Segment
from tidelog.storage.segment.settings import index_settings, roll_jitter_ms
from tidelog.storage.segment.split import split_overflowed


@dataclass(slots=True)
class LogContext:
    """The things that all logs of a broker share."""

    descriptors: Descriptors
    producer_config: ProducerStateConfig = field(default_factory=ProducerStateConfig)
    inflater: Inflater = field(default_factory=Inflater)
    flush_queue: FlushQueue = field(default_factory=FlushQueue)

    def __post_init__(self) -> None:
        self.flush_queue.may_sync = lambda: self.descriptors.may_sync

    @property
    def fs(self) -> FileSystem:
        return self.descriptors.fs


class StoredOffsets(NamedTuple):
    """The offsets that the checkpoints of a log directory have for one log."""

    recovery_point: int = 0
    log_start_offset: int = 0
    high_watermark: int = 0


@dataclass(slots=True)
class LoadedLog:
    log: Log
    truncations: list[Truncation] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)  # found, and dealt with
    rebuilt: list[str] = field(default_factory=list)  # segments whose indexes a process that died has not written
    scanned_bytes: int = 0


def create_log(
    context: LogContext,
    directory: str,
    topic_partition: TopicPartition,
    topic_id: Uuid | None,
    config: TopicConfig,
    now_ms: int,
    start_offset: int = 0,
) -> Log:
    """Make a new log in a new directory, or in place of what an interrupted attempt has left (`half_made`). Raises
    AlreadyExists where there are records. Where there is no room, nothing is left of it."""
    files = first_files(topic_id, start_offset)
    try:
        make_filled_directory(context.fs, directory, files)
    except AlreadyExists:
        remove_half_made(context.descriptors, directory)
        make_filled_directory(context.fs, directory, files)
    return new_log(context, directory, topic_partition, topic_id, config, now_ms, start_offset)


def first_files(topic_id: Uuid | None, start_offset: int = 0) -> dict[str, bytes]:
    """Return the files of a new log, in the order in which they are made: the topic's id before the records."""
    metadata = {} if topic_id is None else {PARTITION_METADATA: encode_partition_metadata(topic_id)}
    return {**metadata, segment_name(start_offset, LOG_SUFFIX): b""}


def new_log(
    context: LogContext,
    directory: str,
    topic_partition: TopicPartition,
    topic_id: Uuid | None,
    config: TopicConfig,
    now_ms: int,
    start_offset: int = 0,
) -> Log:
    """Return the log of a directory that was made with its `first_files`; nothing is read or written here. Its name is
    durable after the first flush, like everything else in it, the topic's id included: no record counts as durable
    before."""
    log = _log(context, directory, topic_partition, config, LogSegments(), LeaderEpochs(), [], StoredOffsets())
    log.segments.add(log.create_segment(start_offset, now_ms, is_made=True))
    if topic_id is not None:
        _note_topic_id(log, topic_id)
    if start_offset:
        log.begin_at(start_offset)
    log.flush.note_names([parent_of(directory)])
    log.flush.is_new = True
    return log


def give_topic_id(log: Log, topic_id: Uuid) -> None:
    """Write the topic's id, before the first record, so that the records of a process that dies belong to a known
    topic."""
    path = join(log.directory, PARTITION_METADATA)
    try:
        write_whole(log.fs, path, encode_partition_metadata(topic_id))
    except DiskFull:
        remove_if_present(log.fs, path)  # the next start would take an empty file for damage
        raise
    _note_topic_id(log, topic_id)


def _note_topic_id(log: Log, topic_id: Uuid) -> None:
    """Note the topic's id, whose file was written, but not synced."""
    log.flush.unsynced_files[PARTITION_METADATA] = None
    log.flush.note_names([log.directory])
    log.topic_id = topic_id


def load_log(
    context: LogContext,
    directory: str,
    topic_partition: TopicPartition,
    config: TopicConfig,
    stored: StoredOffsets,
    now_ms: int,
    *,
    is_clean: bool,
) -> LoadedLog:
    """Load the log; with `is_clean` the broker stopped in order. Raises CorruptSegmentError (or another LogError) when
    the log is damaged where it was durable; its `.log` files are then as they were."""
    known = (context, directory, topic_partition, config, stored, now_ms)
    try:
        return _load(*known, is_clean=is_clean, whole_to=stored.recovery_point)
    except SegmentOverflowError:  # the scan found whole batches that reach too far: they may be split
        return _load(*known, is_clean=is_clean, whole_to=MAX_INT64)


def _load(
    context: LogContext,
    directory: str,
    topic_partition: TopicPartition,
    config: TopicConfig,
    stored: StoredOffsets,
    now_ms: int,
    *,
    is_clean: bool,
    whole_to: int,
) -> LoadedLog:
    names = _tidy(context, directory)
    segments = _open_segments(context, directory, names, config, topic_partition, now_ms)
    splits = split_overflowed(context.descriptors, directory, segments, whole_to)
    if splits:
        names = _tidy(context, directory)
        segments = _open_segments(context, directory, names, config, topic_partition, now_ms)
    epochs, problems = _load_epochs(context.fs, directory)
    problems += map(str, splits)
    log = _log(context, directory, topic_partition, config, segments, epochs or LeaderEpochs(), names, stored)
    if not len(segments):
        segments.add(log.create_segment(stored.log_start_offset, now_ms))
        log.flush.is_new = True
    loaded = LoadedLog(log, problems=problems)
    _find_end(loaded, names, stored, now_ms, is_clean)
    _settle(loaded, stored, now_ms)
    if epochs is None:
        rebuild_epochs(log)
    log.topic_id = _load_topic_id(loaded, stored, is_clean)
    if not is_clean:
        _doubt_names(log)
        if log.log_end_offset > log.flush.recovery_point:
            # What was scanned is in the page cache, and under `flush.messages=1` nobody may see it before it is synced.
            log.flush.ask(log)
    return loaded


def _doubt_names(log: Log) -> None:
    """Have the names synced with the next flush. The process that made the log may have died before a flush of it: its
    name, and the topic's, may be in the page cache alone, and the next flush would call durable what a power loss takes
    away."""
    log.flush.note_names([log.directory, parent_of(log.directory)])
    if log.topic_id is not None:
        log.flush.unsynced_files[PARTITION_METADATA] = None


def _load_topic_id(loaded: LoadedLog, stored: StoredOffsets, is_clean: bool) -> Uuid | None:
    """Return the topic's id; None where it was never written, or a power loss took it before anything here was
    durable."""
    log = loaded.log
    try:
        metadata = read_partition_metadata(log.fs, log.directory)
    except CorruptPartitionMetadataError as error:
        if stored.recovery_point or (is_clean and log.log_end_offset):  # a log without a record was never synced
            raise
        loaded.problems.append(f"{error}; it was never synced, and the log has no topic id")
        log.fs.remove_file(error.path)  # the next start, after a clean stop, would take it for damage
        log.flush.note_names([log.directory])
        return None
    return None if metadata is None else metadata.topic_id


def _tidy(context: LogContext, directory: str) -> list[str]:
    """Remove left-overs; return the names that are there afterwards."""
    names = context.fs.list_directory(directory)
    parsed = [(name, parse_segment_name(name)) for name in names]
    logs = {each.base_offset for _, each in parsed if each is not None and each[1:] == (LOG_SUFFIX, NO_SUFFIX)}
    states = dict.fromkeys(each.state for _, each in parsed if each is not None)
    if any(state not in (NO_SUFFIX, DELETED_SUFFIX) for state in states):
        complete_swap(context.descriptors, directory)
        return _tidy(context, directory)
    left_over = [name for name, each in parsed if _is_left_over(name, each, logs)]
    for name in left_over:
        context.descriptors.remove(join(directory, name))
    return [name for name in names if name not in left_over] if left_over else names


def _is_left_over(name: str, parsed: SegmentName | None, logs: set[int]) -> bool:
    if parsed is None:
        return name.endswith(TEMPORARY_SUFFIX)
    is_orphan = parsed.kind not in (LOG_SUFFIX, SNAPSHOT_SUFFIX) and parsed.base_offset not in logs
    return parsed.state == DELETED_SUFFIX or is_orphan


def _open_segments(
    context: LogContext,
    directory: str,
    names: Sequence[str],
    config: TopicConfig,
    topic_partition: TopicPartition,
    now_ms: int,
) -> LogSegments:
    settings = index_settings(config)
    segments = []
    for name in names:
        if name.endswith(LOG_SUFFIX):
            parsed = parse_segment_name(name)
            if parsed is not None:
                segment = Segment.open(context.descriptors, directory, parsed.base_offset, settings, now_ms)
                segment.roll_jitter_ms = roll_jitter_ms(topic_partition, parsed.base_offset, config.segment_jitter_ms)
                segments.append(segment)
    return LogSegments(segments)


def _load_epochs(fs: FileSystem, directory: str) -> tuple[LeaderEpochs | None, list[str]]:
    """Return the epochs and the problems in words; None for epochs that are damaged and have to be rebuilt."""
    try:
        return LeaderEpochs.load(fs, directory), []
    except CorruptCheckpointError as error:
        return None, [f"{error}; the epochs were read from the log instead"]


def _log(
    context: LogContext,
    directory: str,
    topic_partition: TopicPartition,
    config: TopicConfig,
    segments: LogSegments,
    epochs: LeaderEpochs,
    names: Sequence[str],
    stored: StoredOffsets,
) -> Log:
    return Log(
        directory,
        topic_partition,
        config,
        append_rules(config, context.inflater),
        context.descriptors,
        segments,
        ProducerState(context.producer_config, stored.log_start_offset),
        ProducerSnapshots(context.fs, directory, names),
        epochs,
        Flush(stored.recovery_point, segments.active.base_offset if len(segments) else 0, context.flush_queue),
        stored.log_start_offset,
        stored.log_start_offset,
    )


def _find_end(loaded: LoadedLog, names: Sequence[str], stored: StoredOffsets, now_ms: int, is_clean: bool) -> None:
    """Find where the log ends: as it says itself after a clean stop, as recovery finds it otherwise."""
    log = loaded.log
    log.log_start_offset = max(stored.log_start_offset, log.segments.first.base_offset)
    log.snapshots.remove_strays(log.segments.base_offsets)
    doubtful = _first_with_bad_index(loaded, names, loaded.problems if is_clean else loaded.rebuilt)
    if is_clean and doubtful is None:
        log.log_end_offset = log.segments.active.next_offset()
        log.flush.recovery_point = log.log_end_offset
        loaded.problems += map(str, rebuild_producers(log, now_ms, loaded.problems))
        return
    scan_from = stored.recovery_point if doubtful is None else min(stored.recovery_point, doubtful)
    loaded.scanned_bytes = sum(segment.size_bytes for segment in log.segments.from_offset(scan_from))
    loaded.truncations = recover(log, scan_from, now_ms, loaded.problems)
    log.flush.recovery_point = min(stored.recovery_point, log.log_end_offset)


def _first_with_bad_index(loaded: LoadedLog, names: Sequence[str], told: list[str]) -> int | None:
    """Return the base offset of the first segment with a missing or bad index, and describe it in `told`. After a clean
    stop that is a problem; a process that dies leaves one in nearly every log."""
    present = set(names)
    for segment in loaded.log.segments:
        try:
            for kind in (INDEX_SUFFIX, TIME_INDEX_SUFFIX):
                if segment.size_bytes and segment_name(segment.base_offset, kind) not in present:
                    raise CorruptIndexError(segment.path, f"it has no {kind}")
            segment.indexes.offset.sanity_check()
            segment.indexes.time.sanity_check()
            if segment_name(segment.base_offset, TRANSACTION_INDEX_SUFFIX) in present:
                segment.indexes.transaction.sanity_check()
        except CorruptIndexError as error:
            told.append(f"{error}; rebuilt")
            return segment.base_offset
    return None


def _settle(loaded: LoadedLog, stored: StoredOffsets, now_ms: int) -> None:
    """Set the offsets that follow from where the log ends."""
    log = loaded.log
    if log.log_end_offset < log.log_start_offset:
        reason = f"it ends at {log.log_end_offset}, before its start at {log.log_start_offset}: begun anew there"
        loaded.problems.append(f"{log.directory}: {reason}")
        begin_anew_at_start(log, log.log_start_offset, now_ms)
        # The recovery point of a log that was found empty, as a start would find it that follows a crash at this point:
        # the topic's id may be in the page cache alone, and is synced by the flush that this leads to.
        log.flush.recovery_point = min(stored.recovery_point, log.log_end_offset)
    log.epochs.truncate_from_end(log.log_end_offset)
    log.epochs.truncate_from_start(log.log_start_offset)
    log.update_high_watermark(stored.high_watermark)
