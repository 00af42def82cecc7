"""Metadata: brokers, topics and partitions, with who leads what.

Version 0 asks for all topics with an empty list; later ones with null, and an empty list means none. 4 may forbid
auto-creation, 7 returns leader epochs, 10 topic ids, 12 accepts them, 13 has an error of its own at the top.
"""

from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.schema import boolean, field, int16, int32, request, response, string, struct, uuid


@struct
class MetadataRequestTopic:
    topic_id: uuid = field("10+", default=ZERO_UUID, ignorable=True)
    name: string | None = field(nullable="10+")


@request(api_key=3, versions="0-13", flexible="9+")
class MetadataRequest:
    # All topics: null from version 1 on, but an empty list in version 0, where null cannot be said.
    topics: list[MetadataRequestTopic] | None = field(nullable="1+")
    allow_auto_topic_creation: boolean = field("4+", default=True)
    include_cluster_authorized_operations: boolean = field("8-10", default=False)
    include_topic_authorized_operations: boolean = field("8+", default=False)


@struct
class MetadataResponseBroker:
    node_id: int32
    host: string
    port: int32
    rack: string | None = field("1+", nullable="1+", default=None, ignorable=True)


@struct
class MetadataResponsePartition:
    error_code: int16
    partition_index: int32
    leader_id: int32
    leader_epoch: int32 = field("7+", default=-1, ignorable=True)
    replica_nodes: list[int32]
    isr_nodes: list[int32]
    offline_replicas: list[int32] = field("5+", default_factory=list, ignorable=True)


@struct
class MetadataResponseTopic:
    error_code: int16
    name: string | None = field(nullable="12+")
    topic_id: uuid = field("10+", default=ZERO_UUID, ignorable=True)
    is_internal: boolean = field("1+", default=False, ignorable=True)
    partitions: list[MetadataResponsePartition]
    topic_authorized_operations: int32 = field("8+", default=-2147483648)


@response(api_key=3, versions="0-13", flexible="9+")
class MetadataResponse:
    throttle_time_ms: int32 = field("3+", default=0, ignorable=True)
    brokers: list[MetadataResponseBroker]
    cluster_id: string | None = field("2+", nullable="2+", default=None, ignorable=True)
    controller_id: int32 = field("1+", default=-1, ignorable=True)
    topics: list[MetadataResponseTopic]
    cluster_authorized_operations: int32 = field("8-10", default=-2147483648)
    error_code: int16 = field("13+", default=0, ignorable=True)
