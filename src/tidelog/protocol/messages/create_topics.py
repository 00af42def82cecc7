"""CreateTopics: create topics, or only check whether they could be.

4 takes -1 for the broker's default counts, 5 returns the configs, 7 the topic id.
"""

from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.schema import boolean, field, int8, int16, int32, request, response, string, struct, uuid


@struct
class CreatableReplicaAssignment:
    partition_index: int32
    broker_ids: list[int32]


@struct
class CreatableTopicConfig:
    name: string
    value: string | None = field(nullable="0+")


@struct
class CreatableTopic:
    name: string
    num_partitions: int32
    replication_factor: int16
    assignments: list[CreatableReplicaAssignment]
    configs: list[CreatableTopicConfig]


@request(api_key=19, versions="2-7", flexible="5+")
class CreateTopicsRequest:
    topics: list[CreatableTopic]
    timeout_ms: int32 = 60000
    validate_only: boolean = False


@struct
class CreatableTopicConfigs:
    name: string
    value: string | None = field(nullable="0+")
    read_only: boolean
    config_source: int8 = -1
    is_sensitive: boolean


@struct
class CreatableTopicResult:
    name: string
    topic_id: uuid = field("7+", default=ZERO_UUID, ignorable=True)
    error_code: int16
    error_message: string | None = field(nullable="0+")
    topic_config_error_code: int16 = field("5+", tag=0, default=0, ignorable=True)
    num_partitions: int32 = field("5+", default=-1, ignorable=True)
    replication_factor: int16 = field("5+", default=-1, ignorable=True)
    configs: list[CreatableTopicConfigs] | None = field("5+", nullable="5+", default_factory=list, ignorable=True)


@response(api_key=19, versions="2-7", flexible="5+")
class CreateTopicsResponse:
    throttle_time_ms: int32
    topics: list[CreatableTopicResult]
