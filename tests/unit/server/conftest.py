"""A node in the simulator for the tests of its handlers: one for all of them, a topic name and a client for each."""

from collections.abc import Iterator
from itertools import count

import pytest

from tidelog.sim.node_world import NodeWorld, SimClient

_numbers = count()


@pytest.fixture(scope="session")
def shared_world() -> NodeWorld:
    return NodeWorld(seed=11)


@pytest.fixture
def node(shared_world: NodeWorld) -> Iterator[NodeWorld]:
    """No request of a test may run into a bug, whatever it is answered."""
    before = shared_world.running.broker.dispatch.bugs
    yield shared_world
    assert shared_world.running.broker.dispatch.bugs == before


@pytest.fixture
def client(node: NodeWorld) -> Iterator[SimClient]:
    client = node.client()
    yield client
    client.close()


@pytest.fixture
def topic() -> str:
    return f"topic-{next(_numbers)}"
