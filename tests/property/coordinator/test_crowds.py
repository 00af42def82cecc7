"""Crowds of members of consumer groups: requests that come in line or alone, timers at whatever moment, members that
send again, leave, fall silent or come back while they wait, and coordinators that fail over.

After every step a partition has one owner (the bench checks it), the state is what the log says, and no request was
answered twice; when the timers have fired, no request waits. When all members have come to rest, all partitions are
owned, in equal shares.
"""

from typing import Any

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.unit.coordinator.consumer.bench import REBALANCE_MS, SESSION_MS, Bench, Client
from tests.unit.coordinator.consumer.line import Line

from tidelog.model.errors import ErrorCode

MEMBERS_MAX = 6
BEAT_MS = 5_000
WHICH = st.integers(0, MEMBERS_MAX - 1)
IN_LINE = st.sampled_from((True, True, True, False))
MAY_BE_TOLD = (
    ErrorCode.NONE,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.FENCED_INSTANCE_ID,
    ErrorCode.UNRELEASED_INSTANCE_ID,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.INVALID_REQUEST,  # a client that is out, in epoch 0, sent what only a member may
)


class Crowds(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.line = Line(Bench())
        self.bench = self.line.bench
        self.clients: list[Client] = []
        self.made = 0
        self.asked = 0

    @initialize(partitions=st.integers(1, 9))
    def begin(self, partitions: int) -> None:
        self.bench.topic("t", partitions)
        self.bench.topic("u", 2)

    def ask(self, client: Client, *, is_in_line: bool, **fields: Any) -> None:
        self.asked += 1
        self.line.beat(client, is_in_line=is_in_line, **fields)

    def client(self, which: int) -> Client | None:
        return self.clients[which % len(self.clients)] if self.clients else None

    # Requests of members

    @rule(is_in_line=IN_LINE, instance_id=st.sampled_from((None, None, None, "i")))
    def join(self, is_in_line: bool, instance_id: str | None) -> None:
        is_taken = instance_id is not None and instance_id in [each.instance_id for each in self.clients]
        if len(self.clients) < MEMBERS_MAX and not is_taken:
            self.made += 1
            client = self.bench.client(f"m{self.made}", instance_id=instance_id)
            self.clients.append(client)
            self.ask(client, is_in_line=is_in_line, **client.joining())

    @rule(which=WHICH, is_in_line=IN_LINE)
    def join_again(self, which: int, is_in_line: bool) -> None:
        """Join a second time: the client lost its connection, and does not know that it is a member already."""
        client = self.client(which)
        if client is not None:
            self.ask(client, is_in_line=is_in_line, **client.joining())

    @rule(which=WHICH, is_in_line=IN_LINE)
    def report(self, which: int, is_in_line: bool) -> None:
        client = self.client(which)
        if client is not None:
            self.ask(client, is_in_line=is_in_line, topic_partitions=self.bench.wire(client.assignment))

    @rule(which=WHICH, is_in_line=IN_LINE)
    def beat(self, which: int, is_in_line: bool) -> None:
        client = self.client(which)
        if client is not None:
            self.ask(client, is_in_line=is_in_line)

    @rule(which=WHICH, is_in_line=IN_LINE, topics=st.sampled_from((["t"], ["t", "u"], ["u"])))
    def subscribe(self, which: int, is_in_line: bool, topics: list[str]) -> None:
        client = self.client(which)
        if client is not None:
            client.topics = tuple(topics)
            self.ask(client, is_in_line=is_in_line, subscribed_topic_names=topics)

    @rule(which=WHICH, is_in_line=IN_LINE, epoch=st.sampled_from((-1, -1, -2)))
    def leave(self, which: int, is_in_line: bool, epoch: int) -> None:
        client = self.client(which)
        if client is not None:
            self.clients.remove(client)
            epoch = epoch if client.instance_id is not None else -1
            self.ask(client, is_in_line=is_in_line, member_epoch=epoch)

    @rule(order=st.permutations(range(MEMBERS_MAX)), reports=st.lists(st.booleans(), min_size=MEMBERS_MAX))
    def all_speak(self, order: list[int], reports: list[bool]) -> None:
        """Send a heartbeat of many members in one line; some of them do not report the partitions that they own."""
        self.join(is_in_line=True, instance_id=None)
        for which, does_report in zip(order, reports, strict=False):
            if which < len(self.clients):
                (self.report if does_report else self.beat)(which, is_in_line=True)

    @rule(which=WHICH)
    def fall_silent(self, which: int) -> None:
        client = self.client(which)
        if client is not None:
            self.clients.remove(client)

    # Events of the coordinator

    @rule()
    def fire_one(self) -> None:
        deadline = self.bench.shard.timers.deadline
        if deadline is not None and deadline <= self.bench.now_ms:
            self.bench.fire()

    @rule()
    def next_turn(self) -> None:
        self.line.tick()
        assert not self.line.waiting

    @rule(by_ms=st.sampled_from((1, 900, REBALANCE_MS)))
    def pass_time(self, by_ms: int) -> None:
        self.bench.advance(by_ms)

    @rule()
    def fail_over(self) -> None:
        """Replace the coordinator. The driver, which is not here, would answer the waiting requests with an error."""
        self.line.take_answers()
        self.asked -= len(self.line.waiting)
        self.line.waiting.clear()
        self.bench.reload()

    # Invariants

    @invariant()
    def everybody_waits_or_was_answered_once(self) -> None:
        self.line.take_answers()
        assert self.asked == len(self.line.heard) + len(self.line.waiting)
        assert all(response.error_code in MAY_BE_TOLD for response in self.line.heard.values())

    @invariant()
    def waiters_have_a_timer(self) -> None:
        if self.line.waiting:
            assert (self.bench.shard.timers.deadline or 0) <= self.bench.now_ms
        else:
            assert self.bench.shard.crowds == {}

    @invariant()
    def live_is_logged(self) -> None:
        self.bench.validate_state()

    @rule(is_in_line=st.booleans())
    def come_to_rest(self, is_in_line: bool) -> None:
        if not self.clients:
            return
        for client in self.clients:
            client.topics = ("t",)
            self.ask(client, is_in_line=is_in_line, **client.joining())
        for _ in range(SESSION_MS // BEAT_MS + 8):
            self.line.tick()
            for client in self.clients:
                self.report_or_rejoin(client, is_in_line=is_in_line)
            self.bench.advance(BEAT_MS)
        self.line.tick()
        shares = [len(client.assignment.get("t", [])) for client in self.clients]
        assert self.bench.group.state_name == "Stable"
        assert sum(shares) == len(self.bench.shard.image.topics.by_name["t"].partitions)
        assert max(shares) - min(shares) <= 1

    def report_or_rejoin(self, client: Client, *, is_in_line: bool) -> None:
        if client.epoch > 0 and client.member_id in self.bench.group.members:
            self.ask(client, is_in_line=is_in_line, topic_partitions=self.bench.wire(client.assignment))
        else:
            self.ask(client, is_in_line=is_in_line, **client.joining())


TestCrowds = Crowds.TestCase
TestCrowds.settings = settings(
    max_examples=20, stateful_step_count=40, deadline=None, derandomize=True, phases=(Phase.generate,)
)
