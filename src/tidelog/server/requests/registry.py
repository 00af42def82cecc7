"""Every API that a broker of this release serves. What is not here does not exist, for ApiVersions and for clients.

The table names modules of `handlers`, in which a handler is called as its API is. A handler is imported when its API is
first asked for, or before that, when the node has nothing else to do (`io.preloading`): a node that starts answers its
first client without them.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Final

from tidelog.protocol.api import ApiKey
from tidelog.server.requests.handler import Handler

MODULES: Final[dict[int, str]] = {
    ApiKey.PRODUCE: "produce",
    ApiKey.FETCH: "fetch",
    ApiKey.LIST_OFFSETS: "list_offsets",
    ApiKey.METADATA: "metadata",
    ApiKey.API_VERSIONS: "api_versions",
    ApiKey.DELETE_RECORDS: "delete_records",
    ApiKey.FIND_COORDINATOR: "find_coordinator",
    ApiKey.OFFSET_COMMIT: "group_offsets",
    ApiKey.OFFSET_FETCH: "group_offsets",
    ApiKey.OFFSET_DELETE: "group_offsets",
    ApiKey.JOIN_GROUP: "group_members",
    ApiKey.SYNC_GROUP: "group_members",
    ApiKey.HEARTBEAT: "group_members",
    ApiKey.LEAVE_GROUP: "group_members",
    ApiKey.DESCRIBE_GROUPS: "groups",
    ApiKey.LIST_GROUPS: "groups",
    ApiKey.DELETE_GROUPS: "groups",
    ApiKey.CONSUMER_GROUP_HEARTBEAT: "consumer_groups",
    ApiKey.CONSUMER_GROUP_DESCRIBE: "consumer_groups",
    ApiKey.INIT_PRODUCER_ID: "init_producer_id",
    ApiKey.ADD_PARTITIONS_TO_TXN: "transactions",
    ApiKey.ADD_OFFSETS_TO_TXN: "transactions",
    ApiKey.END_TXN: "transactions",
    ApiKey.WRITE_TXN_MARKERS: "write_txn_markers",
    ApiKey.TXN_OFFSET_COMMIT: "txn_offset_commit",
    ApiKey.DESCRIBE_TRANSACTIONS: "list_transactions",
    ApiKey.LIST_TRANSACTIONS: "list_transactions",
    ApiKey.OFFSET_FOR_LEADER_EPOCH: "offset_for_leader_epoch",
    ApiKey.DESCRIBE_CONFIGS: "describe_configs",
    ApiKey.ALTER_REPLICA_LOG_DIRS: "log_dirs",
    ApiKey.DESCRIBE_LOG_DIRS: "log_dirs",
    ApiKey.DESCRIBE_QUORUM: "describe_quorum",
    ApiKey.DESCRIBE_CLUSTER: "describe_cluster",
    ApiKey.DESCRIBE_PRODUCERS: "describe_producers",
    ApiKey.LIST_CONFIG_RESOURCES: "list_config_resources",
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: "describe_topic_partitions",
    ApiKey.CREATE_TOPICS: "forwarded",
    ApiKey.DELETE_TOPICS: "forwarded",
    ApiKey.CREATE_PARTITIONS: "forwarded",
    ApiKey.ALTER_CONFIGS: "forwarded",
    ApiKey.INCREMENTAL_ALTER_CONFIGS: "forwarded",
    ApiKey.UPDATE_FEATURES: "forwarded",
    ApiKey.UNREGISTER_BROKER: "forwarded",
}


class Handlers(Mapping[int, Handler]):
    """The handlers by API key, each imported on first use."""

    def __init__(self) -> None:
        self._found: dict[int, Handler] = {}

    def __getitem__(self, api_key: int) -> Handler:
        found = self._found.get(api_key)
        return self._import(api_key) if found is None else found

    def _import(self, api_key: int) -> Handler:
        module = import_module(f"tidelog.server.handlers.{MODULES[api_key]}")
        found: Handler = getattr(module, ApiKey(api_key).name)
        self._found[api_key] = found
        return found

    def __iter__(self) -> Iterator[int]:
        return iter(MODULES)

    def __len__(self) -> int:
        return len(MODULES)


HANDLERS: Final = Handlers()
