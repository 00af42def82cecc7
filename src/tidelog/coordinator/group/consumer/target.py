"""The target assignment: what every member is to have in the end, computed for the whole group at once.

It is the costly part of a group (members times partitions), so it is computed when the group epoch has moved and the
last time is long enough ago, not per join; and for large groups in slices, so that the node's other work goes on.
"""

from collections.abc import Generator, Sequence
from typing import Final, TypeAlias, TypeVar

from tidelog.config.settings import groups as settings
from tidelog.coordinator.group.assignors import ASSIGNORS
from tidelog.coordinator.group.assignors.assignor import GroupSpec, MemberSpec, TopicsSpec
from tidelog.coordinator.group.consumer.change import MemberChange
from tidelog.coordinator.group.consumer.group import TopicPartitions
from tidelog.coordinator.group.consumer.member import ConsumerMember
from tidelog.coordinator.group.consumer.records import target_epoch_record, target_record
from tidelog.coordinator.group.consumer.subscriptions import Subscriptions
from tidelog.coordinator.group.shard import GroupShard
from tidelog.model.ids import Uuid

# From this many members on, the computation gives the turn back in between.
LARGE: Final = 200
# Members between two yields: less than a millisecond of work.
MEMBERS_A_SLICE: Final = 100

# The epoch of the target, and the changed member's own.
Targeted: TypeAlias = tuple[int, TopicPartitions]
T = TypeVar("T")


def is_due(change: MemberChange) -> bool:
    """Tell whether a new target has to be computed. Time is the wall clock here, because another coordinator may have
    computed the last one. A last time that lies ahead means that a clock was set back, and says nothing about its age:
    waiting until the clock is there again could take hours, so the assignment is due."""
    group = change.group
    if group.target_epoch >= change.group_epoch:
        return False
    interval_ms = group.settings(change.shard).consumer_assignment_interval_ms
    last_ms = group.target_timestamp_ms
    return last_ms == 0 or interval_ms == 0 or not last_ms <= change.wall_ms < last_ms + interval_ms


def last_target(change: MemberChange) -> Targeted:
    return change.group.target_epoch, change.group.target_of(change.updated)


def is_large(change: MemberChange) -> bool:
    return len(change.group.members) >= LARGE


def assigned_now(change: MemberChange) -> Targeted:
    return _run(assigned_in_steps(change))


def assigned_in_steps(change: MemberChange) -> Generator[None, None, Targeted]:
    group, updated = change.group, change.updated
    subscriptions = group.subscriptions.after([change.member], [updated])
    specs = yield from _member_specs(change, subscriptions)
    spec = GroupSpec(specs, subscriptions.is_homogeneous(change.member_count))
    assignment = ASSIGNORS[_assignor_name(change)](spec, _topics_spec(change.shard, subscriptions))
    yield
    for count, member_id in enumerate(specs, 1):
        target = assignment.get(member_id, {})
        before = group.target.get(member_id)
        if before is None or (target is not before and not _is_same(target, before)):
            change.records.append(target_record(group.group_id, member_id, target))
        if count % MEMBERS_A_SLICE == 0:
            yield
    change.records.append(target_epoch_record(group.group_id, change.group_epoch, change.wall_ms))
    return change.group_epoch, assignment.get(updated.member_id, {})


def default_assignor(shard: GroupShard) -> str:
    return shard.config.get(settings.GROUP_CONSUMER_ASSIGNORS)[0]


def _assignor_name(change: MemberChange) -> str:
    """Return the assignor to use. One that members chose may be gone from the configuration since."""
    preferred = change.group.preferred_assignor(change.member, change.updated)
    is_usable = preferred in change.shard.config.get(settings.GROUP_CONSUMER_ASSIGNORS)
    return preferred if preferred is not None and is_usable else default_assignor(change.shard)


def _member_specs(change: MemberChange, subscriptions: Subscriptions) -> Generator[None, None, dict[str, MemberSpec]]:
    group, updated, replaced_id = change.group, change.updated, change.replaced_id
    topic_ids = _TopicIds(change.shard, subscriptions)
    specs: dict[str, MemberSpec] = {}
    for count, (member_id, member) in enumerate(group.members.items(), 1):
        if member_id != replaced_id:
            current = updated if member_id == updated.member_id else member
            specs[member_id] = topic_ids.spec(current, group.target.get(member_id, {}))
        if count % MEMBERS_A_SLICE == 0:
            yield
    if updated.member_id not in specs:
        inherited = {} if replaced_id is None else group.target.get(replaced_id, {})
        specs[updated.member_id] = topic_ids.spec(updated, inherited)
    return specs


class _TopicIds:
    """The ids of the topics that members subscribe to. Most members subscribe to the same topics, so each subscription
    is looked up once."""

    def __init__(self, shard: GroupShard, subscriptions: Subscriptions) -> None:
        self._topics = shard.image.topics.by_name
        self._resolved = subscriptions.resolved
        self._known: dict[tuple[tuple[str, ...], str | None], Sequence[Uuid]] = {}

    def spec(self, member: ConsumerMember, target: TopicPartitions) -> MemberSpec:
        key = (member.topics, member.regex)
        topic_ids = self._known.get(key)
        if topic_ids is None:
            topic_ids = self._known[key] = self._look_up(member)
        return MemberSpec(topic_ids, target, member.instance_id, member.rack_id)

    def _look_up(self, member: ConsumerMember) -> Sequence[Uuid]:
        resolved = self._resolved.get(member.regex) if member.regex else None
        names = dict.fromkeys([*member.topics, *(resolved.topics if resolved is not None else ())])
        return tuple(topic.id for name in names if (topic := self._topics.get(name)) is not None)


def _topics_spec(shard: GroupShard, subscriptions: Subscriptions) -> TopicsSpec:
    by_name = shard.image.topics.by_name
    topics = [topic for name in subscriptions.topics if (topic := by_name.get(name)) is not None]
    return TopicsSpec({topic.id: len(topic.partitions) for topic in topics})


def _is_same(target: TopicPartitions, before: TopicPartitions) -> bool:
    """Tell whether two targets have the same partitions, whatever kinds of sequences they are and in whatever order."""
    return target.keys() == before.keys() and all(sorted(target[topic]) == sorted(before[topic]) for topic in target)


def _run(steps: Generator[None, None, T]) -> T:
    """Run all steps at once."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            result: T = stop.value
            return result
