"""AlterReplicaLogDirs: move replicas of one broker to another log directory."""

from tidelog.protocol.schema import int16, int32, request, response, string, struct


@struct
class AlterReplicaLogDirTopic:
    name: string
    partitions: list[int32]


@struct
class AlterReplicaLogDir:
    path: string
    topics: list[AlterReplicaLogDirTopic]


@request(api_key=34, versions="1-2", flexible="2+")
class AlterReplicaLogDirsRequest:
    dirs: list[AlterReplicaLogDir]


@struct
class AlterReplicaLogDirPartitionResult:
    partition_index: int32
    error_code: int16


@struct
class AlterReplicaLogDirTopicResult:
    topic_name: string
    partitions: list[AlterReplicaLogDirPartitionResult]


@response(api_key=34, versions="1-2", flexible="2+")
class AlterReplicaLogDirsResponse:
    throttle_time_ms: int32
    results: list[AlterReplicaLogDirTopicResult]
