"""No record may be larger than the log takes: what would not fit is refused before anything is decided by it."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from tidelog.coordinator.group.records.consumer import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberValue,
    TopicPartition,
    TopicPartitions,
)
from tidelog.coordinator.group.shard import GroupShard
from tidelog.coordinator.record_framing import encode_key, encode_value
from tidelog.model.decisions import Record
from tidelog.model.errors import ApiError, ErrorCode

# Bytes for the fields of a batch, of a record, and of a value that have a fixed size.
_OVERHEAD_BYTES: Final = 200


def check_records(shard: GroupShard, records: Iterable[Record]) -> None:
    """Raise ApiError for a record that is too large. Only what may be too large by a generous guess is encoded."""
    for message, version in records:
        if _guess_key(message.key) + _guess(message.value) <= shard.max_record_bytes:
            continue
        size = len(encode_key(message.key)) + len(encode_value(message.value, version) or b"") + _OVERHEAD_BYTES
        if size > shard.max_record_bytes:
            why = f"a record of {size} bytes is more than the offsets topic takes"
            raise ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, why)


def fit_together(shard: GroupShard, records: Iterable[Record]) -> bool:
    """Tell whether the log is sure to take all records in one batch."""
    guess = 0
    for message, _version in records:
        guess += _OVERHEAD_BYTES + _guess_key(message.key) + _guess(message.value)
    return guess <= shard.max_record_bytes


def _guess_key(key: Any) -> int:
    """Return the most bytes that a key may take. Few keys name more than the group."""
    length = len(getattr(key, "group_id", "")) + len(getattr(key, "member_id", ""))
    return 4 * (length + len(getattr(key, "regular_expression", "")))


def _guess(value: Any) -> int:
    match value:
        case ConsumerGroupMemberMetadataValue():
            classic = value.classic_member_metadata
            protocols = [] if classic is None else classic.supported_protocols
            metadata = sum(4 * len(protocol.name) + len(protocol.metadata) + 10 for protocol in protocols)
            texts = (value.subscribed_topic_regex, value.client_id, value.rack_id, value.instance_id)
            return _texts(value.subscribed_topic_names) + _texts([text or "" for text in texts]) + metadata
        case ConsumerGroupTargetAssignmentMemberValue():
            return _partitions(value.topic_partitions)
        case ConsumerGroupCurrentMemberAssignmentValue():
            return _partitions(value.assigned_partitions) + _partitions(value.partitions_pending_revocation)
        case ConsumerGroupRegularExpressionValue():
            return _texts(value.topics)
    return 0


def _texts(texts: Sequence[str]) -> int:
    """Return the most bytes that texts may take: four for each character."""
    return _OVERHEAD_BYTES + 4 * len("".join(texts)) + 5 * len(texts)


def _partitions(topics: Iterable[TopicPartition | TopicPartitions]) -> int:
    """Return the most bytes that partitions may take: an id for each topic, and up to two numbers for each
    partition."""
    return _OVERHEAD_BYTES + sum(40 + 8 * len(topic.partitions) for topic in topics)
