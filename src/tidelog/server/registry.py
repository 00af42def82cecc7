"""Every API that a broker of this release serves. What is not here does not exist, for ApiVersions and for clients."""

from tidelog.server.handlers.api_versions import API_VERSIONS
from tidelog.server.handlers.consumer_groups import CONSUMER_GROUP_DESCRIBE, CONSUMER_GROUP_HEARTBEAT
from tidelog.server.handlers.delete_records import DELETE_RECORDS
from tidelog.server.handlers.describe_cluster import DESCRIBE_CLUSTER
from tidelog.server.handlers.describe_configs import DESCRIBE_CONFIGS
from tidelog.server.handlers.describe_producers import DESCRIBE_PRODUCERS
from tidelog.server.handlers.describe_quorum import DESCRIBE_QUORUM
from tidelog.server.handlers.describe_topic_partitions import DESCRIBE_TOPIC_PARTITIONS
from tidelog.server.handlers.fetch import FETCH
from tidelog.server.handlers.find_coordinator import FIND_COORDINATOR
from tidelog.server.handlers.forwarded import FORWARDED
from tidelog.server.handlers.group_members import HEARTBEAT, JOIN_GROUP, LEAVE_GROUP, SYNC_GROUP
from tidelog.server.handlers.group_offsets import OFFSET_COMMIT, OFFSET_DELETE, OFFSET_FETCH
from tidelog.server.handlers.groups import DELETE_GROUPS, DESCRIBE_GROUPS, LIST_GROUPS
from tidelog.server.handlers.init_producer_id import INIT_PRODUCER_ID
from tidelog.server.handlers.list_config_resources import LIST_CONFIG_RESOURCES
from tidelog.server.handlers.list_offsets import LIST_OFFSETS
from tidelog.server.handlers.list_transactions import DESCRIBE_TRANSACTIONS, LIST_TRANSACTIONS
from tidelog.server.handlers.log_dirs import ALTER_REPLICA_LOG_DIRS, DESCRIBE_LOG_DIRS
from tidelog.server.handlers.metadata import METADATA
from tidelog.server.handlers.offset_for_leader_epoch import OFFSET_FOR_LEADER_EPOCH
from tidelog.server.handlers.produce import PRODUCE
from tidelog.server.handlers.transactions import ADD_OFFSETS_TO_TXN, ADD_PARTITIONS_TO_TXN, END_TXN
from tidelog.server.handlers.txn_offset_commit import TXN_OFFSET_COMMIT
from tidelog.server.handlers.write_txn_markers import WRITE_TXN_MARKERS

HANDLERS = (
    PRODUCE,
    FETCH,
    LIST_OFFSETS,
    METADATA,
    API_VERSIONS,
    DELETE_RECORDS,
    FIND_COORDINATOR,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    OFFSET_DELETE,
    JOIN_GROUP,
    SYNC_GROUP,
    HEARTBEAT,
    LEAVE_GROUP,
    DESCRIBE_GROUPS,
    LIST_GROUPS,
    DELETE_GROUPS,
    CONSUMER_GROUP_HEARTBEAT,
    CONSUMER_GROUP_DESCRIBE,
    INIT_PRODUCER_ID,
    ADD_PARTITIONS_TO_TXN,
    ADD_OFFSETS_TO_TXN,
    END_TXN,
    WRITE_TXN_MARKERS,
    TXN_OFFSET_COMMIT,
    DESCRIBE_TRANSACTIONS,
    LIST_TRANSACTIONS,
    OFFSET_FOR_LEADER_EPOCH,
    DESCRIBE_CONFIGS,
    ALTER_REPLICA_LOG_DIRS,
    DESCRIBE_LOG_DIRS,
    DESCRIBE_QUORUM,
    DESCRIBE_CLUSTER,
    DESCRIBE_PRODUCERS,
    LIST_CONFIG_RESOURCES,
    DESCRIBE_TOPIC_PARTITIONS,
    *FORWARDED,
)
