"""A member joins or says something new of itself: what becomes of it, of the group epoch, of the target assignment and
of the member's own assignment, as records. Both protocols' members come this way.

Nothing of the group is touched before its records are replayed: `member` is how it was, `updated` how it will be.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tidelog.coordinator.group.consumer import timeouts
from tidelog.coordinator.group.consumer.group import REFRESH_INTERVAL_MS, ConsumerGroup
from tidelog.coordinator.group.consumer.member import JOINING_EPOCH, ConsumerMember
from tidelog.coordinator.group.consumer.reconciliation import IsOwned, Owned, Reconciliation, Target
from tidelog.coordinator.group.consumer.records import (
    current_record,
    epoch_record,
    member_record,
    member_tombstones,
    partition_metadata_tombstone,
    target_record,
)
from tidelog.coordinator.group.shard import GroupShard
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.model.decisions import Record

REBALANCES = "consumer-group-rebalances"


@dataclass(slots=True)
class MemberChange:
    """One member's change, as it gathers its records: `member` is how it was, `updated` how it will be."""

    shard: GroupShard
    now_ms: int
    request: CoordinatorRequest
    group: ConsumerGroup
    member: ConsumerMember
    updated: ConsumerMember
    records: list[Record]
    group_epoch: int
    has_subscription_changed: bool = False
    is_plain: bool = False  # it replaces no static member and converts no group
    # Answers to requests that waited in the classic group that this one was made of.
    answers: Sequence[tuple[Any, Any]] = field(default=())

    @property
    def wall_ms(self) -> int:
        return self.request.wall_ms

    @property
    def replaced_id(self) -> str | None:
        """The former id of a static member that comes back with another id; None where there is none."""
        instance_id = self.updated.instance_id
        former = None if instance_id is None else self.group.static_members.get(instance_id)
        return None if former == self.updated.member_id else former

    @property
    def member_count(self) -> int:
        """The number of members once the change has happened."""
        group, updated = self.group, self.updated
        is_known = updated.member_id in group.members or updated.instance_id in group.static_members
        return len(group.members) + (not is_known)

    def replace_static(self, former: ConsumerMember) -> None:
        """Write the member in the place of one with the same instance id, with all that it has."""
        group_id = self.group.group_id
        self.records += member_tombstones(group_id, former.member_id)
        self.records.append(member_record(group_id, self.member))
        self.records.append(target_record(group_id, self.member.member_id, self.group.target.get(former.member_id, {})))
        self.records.append(current_record(group_id, self.member))

    def describe(self) -> bool:
        """Write the member's description if it has changed; return whether its topic names have."""
        if self.updated is self.member:
            return False
        if self.updated != self.member:
            self.records.append(member_record(self.group.group_id, self.updated))
        return self.updated.topics != self.member.topics

    def update_epoch(self, *, bump: bool) -> None:
        """Move the group epoch, if `bump` says so or the group's topics have changed since the last look. Topics are
        looked at again where the change or the time gives reason to."""
        group, shard = self.group, self.shard
        if not bump and not group.needs_refresh(self.now_ms):
            return
        metadata_hash = self._metadata_hash()
        if bump or metadata_hash != group.metadata_hash:
            self.group_epoch += 1
            self.records.append(epoch_record(group.group_id, self.group_epoch, metadata_hash))
            shard.count(REBALANCES)
        group.refresh_due_ms = self.now_ms + REFRESH_INTERVAL_MS
        group.refreshed_epoch = self.group_epoch
        if group.has_partition_metadata:
            self.records.append(partition_metadata_tombstone(group.group_id))

    def _metadata_hash(self) -> int:
        """Return the hash of the group's topics: the one in the group's record, where neither the topics nor which of
        them are subscribed to can have changed."""
        group = self.group
        is_known = not group.needs_refresh(self.now_ms)
        if is_known and group.subscriptions.cover(self.member, self.updated):
            return group.metadata_hash
        after = group.subscriptions.after([self.member], [self.updated]).topics
        if is_known and after.keys() == group.subscriptions.topics.keys():
            return group.metadata_hash
        return self.shard.topic_hashes.group_hash(self.shard.image, after)

    def reconcile(self, target_epoch: int, target: Target, owned: Owned, is_owned: IsOwned | None = None) -> None:
        """Move the member a step towards its target. `is_owned` is the group's, unless other members have moved whose
        records are not replayed yet."""
        if not self.has_subscription_changed and self.updated.is_reconciled_to(target_epoch):
            return
        group, updated = self.group, self.updated
        reconciled = Reconciliation(
            self.shard.image,
            group.subscriptions.resolved,
            is_owned or group.is_owned,
            updated,
            target_epoch,
            target,
            owned,
            self.has_subscription_changed,
        ).next()
        if reconciled is not updated and reconciled != updated:
            self.updated = reconciled
            self.records.append(current_record(group.group_id, reconciled))
            timeouts.watch_revocation(self.shard, self.now_ms, group.group_id, reconciled)


def renamed(former: ConsumerMember, member_id: str) -> ConsumerMember:
    """Return a static member under its new id, as one that joins anew with all that it has."""
    member = former.copied()
    member.member_id, member.epoch, member.previous_epoch = member_id, JOINING_EPOCH, JOINING_EPOCH
    return member
