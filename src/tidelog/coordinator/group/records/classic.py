"""Records of classic groups, and of the committed offsets of every kind of group.

Each is a key and a value; a null value (a tombstone) removes what the key names.
"""

from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.schema import byte_string, field, int32, int64, record, string, struct, uuid


@record("coordinator-key", api_key=0, versions="0", flexible="none")
class LegacyOffsetCommitKey:
    """A group's position in one partition, as the oldest brokers wrote it."""

    group: string
    topic: string
    partition: int32


@record("coordinator-value", api_key=0, versions="0", flexible="none")
class LegacyOffsetCommitValue:
    """The position itself. Read from old logs, never written."""

    offset: int64
    metadata: string
    commit_timestamp: int64


@record("coordinator-key", api_key=1, versions="0", flexible="none")
class OffsetCommitKey:
    """A group's position in one partition."""

    group: string
    topic: string
    partition: int32


@record("coordinator-value", api_key=1, versions="0-4", flexible="4+")
class OffsetCommitValue:
    """The position itself. Version 1 had an expiry of its own, 3 added the leader epoch, 4 the topic id."""

    offset: int64
    leader_epoch: int32 = field("3+", default=-1, ignorable=True)
    metadata: string
    commit_timestamp: int64
    expire_timestamp: int64 = field("1", default=-1, ignorable=True)
    topic_id: uuid = field("4+", tag=0, default=ZERO_UUID, ignorable=True)


@record("coordinator-key", api_key=2, versions="0", flexible="none")
class GroupMetadataKey:
    """A classic group."""

    group: string


@struct
class MemberMetadata:
    member_id: string
    group_instance_id: string | None = field("3+", nullable="3+", default=None, ignorable=True)
    client_id: string
    client_host: string
    rebalance_timeout: int32 = field("1+", default=-1, ignorable=True)
    session_timeout: int32
    subscription: byte_string
    assignment: byte_string


@record("coordinator-value", api_key=2, versions="0-4", flexible="4+")
class GroupMetadataValue:
    """The group as it was when its last rebalance was complete. Version 1 separates the rebalance timeout, 2 dates the
    state, 3 knows static members."""

    protocol_type: string
    generation: int32
    protocol: string | None = field(nullable="0+")
    leader: string | None = field(nullable="0+")
    current_state_timestamp: int64 = field("2+", default=-1, ignorable=True)
    members: list[MemberMetadata]
