"""DeleteRecords: move the log start offset of partitions forward."""

from tidelog.protocol.schema import int16, int32, int64, request, response, string, struct


@struct
class DeleteRecordsPartition:
    partition_index: int32
    offset: int64


@struct
class DeleteRecordsTopic:
    name: string
    partitions: list[DeleteRecordsPartition]


@request(api_key=21, versions="0-2", flexible="2+")
class DeleteRecordsRequest:
    topics: list[DeleteRecordsTopic]
    timeout_ms: int32


@struct
class DeleteRecordsPartitionResult:
    partition_index: int32
    low_watermark: int64
    error_code: int16


@struct
class DeleteRecordsTopicResult:
    name: string
    partitions: list[DeleteRecordsPartitionResult]


@response(api_key=21, versions="0-2", flexible="2+")
class DeleteRecordsResponse:
    throttle_time_ms: int32
    topics: list[DeleteRecordsTopicResult]
