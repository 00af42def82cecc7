"""Many fetches of many partitions that arrive, or are due, at the same time share their turns with producers."""

import pytest
from tests.support.serving import batch_of, create
from tests.unit.server.fetch.test_fetch import LARGE, request, wanted

from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.server.requests.connection import LARGE_FETCH_BYTES
from tidelog.sim.node_world import NodeWorld, SimClient

CONSUMERS, PARTITIONS = 20, 100
LOOK_NS = 60_000  # the time that passes between two looks at the clock


@pytest.fixture
def world() -> NodeWorld:
    world = NodeWorld(seed=3)
    create(world.client(), "many", partitions=PARTITIONS)
    return world


def answered(clients: list[SimClient]) -> int:
    return sum(each.poll() is not None for each in clients)


def producing(topic: str) -> ProduceRequest:
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=batch_of(b"x"))])
    return ProduceRequest(acks=1, timeout_ms=1_000, topic_data=[data])


@pytest.mark.parametrize("max_wait_ms", [0, 300])
def test_who_produces_waits_for_few_of_them(world: NodeWorld, max_wait_ms: int) -> None:
    """A record is sent at the same time as twenty fetches arrive, or as their waits end. It is acknowledged in the turn
    that receives it, after few of the fetches, and every fetch is answered."""
    consumers, producer = [world.client() for _ in range(CONSUMERS)], world.client()
    world.run(20)
    asked = request("many", *[wanted(index, max_bytes=64) for index in range(PARTITIONS)])
    asked.max_wait_ms, asked.min_bytes = max_wait_ms, LARGE
    assert 33 * PARTITIONS > LARGE_FETCH_BYTES
    for each in consumers:
        each.send(asked, 12)
    if max_wait_ms:
        world.run(max_wait_ms - 2)
        assert answered(consumers) == 0
    world.clock.look_ns = LOOK_NS
    try:
        producer.send(producing("many"), 9)
        done = 0
        while producer.poll() is None:
            world.run(1)
            done += answered(consumers)
        assert done <= 4
        for _ in range(2_000):
            world.run(1)
            done += answered(consumers)
        assert done == CONSUMERS
    finally:
        world.clock.look_ns = 0
        for each in (*consumers, producer):
            each.close()
        world.run(50)
