"""AssignReplicasToDirs: a broker reports in which log directory its replicas have come to lie."""

from tidelog.protocol.schema import int16, int32, int64, request, response, struct, uuid


@struct
class AssignReplicasToDirsRequestPartitionData:
    partition_index: int32


@struct
class AssignReplicasToDirsRequestTopicData:
    topic_id: uuid
    partitions: list[AssignReplicasToDirsRequestPartitionData]


@struct
class AssignReplicasToDirsRequestDirectoryData:
    id: uuid
    topics: list[AssignReplicasToDirsRequestTopicData]


@request(api_key=73, versions="0", flexible="0+")
class AssignReplicasToDirsRequest:
    broker_id: int32
    broker_epoch: int64 = -1
    directories: list[AssignReplicasToDirsRequestDirectoryData]


@struct
class AssignReplicasToDirsResponsePartitionData:
    partition_index: int32
    error_code: int16


@struct
class AssignReplicasToDirsResponseTopicData:
    topic_id: uuid
    partitions: list[AssignReplicasToDirsResponsePartitionData]


@struct
class AssignReplicasToDirsResponseDirectoryData:
    id: uuid
    topics: list[AssignReplicasToDirsResponseTopicData]


@response(api_key=73, versions="0", flexible="0+")
class AssignReplicasToDirsResponse:
    throttle_time_ms: int32
    error_code: int16
    directories: list[AssignReplicasToDirsResponseDirectoryData]
