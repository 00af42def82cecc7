"""Every API by its key: where its messages are declared, and on which listener a Kafka node serves it.

Building all the classes takes a quarter of a second, which a command line tool would pay at every start for the three
APIs that it speaks. So the table names modules, and a class is imported when it is first asked for.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Literal, NamedTuple

Listener = Literal["broker", "controller"]
BROKER: tuple[Listener, ...] = ("broker",)
CONTROLLER: tuple[Listener, ...] = ("controller",)
BOTH: tuple[Listener, ...] = ("broker", "controller")


class Api(NamedTuple):
    module: str
    listeners: tuple[Listener, ...]

    @property
    def name(self) -> str:
        """Kafka's own spelling, which is also how the classes begin."""
        return "".join(word.capitalize() for word in self.module.split("_"))


# 4 to 7 spoke ZooKeeper's dialect and left with Kafka 4.0.
APIS: dict[int, Api] = {
    0: Api("produce", BROKER),
    1: Api("fetch", BOTH),
    2: Api("list_offsets", BROKER),
    3: Api("metadata", BROKER),
    8: Api("offset_commit", BROKER),
    9: Api("offset_fetch", BROKER),
    10: Api("find_coordinator", BROKER),
    11: Api("join_group", BROKER),
    12: Api("heartbeat", BROKER),
    13: Api("leave_group", BROKER),
    14: Api("sync_group", BROKER),
    15: Api("describe_groups", BROKER),
    16: Api("list_groups", BROKER),
    17: Api("sasl_handshake", BOTH),
    18: Api("api_versions", BOTH),
    19: Api("create_topics", BOTH),
    20: Api("delete_topics", BOTH),
    21: Api("delete_records", BROKER),
    22: Api("init_producer_id", BROKER),
    23: Api("offset_for_leader_epoch", BROKER),
    24: Api("add_partitions_to_txn", BROKER),
    25: Api("add_offsets_to_txn", BROKER),
    26: Api("end_txn", BROKER),
    27: Api("write_txn_markers", BROKER),
    28: Api("txn_offset_commit", BROKER),
    29: Api("describe_acls", BOTH),
    30: Api("create_acls", BOTH),
    31: Api("delete_acls", BOTH),
    32: Api("describe_configs", BOTH),
    33: Api("alter_configs", BOTH),
    34: Api("alter_replica_log_dirs", BROKER),
    35: Api("describe_log_dirs", BROKER),
    36: Api("sasl_authenticate", BOTH),
    37: Api("create_partitions", BOTH),
    38: Api("create_delegation_token", BOTH),
    39: Api("renew_delegation_token", BOTH),
    40: Api("expire_delegation_token", BOTH),
    41: Api("describe_delegation_token", BOTH),
    42: Api("delete_groups", BROKER),
    43: Api("elect_leaders", BOTH),
    44: Api("incremental_alter_configs", BOTH),
    45: Api("alter_partition_reassignments", BOTH),
    46: Api("list_partition_reassignments", BOTH),
    47: Api("offset_delete", BROKER),
    48: Api("describe_client_quotas", BROKER),
    49: Api("alter_client_quotas", BOTH),
    50: Api("describe_user_scram_credentials", BOTH),
    51: Api("alter_user_scram_credentials", BOTH),
    52: Api("vote", CONTROLLER),
    53: Api("begin_quorum_epoch", CONTROLLER),
    54: Api("end_quorum_epoch", CONTROLLER),
    55: Api("describe_quorum", BOTH),
    56: Api("alter_partition", CONTROLLER),
    57: Api("update_features", BOTH),
    58: Api("envelope", CONTROLLER),
    59: Api("fetch_snapshot", CONTROLLER),
    60: Api("describe_cluster", BOTH),
    61: Api("describe_producers", BROKER),
    62: Api("broker_registration", CONTROLLER),
    63: Api("broker_heartbeat", CONTROLLER),
    64: Api("unregister_broker", BOTH),
    65: Api("describe_transactions", BROKER),
    66: Api("list_transactions", BROKER),
    67: Api("allocate_producer_ids", CONTROLLER),
    68: Api("consumer_group_heartbeat", BROKER),
    69: Api("consumer_group_describe", BROKER),
    70: Api("controller_registration", CONTROLLER),
    71: Api("get_telemetry_subscriptions", BROKER),
    72: Api("push_telemetry", BROKER),
    73: Api("assign_replicas_to_dirs", CONTROLLER),
    74: Api("list_config_resources", BROKER),
    75: Api("describe_topic_partitions", BROKER),
    76: Api("share_group_heartbeat", BROKER),
    77: Api("share_group_describe", BROKER),
    78: Api("share_fetch", BROKER),
    79: Api("share_acknowledge", BROKER),
    80: Api("add_raft_voter", BOTH),
    81: Api("remove_raft_voter", BOTH),
    82: Api("update_raft_voter", CONTROLLER),
    83: Api("initialize_share_group_state", BROKER),
    84: Api("read_share_group_state", BROKER),
    85: Api("write_share_group_state", BROKER),
    86: Api("delete_share_group_state", BROKER),
    87: Api("read_share_group_state_summary", BROKER),
    88: Api("streams_group_heartbeat", BROKER),
    89: Api("streams_group_describe", BROKER),
    90: Api("describe_share_group_offsets", BROKER),
    91: Api("alter_share_group_offsets", BROKER),
    92: Api("delete_share_group_offsets", BROKER),
}


class MessageTypes(Mapping[int, type[Any]]):
    """API key to message class, imported on first use."""

    def __init__(self, suffix: Literal["Request", "Response"]) -> None:
        self._suffix = suffix

    def __getitem__(self, api_key: int) -> type[Any]:
        return _message_type(api_key, self._suffix)

    def __contains__(self, api_key: object) -> bool:
        return api_key in APIS

    def __iter__(self) -> Iterator[int]:
        return iter(APIS)

    def __len__(self) -> int:
        return len(APIS)


@cache
def _message_type(api_key: int, suffix: str) -> type[Any]:
    api = APIS[api_key]
    found: type[Any] = getattr(import_module(f"tidelog.protocol.messages.{api.module}"), api.name + suffix)
    return found


REQUESTS = MessageTypes("Request")
RESPONSES = MessageTypes("Response")
