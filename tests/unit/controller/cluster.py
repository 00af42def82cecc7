"""A controller with the simplest possible driver: its records are in the log at once, and replayed.

After every request the log is checked: each record survives being written in its version, a fresh replay of all of them
gives the same cluster, and the invariants hold.
"""

from functools import lru_cache
from typing import Any

from tests.unit.config.files import config

from tidelog.config import BrokerConfig
from tidelog.controller.controller import Controller
from tidelog.controller.invariants import epochs_went_back
from tidelog.controller.results import ControllerRequest, Record, Result, Steps, finish
from tidelog.metadata.bootstrap import bootstrap_records, initial_feature_levels
from tidelog.metadata.feature_levels import LATEST_METADATA_VERSION, SERVED
from tidelog.metadata.image import MetadataView
from tidelog.metadata.nodes import VersionRange
from tidelog.metadata.record_framing import decode_metadata_record, encode_metadata_record
from tidelog.metadata.topics import Partition
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsRequestDirectoryData,
    AssignReplicasToDirsRequestPartitionData,
    AssignReplicasToDirsRequestTopicData,
)
from tidelog.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from tidelog.protocol.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener
from tidelog.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from tidelog.sim.entropy import SimEntropy

CLUSTER_ID = "a cluster"
SESSION_MS = 9000
# A log has offsets that are no metadata records: leader changes.
FIRST_OFFSET = 3


@lru_cache
def file_config(settings: tuple[tuple[str, str], ...]) -> BrokerConfig:
    return config(**dict(settings))


def uuid(number: int) -> Uuid:
    return Uuid(number.to_bytes(16, "big"))


def directory(broker_id: int, number: int = 0) -> Uuid:
    return uuid(1000 + 10 * broker_id + number)


def features_served(**changes: VersionRange) -> list[Feature]:
    served = {**SERVED, **changes}
    return [
        Feature(name=name, min_supported_version=low, max_supported_version=high)
        for name, (low, high) in served.items()
    ]


class Cluster:
    def __init__(
        self, level: int = LATEST_METADATA_VERSION, chosen: dict[str, int] | None = None, **settings: Any
    ) -> None:
        self.config = file_config(tuple(settings.items()))
        self.entropy = SimEntropy(7)
        self.log: list[Record] = []
        self.now_ms = 1_000_000
        self.controller = self.new_controller()
        levels = initial_feature_levels(level, chosen)
        self.take(self.controller.activate(bootstrap_records(levels), self.now_ms))

    def new_controller(self) -> Controller:
        return Controller(self.config, self.entropy, CLUSTER_ID, self.end_offset)

    def end_offset(self) -> int:
        return FIRST_OFFSET + len(self.log)

    @property
    def metadata(self) -> MetadataView:
        return self.controller.metadata

    def send(self, message: Any, **context: Any) -> Any:
        return self.decide(ControllerRequest(message, **context)).response

    def decide(self, request: Any) -> Result:
        return self.take(self.controller.handle(self.now_ms, request))

    def step(self) -> Result:
        return self.take(self.controller.step(self.now_ms))

    def take(self, work: Result | Steps) -> Result:
        before, partitions = everything(self.metadata), partitions_of(self.metadata)
        result = finish(work)
        assert everything(self.metadata) == before, "only replay may change the metadata"
        for record in result.records:
            check_record(record)
            self.log.append(record)
            self.controller.replay(record[0])
        self.check(partitions)
        return result

    def fresh_replay(self) -> Controller:
        fresh = self.new_controller()
        for message, _ in self.log:
            fresh.replay(message)
        return fresh

    def check(self, before: dict[tuple[Uuid, int], Partition]) -> None:
        self.controller.validate_state()
        fresh = self.fresh_replay()
        fresh.validate_state()
        assert everything(fresh.metadata) == everything(self.metadata)
        for spot, partition in partitions_of(self.metadata).items():
            if spot in before:
                assert epochs_went_back(before[spot], partition) is None

    def failover(self) -> None:
        """Replace the controller by another, which has nothing but the log."""
        self.controller = self.fresh_replay()
        self.take(self.controller.activate([], self.now_ms))

    # Steps that most tests begin with

    def register(self, broker_id: int, **changes: Any) -> int:
        """Register a broker; return its epoch."""
        response = self.send(registration(broker_id, **changes))
        assert response.error_code == ErrorCode.NONE
        return int(response.broker_epoch)

    def heartbeat(self, broker_id: int, **changes: Any) -> Any:
        return self.send(self.beat(broker_id, **changes))

    def beat(self, broker_id: int, **changes: Any) -> BrokerHeartbeatRequest:
        broker = self.metadata.brokers.get(broker_id)
        asked = {
            "broker_id": broker_id,
            "broker_epoch": broker.epoch if broker else -1,
            "current_metadata_offset": self.end_offset() - 1,
            "want_fence": False,
            "want_shut_down": False,
        }
        return BrokerHeartbeatRequest(**{**asked, **changes})

    def start(self, *broker_ids: int, **changes: Any) -> "Cluster":
        """Register the brokers and unfence them."""
        for broker_id in broker_ids:
            self.register(broker_id, **changes)
            assert not self.heartbeat(broker_id).is_fenced
        return self

    def create(self, name: str, partitions: int = 1, replicas: int = 1, **settings: Any) -> Uuid:
        response = self.send(create(topic(name, partitions, replicas, **settings)))
        assert response.topics[0].error_code == ErrorCode.NONE, response.topics[0].error_message
        return Uuid(response.topics[0].topic_id)

    def assign(self, name: str, *replicas: list[int], **settings: Any) -> Uuid:
        response = self.send(create(topic(name, -1, -1, list(replicas), **settings)))
        assert response.topics[0].error_code == ErrorCode.NONE, response.topics[0].error_message
        return Uuid(response.topics[0].topic_id)

    def partition(self, name: str, partition_id: int = 0) -> Partition:
        return self.metadata.topics.by_name[name].partitions[partition_id]


def registration(broker_id: int, **changes: Any) -> BrokerRegistrationRequest:
    asked: dict[str, Any] = {
        "broker_id": broker_id,
        "cluster_id": CLUSTER_ID,
        "incarnation_id": uuid(500 + broker_id),
        "listeners": [Listener(name="PLAINTEXT", host="localhost", port=9092, security_protocol=0)],
        "features": features_served(),
        "rack": None,
        "log_dirs": [directory(broker_id)],
    }
    return BrokerRegistrationRequest(**{**asked, **changes})


def topic(
    name: str,
    partitions: int = -1,
    replicas: int = -1,
    assignments: list[list[int]] | None = None,
    configs: dict[str, str | None] | None = None,
    **settings: Any,
) -> CreatableTopic:
    """Build a topic to create. Underscores in `settings` stand for dots."""
    given = {**(configs or {}), **{key.replace("_", "."): value for key, value in settings.items()}}
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=ids)
            for index, ids in enumerate(assignments or [])
        ],
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in given.items()],
    )


def assigning(
    cluster: Cluster, broker_id: int, directories: dict[Uuid, dict[Uuid, list[int]]], epoch: int | None = None
) -> AssignReplicasToDirsRequest:
    return AssignReplicasToDirsRequest(
        broker_id=broker_id,
        broker_epoch=cluster.metadata.brokers[broker_id].epoch if epoch is None else epoch,
        directories=[
            AssignReplicasToDirsRequestDirectoryData(
                id=directory_id,
                topics=[
                    AssignReplicasToDirsRequestTopicData(
                        topic_id=topic_id,
                        partitions=[AssignReplicasToDirsRequestPartitionData(partition_index=each) for each in numbers],
                    )
                    for topic_id, numbers in topics.items()
                ],
            )
            for directory_id, topics in directories.items()
        ],
    )


def create(*topics: CreatableTopic, validate_only: bool = False) -> CreateTopicsRequest:
    return CreateTopicsRequest(topics=list(topics), validate_only=validate_only)


def count_turns(work: Result | Steps) -> int:
    """Return how often the work gives its turn back."""
    assert not isinstance(work, Result)
    return len(list(work))


def check_record(record: Record) -> None:
    """Check that the version in which the record is written loses nothing of it."""
    message, version = record
    decoded = decode_metadata_record(encode_metadata_record(message, version))
    assert decoded == (message, version)


def partitions_of(metadata: MetadataView) -> dict[tuple[Uuid, int], Partition]:
    topics = metadata.topics.by_id.values()
    return {(topic.id, number): partition for topic in topics for number, partition in topic.partitions.items()}


def everything(metadata: MetadataView) -> dict[str, Any]:
    return {
        "topics": {topic.name: topic.id for topic in metadata.topics.by_id.values()},
        "names": {name: topic.id for name, topic in metadata.topics.by_name.items()},
        "partitions": partitions_of(metadata),
        "brokers": dict(metadata.brokers.items()),
        "controllers": dict(metadata.controllers.items()),
        "configs": dict(metadata.configs.items()),
        "features": dict(metadata.features.items()),
        "producer ids": metadata.next_producer_id,
    }
