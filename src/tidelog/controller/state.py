"""What every subject of the controller looks at: the metadata as of the last replayed record, what follows from it, and
the node's own configuration. Subjects read it; only `Controller.replay` and the sessions change it.
"""

from collections.abc import Callable, Iterator, Mapping

from tidelog.config import BrokerConfig, TopicConfig, apply_dynamic
from tidelog.config.settings import node
from tidelog.controller.indexes import Indexes
from tidelog.controller.partition_changes import Election, ElectionRules
from tidelog.controller.placement import UsableBroker
from tidelog.controller.sessions import Sessions
from tidelog.metadata.configs import ConfigResource, ResourceType
from tidelog.metadata.directories import MIGRATING_DIRECTORY, UNASSIGNED_DIRECTORY
from tidelog.metadata.draft import MetadataDraft
from tidelog.metadata.feature_levels import ELIGIBLE_LEADER_REPLICAS_VERSION
from tidelog.metadata.record_versions import DIRECTORIES_FROM, LEADER_EPOCH_STAYS_ON_ISR_SHRINK_FROM
from tidelog.metadata.topics import Partition, Topic
from tidelog.model.errors import ApiError, ErrorCode
from tidelog.model.ids import Uuid
from tidelog.ports.entropy import Entropy

ALL_BROKERS = ConfigResource(ResourceType.BROKER, "")


class ControllerState:
    def __init__(self, config: BrokerConfig, entropy: Entropy, cluster_id: str, end_offset: Callable[[], int]) -> None:
        self.metadata = MetadataDraft()
        self.entropy = entropy
        self.cluster_id = cluster_id
        self.node_id = config.get(node.NODE_ID)
        self.indexes = Indexes()
        self.sessions = Sessions(config.get(node.BROKER_SESSION_TIMEOUT_MS))
        # Returns the offset that the next record of a request will get.
        self.end_offset = end_offset
        # Settled by the quorum itself, not by records of the metadata.
        self.kraft_version = 0
        self.quorum_node_ids: tuple[int, ...] = (self.node_id,)
        self._file_config = config
        self._config: BrokerConfig | None = None

    @property
    def config(self) -> BrokerConfig:
        """This node's configuration under the dynamic layers of now."""
        if self._config is None:
            own = ConfigResource(ResourceType.BROKER, str(self.node_id))
            self._config = apply_dynamic(self._file_config, self.overrides(ALL_BROKERS), self.overrides(own)).config
        return self._config

    @property
    def file_config(self) -> BrokerConfig:
        """This node's configuration without any dynamic layer."""
        return self._file_config

    def forget_config(self) -> None:
        self._config = None

    def overrides(self, resource: ConfigResource) -> Mapping[str, str]:
        return self.metadata.configs.get(resource, {})

    def topic_config(self, name: str) -> TopicConfig:
        return self.config.topic_config(self.overrides(ConfigResource(ResourceType.TOPIC, name)))

    @property
    def elr_enabled(self) -> bool:
        return self.metadata.features.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) > 0

    @property
    def directories_supported(self) -> bool:
        return self.metadata.metadata_version >= DIRECTORIES_FROM

    def is_active(self, broker_id: int) -> bool:
        """Tell whether the broker is registered, unfenced, and not about to shut down."""
        broker = self.metadata.brokers.get(broker_id)
        return broker is not None and broker.is_active

    def check_broker_epoch(self, broker_id: int, epoch: int) -> None:
        broker = self.metadata.brokers.get(broker_id)
        if broker is None:
            raise ApiError(ErrorCode.STALE_BROKER_EPOCH, f"broker {broker_id} is not registered")
        if broker.epoch != epoch:
            raise ApiError(
                ErrorCode.STALE_BROKER_EPOCH, f"broker {broker_id} is registered with epoch {broker.epoch}, not {epoch}"
            )

    def usable_brokers(self) -> Iterator[UsableBroker]:
        """Yield the brokers that may take new replicas. One that is stopped (fenced after its shutdown) may: it will be
        back."""
        for broker_id in sorted(self.metadata.brokers):
            broker = self.metadata.brokers[broker_id]
            is_leaving = broker.in_controlled_shutdown and not broker.fenced
            if not is_leaving and broker.has_uncordoned_log_dirs:
                yield UsableBroker(broker.id, broker.rack, broker.fenced)

    def default_directory(self, broker_id: int) -> Uuid:
        """The directory of a new replica until its broker says otherwise: with one directory there is no choice."""
        broker = self.metadata.brokers.get(broker_id)
        if not self.directories_supported:
            return MIGRATING_DIRECTORY
        if broker is None:
            return UNASSIGNED_DIRECTORY
        if not broker.log_dirs:
            return MIGRATING_DIRECTORY
        return broker.log_dirs[0] if len(broker.log_dirs) == 1 else UNASSIGNED_DIRECTORY

    def may_lead(self, partition: Partition, broker_id: int) -> bool:
        return self.is_active(broker_id) and self.has_online_directory(partition, broker_id)

    def has_online_directory(self, partition: Partition, broker_id: int) -> bool:
        return self.metadata.brokers[broker_id].has_online_log_dir(partition.directory_of(broker_id))

    def election_rules(self, topic: Topic) -> ElectionRules:
        config = self.topic_config(topic.name)
        first = topic.partitions.get(0)
        replication_factor = len(first.replicas) if first else config.min_insync_replicas
        return ElectionRules(
            min_isr=min(config.min_insync_replicas, replication_factor),
            elr_enabled=self.elr_enabled,
            is_acceptable_leader=self.may_lead,
            default_directory=self.default_directory,
            directories_supported=self.directories_supported,
            epoch_bump_on_shrink=self.metadata.metadata_version < LEADER_EPOCH_STAYS_ON_ISR_SHRINK_FROM,
            election=Election.UNCLEAN if config.unclean_leader_election_enable else Election.ONLINE,
        )
