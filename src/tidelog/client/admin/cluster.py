"""The cluster itself: brokers, the metadata quorum, log directories, features."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tidelog.client.admin.base import AdminBase
from tidelog.client.connection import SOFTWARE_NAME, SOFTWARE_VERSION
from tidelog.client.errors import ClientError
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.protocol.messages.api_versions import ApiVersionsRequest
from tidelog.protocol.messages.describe_cluster import DescribeClusterRequest
from tidelog.protocol.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)
from tidelog.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
    ReplicaState,
)
from tidelog.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

METADATA_TOPIC = "__cluster_metadata"
UPGRADE = 1
SAFE_DOWNGRADE = 2
UNSAFE_DOWNGRADE = 3


@dataclass(slots=True)
class BrokerDescription:
    id: int
    host: str
    port: int
    rack: str | None
    is_fenced: bool


@dataclass(slots=True)
class ClusterDescription:
    cluster_id: str
    controller_id: int  # -1: not known
    brokers: list[BrokerDescription]


@dataclass(slots=True)
class QuorumReplica:
    id: int
    directory_id: Uuid
    log_end_offset: int
    last_fetch_timestamp: int
    last_caught_up_timestamp: int


@dataclass(slots=True)
class QuorumDescription:
    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: list[QuorumReplica]
    observers: list[QuorumReplica]


@dataclass(slots=True)
class ReplicaSize:
    partition: TopicPartition
    size_bytes: int
    offset_lag: int
    is_future: bool  # being moved here from another directory


@dataclass(slots=True)
class LogDirDescription:
    path: str
    error: ClientError | None  # why the directory is offline; None: it is online
    total_bytes: int  # -1: not told
    usable_bytes: int
    is_cordoned: bool
    replicas: list[ReplicaSize]


@dataclass(slots=True)
class FeatureDescription:
    name: str
    finalized: int  # 0: not in use
    supported_min: int
    supported_max: int


class ClusterAdmin(AdminBase):
    def describe_cluster(self, *, include_fenced: bool = False) -> ClusterDescription:
        asked = "describe the cluster"
        request = DescribeClusterRequest(
            include_cluster_authorized_operations=False, include_fenced_brokers=include_fenced
        )
        found = self.client.ask(request, asked)
        self.require(found.error_code, asked, found.error_message)
        brokers = [BrokerDescription(b.broker_id, b.host, b.port, b.rack, b.is_fenced) for b in found.brokers]
        return ClusterDescription(found.cluster_id, found.controller_id, brokers)

    def describe_quorum(self) -> QuorumDescription:
        asked = "describe the metadata quorum"
        partition = DescribeQuorumRequestPartitionData(partition_index=0)
        topic = DescribeQuorumRequestTopicData(topic_name=METADATA_TOPIC, partitions=[partition])
        response = self.client.ask(DescribeQuorumRequest(topics=[topic]), asked)
        self.require(response.error_code, asked, response.error_message)
        found = response.topics[0].partitions[0]
        self.require(found.error_code, asked, found.error_message)
        voters, observers = map(_replica, found.current_voters), map(_replica, found.observers)
        return QuorumDescription(
            found.leader_id, found.leader_epoch, found.high_watermark, list(voters), list(observers)
        )

    def describe_log_dirs(self, brokers: Sequence[int] | None = None) -> dict[int, list[LogDirDescription]]:
        """Return the log directories of each broker named, or of every broker, by broker id."""
        if brokers is None:
            self.client.refresh()
            brokers = sorted(self.client.metadata.nodes)
        return {broker: self._log_dirs(broker) for broker in brokers}

    def _log_dirs(self, broker: int) -> list[LogDirDescription]:
        asked = f"describe the log directories of broker {broker}"
        response: DescribeLogDirsResponse = self.client.ask(DescribeLogDirsRequest(topics=None), asked, node_id=broker)
        self.require(response.error_code, asked)
        return [self._log_dir(each, asked) for each in response.results]

    def _log_dir(self, found: DescribeLogDirsResult, asked: str) -> LogDirDescription:
        replicas = [
            ReplicaSize(
                TopicPartition(topic.name, each.partition_index),
                each.partition_size,
                each.offset_lag,
                each.is_future_key,
            )
            for topic in found.topics
            for each in topic.partitions
        ]
        error = self.refusal(found.error_code, f"{asked}, {found.log_dir}")
        return LogDirDescription(
            found.log_dir, error, found.total_bytes, found.usable_bytes, found.is_cordoned, replicas
        )

    def describe_features(self) -> list[FeatureDescription]:
        asked = "describe the features"
        request = ApiVersionsRequest(client_software_name=SOFTWARE_NAME, client_software_version=SOFTWARE_VERSION)
        found = self.client.ask(request, asked)
        self.require(found.error_code, asked)
        finalized = {each.name: each.max_version_level for each in found.finalized_features}
        return [
            FeatureDescription(each.name, finalized.get(each.name, 0), each.min_version, each.max_version)
            for each in found.supported_features
        ]

    def update_features(
        self, levels: Mapping[str, int], *, change: int = UPGRADE, validate_only: bool = False, timeout_ms: int = 30_000
    ) -> None:
        """Set features to the levels given. `change` says whether a level may be lowered: not with UPGRADE, without
        loss of metadata with SAFE_DOWNGRADE, in any case with UNSAFE_DOWNGRADE."""
        updates = [
            FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=change)
            for name, level in levels.items()
        ]
        request = UpdateFeaturesRequest(timeout_ms=timeout_ms, feature_updates=updates, validate_only=validate_only)
        asked = "update feature " + ", ".join(f"{name} to {level}" for name, level in levels.items())
        response = self.client.ask(request, asked, failed=lambda each: each.error_code)
        self.require(response.error_code, asked, response.error_message)
        for each in response.results:
            self.require(each.error_code, asked, each.error_message)


def _replica(state: ReplicaState) -> QuorumReplica:
    return QuorumReplica(
        state.replica_id,
        state.replica_directory_id,
        state.log_end_offset,
        state.last_fetch_timestamp,
        state.last_caught_up_timestamp,
    )
