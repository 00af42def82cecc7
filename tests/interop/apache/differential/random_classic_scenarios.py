"""Classic groups at random: three members join, sync, leave and commit in any order, with right and wrong generations.

The first member leads and stays, because brokers may choose different leaders after it. After every request the group
settles, so that it is known which members have been answered and which wait.
"""

import random
from typing import Any

from tests.interop.apache.differential.classic_group import BEAT_OF, DESCRIBE_OF, LEAVE_OF, SYNC_OF
from tests.interop.apache.differential.requests import beat, commit, join, leave, subscription, sync
from tests.interop.apache.differential.world import Step, World, scenario

from tidelog.protocol.messages.describe_groups import DescribeGroupsRequest
from tidelog.protocol.messages.join_group import JoinGroupResponse

SEEDS = tuple(range(24))
STEPS = 40
OPERATIONS = {"join": 5, "sync": 5, "beat": 2, "leave": 1, "commit": 2, "describe": 1}
VERSIONS = (0, 1, 3, 4, 5, 7, 9)
STATIC_JOINS = 5
FIRST = "a"


class Member:
    def __init__(self, group: "RandomGroup", name: str, instance: str | None) -> None:
        self.group = group
        self.name = name
        self.instance = instance
        self.client = group.world.client(f"client-{name}")
        self.member_id = ""
        self.generation = -1
        self.waits = False

    def send(self, request: object, version: int) -> None:
        self.client.send(request, version)
        self.waits = True

    def hear(self) -> None:
        answer = self.client.receive()
        self.waits = False
        if isinstance(answer, JoinGroupResponse):
            self.group.world.call(answer.member_id, f"{self.name}{len(self.group.world.names)}")
            self.member_id = answer.member_id
            self.generation = max(answer.generation_id, 0)


class RandomGroup:
    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.id = world.name
        self.random = random.Random(seed)
        self.version = self.random.choice(VERSIONS)
        is_static = self.version >= STATIC_JOINS
        instances = [f"static-{name}" if is_static and self.random.random() < 0.5 else None for name in "abc"]
        self.members = [Member(self, name, instance) for name, instance in zip("abc", instances, strict=True)]

    def step(self) -> None:
        idle = [member for member in self.members if not member.waits]
        if idle:
            operation = self.random.choices(list(OPERATIONS), list(OPERATIONS.values()))[0]
            getattr(self, operation)(self.random.choice(idle))
        self.world.settle()
        for member in self.members:
            if member.waits and member.client.has_answer:
                member.hear()
        waiting = [member.name for member in self.members if member.waits]
        self.world.note(Step("waiting", waiting))

    def join(self, member: Member) -> None:
        topics = self.random.choice((["orders"], ["orders"], ["other"]))
        forgets = member.instance is not None and self.random.random() < 0.2
        member_id = "" if forgets else member.member_id
        of = self._static(member) | {"protocols": [("range", subscription(*topics))]}
        member.send(join(self.id, member_id, **of), self.version)

    def sync(self, member: Member) -> None:
        assignments = {each.member_id: each.name.encode() for each in self.members if each.member_id}
        generation = self._generation(member)
        request = sync(self.id, member.member_id, generation, assignments, **self._static(member))
        member.send(request, SYNC_OF[self.version])

    def beat(self, member: Member) -> None:
        request = beat(self.id, member.member_id, self._generation(member), member.instance)
        member.send(request, BEAT_OF[self.version])

    def leave(self, member: Member) -> None:
        if member.name != FIRST:
            version = LEAVE_OF[self.version]
            member.send(leave(self.id, version, (member.member_id, member.instance)), version)

    def commit(self, member: Member) -> None:
        of = {"member_id": member.member_id, "generation_id_or_member_epoch": self._generation(member)}
        member.send(commit(self.id, {("orders", 0): 1}, **of, **self._static(member)), 8)

    def describe(self, member: Member) -> None:
        member.send(DescribeGroupsRequest(groups=[self.id]), DESCRIBE_OF[self.version])

    def _generation(self, member: Member) -> int:
        return member.generation + (self.random.choice((-1, 1)) if self.random.random() < 0.1 else 0)

    def _static(self, member: Member) -> dict[str, Any]:
        return {} if member.instance is None else {"group_instance_id": member.instance}


@scenario(*SEEDS, of="seed")
def random_classic_group(world: World, seed: int) -> None:
    group = RandomGroup(world, seed)
    for _ in range(2):  # so that the first member leads
        group.join(group.members[0])
        world.settle()
        group.members[0].hear()
    for _ in range(STEPS):
        group.step()
