"""Records of `__share_group_state`: what was delivered of a share partition.

A snapshot holds everything, an update what changed since; a null value removes the partition's state.
"""

from tidelog.coordinator.record_framing import RecordTypes, RecordTypesById
from tidelog.protocol.schema import field, int8, int16, int32, int64, record, string, struct, uuid


@record("coordinator-key", api_key=0, versions="0", flexible="none")
class ShareSnapshotKey:
    """The whole state of a share partition."""

    group_id: string
    topic_id: uuid
    partition: int32


@struct
class StateBatch:
    first_offset: int64
    last_offset: int64
    delivery_state: int8
    delivery_count: int16


@record("coordinator-value", api_key=0, versions="0", flexible="0+")
class ShareSnapshotValue:
    """Every batch that is acquired, archived or waits to be delivered again."""

    snapshot_epoch: int32
    state_epoch: int32
    leader_epoch: int32
    start_offset: int64
    delivery_complete_count: int32 = field(tag=0, default=-1)
    create_timestamp: int64
    write_timestamp: int64
    state_batches: list[StateBatch]


@record("coordinator-key", api_key=1, versions="0", flexible="none")
class ShareUpdateKey:
    """A change to a share partition."""

    group_id: string
    topic_id: uuid
    partition: int32


@record("coordinator-value", api_key=1, versions="0", flexible="0+")
class ShareUpdateValue:
    """The batches that changed since the snapshot of that epoch."""

    snapshot_epoch: int32
    leader_epoch: int32
    start_offset: int64
    delivery_complete_count: int32 = field(tag=0, default=-1)
    state_batches: list[StateBatch]


SHARE_RECORDS: RecordTypesById = {
    0: RecordTypes(ShareSnapshotKey, ShareSnapshotValue),
    1: RecordTypes(ShareUpdateKey, ShareUpdateValue),
}
