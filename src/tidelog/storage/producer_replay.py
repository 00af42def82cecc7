"""Where the producers' state (and the epochs) meet the segments: rebuilt from them, and written down beside them.

A snapshot at the base offset of each segment lets recovery begin with that segment. It is written when the log rolls,
without a sync, since its checksum tells a torn one and the log can replace it; the flush that a roll asks for syncs it.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tidelog.ports.durable import write_fully
from tidelog.ports.errors import DiskFull
from tidelog.ports.files import OpenMode, Ticket
from tidelog.records.header import CONTROL_FLAG, TRANSACTIONAL_FLAG
from tidelog.records.kernels_walk import BatchIndex, walk
from tidelog.storage.appended import AppendedBatch, AppendOrigin
from tidelog.storage.checkpoint_errors import CorruptSnapshotError
from tidelog.storage.errors import CorruptSegmentError
from tidelog.storage.markers import marker_of
from tidelog.storage.producer_snapshot import encode_snapshot
from tidelog.storage.producer_snapshots import reload
from tidelog.storage.producer_state import CompletedTransaction, ProducerState
from tidelog.storage.segment import Segment
from tidelog.storage.segment_scan import CHUNK_BYTES
from tidelog.storage.transaction_index import AbortedTxn

if TYPE_CHECKING:
    from tidelog.storage.log import Log


def snapshot_at_roll(log: "Log", offset: int) -> None:
    """The producers as they are at the base offset of the new segment. No room for it is no reason to stop."""
    file = None
    try:
        file = log.fs.open(log.snapshots.path(offset), OpenMode.CREATE)
        file.truncate(0)
        write_fully(file, 0, [encode_snapshot(log.producers.producers.values())])
    except DiskFull:
        log.snapshots.remove(offset)
        return
    finally:
        if file is not None:
            file.close()
    log.snapshots.add(offset)
    log.producers.snapshot_offset = offset
    log.unsynced_snapshots.append(offset)


def begin_sync_snapshots(log: "Log") -> list[Ticket]:
    """Those written since the last flush, unless truncation or retention has taken them away."""
    return [_begin_sync(log, each) for each in log.unsynced_snapshots if each in log.snapshots.offsets]


def _begin_sync(log: "Log", offset: int) -> Ticket:
    """Not by way of the descriptors: snapshots are removed and made again behind their back."""
    file = log.fs.open(log.snapshots.path(offset), OpenMode.WRITE)
    try:
        return log.fs.begin_sync(file)
    finally:
        file.close()  # when the sync is done with it


def sync_snapshots(log: "Log") -> None:
    """The same, waiting for the disk."""
    for offset in log.unsynced_snapshots:
        if offset in log.snapshots.offsets:
            file = log.fs.open(log.snapshots.path(offset), OpenMode.WRITE)
            try:
                file.sync()
            finally:
                file.close()


def index_aborted(segment: Segment, completed: Iterable[CompletedTransaction]) -> None:
    """The transactions whose abort markers this segment has."""
    for each in completed:
        if each.is_aborted:
            segment.append_aborted(
                AbortedTxn(each.producer_id, each.first_offset, each.last_offset, each.last_stable_offset)
            )
            if segment.is_sealed:
                segment.seal()  # the log rolled in the same commit: write this too


def rebuild_producers(log: "Log", now_ms: int) -> list[CorruptSnapshotError]:
    """From the latest snapshot that is of use and the log behind it; returns the snapshots that were damaged."""
    damaged = reload(log.producers, log.snapshots, log.log_start_offset, log.log_end_offset, now_ms)
    for segment in log.segments.from_offset(log.producers.map_end_offset):
        if segment.base_offset < log.log_end_offset:  # recovery has not come to the others yet
            for data, batches in _batches_from(segment, log.producers.map_end_offset):
                replay(log.producers, data, batches)
    log.producers.map_end_offset = log.log_end_offset
    return damaged


def replay(producers: ProducerState, data: bytes, batches: BatchIndex) -> list[CompletedTransaction]:
    """Take over what these batches of the log say about their producers; batches that the state has already are
    passed over. Gives the transactions that ended."""
    append = producers.begin()
    for row in range(len(batches)):
        if batches.producer_ids[row] >= 0 and batches.base_offsets[row] >= producers.map_end_offset:
            append.stage([_describe(data, batches, row)], AppendOrigin.REPLICATION)
    end_offset = batches.last_offsets[len(batches) - 1] + 1
    return producers.commit(append, max(producers.map_end_offset, end_offset))


def _describe(data: bytes, batches: BatchIndex, row: int) -> AppendedBatch:
    is_control = batches.attributes[row] & CONTROL_FLAG != 0
    position = batches.positions[row]
    return AppendedBatch(
        base_offset=batches.base_offsets[row],
        last_offset=batches.last_offsets[row],
        max_timestamp=batches.max_timestamps[row],
        size_bytes=0,  # nobody asks
        leader_epoch=batches.leader_epochs[row],
        producer_id=batches.producer_ids[row],
        producer_epoch=batches.producer_epochs[row],
        base_sequence=batches.base_sequences[row],
        is_transactional=batches.attributes[row] & TRANSACTIONAL_FLAG != 0,
        is_control=is_control,
        marker=marker_of(memoryview(data)[position:]) if is_control else None,
    )


def _batches_from(segment: Segment, offset: int) -> Iterator[tuple[bytes, BatchIndex]]:
    """Headers only: what is read here was checked when it was written, or by recovery."""
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
    """From the headers of the whole log: the checkpoint of the epochs was damaged."""
    for segment in log.segments:
        for _, batches in _batches_from(segment, log.log_start_offset):
            for row in range(len(batches)):
                log.assign_epoch(batches.leader_epochs[row], batches.base_offsets[row])
