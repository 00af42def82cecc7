"""Every API by its key: where its messages are declared, and on which listener a Kafka node serves it.

A command line tool speaks three APIs, and a node is asked for a dozen: neither waits at its start for the import of all
of them. So the table names modules, and a class is imported when it is first asked for. The versions stand here once
more, because a client asks for those of every API first of all (a test holds them against the classes).
"""

from collections.abc import Collection, Iterator, Mapping
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
    lowest_version: int
    highest_version: int
    is_latest_unstable: bool = False

    @property
    def name(self) -> str:
        """The name in Kafka's own spelling, with which the classes begin, too."""
        return "".join(word.capitalize() for word in self.module.split("_"))


# 4 to 7 spoke ZooKeeper's dialect and left with Kafka 4.0.
APIS: dict[int, Api] = {
    0: Api("produce", BROKER, 3, 13),
    1: Api("fetch", BOTH, 4, 18),
    2: Api("list_offsets", BROKER, 1, 11),
    3: Api("metadata", BROKER, 0, 13),
    8: Api("offset_commit", BROKER, 2, 10),
    9: Api("offset_fetch", BROKER, 1, 10),
    10: Api("find_coordinator", BROKER, 0, 6),
    11: Api("join_group", BROKER, 0, 9),
    12: Api("heartbeat", BROKER, 0, 4),
    13: Api("leave_group", BROKER, 0, 5),
    14: Api("sync_group", BROKER, 0, 5),
    15: Api("describe_groups", BROKER, 0, 6),
    16: Api("list_groups", BROKER, 0, 5),
    17: Api("sasl_handshake", BOTH, 0, 1),
    18: Api("api_versions", BOTH, 0, 4),
    19: Api("create_topics", BOTH, 2, 7),
    20: Api("delete_topics", BOTH, 1, 6),
    21: Api("delete_records", BROKER, 0, 2),
    22: Api("init_producer_id", BROKER, 0, 6, is_latest_unstable=True),
    23: Api("offset_for_leader_epoch", BROKER, 2, 4),
    24: Api("add_partitions_to_txn", BROKER, 0, 5),
    25: Api("add_offsets_to_txn", BROKER, 0, 4),
    26: Api("end_txn", BROKER, 0, 5),
    27: Api("write_txn_markers", BROKER, 1, 2),
    28: Api("txn_offset_commit", BROKER, 0, 5),
    29: Api("describe_acls", BOTH, 1, 3),
    30: Api("create_acls", BOTH, 1, 3),
    31: Api("delete_acls", BOTH, 1, 3),
    32: Api("describe_configs", BOTH, 1, 4),
    33: Api("alter_configs", BOTH, 0, 2),
    34: Api("alter_replica_log_dirs", BROKER, 1, 2),
    35: Api("describe_log_dirs", BROKER, 1, 5),
    36: Api("sasl_authenticate", BOTH, 0, 2),
    37: Api("create_partitions", BOTH, 0, 3),
    38: Api("create_delegation_token", BOTH, 1, 3),
    39: Api("renew_delegation_token", BOTH, 1, 2),
    40: Api("expire_delegation_token", BOTH, 1, 2),
    41: Api("describe_delegation_token", BOTH, 1, 3),
    42: Api("delete_groups", BROKER, 0, 2),
    43: Api("elect_leaders", BOTH, 0, 2),
    44: Api("incremental_alter_configs", BOTH, 0, 1),
    45: Api("alter_partition_reassignments", BOTH, 0, 1),
    46: Api("list_partition_reassignments", BOTH, 0, 0),
    47: Api("offset_delete", BROKER, 0, 0),
    48: Api("describe_client_quotas", BROKER, 0, 1),
    49: Api("alter_client_quotas", BOTH, 0, 1),
    50: Api("describe_user_scram_credentials", BOTH, 0, 0),
    51: Api("alter_user_scram_credentials", BOTH, 0, 0),
    52: Api("vote", CONTROLLER, 0, 2),
    53: Api("begin_quorum_epoch", CONTROLLER, 0, 1),
    54: Api("end_quorum_epoch", CONTROLLER, 0, 1),
    55: Api("describe_quorum", BOTH, 0, 2),
    56: Api("alter_partition", CONTROLLER, 2, 3),
    57: Api("update_features", BOTH, 0, 2),
    58: Api("envelope", CONTROLLER, 0, 0),
    59: Api("fetch_snapshot", CONTROLLER, 0, 1),
    60: Api("describe_cluster", BOTH, 0, 2),
    61: Api("describe_producers", BROKER, 0, 0),
    62: Api("broker_registration", CONTROLLER, 0, 4),
    63: Api("broker_heartbeat", CONTROLLER, 0, 2),
    64: Api("unregister_broker", BOTH, 0, 0),
    65: Api("describe_transactions", BROKER, 0, 0),
    66: Api("list_transactions", BROKER, 0, 2),
    67: Api("allocate_producer_ids", CONTROLLER, 0, 0),
    68: Api("consumer_group_heartbeat", BROKER, 0, 1),
    69: Api("consumer_group_describe", BROKER, 0, 1),
    70: Api("controller_registration", CONTROLLER, 0, 0),
    71: Api("get_telemetry_subscriptions", BROKER, 0, 0),
    72: Api("push_telemetry", BROKER, 0, 0),
    73: Api("assign_replicas_to_dirs", CONTROLLER, 0, 0),
    74: Api("list_config_resources", BROKER, 0, 1),
    75: Api("describe_topic_partitions", BROKER, 0, 0),
    76: Api("share_group_heartbeat", BROKER, 1, 1),
    77: Api("share_group_describe", BROKER, 1, 1),
    78: Api("share_fetch", BROKER, 1, 2),
    79: Api("share_acknowledge", BROKER, 1, 2),
    80: Api("add_raft_voter", BOTH, 0, 1),
    81: Api("remove_raft_voter", BOTH, 0, 0),
    82: Api("update_raft_voter", CONTROLLER, 0, 0),
    83: Api("initialize_share_group_state", BROKER, 0, 0),
    84: Api("read_share_group_state", BROKER, 0, 0),
    85: Api("write_share_group_state", BROKER, 0, 1),
    86: Api("delete_share_group_state", BROKER, 0, 0),
    87: Api("read_share_group_state_summary", BROKER, 0, 1),
    88: Api("streams_group_heartbeat", BROKER, 0, 0),
    89: Api("streams_group_describe", BROKER, 0, 0),
    90: Api("describe_share_group_offsets", BROKER, 0, 1),
    91: Api("alter_share_group_offsets", BROKER, 0, 0),
    92: Api("delete_share_group_offsets", BROKER, 0, 0),
}


class MessageTypes(Mapping[int, type[Any]]):
    """The message classes by API key, each imported on first use."""

    def __init__(self, suffix: Literal["Request", "Response"], api_keys: Collection[int] = APIS) -> None:
        self._suffix = suffix
        self._api_keys = api_keys

    def __getitem__(self, api_key: int) -> type[Any]:
        if api_key not in self._api_keys:
            raise KeyError(api_key)
        return _message_type(api_key, self._suffix)

    def __contains__(self, api_key: object) -> bool:
        return api_key in self._api_keys

    def __iter__(self) -> Iterator[int]:
        return iter(self._api_keys)

    def __len__(self) -> int:
        return len(self._api_keys)


@cache
def _message_type(api_key: int, suffix: str) -> type[Any]:
    api = APIS[api_key]
    found: type[Any] = getattr(import_module(f"tidelog.protocol.messages.{api.module}"), api.name + suffix)
    return found


def requests_of(api_keys: Collection[int]) -> Mapping[int, type[Any]]:
    """Return the requests of these APIs alone."""
    return MessageTypes("Request", api_keys)


REQUESTS = MessageTypes("Request")
RESPONSES = MessageTypes("Response")
