"""Groups of protocols that this release does not coordinate, share and streams groups, whose records are in the log all
the same: another broker wrote them, or a later release.

Nothing of theirs is interpreted. Their keys are kept, so that they are listed, that nobody takes their group id for
another kind of group, and that an empty one can be deleted whole. What the log holds of them stays there.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tidelog.coordinator.group.records import share, streams
from tidelog.coordinator.group.shard import Group, GroupShard, GroupType
from tidelog.coordinator.requests import KeyValue
from tidelog.model.decisions import Record
from tidelog.model.errors import ApiError, ErrorCode

NO_MEMBER_EPOCH = -1


@dataclass(slots=True)
class ForeignGroup:
    group_id: str
    type: GroupType
    keys: dict[tuple[str, ...], Any] = field(default_factory=dict)  # the keys of its records in the log

    @property
    def state_name(self) -> str:
        return "Empty" if self.is_empty else "Stable"

    @property
    def protocol_type(self) -> str:
        return self.type.value

    @property
    def is_empty(self) -> bool:
        return not any(isinstance(key, _MEMBER_KEYS) for key in self.keys.values())

    def validate_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation: int,
        *,
        is_transactional: bool,
        api_version: int,  # noqa: ARG002 - the members of these groups are none of ours
    ) -> None:
        """Allow commits from outside to an empty streams group, whose positions are offsets like any other's. A share
        group has its positions elsewhere."""
        self._refuse_share()
        is_anonymous = generation == NO_MEMBER_EPOCH and not member_id and group_instance_id is None
        if not (generation < 0 and self.is_empty) and not (is_transactional and is_anonymous):
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        self._refuse_share()
        if member_id is not None or member_epoch >= 0:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)

    def validate_offset_delete(self) -> None:
        self._refuse_share()

    def validate_delete(self) -> None:
        if not self.is_empty:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP)
        if any(isinstance(key, share.ShareGroupStatePartitionMetadataKey) for key in self.keys.values()):
            # Its delivery state would be left behind, and found by the next group of this name.
            raise ApiError(ErrorCode.UNSUPPORTED_VERSION, f"the share group {self.group_id!r} has delivery state")

    def is_subscribed_to(self, _topic: str) -> bool:
        """Tell whether a member may read the topic: this release does not know what members of these groups read, so
        any topic."""
        return not self.is_empty

    def expiry_base_ms(self, commit_timestamp_ms: int) -> int | None:
        return commit_timestamp_ms

    def expires_subscribed(self) -> bool:
        return self.is_empty

    def tombstones(self) -> list[Record]:
        """Return the tombstones of the group, those of members and assignments before the group's own, as Kafka orders
        them."""
        keys = sorted(self.keys.values(), key=lambda key: isinstance(key, _GROUP_KEYS))
        return [(KeyValue(key, None), 0) for key in keys]

    def after_offset_commit(self, now_ms: int, member_id: str) -> None:
        """Do nothing: there are no sessions here."""

    def printed(self) -> dict[str, Any]:
        return {"type": self.type.value, "state": self.state_name, "keys": sorted(self.keys)}

    def _refuse_share(self) -> None:
        if self.type is GroupType.SHARE:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"{self.group_id!r} is a share group")


def _replay(group_type: GroupType) -> Callable[[GroupShard, Any, Any], None]:
    def replay(shard: GroupShard, key: Any, value: Any) -> None:
        identity = (type(key).__name__, *(getattr(key, name) for name in key.__slots__))
        group = _group(shard, group_type, key.group_id, is_needed=value is not None)
        if group is None:
            return
        if value is not None:
            group.keys[identity] = key
            return
        group.keys.pop(identity, None)
        if not group.keys:
            del shard.groups[key.group_id]

    return replay


def _group(shard: GroupShard, group_type: GroupType, group_id: str, *, is_needed: bool) -> ForeignGroup | None:
    """Return the group of a record, created if `is_needed`. An empty group of the same name gives way: it was made by
    offsets that came first in the log."""
    group: Group | None = shard.groups.get(group_id)
    if isinstance(group, ForeignGroup) and group.type is group_type:
        return group
    if not is_needed:
        return None
    if group is not None and not group.is_empty:
        shard.note(f"{group_id!r} has records of a {group_type.value} group, and is a {group.type.value} group")
        return None
    made = shard.groups[group_id] = ForeignGroup(group_id, group_type)
    return made


_MEMBER_KEYS = (share.ShareGroupMemberMetadataKey, streams.StreamsGroupMemberMetadataKey)
_GROUP_KEYS = (share.ShareGroupMetadataKey, streams.StreamsGroupMetadataKey)
_SHARE_KEYS: tuple[type, ...] = (
    share.ShareGroupMetadataKey,
    share.ShareGroupMemberMetadataKey,
    share.ShareGroupTargetAssignmentMetadataKey,
    share.ShareGroupTargetAssignmentMemberKey,
    share.ShareGroupCurrentMemberAssignmentKey,
    share.ShareGroupStatePartitionMetadataKey,
)
_STREAMS_KEYS: tuple[type, ...] = (
    streams.StreamsGroupMetadataKey,
    streams.StreamsGroupMemberMetadataKey,
    streams.StreamsGroupTargetAssignmentMetadataKey,
    streams.StreamsGroupTargetAssignmentMemberKey,
    streams.StreamsGroupCurrentMemberAssignmentKey,
    streams.StreamsGroupTopologyKey,
)
REPLAY: dict[type, Callable[[GroupShard, Any, Any], None]] = {
    **dict.fromkeys(_SHARE_KEYS, _replay(GroupType.SHARE)),
    **dict.fromkeys(_STREAMS_KEYS, _replay(GroupType.STREAMS)),
}
