"""ElectLeaders: have leaders elected, the preferred ones or (1 and later) uncleanly."""

from tidelog.protocol.schema import field, int8, int16, int32, request, response, string, struct


@struct
class TopicPartitions:
    topic: string
    partitions: list[int32]


@request(api_key=43, versions="0-2", flexible="2+")
class ElectLeadersRequest:
    election_type: int8 = field("1+", default=0)
    topic_partitions: list[TopicPartitions] | None = field(nullable="0+")
    timeout_ms: int32 = 60000


@struct
class PartitionResult:
    partition_id: int32
    error_code: int16
    error_message: string | None = field(nullable="0+")


@struct
class ReplicaElectionResult:
    topic: string
    partition_result: list[PartitionResult]


@response(api_key=43, versions="0-2", flexible="2+")
class ElectLeadersResponse:
    throttle_time_ms: int32
    error_code: int16 = field("1+", default=0)
    replica_election_results: list[ReplicaElectionResult]
