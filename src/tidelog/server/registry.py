"""Every API that a broker of this release serves. What is not here does not exist, for ApiVersions and for clients."""

from tidelog.server.handlers.api_versions import API_VERSIONS
from tidelog.server.handlers.delete_records import DELETE_RECORDS
from tidelog.server.handlers.describe_cluster import DESCRIBE_CLUSTER
from tidelog.server.handlers.describe_configs import DESCRIBE_CONFIGS
from tidelog.server.handlers.describe_producers import DESCRIBE_PRODUCERS
from tidelog.server.handlers.describe_quorum import DESCRIBE_QUORUM
from tidelog.server.handlers.describe_topic_partitions import DESCRIBE_TOPIC_PARTITIONS
from tidelog.server.handlers.fetch import FETCH
from tidelog.server.handlers.forwarded import FORWARDED
from tidelog.server.handlers.init_producer_id import INIT_PRODUCER_ID
from tidelog.server.handlers.list_config_resources import LIST_CONFIG_RESOURCES
from tidelog.server.handlers.list_offsets import LIST_OFFSETS
from tidelog.server.handlers.log_dirs import ALTER_REPLICA_LOG_DIRS, DESCRIBE_LOG_DIRS
from tidelog.server.handlers.metadata import METADATA
from tidelog.server.handlers.offset_for_leader_epoch import OFFSET_FOR_LEADER_EPOCH
from tidelog.server.handlers.produce import PRODUCE

HANDLERS = (
    PRODUCE,
    FETCH,
    LIST_OFFSETS,
    METADATA,
    API_VERSIONS,
    DELETE_RECORDS,
    INIT_PRODUCER_ID,
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
