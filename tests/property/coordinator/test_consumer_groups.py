"""Consumer groups under whatever members do: join, report, fall silent, lose answers, send again, leave, come back with
another id, change their minds, with topics coming, growing and going and coordinators failing over in between.

After every step a partition has one owner and epochs have not gone back (the bench checks it), no two members in good
standing believe to have the same partition, and the state is what the log says. When all members have come to rest,
every partition of the subscribed topics has an owner, and only subscribers own partitions.
"""

from typing import Any

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, precondition, rule
from tests.unit.coordinator.consumer.bench import GROUP, REBALANCE_MS, SESSION_MS, Bench, Client

from tidelog.coordinator.group.consumer.group import ConsumerGroup
from tidelog.model.errors import ErrorCode

TOPICS = ("t1", "t2", "u1")
SUBSCRIPTIONS = (("t1",), ("t1", "t2"), ("u1",), ("t1", "t2", "u1"), ())
REGEXES = (None, None, None, "t.*", "u.*|t2")
INTERVALS = ("0", "1000")
BEAT_MS = 5_000


class Groups(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench()
        self.clients: list[Client] = []
        self.confused: list[Client] = []  # clients of which an old request was delivered again
        self.made = 0
        self.member_epochs: dict[str, int] = {}

    living = Bundle("living")
    sent = Bundle("sent")

    # The cluster

    @rule(name=st.sampled_from(TOPICS), partitions=st.integers(1, 5))
    def make_or_grow(self, name: str, partitions: int) -> None:
        topic = self.bench.shard.image.topics.by_name.get(name)
        if topic is None:
            self.bench.topic(name, partitions)
        elif partitions > len(topic.partitions):
            self.bench.grow(name, partitions)

    @rule(name=st.sampled_from(TOPICS))
    def delete(self, name: str) -> None:
        if name in self.bench.shard.image.topics.by_name:
            self.bench.delete(name)

    @rule(interval_ms=st.sampled_from(INTERVALS))
    def configure(self, interval_ms: str) -> None:
        self.bench.configure("consumer.assignment.interval.ms", interval_ms)

    @rule()
    def fail_over(self) -> None:
        self.bench.reload()

    # Members

    @rule(
        target=living,
        topics=st.sampled_from(SUBSCRIPTIONS),
        regex=st.sampled_from(REGEXES),
        instance_id=st.sampled_from((None, None, None, "i1", "i2")),
    )
    def join(self, topics: tuple[str, ...], regex: str | None, instance_id: str | None) -> Any:
        if len(self.clients) >= 5:
            return multiple()
        self.made += 1
        client = self.bench.client(f"m{self.made}", *topics, regex=regex, instance_id=instance_id)
        client.topics = topics
        code = client.join()
        assert code in (ErrorCode.NONE, ErrorCode.UNRELEASED_INSTANCE_ID)
        if code is not ErrorCode.NONE:
            return multiple()
        self.clients.append(client)
        return client

    @rule(client=living)
    def beat(self, client: Client) -> None:
        self.heard(client, client.beat())

    @rule(client=living)
    def report(self, client: Client) -> None:
        self.heard(client, client.report())

    @rule(client=living, topics=st.sampled_from(SUBSCRIPTIONS))
    def subscribe(self, client: Client, topics: tuple[str, ...]) -> None:
        if client.regex is None:
            client.topics = topics
            self.heard(client, client.beat(subscribed_topic_names=list(topics)))

    @rule(client=living, regex=st.sampled_from(("t.*", ".*", "")))
    def match(self, client: Client, regex: str) -> None:
        if client.regex is not None:
            client.regex = regex
            self.heard(client, client.beat(subscribed_topic_regex=regex))

    @rule(client=living)
    def lose_the_answer(self, client: Client) -> None:
        """Lose the answer to a heartbeat; the client then sends a full request with the state that it had before."""
        told = (client.epoch, client.told)
        client.beat(topic_partitions=self.bench.wire(client.assignment))
        client.epoch, client.told = told
        full: dict[str, Any] = {"rebalance_timeout_ms": REBALANCE_MS}
        key = "subscribed_topic_names" if client.regex is None else "subscribed_topic_regex"
        full[key] = list(client.topics) if client.regex is None else client.regex
        self.heard(client, client.report(**full))

    @rule(target=sent, client=living)
    def keep_a_request(self, client: Client) -> Any:
        owned = self.bench.wire(client.assignment)
        return client, {"member_id": client.member_id, "member_epoch": client.epoch, "topic_partitions": owned}

    @rule(kept=sent)
    def deliver_it_late(self, kept: tuple[Client, dict[str, Any]]) -> None:
        client, fields = kept
        if fields["member_epoch"] > 0:
            self.confused.append(client)
            self.bench.heartbeat(**fields, instance_id=client.instance_id)

    @rule(client=consumes(living))
    def leave(self, client: Client) -> None:
        self.clients.remove(client)
        client.leave()

    @rule(target=living, client=consumes(living))
    def restart(self, client: Client) -> Any:
        """Let a static member leave for a while, and come back as another process."""
        if client.instance_id is None:
            return client
        self.clients.remove(client)
        if client.leave(-2) is not ErrorCode.NONE:
            return multiple()
        self.made += 1
        client.member_id = f"m{self.made}"
        assert client.join() is ErrorCode.NONE
        self.clients.append(client)
        return client

    @rule(client=consumes(living))
    def fall_silent(self, client: Client) -> None:
        self.clients.remove(client)

    @rule(by_ms=st.sampled_from((1, 900, 11_000, REBALANCE_MS)))
    def pass_time(self, by_ms: int) -> None:
        self.bench.advance(by_ms)

    def heard(self, client: Client, code: ErrorCode) -> None:
        """Handle the answer. A client that is fenced, or unknown, joins again, unless another has its instance id: then
        it stays out, in epoch 0, in which only a join is valid."""
        told_epoch = client.epoch
        if code is ErrorCode.NONE:
            return
        outside = ErrorCode.INVALID_REQUEST if told_epoch == 0 else ErrorCode.FENCED_MEMBER_EPOCH
        assert code in (outside, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID), code
        rejoined = client.join()
        assert rejoined in (ErrorCode.NONE, ErrorCode.UNRELEASED_INSTANCE_ID)

    # Invariants

    @invariant()
    def live_is_logged(self) -> None:
        self.bench.validate_state()

    @invariant()
    def no_two_believe_to_own_one(self) -> None:
        group = self.bench.shard.groups.get(GROUP)
        if not isinstance(group, ConsumerGroup):
            return
        seen: dict[tuple[str, int], str] = {}
        for client in self.clients:
            member = group.members.get(client.member_id)
            if member is None or client in self.confused or client.epoch not in (member.epoch, member.previous_epoch):
                continue
            for topic, partitions in client.assignment.items():
                for partition in partitions:
                    assert seen.setdefault((topic, partition), client.member_id) == client.member_id

    @invariant()
    def member_epochs_do_not_go_back(self) -> None:
        group = self.bench.shard.groups.get(GROUP)
        members = group.members if isinstance(group, ConsumerGroup) else {}
        for member_id, member in members.items():
            if member.epoch >= 0 and member.instance_id is None:
                assert member.epoch >= self.member_epochs.get(member_id, 0)
                self.member_epochs[member_id] = member.epoch
        self.member_epochs = {each: epoch for each, epoch in self.member_epochs.items() if each in members}

    @precondition(lambda self: self.clients)
    @rule()
    def come_to_rest(self) -> None:
        """Let the sessions of silent members expire while all others send heartbeats; then check the group."""
        for _ in range(SESSION_MS // BEAT_MS + 8):
            for client in self.clients:
                self.heard(client, client.report())
            self.bench.advance(BEAT_MS)
        group = self.bench.group
        assert group.state_name == "Stable"
        # A client that had to join anew while another had its instance id is not in the group.
        members = {client.member_id: client for client in self.clients if client.member_id in group.members}
        assert members.keys() == group.members.keys()
        wanted = {name: self.readers(name, members) for name in self.bench.shard.image.topics.by_name}
        owners: dict[str, dict[int, str]] = {name: {} for name in wanted}
        for client in members.values():
            for topic, partitions in client.assignment.items():
                owners[topic].update(dict.fromkeys(partitions, client.member_id))
        for name, existing in self.bench.shard.image.topics.by_name.items():
            assert sorted(owners[name]) == (existing.partition_ids() if wanted[name] else [])
            assert all(owner in wanted[name] for owner in owners[name].values())

    def readers(self, name: str, members: dict[str, Client]) -> list[str]:
        resolved = self.bench.group.subscriptions.resolved
        by_regex = {regex: found.topics for regex, found in resolved.items()}
        return [
            member_id
            for member_id, client in members.items()
            if name in (client.topics if client.regex is None else by_regex.get(client.regex, ()))
        ]


TestGroups = Groups.TestCase
TestGroups.settings = settings(
    max_examples=20, stateful_step_count=40, deadline=None, derandomize=True, phases=(Phase.generate,)
)
