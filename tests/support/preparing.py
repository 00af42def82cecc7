"""Batches that take longer than a turn, and workers that wait until the test lets them go."""

from typing import Any

from tests.support.serving import batch_of

from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.sim.node_world import NodeWorld

# At this level a broker compresses about 7 KB within a turn. Repeated bytes keep the tests quick at any level.
HEAVY_CONFIG = {"compression.type": "zstd", "compression.zstd.level": "19"}
HEAVY_BYTES = 10_000


def heavy_value(name: bytes) -> bytes:
    return name.ljust(HEAVY_BYTES, b".")


def heavy_batch(*names: bytes, **options: Any) -> memoryview:
    return batch_of(*map(heavy_value, names), **options)


def produce_request(topic: str, *batches: tuple[int, memoryview], acks: int = -1, **fields: Any) -> ProduceRequest:
    data = [PartitionProduceData(index=index, records=batch) for index, batch in batches]
    topics = [TopicProduceData(name=topic, partition_data=data)]
    return ProduceRequest(acks=acks, timeout_ms=1_000, topic_data=topics, **fields)


class IdleWorkers:
    """A hold on a node's batch workers: they do nothing until `let_go`."""

    def __init__(self, world: NodeWorld) -> None:
        self._world = world
        self._workers = world.batch_workers
        self._step = self._workers.step
        self._workers.step = lambda: False  # type: ignore[method-assign]

    def wait_for(self, count: int = 1) -> None:
        """Wait until `count` batches are with the workers, or wait for one."""
        broker = self._world.running.broker
        self._world.wait_for(lambda: len(broker.preparations) == count or None)

    def let_go(self) -> None:
        self._workers.step = self._step  # type: ignore[method-assign]
