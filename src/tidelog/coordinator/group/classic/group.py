"""A classic group: who is in it, in which state and generation. What happens to it is decided next door (`join`,
`sync`, `leave`, `rebalance`); here it is kept consistent.

Durable is `committed`, the last record that was replayed, and nothing else: a group is written when a generation has
its assignment and when it has no members left. Everything else is live. While the partition is loaded the live group
follows the records; from then on it leads, and a record only says what of it is safe.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from tidelog.coordinator.group.classic import validation
from tidelog.coordinator.group.classic.member import ClassicMember, Protocols, member_from_record, protocol_names
from tidelog.coordinator.group.classic.state import PREVIOUS, ClassicState
from tidelog.coordinator.group.classic.subscription import CONSUMER_PROTOCOL_TYPE, subscribed_topics
from tidelog.coordinator.group.records.classic import GroupMetadataKey, GroupMetadataValue
from tidelog.coordinator.group.shard import GroupShard, GroupType
from tidelog.coordinator.requests import CoordinatorRequest, KeyValue
from tidelog.coordinator.timers import Timers
from tidelog.model.decisions import Record
from tidelog.protocol.messages.describe_groups import DescribedGroup

SESSION: Final = "classic-session"  # until then a member is heard of, or one that was given an id joins with it
JOIN: Final = "classic-join"  # until then everybody joins
SYNC: Final = "classic-sync"  # until then everybody asks for the assignment
LOADED: Final = "classic-loaded"  # set for now: does the group, as it was loaded, have to rebalance?
# The version that Kafka 4.3 writes.
GROUP_METADATA_VERSION: Final = 3


@dataclass(slots=True)
class InitialDelay:
    """How long a new group waits for its members, and for how much longer while more of them come."""

    delay_ms: int
    remaining_ms: int


@dataclass(slots=True, eq=False)
class ClassicGroup:
    group_id: str
    timers: Timers
    state_timestamp_ms: int | None  # of the last transition, wall clock; None: its record is too old to say
    committed: GroupMetadataValue | None = None
    is_live: bool = False  # replaying a record only sets `committed` from then on
    state: ClassicState = ClassicState.EMPTY
    previous_state: ClassicState = ClassicState.DEAD
    generation: int = 0
    protocol_type_or_none: str | None = None
    protocol_name: str | None = None
    leader: str | None = None
    members: dict[str, ClassicMember] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)  # member id by group.instance.id
    pending_join: dict[str, None] = field(default_factory=dict)  # ids that were given out and not used to join yet
    pending_sync: dict[str, None] = field(default_factory=dict)
    awaiting_join_count: int = 0
    supporters: dict[str, int] = field(default_factory=dict)  # how many members know a protocol
    subscribed_topics: frozenset[str] | None = None  # None: not known
    initial_delay: InitialDelay | None = None
    has_new_member: bool = False  # since the initial delay began, or was extended

    # Its record

    @classmethod
    def from_record(cls, shard: GroupShard, group_id: str, value: GroupMetadataValue) -> "ClassicGroup":
        has_timestamp = value.current_state_timestamp != -1
        group = cls(
            group_id,
            shard.timers,
            value.current_state_timestamp if has_timestamp else None,
            committed=value,
            state=ClassicState.STABLE if value.members else ClassicState.EMPTY,
            generation=value.generation,
            protocol_type_or_none=value.protocol_type or None,
            protocol_name=value.protocol,
            leader=value.leader,
        )
        for stored in value.members:
            group.add(member_from_record(stored, value.protocol_type, value.protocol))
        group.learn_subscribed_topics()
        return group

    def to_record(self, assignment: Mapping[str, bytes]) -> Record:
        """Return the group as a record, with this assignment by member id; a member that is not in it has an empty
        one."""
        members = self.members.values()
        value = GroupMetadataValue(
            protocol_type=self.protocol_type,
            generation=self.generation,
            protocol=self.protocol_name,
            leader=self.leader,
            current_state_timestamp=-1 if self.state_timestamp_ms is None else self.state_timestamp_ms,
            members=[each.to_record(self.protocol_name, assignment.get(each.member_id, b"")) for each in members],
        )
        return KeyValue(GroupMetadataKey(group=self.group_id), value), GROUP_METADATA_VERSION

    # Members

    def add(self, member: ClassicMember, request: CoordinatorRequest | None = None) -> None:
        """Add a member. `request` is its JoinGroup, if it waits for the rebalance."""
        if not self.members:
            self.protocol_type_or_none = member.protocol_type
        if self.leader is None:
            self.leader = member.member_id
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id
        self.members[member.member_id] = member
        self.pending_join.pop(member.member_id, None)
        self._support(member.protocols, 1)
        self.await_join(member, request)

    def remove(self, member_id: str) -> None:
        """Remove a member, or an id that is pending. A request of the member that waits must have been answered
        before."""
        member = self.members.pop(member_id, None)
        if member is not None:
            assert member.awaiting_join is None, "it waits for the rebalance"
            assert member.awaiting_sync is None, "it waits for the assignment"
            self._support(member.protocols, -1)
            if member.group_instance_id is not None:
                del self.static_members[member.group_instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.pending_join.pop(member_id, None)
        self.pending_sync.pop(member_id, None)
        self.timers.cancel((SESSION, self.group_id, member_id))

    def update(
        self, member: ClassicMember, protocols: Protocols, rebalance_timeout_ms: int, session_timeout_ms: int
    ) -> None:
        self._support(member.protocols, -1)
        member.protocols = protocols
        self._support(protocols, 1)
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms

    def rename_static(self, member: ClassicMember, member_id: str) -> None:
        """Give a static member a new id. Whoever uses the old one is fenced."""
        assert member.group_instance_id is not None, "not a static member"
        del self.members[member.member_id]
        self.timers.cancel((SESSION, self.group_id, member.member_id))
        self.has_synced(member.member_id)
        if self.leader == member.member_id:
            self.leader = member_id
        self.static_members[member.group_instance_id] = member_id
        member.member_id = member_id
        self.members[member_id] = member

    def await_join(self, member: ClassicMember, request: CoordinatorRequest | None) -> None:
        self.awaiting_join_count += (request is not None) - (member.awaiting_join is not None)
        member.awaiting_join = request

    def has_synced(self, member_id: str) -> None:
        self.pending_sync.pop(member_id, None)
        if not self.pending_sync:
            self.timers.cancel((SYNC, self.group_id))

    def keep_session(self, now_ms: int, member: ClassicMember, timeout_ms: int | None = None) -> None:
        due_ms = now_ms + (member.session_timeout_ms if timeout_ms is None else timeout_ms)
        self.timers.set((SESSION, self.group_id, member.member_id), due_ms)

    @property
    def has_all_joined(self) -> bool:
        return len(self.members) == self.awaiting_join_count and not self.pending_join

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    @property
    def is_simple(self) -> bool:
        """Tell whether the group is only there for its offsets: nobody ever joined it."""
        return self.protocol_type_or_none is None and self.is_empty and not self.pending_join

    # The generation

    def transition_to(self, state: ClassicState, wall_ms: int) -> None:
        assert self.state in PREVIOUS[state], f"from {self.state.value} to {state.value}"
        self.previous_state, self.state = self.state, state
        self.state_timestamp_ms = wall_ms

    def elect_joined_leader(self) -> bool:
        """Keep the leader if it has joined, else elect another member that has. False: nobody has joined."""
        joined = [member.member_id for member in self.members.values() if member.awaiting_join is not None]
        if joined and self.leader not in joined:
            self.leader = joined[0]
        return bool(joined)

    def init_next_generation(self, wall_ms: int) -> None:
        self.generation += 1
        self.protocol_name = self.select_protocol() if self.members else None
        self.learn_subscribed_topics()
        self.transition_to(ClassicState.COMPLETING_REBALANCE if self.members else ClassicState.EMPTY, wall_ms)

    def select_protocol(self) -> str:
        """Return the protocol that most members like best, among those that every member knows. In a tie the one that
        got a vote first wins."""
        count = len(self.members)
        candidates = [name for name, supporters in self.supporters.items() if supporters == count]
        votes: dict[str, int] = {}
        for member in self.members.values():
            vote = member.vote(candidates)
            assert vote is not None, "every member was checked when it joined"
            votes[vote] = votes.get(vote, 0) + 1
        return max(votes, key=lambda name: votes[name])

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        names = protocol_names(protocols)
        if self.state is ClassicState.EMPTY:
            return bool(protocol_type and names)
        count = len(self.members)  # 0: the last member left during a rebalance, and others are about to join
        is_known = any(self.supporters.get(name, 0) == count for name in names)
        return protocol_type == self.protocol_type_or_none and is_known

    def learn_subscribed_topics(self) -> None:
        self.subscribed_topics = None
        if self.uses_consumer_protocol and (self.protocol_name is not None or not self.members):
            metadata = (member.metadata(self.protocol_name) for member in self.members.values())
            self.subscribed_topics = subscribed_topics(metadata)

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type_or_none == CONSUMER_PROTOCOL_TYPE

    def _support(self, protocols: Protocols, by: int) -> None:
        for name in protocol_names(protocols):
            supporters = self.supporters.get(name, 0) + by
            if supporters:
                self.supporters[name] = supporters
            else:
                del self.supporters[name]

    # As every group (coordinator.group.shard.Group)

    @property
    def type(self) -> GroupType:
        return GroupType.CLASSIC

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def protocol_type(self) -> str:
        return self.protocol_type_or_none or ""

    @property
    def is_empty(self) -> bool:
        """Tell whether the state is Empty, as Kafka does. Somebody who has only been given an id is no member yet."""
        return self.state is ClassicState.EMPTY

    def validate_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation: int,
        *,
        is_transactional: bool,
        api_version: int,  # noqa: ARG002 - the rules are the same for all
    ) -> None:
        validation.check_offset_commit(
            self, member_id, group_instance_id, generation, is_transactional=is_transactional
        )

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:  # noqa: ARG002 - anyone may
        validation.check_not_dead(self)

    def validate_offset_delete(self) -> None:
        validation.check_offset_delete(self)

    def validate_delete(self) -> None:
        validation.check_delete(self)

    def is_subscribed_to(self, topic: str) -> bool:
        """Tell whether a member reads the topic. A group of consumers whose topics are not known is taken to read every
        topic."""
        return self.uses_consumer_protocol if self.subscribed_topics is None else topic in self.subscribed_topics

    def expiry_base_ms(self, commit_timestamp_ms: int) -> int | None:
        if self.protocol_type_or_none is None:
            return commit_timestamp_ms
        if self.is_empty:
            return commit_timestamp_ms if self.state_timestamp_ms is None else self.state_timestamp_ms
        knows_topics = self.uses_consumer_protocol and self.subscribed_topics is not None
        return commit_timestamp_ms if knows_topics and self.state is ClassicState.STABLE else None

    def expires_subscribed(self) -> bool:
        return self.is_empty

    def tombstones(self) -> list[Record]:
        return [(KeyValue(GroupMetadataKey(group=self.group_id), None), GROUP_METADATA_VERSION)]

    def after_offset_commit(self, now_ms: int, member_id: str) -> None:
        member = self.members.get(member_id)
        if member is not None and self.state in (ClassicState.STABLE, ClassicState.PREPARING_REBALANCE):
            self.keep_session(now_ms, member)

    def describe(self) -> DescribedGroup:
        protocol_name = self.protocol_name if self.state is ClassicState.STABLE else None
        return DescribedGroup(
            error_code=0,
            group_id=self.group_id,
            group_state=self.state_name,
            protocol_type=self.protocol_type,
            protocol_data=protocol_name or "",
            members=[member.described(protocol_name) for member in self.members.values()],
        )

    def printed(self) -> dict[str, Any]:
        return {
            "type": self.type.value,
            "state": self.state_name,
            "generation": self.generation,
            "protocol": [self.protocol_type_or_none, self.protocol_name],
            "leader": self.leader,
            "members": {member_id: self.members[member_id].printed() for member_id in sorted(self.members)},
            "pending join": sorted(self.pending_join),
            "pending sync": sorted(self.pending_sync),
            "committed": self.printed_committed(),
        }

    def printed_committed(self) -> dict[str, Any] | None:
        """Return the durable state: what a fresh replay must bring back."""
        return None if self.committed is None else asdict(self.committed)


def new_empty(shard: GroupShard, group_id: str, wall_ms: int) -> ClassicGroup:
    """Return a group that nobody has joined yet. The caller puts it among the shard's groups."""
    return ClassicGroup(group_id, shard.timers, wall_ms)
