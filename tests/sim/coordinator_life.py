"""The life of a node under a seed whose coordinators are busy: groups of all kinds, offsets, transactions; faults of
disk and network, deaths, and the checks at the end. See `coordinator_ledger` for what has to hold."""

import random
from dataclasses import dataclass
from typing import Any

from tests.sim.coordinator_clients import (
    Committer,
    CoordinatorClient,
    CoordinatorScene,
    Reader,
    committed_in,
    committed_records,
    offset_request,
)
from tests.sim.coordinator_ledger import CoordinatorLedger, Place
from tests.sim.coordinator_state import are_loaded, check_epochs, validate_state
from tests.sim.group_members import BEAT_MS, SESSION_MS, ChangingMember, ClassicMember, ConsumerMember, Member
from tests.sim.transaction_clients import TIMEOUT_MS, Transactor, Zombie
from tests.support.serving import create
from tests.support.transactional import fetch_request, state_of

from tidelog.server.cluster.internal_topics import CONSUMER_OFFSETS, TRANSACTION_STATE
from tidelog.server.node.node import NodeFailed
from tidelog.sim.disk import DiskSettings
from tidelog.sim.faults import Op
from tidelog.sim.node_world import NodeWorld
from tidelog.sim.trace import Trace
from tidelog.sim.wire import NetworkSettings

STEPS_A_LIFE = 1_500
CALM_STEPS = 4_000
VALIDATE_EVERY = 200
PLACES: list[Place] = [("t", 0), ("t", 1), ("t", 2), ("u", 0)]
OVERRIDES = {
    "group.initial.rebalance.delay.ms": "20",
    "group.min.session.timeout.ms": "100",
    "group.consumer.min.session.timeout.ms": "100",
    "group.consumer.session.timeout.ms": str(SESSION_MS),
    "group.consumer.min.heartbeat.interval.ms": "10",
    "group.consumer.heartbeat.interval.ms": str(BEAT_MS),
    "group.consumer.min.assignment.interval.ms": "0",
    "group.consumer.assignment.interval.ms": "50",
    "group.consumer.migration.policy": "bidirectional",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
    "transaction.state.log.min.isr": "1",
    "log.flush.offset.checkpoint.interval.ms": "100",
    "log.retention.check.interval.ms": "150",
    "log.segment.delete.delay.ms": "50",
    "log.cleaner.backoff.ms": "100",
}
# Segments so small that there is always something to clean.
INTERNAL = {
    "cleanup.policy": "compact",
    "internal.segment.bytes": "2000",
    "min.cleanable.dirty.ratio": "0.01",
    "delete.retention.ms": "300",
}


@dataclass
class Plan:
    """The events that may happen in a world. Without `syncs_everything` a power loss takes what it likes, and is
    forgiven."""

    syncs_everything: bool
    loses_power: bool = True
    faults: bool = True
    lives: int = 2

    @property
    def overrides(self) -> dict[str, str]:
        flush = {"log.flush.interval.messages": "1"} if self.syncs_everything else {}
        return {**OVERRIDES, **flush}


class CoordinatorLife:
    def __init__(self, seed: int, plan: Plan, trace: Trace | None = None) -> None:
        self.random = random.Random(seed)
        self.plan = plan
        look_ns = self.random.choice([0, 0, 100_000, 500_000])
        disks = {"/disk": DiskSettings(stale_is_intact=False)}
        self.world = NodeWorld(seed, plan.overrides, NetworkSettings(), disks, trace, look_ns)
        self.ledger = CoordinatorLedger()
        self.scene = CoordinatorScene(self.world, self.ledger, self.random, PLACES)
        self.validated = 0
        self._make_topics()
        self.transactors = [Transactor(self.scene, number, is_v2=number % 2 == 0) for number in range(4)]
        self.members: list[Any] = self._members()
        others = [Committer(self.scene, 10), Committer(self.scene, 11), Reader(self.scene, 12), Reader(self.scene, 13)]
        zombie = Zombie(self.scene, 14, self.transactors)
        self.everybody: list[CoordinatorClient] = [*self.transactors, *others, zombie, *self.members]
        self.clients = self.everybody

    def _make_topics(self) -> None:
        client = self.world.client()
        small = {"internal.segment.bytes": "4000"}
        create(client, "t", 3, small)
        create(client, "u", 1, small)
        for topic in (CONSUMER_OFFSETS, TRANSACTION_STATE):
            create(client, topic, 2, INTERNAL)
        client.close()

    def _members(self) -> list[Member | ChangingMember]:
        scene = self.scene
        static = [ClassicMember(scene, 20, "classic", "one"), ConsumerMember(scene, 21, "consumer", "one")]
        classic = [ClassicMember(scene, 30 + number, "classic") for number in range(2)]
        consumer = [ConsumerMember(scene, 40 + number, "consumer") for number in range(2)]
        return [*static, *classic, *consumer, *(ChangingMember(scene, 50 + number, "mixed") for number in range(3))]

    # Living

    def run(self) -> None:
        for _ in range(self.plan.lives):
            self.serve(STEPS_A_LIFE)
            self.end()
            self.world.start()
            self.check()
        self.come_to_rest()

    def serve(self, steps: int) -> None:
        self.world.network.settings.reset_chance = 0.001 if self.plan.faults else 0.0
        for step in range(steps):
            if self.plan.faults:
                self._disturb()
            self.step()
            if step % VALIDATE_EVERY == 0:
                self.validated += validate_state(self.world)

    def step(self) -> None:
        for client in self.clients:
            client.step()
        try:
            self.world.turn()
        except NodeFailed:
            self._fall()
            self.world.start()
        self.world.clock.advance(1)

    def _fall(self) -> None:
        """Lose power, or kill the process, and repair the disk. A machine whose disk failed has to be rebooted: a
        process that is only restarted reads from the page cache what a failed sync never wrote, and nobody can tell, so
        no log promises anything then."""
        if self.plan.loses_power:
            self._lose_power()
        else:
            self.world.kill()
        self.heal()

    def _lose_power(self) -> None:
        self.world.lose_power()
        if not self.plan.syncs_everything:
            self.ledger.forgive()
            self.scene.lost_ms = self.scene.now_ms
            for transactor in self.transactors:
                transactor.said.clear()  # epochs may be given out again, so old requests in them are no longer fenced

    def _has_failed_sync(self) -> bool:
        return any(rule.op is Op.SYNC and not rule.times for rule in self._disk().faults.rules)

    def _disturb(self) -> None:
        chance, world = self.random.random(), self.world
        if chance < 0.0005:
            world.network.partition("node", "client")
        elif chance < 0.005:
            world.network.heal()
        elif chance < 0.006:
            self._disk().settings.sync_ms_max = self.random.choice([1, 10, 80])
        elif chance < 0.0065:
            self._disk().faults.fail(self.random.choice([Op.SYNC, Op.WRITE, Op.READ, Op.NAMES]), times=1)
        elif chance < 0.007:
            self.end()
            self.world.start()
        elif chance < 0.0075:
            self._drop_coordinator()

    def _drop_coordinator(self) -> None:
        """Drop a family's coordinators as a failed write does: waiting requests are refused, and the log is loaded
        again."""
        coordinators = self.world.running.broker.coordinators
        families: list[Any] = [coordinators.groups, coordinators.transactions]
        family = self.random.choice(families)
        for index in family.partitions():
            family._shards[index].drop()
            family.wake(index)

    def _disk(self) -> Any:
        return self.world.fs.disk("/disk")

    def heal(self) -> None:
        self.world.network.heal()
        self.world.network.settings.reset_chance = 0.0
        self._disk().faults.heal()
        self._disk().settings.sync_ms_max = 10

    def end(self) -> None:
        """End the node in one of several ways; repair the disk afterwards."""
        ways = ["kill", "kill", "stop"] + (["power"] * 3 if self.plan.loses_power else [])
        way = self.random.choice(ways)
        if way == "power" or self._has_failed_sync():
            self._fall()
        elif way == "kill" or not self._stops():
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
        """Check everything after the node has started anew, before faults and requests begin."""
        self.world.wait_for(lambda: are_loaded(self.world) or None)
        self.validated += validate_state(self.world)
        assert check_epochs(self.world) > 0
        client = self.world.client()
        for (group, topic_partition), commits in self.ledger.commits.items():
            answer = client.ask(offset_request(group, [topic_partition]), 8).groups[0]
            assert not answer.error_code, answer
            found = answer.topics[0].partitions[0]
            assert not found.error_code, found
            commits.settle(committed_in(found))
        client.close()
        self._check_transactions()

    def come_to_rest(self) -> None:
        """Let all clients follow their answers until every partition has its owner."""
        self.heal()
        self.scene.is_calm, self.world.clock.look_ns = True, 0
        for client in [*self.clients, *(each for changing in self.members for each in getattr(changing, "kinds", []))]:
            client.wakes_ms = 0
        for _ in range(CALM_STEPS):
            self.step()
        for group in ("classic", "consumer", "mixed"):
            members = [each for each in self.members if getattr(each, "current", each).group == group]
            owned = sorted(topic_partition for member in members for topic_partition in member.owned)
            assert owned == sorted(PLACES), f"{group}: {[list(member.owned) for member in members]}"
        self.clients = []
        self._check_transactions()
        self.world.wait_for(lambda: validate_state(self.world) == 4 or None)
        bugs = self.world.running.broker.dispatch.bugs, self.world.running.broker.events.coordinator_bugs
        assert bugs == (0, 0)

    def _check_transactions(self) -> None:
        """Wait until the timeout has ended open transactions, and check all of them."""
        self.world.run(TIMEOUT_MS + 300)
        client = self.world.client()
        for transactor in self.transactors:
            if transactor.count:
                self._until_at_rest(client, transactor)
        found = {topic_partition: self._read(client, topic_partition) for topic_partition in PLACES}
        offsets = {each.transactional_id: self._offset(client, each) for each in self.transactors}
        client.close()
        self.ledger.check(found, offsets)

    def _until_at_rest(self, client: Any, transactor: Transactor) -> None:
        if not self.ledger.is_forgiven:
            at_rest = ("Empty", "CompleteCommit", "CompleteAbort")
            self.world.wait_for(lambda: state_of(client, transactor.transactional_id) in at_rest or None)

    def _read(self, client: Any, topic_partition: Place) -> list[bytes]:
        values: list[bytes] = []
        offset = 0
        while True:
            data = client.ask(fetch_request(topic_partition, offset), 12).responses[0].partitions[0]
            assert not data.error_code, data
            self.ledger.see_last_stable(
                topic_partition, data.last_stable_offset, self.ledger.last_stable_offsets.get(topic_partition, 0)
            )
            found, end_offset = committed_records(data)
            values += [value for at, value in found.items() if at >= offset]
            if end_offset is None:
                assert self.ledger.is_forgiven or data.last_stable_offset == data.high_watermark, "a transaction hangs"
                return values
            offset = end_offset

    def _offset(self, client: Any, transactor: Transactor) -> int:
        request = offset_request(transactor.group, PLACES[:1], require_stable=True)
        found = client.ask(request, 8).groups[0].topics[0].partitions[0]
        return -2 if found.error_code else int(found.committed_offset)
