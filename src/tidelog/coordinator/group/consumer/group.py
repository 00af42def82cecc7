"""A consumer group: its epochs, members, target assignment and who owns which partition. All of it is durable, written
by `replay` alone; what is decided with it is next door (`heartbeat`, `fencing`, `classic_members`).

The group epoch numbers the subscriptions and topics, the assignment epoch says for which of these the target assignment
was computed, a member's epoch which target it has come to. A partition has one owner, which keeps it until it says that
it has given it up; only then does it go to the next.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from tidelog.config import BrokerConfig
from tidelog.config.group_config import GroupConfig
from tidelog.coordinator.group.consumer import commits, printing
from tidelog.coordinator.group.consumer.member import ConsumerMember
from tidelog.coordinator.group.consumer.records import group_tombstones
from tidelog.coordinator.group.consumer.subscriptions import Subscriptions
from tidelog.coordinator.group.shard import CommitPartitionCheck, GroupShard, GroupType
from tidelog.model.decisions import Record
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import Uuid

# A group is born with both epochs at 1; the first member moves it to epoch 2.
FIRST_EPOCH: Final = 1
NO_TARGET_EPOCH: Final = -1
# How long a group that nobody disturbs goes without looking at its topics again.
REFRESH_INTERVAL_MS: Final = 2**31 - 1

TopicPartitions: TypeAlias = Mapping[Uuid, Sequence[int]]


@dataclass(slots=True, eq=False)
class ConsumerGroup:
    group_id: str
    epoch: int = FIRST_EPOCH
    metadata_hash: int = 0
    target_epoch: int = FIRST_EPOCH
    target_timestamp_ms: int = 0  # 0: there is no target, or it is not known when it was computed
    members: dict[str, ConsumerMember] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)  # member ids by instance id
    target: dict[str, TopicPartitions] = field(default_factory=dict)  # by member id
    subscriptions: Subscriptions = field(default_factory=Subscriptions)
    owners: dict[Uuid, dict[int, str]] = field(default_factory=dict)  # member ids by partition
    server_assignors: dict[str, int] = field(default_factory=dict)  # how many members ask for an assignor
    classic_count: int = 0
    classic_supporters: dict[str, int] = field(default_factory=dict)  # how many classic members know a protocol
    has_partition_metadata: bool = False  # the log still has a record that an old release wrote
    # Volatile: when the topics are to be looked at again (0: now), the group epoch after the last look, and the group's
    # settings as last read.
    refresh_due_ms: int = 0
    refreshed_epoch: int = 0
    _settings: tuple[BrokerConfig, object, GroupConfig] | None = None

    # What replay does

    def put_member(self, member: ConsumerMember) -> None:
        before = self.members.get(member.member_id)
        self.members[member.member_id] = member
        if before is None or not _says_the_same(before, member):
            self._forget_description(before)
            self._learn_description(member)
        self._disown(before)
        self._own(member)

    def remove_member(self, member_id: str) -> None:
        member = self.members.pop(member_id)
        self._forget_description(member)
        self._disown(member)
        if member.instance_id is not None and self.static_members.get(member.instance_id) == member_id:
            del self.static_members[member.instance_id]

    def _learn_description(self, member: ConsumerMember) -> None:
        self.subscriptions.add(member)
        if member.server_assignor is not None:
            _count(self.server_assignors, member.server_assignor, 1)
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        self.classic_count += member.is_classic
        for protocol in member.classic_protocols:
            _count(self.classic_supporters, protocol.name, 1)

    def _forget_description(self, member: ConsumerMember | None) -> None:
        if member is None:
            return
        self.subscriptions.remove(member)
        if member.server_assignor is not None:
            _count(self.server_assignors, member.server_assignor, -1)
        self.classic_count -= member.is_classic
        for protocol in member.classic_protocols:
            _count(self.classic_supporters, protocol.name, -1)

    def _own(self, member: ConsumerMember) -> None:
        for assigned in (member.assigned, member.pending_revocation):
            for topic_id, partitions in assigned.items():
                owners = self.owners.setdefault(topic_id, {})
                for partition in partitions:
                    owners[partition] = member.member_id

    def _disown(self, member: ConsumerMember | None) -> None:
        """Take the member's partitions from it. One that another member owns meanwhile stays there."""
        if member is None:
            return
        for assigned in (member.assigned, member.pending_revocation):
            for topic_id, partitions in assigned.items():
                owners = self.owners.get(topic_id, {})
                for partition in partitions:
                    if owners.get(partition) == member.member_id:
                        del owners[partition]
                if not owners:
                    self.owners.pop(topic_id, None)

    # Questions

    def member(self, member_id: str) -> ConsumerMember:
        found = self.members.get(member_id)
        if found is None:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID, f"{member_id!r} is no member of group {self.group_id!r}")
        return found

    def static_member(self, instance_id: str | None) -> ConsumerMember | None:
        member_id = None if instance_id is None else self.static_members.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def target_of(self, member: ConsumerMember) -> TopicPartitions:
        """Return the target of a member. A static member has that of its instance, whatever id it comes back with."""
        member_id: str | None = member.member_id
        if member.instance_id is not None:
            member_id = self.static_members.get(member.instance_id)
        return {} if member_id is None else self.target.get(member_id, {})

    def is_owned(self, topic_id: Uuid, partition: int) -> bool:
        owners = self.owners.get(topic_id)
        return owners is not None and partition in owners

    def is_waiting_for_others(self, member: ConsumerMember) -> bool:
        """Tell whether a partition of the member's target still belongs to another member."""
        target = self.target.get(member.member_id, {})
        return any(
            partition not in member.assigned.get(topic_id, {}) and self.is_owned(topic_id, partition)
            for topic_id, partitions in target.items()
            for partition in partitions
        )

    def preferred_assignor(
        self, before: ConsumerMember | None = None, after: ConsumerMember | None = None
    ) -> str | None:
        """Return the assignor that most members ask for, once `before` has become `after`."""
        counts = dict(self.server_assignors)
        if before is not None and before.server_assignor is not None:
            _count(counts, before.server_assignor, -1)
        if after is not None and after.server_assignor is not None:
            _count(counts, after.server_assignor, 1)
        return max(counts, key=lambda name: counts[name], default=None)

    def supports_classic(self, protocol_names: Iterable[str]) -> bool:
        """Tell whether a classic member with these protocols can join: one of them must be known to all other classic
        members."""
        if not self.members:
            return any(True for _ in protocol_names)
        return any(self.classic_supporters.get(name, 0) == self.classic_count for name in protocol_names)

    def needs_refresh(self, now_ms: int) -> bool:
        """Tell whether the group's topics have to be looked at again: it is time, or the epoch that the last look led
        to never reached the log."""
        return now_ms >= self.refresh_due_ms or self.epoch < self.refreshed_epoch

    def settings(self, shard: GroupShard) -> GroupConfig:
        """Return the group's settings, which are resolved again only after some configuration of the broker or the
        cluster has changed."""
        cached = self._settings
        if cached is None or cached[0] is not shard.config or cached[1] is not shard.image.configs:
            cached = self._settings = (shard.config, shard.image.configs, shard.group_config(self.group_id))
        return cached[2]

    # As every group (coordinator.group.shard.Group)

    @property
    def type(self) -> GroupType:
        return GroupType.CONSUMER

    @property
    def state_name(self) -> str:
        if not self.members:
            return "Empty"
        if self.epoch > self.target_epoch:
            return "Assigning"
        is_stable = all(member.is_reconciled_to(self.target_epoch) for member in self.members.values())
        return "Stable" if is_stable else "Reconciling"

    @property
    def protocol_type(self) -> str:
        return "consumer"

    @property
    def is_empty(self) -> bool:
        return not self.members

    def validate_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation: int,
        *,
        is_transactional: bool,
        api_version: int,
    ) -> CommitPartitionCheck | None:
        if generation < 0 and not self.members:
            return None  # an admin, or a consumer that assigns its partitions by hand
        if is_transactional and generation == -1 and not member_id and group_instance_id is None:
            return None  # a producer that does not know for which member it commits
        return commits.check_commit(self.member(member_id), generation, api_version, is_transactional=is_transactional)

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        if member_id is not None or member_epoch >= 0:
            commits.check_fetch(self.member(member_id or ""), member_epoch)

    def validate_offset_delete(self) -> None:
        """Allow it in any case: whether a topic is read is asked for each topic."""

    def validate_delete(self) -> None:
        if self.members:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP)

    def is_subscribed_to(self, topic: str) -> bool:
        return topic in self.subscriptions

    def expiry_base_ms(self, commit_timestamp_ms: int) -> int | None:
        return commit_timestamp_ms

    def expires_subscribed(self) -> bool:
        return False

    def tombstones(self) -> list[Record]:
        return group_tombstones(self.group_id, list(self.members), list(self.subscriptions.resolved))

    def after_offset_commit(self, now_ms: int, member_id: str) -> None:
        """Do nothing: only heartbeats keep a session here."""

    def printed(self) -> dict[str, Any]:
        return printing.printed(self)


def _says_the_same(a: ConsumerMember, b: ConsumerMember) -> bool:
    """Tell whether the two are equal in everything that the group counts."""
    return (
        a.topics == b.topics
        and a.regex == b.regex
        and a.server_assignor == b.server_assignor
        and a.instance_id == b.instance_id
        and a.classic == b.classic
    )


def _count(counts: dict[str, int], key: str, by: int) -> None:
    count = counts.get(key, 0) + by
    if count:
        counts[key] = count
    else:
        counts.pop(key, None)
