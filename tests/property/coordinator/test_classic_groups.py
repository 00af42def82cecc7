"""Classic groups under members that join, sync, leave, die and come back, over a network that delays, reorders,
duplicates and loses their requests, and coordinators that are replaced. After every step the bench checks the group
(replaying the records gives the same durable state; no request waits that the group does not know of; no timer is left
over). The answers to the members are checked here."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from tests.unit.coordinator.classic.bench import GROUP, RANGE, Bench, Ticket, subscription

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.heartbeat import HeartbeatRequest
from tidelog.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from tidelog.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tidelog.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

PROTOCOLS = [
    RANGE,
    (*RANGE, ("sticky", b"")),
    (("sticky", b""), *RANGE),
    (("range", subscription("u")),),
]
REJOIN = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.GROUP_MAX_SIZE_REACHED,
)
LONG_MS = 3_600_000


@dataclass(eq=False)
class Client:
    """A client. It knows what its last answer told it, and forgets its member id when told that it is out of the
    group."""

    name: str
    instance: str | None
    version: int
    protocols: tuple[tuple[str, bytes], ...]
    member_id: str = ""
    generation: int = -1
    protocol_name: str | None = None
    parts: list[str] = field(default_factory=list)  # the members that it assigns to when it leads
    wants: str = "join"  # or sync, or heartbeat
    last: Any = None  # the message whose answer it waits for
    is_alive: bool = True

    def forget(self) -> None:
        self.member_id, self.generation, self.wants, self.parts = "", -1, "join", []


@dataclass(eq=False)
class Sent:
    client: Client
    message: Any
    version: int


class ClassicGroups(RuleBasedStateMachine):
    @initialize(delay_ms=st.sampled_from([0, 3_000]), max_size=st.sampled_from([2, 100]))
    def begin(self, delay_ms: int, max_size: int) -> None:
        limits = {"group_initial_rebalance_delay_ms": str(delay_ms), "group_max_size": str(max_size)}
        self.bench = Bench(limits)
        self.clients = [
            Client("a", None, 9, PROTOCOLS[0]),
            Client("b", None, 9, PROTOCOLS[1]),
            Client("s", "i", 9, RANGE),
        ]
        self.network: list[Sent] = []
        self.open: list[tuple[Sent, Ticket]] = []
        self.nonces = 0
        self.coordinator = 0  # how many coordinators there have been
        self.generations: dict[tuple[int, int], str] = {}  # the protocol, by coordinator and generation
        self.assignments: dict[tuple[int, int], bytes] = {}  # the nonce of the SyncGroup that brought it

    # Events

    @precondition(lambda self: len(self.clients) < 6)
    @rule(
        instance=st.sampled_from([None, None, "i", "j"]),
        version=st.sampled_from([3, 5, 9]),
        protocols=st.sampled_from(PROTOCOLS),
    )
    def start(self, instance: str | None, version: int, protocols: tuple[tuple[str, bytes], ...]) -> None:
        given = instance if version >= 5 else None
        self.clients.append(Client(f"c{len(self.clients)}", given, version, protocols))

    @rule(times=st.integers(1, 4), pause_ms=st.sampled_from([0, 3_000]))
    def get_on(self, times: int, pause_ms: int) -> None:
        """Let all clients exchange requests over a network that works."""
        for _ in range(times):
            for client in self.clients:
                if client.is_alive and client.last is None:
                    self.deliver_now(self.next_request(client))
            self.bench.advance(pause_ms)
            self.hear()

    @rule(data=st.data())
    def try_again(self, data: st.DataObject) -> None:
        """Send a client's request on a new connection: the last one again, or its next, because it has lost
        patience."""
        alive = [client for client in self.clients if client.is_alive]
        if alive:
            self.deliver_now(self.next_request(data.draw(st.sampled_from(alive))))

    @rule(data=st.data())
    def send(self, data: st.DataObject) -> None:
        idle = [client for client in self.clients if client.is_alive]
        if idle:
            self.network.append(self.next_request(data.draw(st.sampled_from(idle))))

    @precondition(lambda self: self.network)
    @rule(data=st.data(), is_duplicated=st.booleans())
    def deliver(self, data: st.DataObject, is_duplicated: bool) -> None:
        index = data.draw(st.integers(0, len(self.network) - 1))
        self.deliver_now(self.network[index] if is_duplicated else self.network.pop(index))

    @precondition(lambda self: self.network)
    @rule()
    def lose(self) -> None:
        sent = self.network.pop(0)
        if sent.client.last is sent.message:
            sent.client.last = None

    @rule(data=st.data(), is_admin=st.booleans())
    def leave(self, data: st.DataObject, is_admin: bool) -> None:
        members = [client for client in self.clients if client.member_id]
        if members:
            client = data.draw(st.sampled_from(members))
            by_instance = is_admin and client.instance is not None
            identity = MemberIdentity(
                member_id="" if by_instance else client.member_id, group_instance_id=client.instance
            )
            self.network.append(Sent(client, LeaveGroupRequest(group_id=GROUP, members=[identity]), 5))

    @rule(data=st.data())
    def start_again(self, data: st.DataObject) -> None:
        """Restart a client as a process that knows nothing, or leave it dead for a time."""
        client = data.draw(st.sampled_from(self.clients))
        client.is_alive = not client.is_alive or data.draw(st.booleans())
        client.last = None
        client.forget()

    @rule(data=st.data(), protocols=st.sampled_from(PROTOCOLS))
    def change(self, data: st.DataObject, protocols: tuple[tuple[str, bytes], ...]) -> None:
        client = data.draw(st.sampled_from(self.clients))
        client.protocols, client.wants = protocols, "join"

    @rule(by_ms=st.sampled_from([0, 1, 2_999, 3_000, 9_999, 10_001, 30_000]))
    def wait(self, by_ms: int) -> None:
        self.bench.advance(by_ms)
        self.hear()

    @precondition(lambda self: len(self.bench.log) > 2 * self.coordinator)
    @rule()
    def move(self) -> None:
        """Move the group to another coordinator, which the clients that waited will ask."""
        self.coordinator += 1
        self.bench.reload()
        for sent, _ in self.open:
            if sent.client.last is sent.message:
                sent.client.last = None
        self.open = []

    # Requests of clients

    def next_request(self, client: Client) -> Sent:
        message, version = getattr(self, f"{client.wants}_request")(client)
        client.last = message
        return Sent(client, message, version)

    def join_request(self, client: Client) -> tuple[Any, int]:
        message = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=30_000,
            member_id=client.member_id,
            group_instance_id=client.instance,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name=name, metadata=metadata) for name, metadata in client.protocols],
        )
        return message, client.version

    def sync_request(self, client: Client) -> tuple[Any, int]:
        self.nonces += 1
        given = [
            SyncGroupRequestAssignment(member_id=each, assignment=f"{self.nonces} {each}".encode())
            for each in client.parts
        ]
        message = SyncGroupRequest(
            group_id=GROUP,
            generation_id=client.generation,
            member_id=client.member_id,
            group_instance_id=client.instance,
            protocol_type="consumer",
            protocol_name=client.protocol_name,
            assignments=given,
        )
        return message, 5

    def heartbeat_request(self, client: Client) -> tuple[Any, int]:
        message = HeartbeatRequest(
            group_id=GROUP,
            generation_id=client.generation,
            member_id=client.member_id,
            group_instance_id=client.instance,
        )
        return message, 4

    # Answers to clients

    def deliver_now(self, sent: Sent) -> None:
        self.open.append((sent, self.bench.send(sent.message, sent.version, sent.client.name)))
        self.hear()

    def hear(self) -> None:
        answered = [(sent, ticket) for sent, ticket in self.open if not ticket.is_pending]
        self.open = [(sent, ticket) for sent, ticket in self.open if ticket.is_pending]
        for sent, ticket in answered:
            self.check(sent, ticket)
            if sent.client.last is sent.message:
                sent.client.last = None
                self.react(sent.client, sent.message, ticket)

    def react(self, client: Client, message: Any, ticket: Ticket) -> None:
        response = ticket.response
        if ticket.code in REJOIN:
            client.forget()
        elif ticket.code is ErrorCode.MEMBER_ID_REQUIRED:
            client.member_id = response.member_id
        elif ticket.code is not ErrorCode.NONE:
            client.wants = "join"
        elif isinstance(message, JoinGroupRequest):
            client.member_id, client.generation = response.member_id, response.generation_id
            client.protocol_name, client.wants = response.protocol_name, "sync"
            client.parts = [] if response.skip_assignment else [each.member_id for each in response.members]
        elif isinstance(message, SyncGroupRequest):
            client.wants = "heartbeat"

    # Invariants

    def check(self, sent: Sent, ticket: Ticket) -> None:
        if ticket.code is not ErrorCode.NONE:
            return
        if isinstance(sent.message, JoinGroupRequest):
            self.check_generation(ticket.response)
        if isinstance(sent.message, SyncGroupRequest):
            self.check_assignment(sent.message, ticket.assignment)

    def check_generation(self, response: Any) -> None:
        """Check that a generation has one protocol, and that no answer is of a generation that is yet to come."""
        assert response.generation_id <= self.bench.group.generation
        key = (self.coordinator, response.generation_id)
        assert self.generations.setdefault(key, response.protocol_name) == response.protocol_name
        if response.members:
            assert response.leader == response.member_id
            assert response.member_id in [each.member_id for each in response.members]

    def check_assignment(self, message: SyncGroupRequest, assignment: bytes) -> None:
        """Check that a generation is assigned by one SyncGroup of its leader, and that each member gets its own
        part."""
        if not assignment:
            return
        nonce, owner = assignment.split(b" ", 1)
        key = (self.coordinator, message.generation_id)
        assert self.assignments.setdefault(key, nonce) == nonce
        prefix = message.group_instance_id or ""
        is_own = owner.decode() == message.member_id
        assert is_own or (prefix and owner.decode().startswith(f"{prefix}-")), "another member's part"

    def teardown(self) -> None:
        """Check that, left alone, every request is answered in the end, and that only an empty group is left."""
        if not hasattr(self, "bench"):
            return
        self.bench.advance(LONG_MS)
        self.hear()
        assert self.open == []
        assert len(self.bench.shard.timers) == 0
        assert all(group.is_empty for group in self.bench.shard.groups.values())


TestClassicGroups = ClassicGroups.TestCase
TestClassicGroups.settings = settings(max_examples=60, stateful_step_count=30, deadline=None, derandomize=True)
