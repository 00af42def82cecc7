"""CreatePartitions: raise the partition count of topics."""

from tidelog.protocol.schema import boolean, field, int16, int32, request, response, string, struct


@struct
class CreatePartitionsAssignment:
    broker_ids: list[int32]


@struct
class CreatePartitionsTopic:
    name: string
    count: int32
    assignments: list[CreatePartitionsAssignment] | None = field(nullable="0+")


@request(api_key=37, versions="0-3", flexible="2+")
class CreatePartitionsRequest:
    topics: list[CreatePartitionsTopic]
    timeout_ms: int32
    validate_only: boolean


@struct
class CreatePartitionsTopicResult:
    name: string
    error_code: int16
    error_message: string | None = field(nullable="0+", default=None)


@response(api_key=37, versions="0-3", flexible="2+")
class CreatePartitionsResponse:
    throttle_time_ms: int32
    results: list[CreatePartitionsTopicResult]
