"""ListPartitionReassignments: the moves that are under way."""

from tidelog.protocol.schema import field, int16, int32, request, response, string, struct


@struct
class ListPartitionReassignmentsTopics:
    name: string
    partition_indexes: list[int32]


@request(api_key=46, versions="0", flexible="0+")
class ListPartitionReassignmentsRequest:
    timeout_ms: int32 = 60000
    topics: list[ListPartitionReassignmentsTopics] | None = field(nullable="0+", default=None)


@struct
class OngoingPartitionReassignment:
    partition_index: int32
    replicas: list[int32]
    adding_replicas: list[int32]
    removing_replicas: list[int32]


@struct
class OngoingTopicReassignment:
    name: string
    partitions: list[OngoingPartitionReassignment]


@response(api_key=46, versions="0", flexible="0+")
class ListPartitionReassignmentsResponse:
    throttle_time_ms: int32
    error_code: int16
    error_message: string | None = field(nullable="0+")
    topics: list[OngoingTopicReassignment]
