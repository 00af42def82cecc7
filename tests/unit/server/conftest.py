"""A node in the simulator for the tests of its handlers: one node for all of them, a topic name and a client for
each."""

from collections.abc import Iterator
from itertools import count

import pytest

from tidelog.protocol.messages.find_coordinator import FindCoordinatorRequest
from tidelog.sim.node_world import NodeWorld, SimClient

_numbers = count()
# The settings that internal topics need on one node, with so few partitions that every test uses all of them.
COORDINATING = {
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "2",
    "group.initial.rebalance.delay.ms": "0",
}


@pytest.fixture(scope="session")
def shared_world() -> NodeWorld:
    world = NodeWorld(seed=11, overrides=COORDINATING)
    for key_type in (0, 1):
        world.client().ask(FindCoordinatorRequest(key="any", key_type=key_type), 3)
    coordinators = world.running.broker.coordinators
    world.wait_for(lambda: (coordinators.groups.machines() and coordinators.transactions.machines()) or None)
    return world


@pytest.fixture
def node(shared_world: NodeWorld) -> Iterator[NodeWorld]:
    """Return the shared node, and check after the test that no request ran into a bug, whatever its answer."""
    before = _bugs(shared_world)
    yield shared_world
    assert _bugs(shared_world) == before


def _bugs(world: NodeWorld) -> tuple[int, int]:
    return world.running.broker.dispatch.bugs, world.running.events.coordinator_bugs


@pytest.fixture
def client(node: NodeWorld) -> Iterator[SimClient]:
    client = node.client()
    yield client
    client.close()


@pytest.fixture
def topic() -> str:
    return f"topic-{next(_numbers)}"
