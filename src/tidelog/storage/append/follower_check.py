"""What a follower checks before it writes what its leader sent: the same bytes go to the same place, or none do.

Offsets and epochs stay as the leader set them, and the records were checked there, so headers and checksums are all
that is read. A fetch may cut its last batch short; what is not whole is left out and fetched again.

Holes between batches are what compaction leaves behind, so a follower of a partition has to take them, whatever the
topic's policy is today: it may have been another one when the log was compacted. Only the caller knows of logs that
never had holes (the metadata log), and refuses them.
"""

from tidelog.model.errors import ErrorCode
from tidelog.records.batch import RecordBatch, batches
from tidelog.records.errors import RecordError
from tidelog.storage.append.outcome import AppendedBatch, Misplaced, Refused, Validated
from tidelog.storage.producers.markers import marker_of


def check_follower(
    buffer: memoryview,
    start: int,
    end: int,
    expected_offset: int,
    leader_epoch: int,
    *,
    allows_gaps: bool = True,
) -> Validated | Refused:
    """Return the whole batches of `buffer[start:end]`, to be written as they are; there may be none.

    `leader_epoch` is the one that the follower fetched with. A batch of a later epoch, and all behind it, are left out:
    the sender lost its leadership while the answer was on its way, and what it has truncated since must not be written.
    """
    view = buffer[start:end]
    placed: list[AppendedBatch] = []
    size_bytes = 0
    try:
        for batch in batches(view):
            if batch.header.partition_leader_epoch > leader_epoch:
                break
            batch.check_crc()
            refused = _refuse_place(batch, expected_offset, allows_gaps)
            if refused is not None:
                return refused
            placed.append(_describe(batch))
            expected_offset = batch.header.last_offset + 1
            size_bytes += batch.header.size_bytes
    except RecordError as error:
        return Refused(ErrorCode.CORRUPT_MESSAGE, str(error))
    return Validated(placed, [view[:size_bytes]], size_bytes)


def _refuse_place(batch: RecordBatch, expected_offset: int, allows_gaps: bool) -> Misplaced | None:
    base_offset = batch.header.base_offset
    if base_offset == expected_offset or (base_offset > expected_offset and allows_gaps):
        return None
    reason = f"a batch at offset {base_offset} where {expected_offset} is next"
    return Misplaced(
        ErrorCode.OFFSET_OUT_OF_RANGE,
        reason,
        first_offset=base_offset,
        last_offset=batch.header.last_offset,
        expected_offset=expected_offset,
    )


def _describe(batch: RecordBatch) -> AppendedBatch:
    header = batch.header
    return AppendedBatch(
        header.base_offset,
        header.last_offset,
        header.max_timestamp,
        header.size_bytes,
        header.records_count,
        header.base_timestamp,
        header.partition_leader_epoch,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.is_transactional,
        header.is_control,
        marker_of(batch.view) if header.is_control else None,
    )
