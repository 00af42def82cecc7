"""Rebalance storms: members by the hundred join, leave, sleep and die at random, under both protocols and while a group
is moved from one to the other, against a whole node. A partition has one owner at a time, commits of former owners are
refused, every partition is owned in the end, and nothing that was acknowledged is lost (see `group_members`).

A failure prints its seed: `storm(seed, kind)` shows it again. `make sim` tries more.
"""

import logging
import random
from typing import Any

import pytest
from tests.sim.coordinator_clients import CoordinatorScene, committed_in, offset_request
from tests.sim.coordinator_ledger import CoordinatorLedger, Place
from tests.sim.coordinator_life import OVERRIDES
from tests.sim.coordinator_state import are_loaded, validate_state
from tests.sim.group_members import ChangingMember, ClassicMember, ConsumerMember, Member
from tests.support.serving import create
from tests.support.transactional import SMALL, with_coordinators

from tidelog.sim.node_world import NodeWorld

PARTITIONS = 40
STORM_STEPS = 1_500
REST_STEPS = 500  # at a time
RESTS_MAX = 40
UNREST = 0.02
GROUP = "storm"
KINDS: dict[str, type[Any]] = {"classic": ClassicMember, "consumer": ConsumerMember, "mixed": ChangingMember}


@pytest.fixture(autouse=True)
def _quiet() -> None:
    logging.getLogger("tidelog").setLevel(logging.CRITICAL)


class Storm:
    def __init__(self, seed: int, kind: str, members: int) -> None:
        self.random = random.Random(seed)
        self.world = NodeWorld(seed, {**OVERRIDES, **SMALL})
        create(self.world.client(), "t", PARTITIONS)
        with_coordinators(self.world)
        self.topic_partitions: list[Place] = [("t", partition) for partition in range(PARTITIONS)]
        self.scene = CoordinatorScene(self.world, CoordinatorLedger(), self.random, self.topic_partitions)
        self.members: list[Any] = [KINDS[kind](self.scene, number, GROUP) for number in range(members)]
        for member in self.all_kinds:
            member.unrest = UNREST
        self.restarts = 0

    @property
    def all_kinds(self) -> list[Member]:
        return [each for member in self.members for each in getattr(member, "kinds", [member])]

    def run(self) -> None:
        for step in range(STORM_STEPS):
            self.step()
            if step % 500 == 499:
                self._end_node()
        self.come_to_rest()

    def step(self) -> None:
        for member in self.members:
            member.step()
        self.world.turn()
        self.world.clock.advance(1)

    def _end_node(self) -> None:
        validate_state(self.world)
        self.world.kill()
        self.world.start()
        self.restarts += 1
        self.world.wait_for(lambda: are_loaded(self.world) or None)
        client = self.world.client()
        for (group, topic_partition), commits in self.scene.ledger.commits.items():
            answer = client.ask(offset_request(group, [topic_partition]), 8).groups[0].topics[0].partitions[0]
            commits.settle(committed_in(answer))
        client.close()

    def come_to_rest(self) -> None:
        self.scene.is_calm = True
        for member in self.all_kinds:
            member.wakes_ms = 0
        for _ in range(RESTS_MAX):
            for _ in range(REST_STEPS):
                self.step()
            if self._owned() == sorted(self.topic_partitions):
                break
        assert self._owned() == sorted(self.topic_partitions), "every partition has its owner, and only one"
        self.world.wait_for(lambda: validate_state(self.world) == 4 or None)

    def _owned(self) -> list[Place]:
        return sorted(topic_partition for member in self.members for topic_partition in member.owned)


def storm(seed: int, kind: str, members: int = 200) -> Storm:
    found = Storm(seed, kind, members)
    found.run()
    broker = found.world.running.broker
    assert (broker.dispatch.bugs, broker.events.coordinator_bugs) == (0, 0)
    found.world.kill()
    return found


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_one_owner_and_in_the_end_every_partition_has_one(kind: str) -> None:
    found = storm(1, kind, members=60)
    assert found.restarts == 3
    accepted = [each for commits in found.scene.ledger.commits.values() for each in commits.last]
    assert len(accepted) == PARTITIONS, "every partition's owner committed"
