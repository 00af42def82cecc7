"""A bench for classic groups: a minimal driver, which checks the groups after every step.

Requests are handled at once, their records replayed and logged, and answers come back as soon as they are decided.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.unit.config.files import config

from tidelog.coordinator.group.classic import handlers
from tidelog.coordinator.group.classic.group import JOIN, LOADED, SESSION, SYNC, ClassicGroup
from tidelog.coordinator.group.classic.member import protocol_names
from tidelog.coordinator.group.classic.state import ClassicState
from tidelog.coordinator.group.shard import GroupShard
from tidelog.coordinator.requests import CoordinatorRequest, KeyValue
from tidelog.metadata.image import empty_image
from tidelog.model.decisions import PENDING, Result
from tidelog.model.errors import ErrorCode
from tidelog.protocol.codec import encode
from tidelog.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from tidelog.protocol.messages.heartbeat import HeartbeatRequest
from tidelog.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tidelog.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tidelog.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tidelog.sim.entropy import SimEntropy

GROUP = "g"
WALL_MS = 1_700_000_000_000
SESSION_MS = 10_000
REBALANCE_MS = 30_000
DELAY_MS = 3_000
NEWEST_JOIN = 9
NEWEST_SYNC = 5


def subscription(*topics: str, version: int = 0) -> bytes:
    return version.to_bytes(2, "big") + encode(ConsumerProtocolSubscription(topics=list(topics)), version)


RANGE = (("range", subscription("t")),)


@dataclass(eq=False)
class Ticket:
    """A request and its answer, once there is one."""

    request: CoordinatorRequest
    response: Any = None

    @property
    def is_pending(self) -> bool:
        return self.response is None

    @property
    def code(self) -> ErrorCode:
        assert self.response is not None, "it is not answered"
        return ErrorCode(self.response.error_code)

    @property
    def member_id(self) -> str:
        assert self.response is not None, "it is not answered"
        member_id: str = self.response.member_id
        return member_id

    @property
    def assignment(self) -> bytes:
        assert self.code is ErrorCode.NONE
        assignment: bytes = self.response.assignment
        return assignment


@dataclass
class Bench:
    settings: dict[str, str] = field(default_factory=dict)
    now_ms: int = 1_000
    max_record_bytes: int = 1_000_000
    log: list[tuple[KeyValue, int]] = field(default_factory=list)
    waiting: dict[int, Ticket] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.entropy = SimEntropy(7)  # shared by all coordinators, so that no two give out the same id
        self.shard, self.twin, self.twin_records = self.new_shard(), self.new_shard(), 0
        self.shard.note = self.notes.append

    def new_shard(self) -> GroupShard:
        broker = config(**self.settings)
        return GroupShard(broker, self.entropy, empty_image(), 0, self.max_record_bytes)

    # Its life

    def send(self, message: Any, version: int, client_id: str = "c", client_host: str = "/10.0.0.1") -> Ticket:
        request = CoordinatorRequest(message, version, self.wall_ms, client_id, client_host)
        ticket = Ticket(request)
        result = handlers.HANDLE[type(message)](self.shard, self.now_ms, request)
        if result.response is PENDING:
            self.waiting[id(request)] = ticket
        else:
            ticket.response = result.response
            encode(result.response, version)  # the answer has to encode in the version that was asked for
        self._decided(result)
        return ticket

    def advance(self, by_ms: int) -> None:
        """Advance the clock; each timer that becomes due fires at its own time."""
        end_ms = self.now_ms + by_ms
        while self.shard.timers.deadline is not None and self.shard.timers.deadline <= end_ms:
            self.now_ms = max(self.now_ms, self.shard.timers.deadline)
            key: Any = self.shard.timers.pop_due(self.now_ms)
            self._decided(handlers.ON_TIMER[key[0]](self.shard, self.now_ms, self.wall_ms, key))
        self.now_ms = end_ms

    def reload(self, **settings: str) -> None:
        """Let another broker take over: what was not written is gone, and waiting requests are not answered."""
        self.settings |= settings
        self.waiting.clear()
        self.shard = self.replayed()
        self._decided(handlers.activate(self.shard, self.now_ms))

    def replayed(self) -> GroupShard:
        shard = self.new_shard()
        for message, _ in self.log:
            handlers.REPLAY[type(message.key)](shard, message.key, message.value)
        return shard

    @property
    def wall_ms(self) -> int:
        return WALL_MS + self.now_ms

    @property
    def group(self) -> ClassicGroup:
        group = self.shard.groups[GROUP]
        assert isinstance(group, ClassicGroup)
        return group

    @property
    def state(self) -> str:
        return self.group.state_name

    def _decided(self, result: Result) -> None:
        for message, version in result.records:
            assert isinstance(message, KeyValue)
            self.log.append((message, version))
            handlers.REPLAY[type(message.key)](self.shard, message.key, message.value)
        for request, response in result.answers:
            assert response is not None
            encode(response, request.api_version)
            self.waiting.pop(id(request)).response = response
        self.validate_state()

    # Requests of clients

    def join(
        self,
        member_id: str = "",
        *,
        instance: str | None = None,
        protocols: Sequence[tuple[str, bytes]] = RANGE,
        protocol_type: str = "consumer",
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        version: int = NEWEST_JOIN,
        group_id: str = GROUP,
        client_id: str = "c",
        client_host: str = "/10.0.0.1",
        reason: str | None = None,
    ) -> Ticket:
        message = JoinGroupRequest(
            group_id=group_id,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocols=[JoinGroupRequestProtocol(name=name, metadata=metadata) for name, metadata in protocols],
            reason=reason,
        )
        return self.send(message, version, client_id, client_host)

    def join_with_id(self, **options: Any) -> tuple[str, Ticket]:
        """Join as a present-day client: ask for a member id, and join with it."""
        member_id = self.join(**options).member_id
        return member_id, self.join(member_id, **options)

    def sync(
        self,
        member_id: str,
        generation: int,
        assignments: dict[str, bytes] | None = None,
        *,
        instance: str | None = None,
        protocol_type: str | None = "consumer",
        protocol_name: str | None = "range",
        version: int = NEWEST_SYNC,
        group_id: str = GROUP,
    ) -> Ticket:
        given = (assignments or {}).items()
        message = SyncGroupRequest(
            group_id=group_id,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=[SyncGroupRequestAssignment(member_id=each, assignment=part) for each, part in given],
        )
        return self.send(message, version)

    def heartbeat(
        self, member_id: str, generation: int, instance: str | None = None, group_id: str = GROUP
    ) -> ErrorCode:
        message = HeartbeatRequest(
            group_id=group_id, generation_id=generation, member_id=member_id, group_instance_id=instance
        )
        return self.send(message, 4).code

    def leave(self, *members: tuple[str, str | None], group_id: str = GROUP) -> list[ErrorCode]:
        identities = [MemberIdentity(member_id=each, group_instance_id=instance) for each, instance in members]
        ticket = self.send(LeaveGroupRequest(group_id=group_id, members=identities), 5)
        assert ticket.code is ErrorCode.NONE
        assert [(each.member_id, each.group_instance_id) for each in ticket.response.members] == list(members)
        return [ErrorCode(each.error_code) for each in ticket.response.members]

    def stable(self, count: int, **options: Any) -> list[str]:
        """Make a new group with this many members, of which the first leads; assign each its own id."""
        joined = [self.join_with_id(**options) for _ in range(count)]
        self.advance(2 * DELAY_MS)
        return self.sync_all([member_id for member_id, _ in joined])

    def sync_all(self, members: list[str], protocol_name: str | None = "range") -> list[str]:
        leader = self.group.leader
        assert leader is not None
        generation = self.group.generation
        tickets = [self.sync(each, generation, protocol_name=protocol_name) for each in members if each != leader]
        parts = {each: each.encode() for each in members}
        tickets.append(self.sync(leader, generation, parts, protocol_name=protocol_name))
        assert [ticket.code for ticket in tickets] == [ErrorCode.NONE] * len(members)
        assert self.state == "Stable"
        return members

    # Invariants after every step

    def validate_state(self) -> None:
        for message, _ in self.log[self.twin_records :]:
            handlers.REPLAY[type(message.key)](self.twin, message.key, message.value)
        self.twin_records = len(self.log)
        assert _committed(self.shard) == _committed(self.twin), "the live state is not what the log says"
        awaited: list[int] = []
        timers = 0
        for group in self.shard.groups.values():
            assert isinstance(group, ClassicGroup)
            _validate_members(group)
            _validate_written(group)
            timers += _validate_timers(group)
            members = group.members.values()
            requests = [*(each.awaiting_join for each in members), *(each.awaiting_sync for each in members)]
            awaited += [id(request) for request in requests if request is not None]
        assert sorted(awaited) == sorted(self.waiting), "somebody waits for nothing, or is waited for by nobody"
        assert timers == len(self.shard.timers), "a timer of something that is gone"


def _committed(shard: GroupShard) -> dict[str, Any]:
    groups = shard.groups.items()
    written = {group_id: group.committed for group_id, group in groups if isinstance(group, ClassicGroup)}
    return {group_id: value for group_id, value in written.items() if value is not None}


def _validate_members(group: ClassicGroup) -> None:
    members = list(group.members.values())
    assert [each.member_id for each in members] == list(group.members)
    static = {each.group_instance_id: each.member_id for each in members if each.group_instance_id is not None}
    assert group.static_members == static
    assert group.awaiting_join_count == sum(each.awaiting_join is not None for each in members)
    supporters: dict[str, int] = {}
    for member in members:
        for name in protocol_names(member.protocols):
            supporters[name] = supporters.get(name, 0) + 1
    assert group.supporters == supporters
    assert (group.leader in group.members) if members else group.leader is None
    assert not set(group.pending_join) & set(group.members)
    assert set(group.pending_sync) <= set(group.members)
    assert not members if group.state is ClassicState.EMPTY else True
    is_joining, is_syncing = (ClassicState.PREPARING_REBALANCE, ClassicState.COMPLETING_REBALANCE)
    assert all(each.awaiting_join is None for each in members) or group.state is is_joining
    assert all(each.awaiting_sync is None for each in members) or group.state is is_syncing


def _validate_written(group: ClassicGroup) -> None:
    """Check that a new coordinator would find a stable group as it is."""
    if group.state is ClassicState.STABLE:
        assert group.committed is not None
        written = {each.member_id: each.assignment for each in group.committed.members}
        assert written == {each.member_id: each.assignment for each in group.members.values()}
        assert group.committed.generation == group.generation
        assert group.committed.leader in (None, group.leader)


def _validate_timers(group: ClassicGroup) -> int:
    """Check the timers of a group; return how many are set."""
    sessions = 0
    for member_id in [*group.members, *group.pending_join]:
        has_session = (SESSION, group.group_id, member_id) in group.timers
        sessions += has_session
        member = group.members.get(member_id)
        # A member that waits may have no session timer; it gets one with the answer.
        assert has_session or (member is not None and member.has_satisfied_heartbeat)
    is_set = {kind: (kind, group.group_id) in group.timers for kind in (JOIN, SYNC, LOADED)}
    assert is_set[JOIN] == (group.state is ClassicState.PREPARING_REBALANCE)
    assert is_set[SYNC] == bool(group.pending_sync)
    return sessions + sum(is_set.values())
