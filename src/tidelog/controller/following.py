"""Replay, for the controller: the metadata takes the record, and what the controller keeps beside it follows.

What happens within a metadata transaction takes effect all at once when it ends. That is rare (a new cluster's first
records), so everything is then built anew.
"""

from collections.abc import Callable
from typing import Any

from tidelog.controller.indexes import Indexes
from tidelog.controller.state import ControllerState
from tidelog.metadata.configs import ResourceType
from tidelog.metadata.records.brokers import UnregisterBrokerRecord
from tidelog.metadata.records.cluster import ConfigRecord
from tidelog.metadata.records.topics import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from tidelog.model.ids import Uuid


def replay(state: ControllerState, message: Any) -> None:
    metadata = state.metadata
    was_in_transaction = metadata.in_transaction
    follow = _FOLLOW.get(type(message))
    if follow is not None and not was_in_transaction:
        follow(state, message)
        return
    metadata.replay(message)
    if was_in_transaction and not metadata.in_transaction:
        state.indexes = Indexes.of(metadata)
        state.forget_config()


def _topic(state: ControllerState, record: TopicRecord) -> None:
    state.metadata.replay(record)
    state.indexes.add_topic(record.name)


def _removed_topic(state: ControllerState, record: RemoveTopicRecord) -> None:
    topic_id = Uuid(record.topic_id)
    topic = state.metadata.topics.by_id.get(topic_id)
    state.metadata.replay(record)
    assert topic is not None, "the metadata has just removed it"
    state.indexes.remove_topic(topic_id, topic.name)


def _partition(state: ControllerState, record: PartitionRecord | PartitionChangeRecord) -> None:
    topic_id, partition_id = Uuid(record.topic_id), record.partition_id
    before = state.metadata.topics.partition(topic_id, partition_id)
    state.metadata.replay(record)
    after = state.metadata.topics.by_id[topic_id].partitions[partition_id]
    state.indexes.change_partition(topic_id, partition_id, before, after)


def _cleared_elr(state: ControllerState, record: ClearElrRecord) -> None:
    state.metadata.replay(record)
    topic = state.metadata.topics.by_name.get(record.topic_name)
    state.indexes.clear_elr(topic.id if topic else None)


def _config(state: ControllerState, record: ConfigRecord) -> None:
    state.metadata.replay(record)
    if record.resource_type == ResourceType.BROKER:
        state.forget_config()


def _unregistered(state: ControllerState, record: UnregisterBrokerRecord) -> None:
    state.metadata.replay(record)
    state.sessions.end(record.broker_id)


_FOLLOW: dict[type[Any], Callable[[ControllerState, Any], None]] = {
    TopicRecord: _topic,
    RemoveTopicRecord: _removed_topic,
    PartitionRecord: _partition,
    PartitionChangeRecord: _partition,
    ClearElrRecord: _cleared_elr,
    ConfigRecord: _config,
    UnregisterBrokerRecord: _unregistered,
}
