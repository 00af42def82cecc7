"""What each record does to the metadata.

A record that means nothing to an image (a no-op, the state of a migration that is over) stands here too: whatever is
not in this table is refused.
"""

from collections.abc import Callable
from typing import Any

from tidelog.metadata.draft_state import DraftState
from tidelog.metadata.records.brokers import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from tidelog.metadata.records.cluster import (
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    ProducerIdsRecord,
    ZkMigrationStateRecord,
)
from tidelog.metadata.records.security import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from tidelog.metadata.records.topics import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from tidelog.metadata.records.transactions import NoOpRecord
from tidelog.metadata.replay import cluster, nodes, security, topics


def _change_nothing(_state: DraftState, _record: object) -> None:
    pass


REPLAY: dict[type[Any], Callable[[DraftState, Any], None]] = {
    TopicRecord: topics.create_topic,
    RemoveTopicRecord: topics.remove_topic,
    PartitionRecord: topics.set_partition,
    PartitionChangeRecord: topics.change_partition,
    ClearElrRecord: topics.clear_elr,
    RegisterBrokerRecord: nodes.register_broker,
    UnregisterBrokerRecord: nodes.unregister_broker,
    FenceBrokerRecord: nodes.fence_broker,
    UnfenceBrokerRecord: nodes.unfence_broker,
    BrokerRegistrationChangeRecord: nodes.change_registration,
    RegisterControllerRecord: nodes.register_controller,
    ConfigRecord: cluster.set_config,
    FeatureLevelRecord: cluster.set_feature_level,
    ProducerIdsRecord: cluster.set_next_producer_id,
    ClientQuotaRecord: cluster.set_client_quota,
    AccessControlEntryRecord: security.add_acl,
    RemoveAccessControlEntryRecord: security.remove_acl,
    UserScramCredentialRecord: security.set_scram_credential,
    RemoveUserScramCredentialRecord: security.remove_scram_credential,
    DelegationTokenRecord: security.set_delegation_token,
    RemoveDelegationTokenRecord: security.remove_delegation_token,
    NoOpRecord: _change_nothing,
    ZkMigrationStateRecord: _change_nothing,
}
