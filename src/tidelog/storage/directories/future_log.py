"""The copy of a log in another log directory, while it is being filled: how it follows the original.

    current log   |--------- records -----------------|   goes on: appends, truncations, a start that moves
    future log    |------ the same records ----|          copied batch by batch, as a follower would; always a prefix

What makes it a prefix at every moment:

- Batches are copied in order, checksums checked, at the offsets that they have. Damage in the original does not get
  into the copy: the move ends there.
- Where the original was cut below the end of the copy, the copy is cut before anything more is copied
  (`Log.truncated_to`: whoever cuts, and however much is appended behind the cut before we look).
- Epochs are taken from the original and not from the batches: compaction may have removed the first of an epoch.
- After a restart both were recovered, each by itself. An offset and its leader epoch name one batch (epochs are for
  that), so where the epochs of both agree the records do; from the first disagreement on the copy is cut.
"""

from collections.abc import Sequence

from tidelog.config.topic_config import TopicConfig
from tidelog.ports.errors import StorageFault
from tidelog.ports.files import File
from tidelog.storage.append.outcome import Refused
from tidelog.storage.checkpoints.text import EpochEntry
from tidelog.storage.errors import LogError
from tidelog.storage.log.leader_epochs import LeaderEpochs
from tidelog.storage.log.loader import LogContext, create_log
from tidelog.storage.log.log import NEVER_TRUNCATED, Log
from tidelog.storage.log.reading import FetchIsolation, LogRead, read
from tidelog.storage.log.truncation import Cut
from tidelog.storage.names import MAX_INT32


class CopyRefused(LogError):
    """The error for an original that is damaged, and can not be copied."""


def create_future(context: LogContext, current: Log, path: str, config: TopicConfig, now_ms: int) -> Log:
    """Return a new, empty copy that starts where the copying does. From now on truncations of the original are noted
    for it."""
    start = first_offset_to_copy(current)
    future = create_log(context, path, current.topic_partition, current.topic_id, config, now_ms, start)
    current.truncated_to = NEVER_TRUNCATED
    return future


def first_offset_to_copy(current: Log) -> int:
    """The log's start; or, where records were deleted up to the middle of a batch, the beginning of that batch."""
    return current.end_if_truncated_to(current.log_start_offset)


def reconcile(current: Log, future: Log) -> None:
    """Have the copy cut, after a restart, where it no longer agrees with the original, before anything is copied."""
    current.truncated_to = _common_end(current, future)


def _common_end(current: Log, future: Log) -> int:
    start = max(current.log_start_offset, future.log_start_offset)
    end = min(current.log_end_offset, future.log_end_offset)
    entries = [*current.epochs.entries(), *future.epochs.entries()]
    for offset in sorted([start, *(each.start_offset for each in entries)]):
        if start <= offset < end and current.epochs.epoch_for_offset(offset) != future.epochs.epoch_for_offset(offset):
            return offset
    return end


def cut_to_follow(current: Log, future: Log) -> Cut | None:
    """Return the cut that the copy needs, because the original was cut or never had those records; None for no cut.
    Carry it out before anything more is copied: the original is not asked a second time."""
    cut = min(current.truncated_to, current.log_end_offset)
    current.truncated_to = NEVER_TRUNCATED
    if current.log_start_offset > future.log_end_offset or future.log_start_offset > current.log_start_offset:
        start = first_offset_to_copy(current)
        if start != future.log_end_offset:
            return Cut(future, start, is_whole=True)
    if cut >= future.log_end_offset:
        return None
    return Cut(future, cut, is_whole=cut < future.segments.first.base_offset)


def follow(current: Log, future: Log) -> None:
    """Give the copy whatever else has changed in the original, appends and cuts apart: its start, high watermark and
    epochs."""
    future.update_high_watermark(current.high_watermark)
    future.advance_log_start(current.log_start_offset)
    _take_over_epochs(current.epochs.entries(), future)


def _take_over_epochs(entries: Sequence[EpochEntry], future: Log) -> None:
    known = LeaderEpochs(entries)
    known.truncate_from_end(future.log_end_offset)
    known.truncate_from_start(future.log_start_offset)
    if known.entries() != future.epochs.entries():
        future.epochs = known
        future.epochs.is_dirty = True


def is_level(current: Log, future: Log) -> bool:
    """Tell whether the copy has all that the original has, and nothing is being done to either."""
    ends = (current.log_start_offset, current.log_end_offset), (future.log_start_offset, future.log_end_offset)
    is_quiet = not any(log.staged_bytes or log.is_unsettled or log.swap is not None for log in (current, future))
    return ends[0] == ends[1] and is_quiet and current.truncated_to == NEVER_TRUNCATED


def next_slice(current: Log, future: Log, max_bytes: int) -> LogRead:
    """Return what is to be copied next: whole batches of one segment, one at least. Its `segment` is None when the copy
    is level."""
    offset = max(future.log_end_offset, current.log_start_offset)
    return read(current, offset, max_bytes, FetchIsolation.LOG_END)


def file_of(current: Log, found: LogRead) -> File:
    assert found.segment is not None
    return current.descriptors.open(found.segment.path)


def copy_slice(current: Log, future: Log, found: LogRead, now_ms: int) -> StorageFault | None:
    """Append a slice to the copy. The fault that is returned is one of the copy's disk, and undone. CopyRefused, or a
    StorageFault that is raised, is about the original."""
    data = found.read_all()
    staged = future.append_as_follower(memoryview(data), 0, len(data), MAX_INT32, now_ms)
    if isinstance(staged, Refused):
        assert found.segment is not None
        future.abandon()
        raise CopyRefused(found.segment.path, staged.message)
    fault = future.commit(now_ms)
    if fault is None:
        _take_over_epochs(current.epochs.entries(), future)
    return fault


def take_over(current: Log, future: Log) -> None:
    """Give the copy, which becomes the log, what is not in the records. Producers whose last batch was deleted, and
    transactions that are being verified, are in the state of the original alone."""
    assert is_level(current, future)
    future.update_high_watermark(current.high_watermark)
    snapshot_offset = future.producers.snapshot_offset
    future.producers = current.producers
    future.producers.snapshot_offset = snapshot_offset
    if future.epochs.entries() != current.epochs.entries():
        future.epochs = LeaderEpochs(current.epochs.entries())
        future.epochs.is_dirty = True
    future.config, future.rules = current.config, current.rules
    future.generation = current.generation + 1  # so that no cleaning of the original is swapped into the copy
