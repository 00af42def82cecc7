"""Classic members beside members of the consumer protocol in one group, as they join, follow, fall silent or leave.

One member of the consumer protocol is always there, so that the group keeps its type; the bench checks after every step
that a partition has one owner. When all members have come to rest, every partition has an owner, and every classic
member was told in its last SyncGroup the partitions that the coordinator believes it has.
"""

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.unit.coordinator.consumer.bench import REBALANCE_MS, Bench, Client
from tests.unit.coordinator.consumer.classic_client import SESSION_MS, ClassicClient

from tidelog.coordinator.group.consumer.member import MemberState
from tidelog.model.errors import ErrorCode

BEAT_MS = 3_000
WHICH = st.integers(0, 9)


class MixedGroups(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench()
        self.consumers: list[Client] = []
        self.classics: list[ClassicClient] = []
        self.made = 0

    @initialize(partitions=st.integers(1, 7))
    def begin(self, partitions: int) -> None:
        self.bench.topic("t", partitions)
        self.join_consumer()

    @rule()
    def join_consumer(self) -> None:
        if len(self.consumers) < 3:
            self.made += 1
            client = self.bench.client(f"m{self.made}")
            assert client.join() is ErrorCode.NONE
            self.consumers.append(client)

    @rule(is_static=st.booleans())
    def join_classic(self, is_static: bool) -> None:
        if len(self.classics) < 3:
            self.made += 1
            client = ClassicClient(self.bench, instance_id=f"i{self.made}" if is_static else None)
            assert client.join() is ErrorCode.NONE
            self.classics.append(client)

    @rule(which=WHICH)
    def report(self, which: int) -> None:
        self.heard(self.consumers[which % len(self.consumers)])

    def heard(self, client: Client) -> None:
        if client.report() is not ErrorCode.NONE:
            assert client.join() is ErrorCode.NONE

    @precondition(lambda self: self.classics)
    @rule(which=WHICH, is_slow=st.booleans())
    def follow(self, which: int, is_slow: bool) -> None:
        """Let a classic member do its next step as a consumer does: it gives up the partitions that the sync does not
        name, before it asks for more."""
        self.go_on(self.classics[which % len(self.classics)], is_slow=is_slow)

    def go_on(self, client: ClassicClient, *, is_slow: bool = False) -> None:
        code = client.beat()
        if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            client.owned = {}
            client.member_id = "" if code is ErrorCode.UNKNOWN_MEMBER_ID else client.member_id
        if code is not ErrorCode.NONE and not is_slow:
            assert client.join() is ErrorCode.NONE
            assert client.sync() in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS)

    @precondition(lambda self: len(self.consumers) > 1)
    @rule(which=WHICH, says_so=st.booleans())
    def lose_consumer(self, which: int, says_so: bool) -> None:
        client = self.consumers.pop(1 + which % (len(self.consumers) - 1))
        if says_so:
            client.leave()

    @precondition(lambda self: self.classics)
    @rule(which=WHICH, says_so=st.booleans())
    def lose_classic(self, which: int, says_so: bool) -> None:
        client = self.classics.pop(which % len(self.classics))
        if says_so:
            client.leave()

    @rule(partitions=st.integers(1, 7))
    def grow(self, partitions: int) -> None:
        if partitions > len(self.bench.shard.image.topics.by_name["t"].partitions):
            self.bench.grow("t", partitions)

    @rule()
    def fail_over(self) -> None:
        self.bench.reload()

    @rule(by_ms=st.sampled_from((1, SESSION_MS, REBALANCE_MS)))
    def pass_time(self, by_ms: int) -> None:
        for _ in range(2):  # the second heartbeat reports what the first answer revoked
            self.heard(self.consumers[0])
        self.bench.advance(by_ms)

    @invariant()
    def live_is_logged(self) -> None:
        self.bench.validate_state()

    @rule()
    def come_to_rest(self) -> None:
        for _ in range(45_000 // BEAT_MS + 6):
            for client in self.consumers:
                self.heard(client)
            for classic in self.classics:
                self.go_on(classic)
            self.bench.advance(BEAT_MS)
        group = self.bench.group
        assert group.state_name == "Stable"
        expected = [client.member_id for client in self.consumers] + [client.member_id for client in self.classics]
        assert sorted(group.members) == sorted(expected)
        assert all(member.state is MemberState.STABLE for member in group.members.values())
        told = [client.assignment.get("t", []) for client in self.consumers]
        told += [client.owned.get("t", []) for client in self.classics]
        count = len(self.bench.shard.image.topics.by_name["t"].partitions)
        assert sorted(partition for partitions in told for partition in partitions) == list(range(count))


TestMixedGroups = MixedGroups.TestCase
TestMixedGroups.settings = settings(
    max_examples=15, stateful_step_count=30, deadline=None, derandomize=True, phases=(Phase.generate,)
)
