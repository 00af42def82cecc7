"""How one member gets from what it has to what the target assignment gives it: one step a heartbeat.

    STABLE --- a new target ---> first give back, then take over:
        something to give back, and the member has not said yet that it did   -> UNREVOKED_PARTITIONS, same epoch
        something of the target belongs to others                             -> UNRELEASED_PARTITIONS, target's epoch
        otherwise                                                             -> STABLE, target's epoch

A partition that belongs to another member, even one about to give it back, is never assigned. A heartbeat that does not
say what the member owns says nothing about what it has given back.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tidelog.coordinator.group.consumer.member import NOTHING, Assigned, ConsumerMember, MemberState
from tidelog.coordinator.group.consumer.subscriptions import ResolvedRegex
from tidelog.metadata.image import MetadataImage
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import Uuid

Target: TypeAlias = Mapping[Uuid, Sequence[int]]
IsOwned: TypeAlias = Callable[[Uuid, int], bool]  # by any member of the group
# As ConsumerGroupHeartbeat has them: objects with topic_id and partitions. None: the member did not say.
Owned: TypeAlias = Sequence[Any] | None


@dataclass(slots=True)
class Reconciliation:
    """The next step of one member towards its target."""

    image: MetadataImage
    resolved: Mapping[str, ResolvedRegex]
    is_owned: IsOwned
    member: ConsumerMember
    target_epoch: int
    target: Target
    owned: Owned
    has_subscription_changed: bool

    def next(self) -> ConsumerMember:
        """Return the member after the next step; the very same object where there is nothing to do yet."""
        member = self.member
        match member.state:
            case MemberState.STABLE if member.epoch == self.target_epoch:
                return self._without_unsubscribed() if self.has_subscription_changed else member
            case MemberState.UNREVOKED_PARTITIONS if _still_owns(self.owned, member.pending_revocation):
                return self._without_unsubscribed() if self.has_subscription_changed else member
            case MemberState.UNKNOWN:
                if self.owned is None or self.owned:
                    raise ApiError(ErrorCode.FENCED_MEMBER_EPOCH, "the member's state is not known: it must join anew")
                return self._towards_target(self.target_epoch)
        return self._towards_target(member.epoch)

    def _towards_target(self, epoch: int) -> ConsumerMember:
        """Return the member after giving back, or else after taking over. `epoch` is the one that it keeps as long as
        it has partitions to give back."""
        kept, revoked = self._kept_and_revoked()
        if revoked and _still_owns(self.owned, revoked):
            return self._moved(epoch, MemberState.UNREVOKED_PARTITIONS, kept, revoked)
        has_unreleased = self._assign_free(kept)
        state = MemberState.UNRELEASED_PARTITIONS if has_unreleased else MemberState.STABLE
        return self._moved(self.target_epoch, state, kept, NOTHING)

    def _kept_and_revoked(self) -> tuple[dict[Uuid, dict[int, int]], dict[Uuid, dict[int, int]]]:
        kept: dict[Uuid, dict[int, int]] = {}
        revoked: dict[Uuid, dict[int, int]] = {}
        for topic_id, epochs in self.member.assigned.items():
            target = dict.fromkeys(self._target_of(topic_id))
            for partition, epoch in epochs.items():
                (kept if partition in target else revoked).setdefault(topic_id, {})[partition] = epoch
        return kept, revoked

    def _assign_free(self, assigned: dict[Uuid, dict[int, int]]) -> bool:
        """Add the partitions of the target that belong to nobody else; return whether some belong to others."""
        has_unreleased = False
        for topic_id in self.target:
            pending = self.member.pending_revocation.get(topic_id, {})  # these are its own
            for partition in self._target_of(topic_id):
                if partition in assigned.get(topic_id, {}):
                    continue
                if partition not in pending and self.is_owned(topic_id, partition):
                    has_unreleased = True
                else:
                    assigned.setdefault(topic_id, {})[partition] = self.target_epoch
        return has_unreleased

    def _without_unsubscribed(self) -> ConsumerMember:
        """Take away topics that the member no longer subscribes to at once, without waiting for the next target."""
        member = self.member
        kept = {topic_id: epochs for topic_id, epochs in member.assigned.items() if self._is_subscribed(topic_id)}
        if len(kept) == len(member.assigned):
            return member
        revoked = {topic_id: dict(epochs) for topic_id, epochs in member.pending_revocation.items()}
        for topic_id, epochs in member.assigned.items():
            if topic_id not in kept:
                revoked.setdefault(topic_id, {}).update(epochs)
        if _still_owns(self.owned, revoked):
            return self._moved(member.epoch, MemberState.UNREVOKED_PARTITIONS, kept, revoked)
        return self._moved(member.epoch, member.state, kept, member.pending_revocation)

    def _moved(
        self, epoch: int, state: MemberState, assigned: Assigned, pending_revocation: Assigned
    ) -> ConsumerMember:
        return self.member.with_assignment(epoch, self.member.epoch, state, assigned, pending_revocation)

    def _target_of(self, topic_id: Uuid) -> Sequence[int]:
        return self.target.get(topic_id, ()) if self._is_subscribed(topic_id) else ()

    def _is_subscribed(self, topic_id: Uuid) -> bool:
        topic = self.image.topics.by_id.get(topic_id)
        if topic is None:
            return False
        resolved = self.resolved.get(self.member.regex) if self.member.regex else None
        return _has(self.member.topics, topic.name) or (resolved is not None and _has(resolved.topics, topic.name))


def _still_owns(owned: Owned, revoked: Assigned) -> bool:
    if owned is None:
        return True
    return any(partition in revoked.get(topic.topic_id, {}) for topic in owned for partition in topic.partitions)


def _has(names: Sequence[str], name: str) -> bool:
    position = bisect_left(names, name)
    return position < len(names) and names[position] == name
