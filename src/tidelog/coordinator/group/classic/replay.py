"""The record of a classic group, replayed: when the partition is loaded, and whenever one was decided."""

from tidelog.coordinator.group.classic.group import JOIN, LOADED, SESSION, SYNC, ClassicGroup
from tidelog.coordinator.group.classic.state import ClassicState
from tidelog.coordinator.group.records.classic import GroupMetadataKey, GroupMetadataValue
from tidelog.coordinator.group.shard import GroupShard


def replay_group_metadata(shard: GroupShard, key: GroupMetadataKey, value: GroupMetadataValue | None) -> None:
    group = shard.groups.get(key.group)
    if value is None:
        if isinstance(group, ClassicGroup):
            del shard.groups[key.group]
            _bury(group)
    elif isinstance(group, ClassicGroup) and group.is_live:
        group.committed = value
    else:
        shard.groups[key.group] = ClassicGroup.from_record(shard, key.group, value)


def _bury(group: ClassicGroup) -> None:
    """Cancel the timers of a deleted group, so that none of them hits a later group of the same name."""
    group.state = ClassicState.DEAD
    for member_id in [*group.members, *group.pending_join]:
        group.timers.cancel((SESSION, group.group_id, member_id))
    for kind in (JOIN, SYNC, LOADED):
        group.timers.cancel((kind, group.group_id))
