"""Group coordinators, as `coordinators` runs them: one for each partition of `__consumer_offsets`."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tidelog.config.settings import groups
from tidelog.coordinator.group.coordinator import GroupCoordinator
from tidelog.coordinator.group.offsets.loading import load_offsets
from tidelog.coordinator.group.records import GROUP_RECORDS
from tidelog.coordinator.group.shard import GroupShard
from tidelog.metadata.changes import Changes
from tidelog.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from tidelog.protocol.messages.describe_groups import DescribeGroupsRequest
from tidelog.protocol.messages.heartbeat import HeartbeatRequest
from tidelog.protocol.messages.list_groups import ListGroupsRequest
from tidelog.protocol.messages.offset_fetch import OffsetFetchRequest
from tidelog.records.compression import CompressionType
from tidelog.server.cluster.internal_topics import CONSUMER_OFFSETS
from tidelog.server.coordination.kind import CoordinatorKind
from tidelog.server.hosting.partition import Partition

if TYPE_CHECKING:
    from tidelog.server.node.broker import Broker


def _make(broker: "Broker", partition: Partition, record_bytes_max: int) -> GroupCoordinator:
    topic_partition = partition.topic_partition
    return GroupCoordinator(
        GroupShard(
            config=broker.config,
            entropy=broker.entropy,
            image=broker.image,
            partition=topic_partition.partition,
            max_record_bytes=record_bytes_max,
            note=lambda line: broker.events.coordinator_note(topic_partition, line),
        )
    )


def _follow_line(machine: GroupCoordinator, has_line: Callable[[], bool]) -> None:
    machine.shard.has_line = has_line


def _image_changed(machine: GroupCoordinator, now_ms: int, broker: "Broker", changes: Changes) -> None:
    machine.image_changed(now_ms, broker.image, changes)


def _reconfigured(machine: GroupCoordinator, broker: "Broker", record_bytes_max: int) -> None:
    machine.shard.config = broker.config
    machine.shard.max_record_bytes = record_bytes_max


def _partitions_wanted(broker: "Broker") -> int:
    return broker.config.get(groups.OFFSETS_TOPIC_NUM_PARTITIONS)


def _compression(broker: "Broker") -> CompressionType:
    return CompressionType(broker.config.get(groups.OFFSETS_TOPIC_COMPRESSION_CODEC))


GROUPS: Final = CoordinatorKind(
    topic=CONSUMER_OFFSETS,
    types=GROUP_RECORDS,
    partitions_wanted=_partitions_wanted,
    compression=_compression,
    make=_make,
    activate=GroupCoordinator.activate,
    image_changed=_image_changed,
    reconfigured=_reconfigured,
    load_run=load_offsets,
    follow_line=_follow_line,
    reads=(
        OffsetFetchRequest,
        HeartbeatRequest,
        ListGroupsRequest,
        DescribeGroupsRequest,
        ConsumerGroupDescribeRequest,
    ),
)
