"""AlterPartitionReassignments: start or cancel moving partitions to other replicas.

1 can forbid that the replication factor changes on the way.
"""

from tidelog.protocol.schema import boolean, field, int16, int32, request, response, string, struct


@struct
class ReassignablePartition:
    partition_index: int32
    replicas: list[int32] | None = field(nullable="0+", default=None)


@struct
class ReassignableTopic:
    name: string
    partitions: list[ReassignablePartition]


@request(api_key=45, versions="0-1", flexible="0+")
class AlterPartitionReassignmentsRequest:
    timeout_ms: int32 = 60000
    allow_replication_factor_change: boolean = field("1+", default=True)
    topics: list[ReassignableTopic]


@struct
class ReassignablePartitionResponse:
    partition_index: int32
    error_code: int16
    error_message: string | None = field(nullable="0+")


@struct
class ReassignableTopicResponse:
    name: string
    partitions: list[ReassignablePartitionResponse]


@response(api_key=45, versions="0-1", flexible="0+")
class AlterPartitionReassignmentsResponse:
    throttle_time_ms: int32
    allow_replication_factor_change: boolean = field("1+", default=True, ignorable=True)
    error_code: int16
    error_message: string | None = field(nullable="0+")
    responses: list[ReassignableTopicResponse]
