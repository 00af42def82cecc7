"""A group changes its protocol while it lives, as `group.consumer.migration.policy` lets it.

Up: a member of the consumer protocol joins a classic group of consumers. Its members stay, as classic members of what
is now a consumer group, with what the last generation assigned to them; those that wait for a rebalance have to rejoin.

Down: the last member of the consumer protocol goes. The others become a classic group with the target assignment as
its last generation's, and rebalance.

A classic group is live from the moment it is made: it is put in its place here, not by the replay of its record, as
the requests of its members must find it and not a copy.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tidelog.config.settings import groups as settings
from tidelog.coordinator.group.classic.decision import Decision, fits
from tidelog.coordinator.group.classic.group import ClassicGroup
from tidelog.coordinator.group.classic.member import ClassicMember
from tidelog.coordinator.group.classic.rebalance import prepare, refuse_waiting
from tidelog.coordinator.group.classic.state import ClassicState
from tidelog.coordinator.group.consumer import timeouts, upgrade
from tidelog.coordinator.group.consumer.change import MemberChange
from tidelog.coordinator.group.consumer.embedded import PROTOCOL_TYPE, write_assignment
from tidelog.coordinator.group.consumer.group import ConsumerGroup
from tidelog.coordinator.group.consumer.member import ConsumerMember
from tidelog.coordinator.group.shard import GroupShard
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.model.decisions import Record, Result
from tidelog.model.errors import ApiError, ErrorCode


@dataclass(slots=True)
class FoundGroup:
    """The group that a heartbeat is for, and the records that have to be written first to make it a consumer group."""

    group: ConsumerGroup
    records: list[Record] = field(default_factory=list)


def may_join_classic(shard: GroupShard) -> bool:
    return _policy(shard) != "disabled"


def _policy(shard: GroupShard) -> str:
    return shard.config.get(settings.GROUP_CONSUMER_MIGRATION_POLICY).lower()


def consumer_group(shard: GroupShard, group_id: str) -> ConsumerGroup:
    group = shard.groups.get(group_id)
    if not isinstance(group, ConsumerGroup):
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"there is no consumer group {group_id!r}")
    return group


def group_of_heartbeat(shard: GroupShard, request: CoordinatorRequest, *, may_create: bool) -> FoundGroup:
    """Return the group of a heartbeat. A new member may create it, or turn a classic group into it."""
    group_id: str = request.message.group_id
    group = shard.groups.get(group_id)
    if isinstance(group, ConsumerGroup) or not may_create:
        return FoundGroup(consumer_group(shard, group_id))
    if group is None:
        return FoundGroup(ConsumerGroup(group_id))
    if not isinstance(group, ClassicGroup):
        raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"{group_id!r} is not a consumer group")
    if group.is_empty:
        return FoundGroup(ConsumerGroup(group_id), group.tombstones())
    _check_upgrade(shard, group)
    records = [*group.tombstones(), *upgrade.records_of(shard, group)]
    return FoundGroup(upgrade.replayed(shard, group_id, records), records)


def _check_upgrade(shard: GroupShard, group: ClassicGroup) -> None:
    if _policy(shard) not in ("upgrade", "bidirectional"):
        why = "the migration policy does not allow it"
    elif not group.uses_consumer_protocol:
        why = "its members are no consumers"
    elif len(group.members) > shard.config.get(settings.GROUP_CONSUMER_MAX_SIZE):
        why = "it has too many members"
    else:
        return
    raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND, f"classic group {group.group_id!r} can not be upgraded: {why}")


def upgraded(change: MemberChange) -> None:
    """Finish an upgrade that is certain now: the members of the classic group get their sessions, and those that wait
    are answered."""
    group = change.shard.groups.get(change.group.group_id)
    if not isinstance(group, ClassicGroup):
        return
    decision = Decision(change.shard, change.now_ms, change.wall_ms)
    refuse_waiting(decision, group, ErrorCode.REBALANCE_IN_PROGRESS)
    change.answers = decision.answers
    for member in change.group.members.values():
        timeouts.keep_session(change.shard, change.now_ms, change.group, member)


def downgrade_without(
    shard: GroupShard, now_ms: int, wall_ms: int, group: ConsumerGroup, leaving: Sequence[ConsumerMember]
) -> Result | None:
    """Turn the group into a classic one when these members are gone and only classic ones remain; None: it stays what
    it is."""
    staying_count = len(group.members) - len(leaving)
    if not staying_count or not all_classic(group, leaving) or not _may_downgrade(shard, staying_count):
        return None
    gone = {member.member_id: None for member in leaving}
    staying = [member for member in group.members.values() if member.member_id not in gone]
    assigned = [(member, group.target.get(member.member_id, {})) for member in staying]
    classic = _classic_group(shard, wall_ms, group, assigned)
    return _downgraded(shard, now_ms, wall_ms, group, classic, "the last member of the consumer protocol left")


def downgrade_with(change: MemberChange, former: ConsumerMember) -> Result | None:
    """Turn the group into a classic one when its last member of the consumer protocol, a static one, comes back with
    the classic protocol; None: it stays what it is."""
    shard, group, updated = change.shard, change.group, change.updated
    if former.is_classic or not all_classic(group, [former]) or not _may_downgrade(shard, len(group.members)):
        return None
    staying = [member for member in group.members.values() if member is not former]
    assigned = [(member, group.target.get(member.member_id, {})) for member in staying]
    inherited = (updated, group.target.get(former.member_id, {}))
    classic = _classic_group(shard, change.wall_ms, group, [*assigned, inherited])
    is_stale = group.target_epoch < change.group_epoch
    reason = "its assignment is older than its members' subscriptions" if is_stale else None
    return _downgraded(shard, change.now_ms, change.wall_ms, group, classic, reason)


def all_classic(group: ConsumerGroup, excepted: Iterable[ConsumerMember]) -> bool:
    excluded = list(excepted)
    classic = sum(member.is_classic for member in excluded)
    return group.classic_count - classic == len(group.members) - len(excluded)


def _may_downgrade(shard: GroupShard, member_count: int) -> bool:
    is_allowed = _policy(shard) in ("downgrade", "bidirectional")
    return is_allowed and member_count <= shard.config.get(settings.GROUP_MAX_SIZE)


def _classic_group(
    shard: GroupShard, wall_ms: int, group: ConsumerGroup, assigned: Sequence[tuple[ConsumerMember, upgrade.Partitions]]
) -> ClassicGroup:
    classic = ClassicGroup(
        group.group_id,
        shard.timers,
        wall_ms,
        is_live=True,
        state=ClassicState.STABLE,
        generation=group.epoch,
        protocol_type_or_none=PROTOCOL_TYPE,
    )
    for member, _ in assigned:
        classic.add(_classic_member(member))
    classic.protocol_name = classic.select_protocol()
    classic.learn_subscribed_topics()
    for member, partitions in assigned:
        each = classic.members[member.member_id]
        each.assignment = write_assignment(shard.image, partitions, each.metadata(classic.protocol_name))
    return classic


def _classic_member(member: ConsumerMember) -> ClassicMember:
    assert member.classic is not None, "only classic members make a classic group"
    return ClassicMember(
        member_id=member.member_id,
        group_instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=member.classic.session_timeout_ms,
        protocol_type=PROTOCOL_TYPE,
        protocols=tuple((protocol.name, bytes(protocol.metadata)) for protocol in member.classic.supported_protocols),
    )


def _downgraded(
    shard: GroupShard, now_ms: int, wall_ms: int, group: ConsumerGroup, classic: ClassicGroup, rebalance: str | None
) -> Result | None:
    record = classic.to_record({member_id: member.assignment for member_id, member in classic.members.items()})
    if not fits(shard, record):
        return None
    shard.groups[group.group_id] = classic
    for member_id in group.members:
        timeouts.cancel_all(shard, group.group_id, member_id)
    for member in classic.members.values():
        classic.keep_session(now_ms, member)
    decision = Decision(shard, now_ms, wall_ms, [*group.tombstones(), record])
    if rebalance is not None:
        prepare(decision, classic, rebalance)
    return decision.result()
