"""AlterPartition: a leader asks the controller to change its ISR.

Versions below 2 addressed topics by name and are gone; 3 pairs each ISR member with its broker epoch.
"""

from tidelog.protocol.schema import field, int8, int16, int32, int64, request, response, struct, uuid


@struct
class BrokerState:
    broker_id: int32
    broker_epoch: int64 = -1


@struct
class AlterPartitionRequestPartitionData:
    partition_index: int32
    leader_epoch: int32
    new_isr: list[int32] = field("0-2", default_factory=list)
    new_isr_with_epochs: list[BrokerState] = field("3+", default_factory=list)
    leader_recovery_state: int8 = 0
    partition_epoch: int32


@struct
class AlterPartitionRequestTopicData:
    topic_id: uuid
    partitions: list[AlterPartitionRequestPartitionData]


@request(api_key=56, versions="2-3", flexible="0+")
class AlterPartitionRequest:
    broker_id: int32
    broker_epoch: int64 = -1
    topics: list[AlterPartitionRequestTopicData]


@struct
class AlterPartitionResponsePartitionData:
    partition_index: int32
    error_code: int16
    leader_id: int32
    leader_epoch: int32
    isr: list[int32]
    leader_recovery_state: int8 = 0
    partition_epoch: int32


@struct
class AlterPartitionResponseTopicData:
    topic_id: uuid
    partitions: list[AlterPartitionResponsePartitionData]


@response(api_key=56, versions="2-3", flexible="0+")
class AlterPartitionResponse:
    throttle_time_ms: int32
    error_code: int16
    topics: list[AlterPartitionResponseTopicData]
