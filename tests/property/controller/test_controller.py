"""Random sequences of requests, heartbeats, silences and failovers.

After every one of them (tests.unit.controller.cluster): a fresh replay of all records gives the same cluster, every
invariant holds, epochs only grow, and each record survives being written. Here besides: whatever was refused has left
no record.
"""

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.unit.controller.cluster import SESSION_MS, Cluster, assigning, create, directory, registration, topic, uuid
from tests.unit.controller.test_configs import altering
from tests.unit.controller.test_features import updating
from tests.unit.controller.test_partitions import grow

from tidelog.metadata.records.cluster import ConfigRecord
from tidelog.metadata.records.topics import PartitionRecord, RemoveTopicRecord, TopicRecord
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest
from tidelog.protocol.messages.unregister_broker import UnregisterBrokerRequest

IDS = st.integers(1, 3)
NAMES = st.sampled_from(["a", "a.b", "a_b", "c", ""])
ELR = "eligible.leader.replicas.version"


class ControllerMachine(RuleBasedStateMachine):
    @initialize(level=st.sampled_from([7, 16, 22, 30]), elr=st.booleans())
    def begin(self, level: int, elr: bool) -> None:
        self.cluster = Cluster(level, None if elr else {ELR: 0} if level >= 23 else None)
        self.blocks: list[int] = []
        self.cluster.start(1, 2, 3)
        self.cluster.assign("a", [1, 2, 3], [2, 3, 1], min_insync_replicas="2")
        self.cluster.assign("c", [1], [3], unclean_leader_election_enable="true")

    @rule(
        broker_id=IDS, incarnation=st.integers(1, 3), directories=st.sampled_from([1, 2, 0]), knows_epoch=st.booleans()
    )
    def register(self, broker_id: int, incarnation: int, directories: int, knows_epoch: bool) -> None:
        broker = self.cluster.metadata.brokers.get(broker_id)
        result = self.cluster.decide(
            registration(
                broker_id,
                incarnation_id=uuid(500 + 10 * broker_id + incarnation),
                log_dirs=[directory(broker_id, number) for number in range(directories)],
                previous_broker_epoch=broker.epoch if broker and knows_epoch else -1,
                rack=f"rack {broker_id % 2}",
            )
        )
        assert bool(result.records) == (result.response.error_code == ErrorCode.NONE)

    @rule(
        broker_id=IDS,
        wishes=st.sampled_from([(False, False), (False, False), (True, False), (False, True)]),
        offline=st.sampled_from([[], [], [], [0], [1]]),
        cordoned=st.one_of(st.none(), st.lists(st.integers(0, 1), max_size=2)),
        is_late=st.sampled_from([False, False, False, True]),
    )
    def heartbeat(
        self,
        broker_id: int,
        wishes: tuple[bool, bool],
        offline: list[int],
        cordoned: list[int] | None,
        is_late: bool,
    ) -> None:
        beat = self.cluster.beat(
            broker_id,
            want_fence=wishes[0],
            want_shut_down=wishes[1],
            offline_log_dirs=[directory(broker_id, number) for number in offline],
            cordoned_log_dirs=None if cordoned is None else [directory(broker_id, number) for number in cordoned],
            current_metadata_offset=0 if is_late else self.cluster.end_offset() - 1,
        )
        result = self.cluster.decide(beat)
        broker = self.cluster.metadata.brokers.get(broker_id)
        if result.response.error_code:
            assert not result.records
        else:
            assert broker is not None
            assert broker.fenced == result.response.is_fenced

    @rule(ms=st.sampled_from([1, SESSION_MS // 2, SESSION_MS]))
    def time_passes(self, ms: int) -> None:
        self.cluster.now_ms += ms
        for _ in range(4):
            self.cluster.step()
        deadline = self.cluster.controller.deadline
        assert deadline is None or deadline > self.cluster.now_ms

    @rule()
    def failover(self) -> None:
        self.cluster.failover()

    @rule(broker_id=IDS)
    def unregister(self, broker_id: int) -> None:
        result = self.cluster.decide(UnregisterBrokerRequest(broker_id=broker_id))
        assert bool(result.records) == (result.response.error_code == ErrorCode.NONE)

    @rule(
        names=st.lists(NAMES, min_size=1, max_size=3),
        partitions=st.sampled_from([1, 2, 3, -1, 0]),
        replicas=st.sampled_from([1, 2, 3, -1, 0]),
        min_isr=st.sampled_from([None, "1", "2", "x"]),
        unclean=st.booleans(),
        validate_only=st.sampled_from([False, False, False, True]),
    )
    def create_topics(
        self,
        names: list[str],
        partitions: int,
        replicas: int,
        min_isr: str | None,
        unclean: bool,
        validate_only: bool,
    ) -> None:
        chosen = {"min.insync.replicas": min_isr} if min_isr else {}
        chosen["unclean.leader.election.enable"] = str(unclean).lower()
        asked = [topic(name, partitions, replicas, configs=dict(chosen)) for name in names]
        self.check_creation(self.cluster.decide(create(*asked, validate_only=validate_only)), validate_only)

    @rule(name=NAMES, assignments=st.lists(st.lists(st.integers(1, 4), max_size=3), min_size=1, max_size=3))
    def create_assigned(self, name: str, assignments: list[list[int]]) -> None:
        self.check_creation(self.cluster.decide(create(topic(name, -1, -1, assignments))), validate_only=False)

    def check_creation(self, result: Any, validate_only: bool) -> None:
        created = [row for row in result.response.topics if not row.error_code]
        messages = [message for message, _ in result.records]
        wanted = [] if validate_only else [row.name for row in created]
        assert [message.name for message in messages if isinstance(message, TopicRecord)] == wanted
        parts = [message for message in messages if isinstance(message, PartitionRecord)]
        assert len(parts) == (0 if validate_only else sum(row.num_partitions for row in created))

    @rule(name=NAMES, count=st.integers(0, 6), assignments=st.none() | st.lists(st.lists(IDS, max_size=2), max_size=3))
    def create_partitions(self, name: str, count: int, assignments: list[list[int]] | None) -> None:
        result = self.cluster.decide(grow((name, count, assignments)))
        assert bool(result.records) == (result.response.results[0].error_code == ErrorCode.NONE)

    @rule(names=st.lists(NAMES, min_size=1, max_size=2))
    def delete_topics(self, names: list[str]) -> None:
        result = self.cluster.decide(DeleteTopicsRequest(topic_names=names, timeout_ms=0))
        deleted = [row.topic_id for row in result.response.responses if not row.error_code]
        assert [message.topic_id for message, _ in result.records] == deleted
        assert all(isinstance(message, RemoveTopicRecord) for message, _ in result.records)

    @rule(
        resource=st.sampled_from([(2, "a"), (2, "c"), (4, ""), (4, "1"), (4, "2")]),
        name=st.sampled_from(["min.insync.replicas", "unclean.leader.election.enable", "log.retention.ms", "flush.ms"]),
        op=st.integers(0, 3),
        value=st.sampled_from(["1", "2", "true", None]),
    )
    def alter(self, resource: tuple[int, str], name: str, op: int, value: str | None) -> None:
        result = self.cluster.decide(altering((*resource, [(name, op, value)])))
        if result.response.responses[0].error_code:
            assert not result.records
        elif result.records:
            assert isinstance(result.records[0][0], ConfigRecord)

    @rule(
        feature=st.sampled_from(["metadata.version", ELR, "kraft.version"]),
        level=st.sampled_from([0, 1, 7, 17, 23, 30]),
        kind=st.integers(0, 3),
    )
    def update_features(self, feature: str, level: int, kind: int) -> None:
        result = self.cluster.decide(updating((feature, level, kind)))
        if result.response.error_code:
            assert not result.records

    @rule(broker_id=IDS, is_stale=st.booleans())
    def allocate_producer_ids(self, broker_id: int, is_stale: bool) -> None:
        broker = self.cluster.metadata.brokers.get(broker_id)
        epoch = -1 if broker is None or is_stale else broker.epoch
        response = self.cluster.send(AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=epoch))
        if not response.error_code:
            self.blocks.append(response.producer_id_start)
        assert self.blocks == [number * 1000 for number in range(len(self.blocks))]

    @rule(broker_id=IDS, name=NAMES, number=st.integers(0, 2))
    def assign_directories(self, broker_id: int, name: str, number: int) -> None:
        found = self.cluster.metadata.topics.by_name.get(name)
        if broker_id in self.cluster.metadata.brokers and found:
            self.cluster.decide(assigning(self.cluster, broker_id, {directory(broker_id, number): {found.id: [0, 1]}}))

    @invariant()
    def nobody_leads_from_a_directory_that_is_offline(self) -> None:
        metadata = self.cluster.metadata
        for found in metadata.topics.by_id.values():
            for partition in found.partitions.values():
                if partition.has_leader:
                    broker = metadata.brokers[partition.leader]
                    assert broker.has_online_log_dir(partition.directory_of(broker.id))


ControllerMachine.TestCase.settings = settings(
    max_examples=12, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
)
test_random_sequences = ControllerMachine.TestCase
