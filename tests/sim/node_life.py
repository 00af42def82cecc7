"""The life of a node under a seed: clients at work, faults of disk and network, deaths, and the checks at the end."""

import random
from dataclasses import dataclass
from typing import Any

from tests.sim.node_clients import (
    NOT_SET,
    Admin,
    Client,
    Consumer,
    IdempotentProducer,
    Producer,
    Scene,
    earliest_request,
    fetch_request,
    records_of,
)
from tests.sim.node_ledger import Ledger

from tidelog.metadata.configs import ConfigResource, ResourceType
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.server.node.node import NodeFailed, Phase
from tidelog.sim.disk import DiskSettings
from tidelog.sim.faults import Op
from tidelog.sim.node_world import NodeWorld
from tidelog.sim.trace import Trace
from tidelog.sim.wire import NetworkSettings

STEPS_A_LIFE = 400
DIRECTORIES = ("/disk/a", "/other/b")
OVERRIDES = {
    "log.dirs": ",".join(DIRECTORIES),
    "log.index.interval.bytes": "100",
    "log.flush.offset.checkpoint.interval.ms": "100",
    "log.retention.check.interval.ms": "150",
    "log.segment.delete.delay.ms": "50",
    "metadata.log.max.record.bytes.between.snapshots": "3000",
    "internal.metadata.log.segment.bytes": "3000",
}


@dataclass
class Plan:
    """The events that may happen in a world."""

    syncs_everything: bool  # flush.messages=1: then the power may fail
    faults: bool = True
    lives: int = 3
    compresses: bool = False  # topics are compressed, so slowly that workers have to prepare batches

    @property
    def overrides(self) -> dict[str, str]:
        flush = {"log.flush.interval.messages": "1"} if self.syncs_everything else {}
        codec = {"compression.type": "zstd", "compression.zstd.level": "19"} if self.compresses else {}
        return {**OVERRIDES, **flush, **codec}


class NodeLife:
    def __init__(self, seed: int, plan: Plan, trace: Trace | None = None) -> None:
        self.random = random.Random(seed)
        self.plan = plan
        disks = {mount: DiskSettings(stale_is_intact=False) for mount in ("/disk", "/other")}
        look_ns = self.random.choice([0, 0, 300_000, 4_000_000])
        self.world = NodeWorld(seed, plan.overrides, NetworkSettings(), disks, trace, look_ns)
        self.ledger = Ledger()
        self.scene = Scene(self.world, self.ledger, self.random, DIRECTORIES, 0.5 if plan.compresses else 0.0)
        kinds: list[type[Client]] = [Admin, Producer, Producer, IdempotentProducer, IdempotentProducer, Consumer]
        self.clients = [kind(self.scene, number) for number, kind in enumerate([*kinds, Consumer])]

    # Living

    def run(self) -> None:
        for _ in range(self.plan.lives):
            self.serve(STEPS_A_LIFE)
            self.die()
            self.world.start()
            self.check()

    def serve(self, steps: int) -> None:
        self.world.network.settings.reset_chance = 0.002 if self.plan.faults else 0.0
        for _ in range(steps):
            if self.plan.faults:
                self._disturb()
            self.step()

    def step(self) -> None:
        for client in self.clients:
            client.step()
        try:
            self.world.turn()
        except NodeFailed:
            self.world.kill()
            self.heal()
            self.world.start()
        self.world.clock.advance(1)

    def _disturb(self) -> None:
        chance, world = self.random.random(), self.world
        if chance < 0.002:
            world.network.partition("node", "client")
        elif chance < 0.01:
            world.network.heal()
        elif chance < 0.012:
            self._disk().settings.sync_ms_max = self.random.choice([1, 10, 80])
        elif chance < 0.013:
            self._disk().faults.fail(self.random.choice([Op.SYNC, Op.WRITE, Op.READ, Op.NAMES]), times=1)
        elif chance < 0.014 and self.plan.syncs_everything:
            self.die()
            self.world.start()

    def _disk(self) -> Any:
        return self.world.fs.disk(self.random.choice(["/disk", "/other"]))

    def heal(self) -> None:
        self.world.network.heal()
        self.world.network.settings.reset_chance = 0.0
        for mount in ("/disk", "/other"):
            self.world.fs.disk(mount).faults.heal()

    def die(self) -> None:
        """End the node in one of several ways; repair the disks afterwards."""
        ways = ["kill", "kill", "stop"] + (["power"] * 3 if self.plan.syncs_everything else [])
        way = self.random.choice(ways)
        if way == "stop" and self._stops():
            pass
        elif way == "power":
            self.world.lose_power()
        else:
            self.world.kill()
        self.heal()

    def _stops(self) -> bool:
        self.heal()
        try:
            self.world.stop()
        except NodeFailed:
            return False
        return True

    # Checks

    def check(self) -> None:
        """Check everything, after the node has started again and while no fault is set."""
        assert self.world.running.phase is Phase.RUNNING
        image = self.world.running.broker.image
        found = {topic.name: topic.id for topic in image.topics.by_id.values()}
        self._check_topics(found)
        for name, values in self.ledger.configs.items():
            config = image.configs.get(ConfigResource(ResourceType.TOPIC, name)) or {}
            value = config.get("retention.ms", NOT_SET)
            assert name not in self.ledger.topics or value in values, f"{name}: {value} is none of {values}"
            values[:] = [value]
        for name, topic_id in found.items():
            if not self._is_set_aside(name):
                self._check_partition(name, topic_id)

    def _is_set_aside(self, name: str) -> bool:
        """Tell whether the topic has two logs: its directory failed, it was made anew in the other, and the first came
        back. The node does not guess, and tells the operator (`storage.partition_directories`)."""
        logs = self.world.running.broker.logs
        return any(TopicPartition(name, 0) in each.corrupt for each in logs.directories.values())

    def _check_topics(self, found: dict[str, Uuid]) -> None:
        for name, topic_id in self.ledger.topics.items():
            assert found.get(name) == topic_id, f"{name} was acknowledged, and is gone"
        for topic_id, name in self.ledger.deleted.items():
            assert found.get(name) != topic_id, f"{name} was deleted, and is back"
        for name in list(self.ledger.unsure):
            del self.ledger.unsure[name]
            if name in found:
                self.ledger.topics[name] = found[name]
        extra = [name for name in found if name not in self.ledger.topics]
        assert not extra, f"nobody asked for {extra}"

    def _check_partition(self, name: str, topic_id: Uuid) -> None:
        ledger = self.ledger.of(topic_id, 0)
        found: dict[int, bytes] = {}
        client = self.world.client()
        start = client.ask(earliest_request(name), 7).topics[0].partitions[0].offset
        offset = start
        while True:
            data = self._fetch(client, topic_id, offset)
            assert data.error_code == ErrorCode.NONE, ErrorCode(data.error_code)
            ledger.see_high_watermark(data.high_watermark, ledger.high_watermark)
            records = {each: value for each, value in records_of(data).items() if each >= start}
            if not records and offset >= data.high_watermark:
                break
            found |= records
            offset = max([offset, *(each + 1 for each in records)])
        client.close()
        ledger.check(found, start)
        self._check_order(list(found.values()))

    def _fetch(self, client: Any, topic_id: Uuid, offset: int) -> Any:
        return client.ask(fetch_request(topic_id, offset, 0), 13).responses[0].partitions[0]

    def _check_order(self, values: list[bytes]) -> None:
        last: dict[bytes, int] = {}
        for value in values:
            producer, colon, number = value.partition(b":")
            if colon:
                assert int(number) > last.get(producer, -1), f"{value!r} behind {last[producer]}"
                last[producer] = int(number)
