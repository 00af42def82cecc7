"""The records of `__consumer_offsets`, by the type that their key begins with."""

from tidelog.coordinator.group.offset_bytes import OffsetBytes
from tidelog.coordinator.group.records.classic import (
    GroupMetadataKey,
    GroupMetadataValue,
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from tidelog.coordinator.group.records.consumer import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)
from tidelog.coordinator.group.records.share import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
)
from tidelog.coordinator.group.records.streams import (
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMemberValue,
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMetadataValue,
    StreamsGroupTopologyKey,
    StreamsGroupTopologyValue,
)
from tidelog.coordinator.record_framing import RecordTypes, RecordTypesById, use_own_codec

GROUP_RECORDS: RecordTypesById = {
    0: RecordTypes(LegacyOffsetCommitKey, LegacyOffsetCommitValue),
    1: RecordTypes(OffsetCommitKey, OffsetCommitValue),
    2: RecordTypes(GroupMetadataKey, GroupMetadataValue),
    3: RecordTypes(ConsumerGroupMetadataKey, ConsumerGroupMetadataValue),
    4: RecordTypes(ConsumerGroupPartitionMetadataKey, ConsumerGroupPartitionMetadataValue),
    5: RecordTypes(ConsumerGroupMemberMetadataKey, ConsumerGroupMemberMetadataValue),
    6: RecordTypes(ConsumerGroupTargetAssignmentMetadataKey, ConsumerGroupTargetAssignmentMetadataValue),
    7: RecordTypes(ConsumerGroupTargetAssignmentMemberKey, ConsumerGroupTargetAssignmentMemberValue),
    8: RecordTypes(ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupCurrentMemberAssignmentValue),
    10: RecordTypes(ShareGroupMemberMetadataKey, ShareGroupMemberMetadataValue),
    11: RecordTypes(ShareGroupMetadataKey, ShareGroupMetadataValue),
    12: RecordTypes(ShareGroupTargetAssignmentMetadataKey, ShareGroupTargetAssignmentMetadataValue),
    13: RecordTypes(ShareGroupTargetAssignmentMemberKey, ShareGroupTargetAssignmentMemberValue),
    14: RecordTypes(ShareGroupCurrentMemberAssignmentKey, ShareGroupCurrentMemberAssignmentValue),
    15: RecordTypes(ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue),
    16: RecordTypes(ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue),
    17: RecordTypes(StreamsGroupMetadataKey, StreamsGroupMetadataValue),
    19: RecordTypes(StreamsGroupMemberMetadataKey, StreamsGroupMemberMetadataValue),
    20: RecordTypes(StreamsGroupTargetAssignmentMetadataKey, StreamsGroupTargetAssignmentMetadataValue),
    21: RecordTypes(StreamsGroupTargetAssignmentMemberKey, StreamsGroupTargetAssignmentMemberValue),
    22: RecordTypes(StreamsGroupCurrentMemberAssignmentKey, StreamsGroupCurrentMemberAssignmentValue),
    23: RecordTypes(StreamsGroupTopologyKey, StreamsGroupTopologyValue),
}

use_own_codec(GROUP_RECORDS[1], OffsetBytes(OffsetCommitKey, OffsetCommitValue))
