"""Mutated requests of every API and version against a node, which has to keep serving.

The node runs in the simulator's world, and the frames are put straight into connections of its own: nothing but the
node itself takes time. A connection gets one mutated frame, often behind a good one, as a client that goes wrong would
send it. All the while another client writes and reads, and notices nothing.

Mutations come from a seed; a failing input is printed. `TIDELOG_FUZZ_ROUNDS` makes it a soak run.
"""

import logging
import os
from itertools import count
from random import Random

import pytest
from tests.support.recorded_frames import Recorder, framed, mutated
from tests.support.serving import batch_of, create, fetch_values, produce
from tests.support.transactional import SMALL, with_coordinators

from tidelog.ports.network import Accepted, Address, ConnectionId
from tidelog.protocol.api import ApiKey
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.server.requests.connection import ClientConnection
from tidelog.sim.node_world import NodeWorld

ROUNDS = int(os.environ.get("TIDELOG_FUZZ_ROUNDS", "20"))
FRAMES_A_ROUND = 5_000
FRAMES_A_TURN = 25
WITNESS_EVERY = 500
_ids = count(1 << 40)


class Target:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        settings = {"auto.create.topics.enable": "false", "log.segment.bytes": "1048576", **SMALL}
        self.world = NodeWorld(seed, {**settings, "group.initial.rebalance.delay.ms": "0"})
        with_coordinators(self.world)
        self.broker = self.world.running.broker
        self.witness = self.world.client()
        create(self.witness, "witness")
        create(self.witness, "plain", partitions=3)
        create(self.witness, "compacted", configs={"cleanup.policy": "compact"})
        topics = self.broker.image.topics.by_name
        self.recorder = Recorder([topics[name].id for name in ("plain", "compacted")])
        self.frames = self.recorded("PLAINTEXT")
        self.controller_frames = self.recorded("CONTROLLER")
        self.opened: list[ClientConnection] = []
        self.written = 0

    def recorded(self, listener: str) -> list[bytes]:
        """Return the frames of every request served on the listener but UnregisterBroker: while a node is unregistered,
        the other client is right to notice."""
        served = self.broker.served_on(listener).requests
        return self.recorder.all_frames(sorted(key for key in served if key != ApiKey.UNREGISTER_BROKER))

    def send(self, data: bytes, listener: str) -> None:
        peer, local = Address("10.0.0.1", 1), Address("node", 9092)
        connection = self.broker.accept(Accepted(ConnectionId(next(_ids)), listener, peer, local))
        rest = memoryview(data)
        while rest and not connection.is_closed:
            room = connection.writable()
            taken = min(len(room), len(rest))
            room[:taken] = rest[:taken]
            connection.received(taken)
            rest = rest[taken:]
        self.opened.append(connection)

    def turn(self) -> None:
        self.world.turn()
        self.world.clock.advance(1)

    def round(self) -> None:
        for number in range(FRAMES_A_ROUND):
            data, listener = self.next_input()
            try:
                self.send(data, listener)
                if number % FRAMES_A_TURN == 0:
                    self.end_turn()
            except Exception:
                print(f"input {number}, {listener}: {data.hex()}")
                raise
            bugs = self.broker.dispatch.bugs + self.broker.events.coordinator_bugs
            assert bugs == 0, f"input {number}, {listener}: {data.hex()}"
            if number % WITNESS_EVERY == 0:
                self.look()

    def end_turn(self) -> None:
        self.turn()
        for connection in self.opened:
            connection.closed("the fuzzer went away")
        self.opened = []

    def next_input(self) -> tuple[bytes, str]:
        random = self.random
        is_controller = random.random() < 0.1
        good = random.choice(self.controller_frames if is_controller else self.frames)
        data = mutated(good, random)
        if random.random() < 0.3:
            data = good + data
        elif random.random() < 0.1:
            data = good_produce() + mutated(good_produce(), random)
        return data, "CONTROLLER" if is_controller else "PLAINTEXT"

    def look(self) -> None:
        """Append a record as the other client, and check that its last three are there, in order."""
        assert produce(self.witness, "witness", b"%d" % self.written) == self.written
        self.written += 1
        found = fetch_values(self.witness, "witness", max(0, self.written - 3))
        assert found == [b"%d" % number for number in range(max(0, self.written - 3), self.written)]


def good_produce() -> bytes:
    """Return a Produce of one batch for one partition; sent twice in a row it takes the quick path."""
    topics = [TopicProduceData(name="plain", partition_data=[PartitionProduceData(index=0, records=batch_of(b"x"))])]
    return framed(ProduceRequest(acks=1, timeout_ms=0, topic_data=topics), 9)


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_nothing_that_a_peer_sends_harms_the_node_or_another_client(
    seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        target = Target(seed)
        target.round()
        target.end_turn()
    assert [record.getMessage() for record in caplog.records] == []  # a bug of the controller is logged
    groups = [
        group for _index, machine in target.broker.coordinators.groups.machines() for group in machine.shard.groups
    ]
    assert groups, "some requests got as far as a coordinator can be got"
    assert len(target.broker.connections) == 1, "every connection but the witness's was given up"
