"""Where the producers' state (and the epochs) meet the segments: rebuilt from them, and written down beside them.

A snapshot at the base offset of each segment lets recovery begin with that segment. It is written when the log rolls,
without a sync, since its checksum tells a torn one and the log can replace it; the flush that a roll asks for syncs it.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from tidelog.ports.errors import DiskFull, TooManyOpenFiles
from tidelog.ports.files import Ticket
from tidelog.records.header import CONTROL_FLAG, TRANSACTIONAL_FLAG
from tidelog.records.kernels_walk import BatchIndex, walk
from tidelog.storage.append.outcome import AppendedBatch, AppendOrigin, Refused
from tidelog.storage.checkpoints.errors import CorruptSnapshotError
from tidelog.storage.checkpoints.small_files import begin_sync_path, sync_path, write_whole
from tidelog.storage.directories.operations import GIVE_WAY, Steps
from tidelog.storage.errors import CorruptSegmentError
from tidelog.storage.producers.markers import marker_of
from tidelog.storage.producers.snapshot import encode_snapshot
from tidelog.storage.producers.snapshots import reload
from tidelog.storage.producers.state import CompletedTransaction, ProducerState
from tidelog.storage.segment.scan import CHUNK_BYTES
from tidelog.storage.segment.segment import Segment
from tidelog.storage.segment.transaction_index import AbortedTxn

if TYPE_CHECKING:
    from tidelog.storage.log.log import Log


def snapshot_at_roll(log: "Log", offset: int) -> None:
    """Write the producers as they are at the base offset of the new segment. A want of room, or of a descriptor, does
    not stop the roll."""
    try:
        write_whole(log.fs, log.snapshots.path(offset), encode_snapshot(log.producers.producers.values()))
    except (DiskFull, TooManyOpenFiles):
        log.snapshots.remove(offset)
        return
    log.snapshots.add(offset)
    log.producers.snapshot_offset = offset
    log.unsynced_snapshots.append(offset)


def begin_sync_snapshots(log: "Log", tickets: list[Ticket]) -> None:
    """Begin to sync the snapshots written since the last flush, unless truncation or retention has taken them away;
    each goes into `tickets` at once, as `Segment.begin_flush` does. Not through `Descriptors`, which does not learn
    when a snapshot is removed and made again."""
    for offset in log.unsynced_snapshots:
        if offset in log.snapshots.offsets:
            tickets.append(begin_sync_path(log.fs, log.snapshots.path(offset)))  # noqa: PERF401 - one by one


def sync_snapshots(log: "Log") -> None:
    """Sync the snapshots written since the last flush, waiting for the disk."""
    for offset in log.unsynced_snapshots:
        if offset in log.snapshots.offsets:
            sync_path(log.fs, log.snapshots.path(offset))


def index_aborted(segment: Segment, completed: Iterable[CompletedTransaction]) -> None:
    """Add the transactions that were aborted to the index of the segment, which has their markers."""
    for each in completed:
        if each.is_aborted:
            segment.append_aborted(
                AbortedTxn(each.producer_id, each.first_offset, each.last_offset, each.last_stable_offset)
            )
            if segment.is_sealed:  # the log rolled in the same commit: write this entry too
                with suppress(TooManyOpenFiles):  # the flush that a roll asks for writes it
                    segment.seal()


def rebuild_producers(log: "Log", now_ms: int, problems: list[str] | None = None) -> list[CorruptSnapshotError]:
    """Rebuild the producers from the latest snapshot that is of use and the log behind it; return the snapshots that
    were damaged."""
    damaged: list[CorruptSnapshotError] = []
    for _ in rebuild_steps(log, now_ms, damaged, problems):
        pass
    return damaged


def rebuild_steps(
    log: "Log",
    now_ms: int,
    damaged: list[CorruptSnapshotError] | None = None,
    problems: list[str] | None = None,
) -> Steps:
    """Do what `rebuild_producers` does, in pieces. The log has its old producers until the new ones are complete."""
    state = log.producers
    if state.map_end_offset != log.log_end_offset:
        state = ProducerState(state.config, log.log_start_offset)
        state.verifications = log.producers.verifications
    found: list[CorruptSnapshotError] = [] if damaged is None else damaged
    yield from reload(state, log.snapshots, log.log_start_offset, log.log_end_offset, now_ms, found)
    yield GIVE_WAY
    for segment in log.segments.from_offset(state.map_end_offset):
        if segment.base_offset < log.log_end_offset:  # recovery has not come to the others yet
            for data, batches in _batches_from(segment, state.map_end_offset):
                replay(state, data, batches, problems)
                yield GIVE_WAY
    state.map_end_offset = log.log_end_offset
    log.producers = state


def replay(
    producers: ProducerState, data: bytes, batches: BatchIndex, problems: list[str] | None = None
) -> list[CompletedTransaction]:
    """Take over what these batches of the log say about their producers; batches that the state has already are passed
    over. Return the transactions that ended.

    A batch outside of its producer's open transaction is no part of the state, and is told in `problems`. Kafka's
    broker would not start with such a log; but its records are there, and readers are none the worse for it.
    """
    append = producers.begin()
    for row in range(len(batches)):
        if batches.producer_ids[row] >= 0 and batches.base_offsets[row] >= producers.map_end_offset:
            outcome = append.stage([_describe(data, batches, row)], AppendOrigin.REPLICATION)
            if isinstance(outcome, Refused) and problems is not None:
                problems.append(f"offset {batches.base_offsets[row]}: {outcome.message}; not counted for its producer")
    end_offset = batches.last_offsets[len(batches) - 1] + 1
    return producers.commit(append, max(producers.map_end_offset, end_offset))


def _describe(data: bytes, batches: BatchIndex, row: int) -> AppendedBatch:
    is_control = batches.attributes[row] & CONTROL_FLAG != 0
    position = batches.positions[row]
    return AppendedBatch(
        base_offset=batches.base_offsets[row],
        last_offset=batches.last_offsets[row],
        max_timestamp=batches.max_timestamps[row],
        size_bytes=0,  # not used here
        leader_epoch=batches.leader_epochs[row],
        producer_id=batches.producer_ids[row],
        producer_epoch=batches.producer_epochs[row],
        base_sequence=batches.base_sequences[row],
        is_transactional=batches.attributes[row] & TRANSACTIONAL_FLAG != 0,
        is_control=is_control,
        marker=marker_of(memoryview(data)[position:]) if is_control else None,
    )


def _batches_from(segment: Segment, offset: int) -> Iterator[tuple[bytes, BatchIndex]]:
    """Yield the batches by their headers only: what is read here was checked when it was written, or by recovery."""
    position = segment.position_of(offset)
    size_bytes = CHUNK_BYTES
    while position is not None and position < segment.size_bytes:
        data = segment.read(position, size_bytes)
        batches = walk(data, 0, len(data))
        if len(batches):
            yield data, batches
        elif size_bytes >= segment.size_bytes - position:
            raise CorruptSegmentError(segment.path, position, "the file ends within a batch", offset)
        else:
            size_bytes *= 2  # a batch larger than a chunk
        position += batches.end


def rebuild_epochs(log: "Log") -> None:
    """Rebuild the epochs from the headers of the whole log, because their checkpoint was damaged."""
    for segment in log.segments:
        for _, batches in _batches_from(segment, log.log_start_offset):
            for row in range(len(batches)):
                log.assign_epoch(batches.leader_epochs[row], batches.base_offsets[row])
