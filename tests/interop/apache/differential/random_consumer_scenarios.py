"""Consumer groups at random: members of both protocols, with right and wrong epochs, that may or may not give up the
partitions that they should.

Where several members may be classic, the first is not, and stays: brokers may choose different leaders for a classic
group. Where only one member is classic, the group changes its protocol as members come and go.
"""

import random

from tests.interop.apache.differential.consumer_group import ConsumerGroup, Member
from tests.interop.apache.differential.requests import (
    assignment,
    beat,
    commit,
    join,
    leave,
    owning,
    subscription,
    sync,
)
from tests.interop.apache.differential.world import World, scenario

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.codec import decode
from tidelog.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from tidelog.protocol.messages.consumer_protocol import ConsumerProtocolAssignment

SEEDS = tuple(range(24))
STEPS = 60
OPERATIONS = {"join": 2, "beat": 6, "give_up": 4, "subscribe": 2, "leave": 1, "commit": 1, "describe": 2}
CLASSIC_OPERATIONS = {"join": 3, "sync": 4, "beat": 4, "leave": 1, "commit": 1}
TOPICS = (["orders"], ["other"], ["orders", "other"], ["orders", "missing"])
FIRST = "a"
OUT = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH)
LEAVING, LEAVING_FOR_A_WHILE = -1, -2


class RandomConsumer:
    def __init__(self, group: ConsumerGroup, name: str, chance: random.Random, restlessness: float = 0) -> None:
        self.random = chance
        self.restlessness = restlessness  # the chance of leaving at each step
        is_static = name != FIRST and chance.random() < 0.5
        self.member = Member(group, name, f"static-{name}" if is_static else None)
        self.owned: dict[Uuid, list[int]] = {}

    def step(self) -> None:
        """Make a random step. A member that is out of the group mostly joins, but may send any request."""
        if not self.member.epoch and self.random.random() < 0.8:
            self.join()
        elif self.member.epoch and self.random.random() < self.restlessness:
            self.leave()
        else:
            getattr(self, self.random.choices(list(OPERATIONS), list(OPERATIONS.values()))[0])()

    def join(self) -> None:
        self._hear(self.member.join(*self.random.choice(TOPICS), server_assignor="range"))

    def beat(self) -> None:
        shift = self.random.choice((-1, 1)) if self.random.random() < 0.1 else 0
        self._hear(self.member.beat(member_epoch=max(self.member.epoch + shift, 1)))

    def give_up(self) -> None:
        self._hear(self.member.beat(topic_partitions=owning(self.owned)))

    def subscribe(self) -> None:
        self._hear(self.member.beat(subscribed_topic_names=self.random.choice(TOPICS)))

    def leave(self) -> None:
        if self.member.member_id != FIRST:
            is_static = self.member.instance is not None and self.random.random() < 0.7
            self.member.beat(member_epoch=LEAVING_FOR_A_WHILE if is_static else LEAVING)
            self.member.epoch = 0

    def commit(self) -> None:
        of = {"member_id": self.member.member_id, "generation_id_or_member_epoch": self.member.epoch}
        self.member.client.ask(commit(self.member.group.id, {("orders", 0): 1}, **of), 9)

    def describe(self) -> None:
        self.member.group.describe()

    def _hear(self, answer: ConsumerGroupHeartbeatResponse) -> None:
        if answer.error_code in OUT:
            self.member.epoch, self.owned = 0, {}
        if answer.assignment is not None:
            self.owned = {each.topic_id: list(each.partitions) for each in answer.assignment.topic_partitions}


class RandomClassic:
    """A classic member. It may choose its own id in a consumer group; a classic group gives it one if it has none."""

    def __init__(self, group: ConsumerGroup, name: str, chance: random.Random) -> None:
        self.group = group
        self.random = chance
        self.chosen_id = self.member_id = name
        self.topics = ["orders"]
        self.client = group.world.client(f"classic-{name}")
        self.generation = -1
        self.owned: dict[str, list[int]] = {}

    def step(self) -> None:
        operations = CLASSIC_OPERATIONS if self.generation > 0 else {"join": 1}
        getattr(self, self.random.choices(list(operations), list(operations.values()))[0])()

    def join(self) -> None:
        self.topics = self.random.choice(TOPICS)
        protocols = [("range", subscription(*self.topics, owned=self.owned))]
        joined = self.client.ask(join(self.group.id, self.member_id, protocols=protocols), 9)
        self.generation = joined.generation_id
        if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.group.world.call(joined.member_id, f"classic {len(self.group.world.names)}")
            self.member_id = joined.member_id
            self.join()

    def sync(self) -> None:
        """Send SyncGroup with an assignment of everything to itself, which counts only where it leads a classic
        group."""
        everything = assignment(dict.fromkeys((topic for topic in self.topics if topic != "missing"), range(4)))
        given = {self.member_id: everything}
        answer = self.client.ask(sync(self.group.id, self.member_id, self.generation, given), 5)
        if not answer.error_code and answer.assignment:
            assigned, _ = decode(ConsumerProtocolAssignment, bytes(answer.assignment), 1, 2)
            self.owned = {each.topic: list(each.partitions) for each in assigned.assigned_partitions}

    def beat(self) -> None:
        shift = self.random.choice((-1, 1)) if self.random.random() < 0.1 else 0
        self.client.ask(beat(self.group.id, self.member_id, self.generation + shift), 4)

    def leave(self) -> None:
        self.client.ask(leave(self.group.id, 5, self.member_id), 5)
        self.member_id, self.generation, self.owned = self.chosen_id, -1, {}

    def commit(self) -> None:
        of = {"member_id": self.member_id, "generation_id_or_member_epoch": self.generation}
        self.client.ask(commit(self.group.id, {("orders", 0): 1}, **of), 8)


@scenario(*SEEDS, of="seed")
def random_consumer_group(world: World, seed: int) -> None:
    chance, group = random.Random(seed), ConsumerGroup(world, 1)
    consumers = [RandomConsumer(group, name, chance) for name in "abc"]
    members: list[RandomConsumer | RandomClassic] = [*consumers]
    if seed % 2:
        members.append(RandomClassic(group, "d", chance))
    consumers[0].join()
    for _ in range(STEPS):
        chance.choice(members).step()
    group.describe()


@scenario(*SEEDS, of="seed")
def random_changes_of_protocol(world: World, seed: int) -> None:
    chance, group = random.Random(seed), ConsumerGroup(world, 1)
    consumers = [RandomConsumer(group, name, chance, 0.2) for name in "!~"]  # the classic member's id sorts between
    members: list[RandomConsumer | RandomClassic] = [*consumers, RandomClassic(group, "", chance)]
    for _ in range(STEPS):
        chance.choice(members).step()
    group.describe()
