"""Offsets that nobody has committed for `offsets.retention.minutes` expire, and with the last of them an empty group.

From when the time counts is the group's to say: from the commit, or from when its last member left. What its members
read does not expire, nor what a transaction has staged a newer position for.
"""

from collections.abc import Generator
from typing import Any, Final, TypeAlias

from tidelog.config.settings.groups import OFFSETS_RETENTION_CHECK_INTERVAL_MS, OFFSETS_RETENTION_MINUTES
from tidelog.coordinator.group.offsets.offset_and_metadata import NO_EXPIRY, OffsetAndMetadata
from tidelog.coordinator.group.offsets.records import tombstone
from tidelog.coordinator.group.shard import Group, GroupShard, GroupType
from tidelog.model.decisions import Record, Result

Steps: TypeAlias = Generator[None, None, Result]
OFFSET_EXPIRY: Final = "offset-expiry"
OFFSETS_A_SLICE: Final = 1_000
# More tombstones than this are left for the next round, which then comes at once.
RECORDS_A_ROUND: Final = 10_000
MS_A_MINUTE: Final = 60_000


def schedule_expiry(shard: GroupShard, now_ms: int) -> None:
    shard.timers.set((OFFSET_EXPIRY,), now_ms + shard.config.get(OFFSETS_RETENTION_CHECK_INTERVAL_MS))


def expire(shard: GroupShard, now_ms: int, wall_ms: int, _timer: Any) -> Steps:
    expiry = _ExpiryRound(shard, wall_ms)
    schedule_expiry(shard, now_ms)
    for group_id in list(shard.groups):
        group = shard.groups[group_id]
        if group.type is GroupType.SHARE:
            continue  # its positions lie elsewhere, and an empty share group is kept
        yield from expiry.expire_group(group)
        if len(expiry.records) >= RECORDS_A_ROUND:
            shard.timers.set((OFFSET_EXPIRY,), now_ms)
            break
    shard.count("offset-expirations", expiry.count)
    return Result(expiry.records, None, is_atomic=False)


class _ExpiryRound:
    """One round over the groups of a shard."""

    def __init__(self, shard: GroupShard, wall_ms: int) -> None:
        self.shard = shard
        self.wall_ms = wall_ms
        self.retention_ms = shard.config.get(OFFSETS_RETENTION_MINUTES) * MS_A_MINUTE
        self.records: list[Record] = []
        self.count = 0  # of offsets among them
        self._visited = 0

    def expire_group(self, group: Group) -> Generator[None, None, None]:
        is_all_gone = True
        for topic, by_partition in self.shard.offsets.of_group(group.group_id).items():
            if group.is_subscribed_to(topic) and not group.expires_subscribed():
                is_all_gone = False
                continue
            for partition, offset in by_partition.items():
                if self._is_expired(group, topic, partition, offset):
                    self.records.append(tombstone(group.group_id, topic, partition))
                    self.count += 1
                else:
                    is_all_gone = False
                yield from self._pause()
        if is_all_gone and group.is_empty and not self.shard.offsets.has_staged(group.group_id):
            self.records += group.tombstones()
        yield from self._pause()

    def _is_expired(self, group: Group, topic: str, partition: int, offset: OffsetAndMetadata) -> bool:
        base_ms = group.expiry_base_ms(offset.commit_timestamp)
        if base_ms is None or self.shard.offsets.is_staged(group.group_id, topic, partition):
            return False
        if offset.expire_timestamp != NO_EXPIRY:
            return self.wall_ms >= offset.expire_timestamp
        return self.wall_ms - base_ms >= self.retention_ms

    def _pause(self) -> Generator[None, None, None]:
        self._visited += 1
        if self._visited % OFFSETS_A_SLICE == 0:
            yield
