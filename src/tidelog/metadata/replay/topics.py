"""Replay of records about topics and partitions: nearly all the records of a large cluster."""

from collections.abc import Sequence

from tidelog.metadata.configs import ConfigResource, ResourceType
from tidelog.metadata.directories import MIGRATING_DIRECTORY
from tidelog.metadata.draft_state import DraftState
from tidelog.metadata.errors import InconsistentRecord
from tidelog.metadata.records.topics import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from tidelog.metadata.topics import LeaderRecoveryState, Partition, Topic, no_partitions
from tidelog.model.ids import Uuid, format_uuid

NO_LEADER_CHANGE = -2
NO_RECOVERY_STATE_CHANGE = -1

_RECOVERY_STATES: dict[int, LeaderRecoveryState] = {state.value: state for state in LeaderRecoveryState}


def create_topic(state: DraftState, record: TopicRecord) -> None:
    topic_id = record.topic_id
    if record.name in state.topics.by_name:
        raise InconsistentRecord(record, f"a topic {record.name!r} exists already")
    if topic_id in state.topics.by_id:
        raise InconsistentRecord(record, f"a topic with the id {format_uuid(topic_id)} exists already")
    _put_topic(state, Topic(topic_id, record.name, no_partitions().owned_by(state.owner)))
    if state.changes is not None:
        state.changes.create_topic(topic_id, record.name)


def remove_topic(state: DraftState, record: RemoveTopicRecord) -> None:
    """Remove a topic and its settings: a topic made later under the same name starts afresh."""
    topic = _existing_topic(state, record, record.topic_id)
    topics = state.topics
    topics.by_id = topics.by_id.owned_by(state.owner)
    topics.by_name = topics.by_name.owned_by(state.owner)
    topics.by_id.remove(topic.id)
    topics.by_name.remove(topic.name)
    resource = ConfigResource(ResourceType.TOPIC, topic.name)
    had_configs = resource in state.configs
    if had_configs:
        state.configs = state.configs.owned_by(state.owner)
        state.configs.remove(resource)
    if state.changes is not None:
        state.changes.delete_topic(topic)
        if had_configs:
            state.changes.configs[resource] = None


def set_partition(state: DraftState, record: PartitionRecord) -> None:
    share = state.share_replicas
    replicas = share(record.replicas)
    partition = Partition(
        replicas,
        _directories(state, record, record.directories, len(replicas)),
        replicas if record.isr == record.replicas else share(record.isr),
        record.leader,
        record.leader_epoch,
        record.partition_epoch,
        _recovery_state(record, record.leader_recovery_state),
        share(record.adding_replicas) if record.adding_replicas else (),
        share(record.removing_replicas) if record.removing_replicas else (),
        share(record.eligible_leader_replicas) if record.eligible_leader_replicas else (),
        share(record.last_known_elr) if record.last_known_elr else (),
    )
    _put_partition(state, _existing_topic(state, record, record.topic_id), record.partition_id, partition)


def change_partition(state: DraftState, record: PartitionChangeRecord) -> None:
    topic = _existing_topic(state, record, record.topic_id)
    before = topic.partitions.get(record.partition_id)
    if before is None:
        raise InconsistentRecord(record, f"{topic.name!r} has no partition {record.partition_id}")
    _put_partition(state, topic, record.partition_id, _merge(state, before, record))


def clear_elr(state: DraftState, record: ClearElrRecord) -> None:
    """Forget the eligible leader replicas of one topic, or of all where none is named."""
    if not record.topic_name:
        for topic in list(state.topics.by_id.values()):
            _clear_elr_of(state, topic)
        return
    named = state.topics.by_name.get(record.topic_name)
    if named is None:
        raise InconsistentRecord(record, f"there is no topic {record.topic_name!r}")
    _clear_elr_of(state, named)


def _clear_elr_of(state: DraftState, topic: Topic) -> None:
    for partition_id, partition in list(topic.partitions.items()):
        if partition.elr or partition.last_known_elr:
            change = PartitionChangeRecord(
                partition_id=partition_id, topic_id=topic.id, eligible_leader_replicas=[], last_known_elr=[]
            )
            change_partition(state, change)


def _merge(state: DraftState, before: Partition, change: PartitionChangeRecord) -> Partition:
    """Return the partition after the change. Every change is a new partition epoch; naming a leader, even the same one,
    is a new leader epoch as well."""
    replicas = before.replicas if change.replicas is None else state.share_replicas(change.replicas)
    directories = before.directories if change.directories is None else change.directories
    elects = change.leader != NO_LEADER_CHANGE
    recovery = change.leader_recovery_state
    return Partition(
        replicas,
        _directories(state, change, directories, len(replicas)),
        _changed(state, change.isr, before.isr),
        change.leader if elects else before.leader,
        before.leader_epoch + elects,
        before.partition_epoch + 1,
        before.leader_recovery_state if recovery == NO_RECOVERY_STATE_CHANGE else _recovery_state(change, recovery),
        _changed(state, change.adding_replicas, before.adding_replicas),
        _changed(state, change.removing_replicas, before.removing_replicas),
        _changed(state, change.eligible_leader_replicas, before.elr),
        _changed(state, change.last_known_elr, before.last_known_elr),
    )


def _changed(state: DraftState, replicas: Sequence[int] | None, before: tuple[int, ...]) -> tuple[int, ...]:
    return before if replicas is None else state.share_replicas(replicas)


def _directories(state: DraftState, record: object, directories: Sequence[Uuid], count: int) -> tuple[Uuid, ...]:
    """Return one directory a replica. Records from before directories had ids name none: their replicas are
    MIGRATING_DIRECTORY."""
    shared = state.share_directories(directories)
    if len(shared) == count:
        return shared
    if all(each == MIGRATING_DIRECTORY for each in shared):
        return state.share_directories([MIGRATING_DIRECTORY] * count)
    raise InconsistentRecord(record, f"{len(shared)} directories for {count} replicas")


def _recovery_state(record: object, value: int) -> LeaderRecoveryState:
    found = _RECOVERY_STATES.get(value)
    if found is None:
        raise InconsistentRecord(record, f"{value} is no leader recovery state")
    return found


def _existing_topic(state: DraftState, record: object, topic_id: Uuid) -> Topic:
    topic = state.topics.by_id.get(topic_id)
    if topic is None:
        raise InconsistentRecord(record, f"there is no topic with the id {format_uuid(topic_id)}")
    return topic


def _put_partition(state: DraftState, topic: Topic, partition_id: int, partition: Partition) -> None:
    partitions = topic.partitions.owned_by(state.owner)
    if partitions is not topic.partitions:
        _put_topic(state, Topic(topic.id, topic.name, partitions))
    partitions.put(partition_id, partition)
    if state.changes is not None:
        state.changes.change_partition(topic.id, partition_id)


def _put_topic(state: DraftState, topic: Topic) -> None:
    topics = state.topics
    topics.by_id = topics.by_id.owned_by(state.owner)
    topics.by_name = topics.by_name.owned_by(state.owner)
    topics.by_id.put(topic.id, topic)
    topics.by_name.put(topic.name, topic)
