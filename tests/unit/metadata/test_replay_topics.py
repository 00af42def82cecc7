"""Replay of records about topics and partitions."""

from typing import Any

import pytest
from tests.unit.metadata.built import config, frozen, metadata_version, partition, replayed, topic, uuid

from tidelog.metadata.configs import ConfigResource, ResourceType
from tidelog.metadata.directories import MIGRATING_DIRECTORY
from tidelog.metadata.draft import MetadataDraft
from tidelog.metadata.errors import InconsistentRecord
from tidelog.metadata.records.topics import ClearElrRecord, PartitionChangeRecord, PartitionRecord, RemoveTopicRecord
from tidelog.metadata.topics import LeaderRecoveryState, Partition


def the_partition(draft: MetadataDraft, number: int = 1, partition_id: int = 0) -> Partition:
    found = draft.topics.partition(uuid(number), partition_id)
    assert found is not None
    return found


def change(number: int = 1, partition_id: int = 0, **fields: Any) -> PartitionChangeRecord:
    return PartitionChangeRecord(partition_id=partition_id, topic_id=uuid(number), **fields)


def test_a_topic_is_found_by_id_and_by_name() -> None:
    draft = replayed(topic(1), topic(2), partition(2, 0), partition(2, 1))
    assert draft.topics.by_name["topic-2"] is draft.topics.by_id[uuid(2)]
    assert draft.topics.by_name["topic-2"].partition_ids() == [0, 1]
    assert len(draft.topics) == 2
    assert draft.topics.partition(uuid(1), 0) is None
    assert draft.topics.partition(uuid(9), 0) is None


def test_a_partition_is_as_its_record_says() -> None:
    record = partition(
        replicas=[3, 1, 2],
        isr=[1, 2],
        adding_replicas=[2],
        removing_replicas=[3],
        leader=2,
        leader_recovery_state=1,
        eligible_leader_replicas=[3],
        last_known_elr=[1],
    )
    assert the_partition(replayed(topic(), record)) == Partition(
        replicas=(3, 1, 2),
        directories=(uuid(101), uuid(102), uuid(103)),
        isr=(1, 2),
        leader=2,
        leader_epoch=5,
        partition_epoch=7,
        leader_recovery_state=LeaderRecoveryState.RECOVERING,
        adding_replicas=(2,),
        removing_replicas=(3,),
        elr=(3,),
        last_known_elr=(1,),
    )


@pytest.mark.parametrize("directories", [[], [MIGRATING_DIRECTORY]])
def test_a_record_from_before_directories_leaves_them_open(directories: list[Any]) -> None:
    found = the_partition(replayed(topic(), partition(directories=directories)))
    assert found.directories == (MIGRATING_DIRECTORY,) * 3


def test_a_change_touches_what_it_names() -> None:
    draft = replayed(topic(), partition(), change(isr=[1, 2]))
    found = the_partition(draft)
    assert (found.isr, found.replicas, found.leader) == ((1, 2), (1, 2, 3), 1)
    assert (found.leader_epoch, found.partition_epoch) == (5, 8)


@pytest.mark.parametrize("leader", [2, 1, -1])
def test_naming_a_leader_is_a_new_leader_epoch_even_for_the_same_leader(leader: int) -> None:
    found = the_partition(replayed(topic(), partition(), change(leader=leader)))
    assert (found.leader, found.leader_epoch, found.partition_epoch) == (leader, 6, 8)
    assert found.has_leader is (leader != -1)


def test_a_change_can_name_everything() -> None:
    everything = change(
        isr=[4],
        leader=4,
        replicas=[4, 5],
        removing_replicas=[1],
        adding_replicas=[5],
        leader_recovery_state=1,
        directories=[uuid(104), uuid(105)],
        eligible_leader_replicas=[5],
        last_known_elr=[4],
    )
    assert the_partition(replayed(topic(), partition(), everything)) == Partition(
        replicas=(4, 5),
        directories=(uuid(104), uuid(105)),
        isr=(4,),
        leader=4,
        leader_epoch=6,
        partition_epoch=8,
        leader_recovery_state=LeaderRecoveryState.RECOVERING,
        adding_replicas=(5,),
        removing_replicas=(1,),
        elr=(5,),
        last_known_elr=(4,),
    )


def test_an_empty_list_is_a_change() -> None:
    given = partition(adding_replicas=[4], removing_replicas=[1], eligible_leader_replicas=[3], last_known_elr=[2])
    emptied = change(adding_replicas=[], removing_replicas=[], eligible_leader_replicas=[], last_known_elr=[])
    found = the_partition(replayed(topic(), given, emptied))
    assert (found.adding_replicas, found.removing_replicas, found.elr, found.last_known_elr) == ((), (), (), ())


def test_recovery_ends_only_when_a_change_says_so() -> None:
    draft = replayed(topic(), partition(leader_recovery_state=1), change(isr=[1]))
    assert the_partition(draft).leader_recovery_state is LeaderRecoveryState.RECOVERING
    draft.replay(change(leader_recovery_state=0))
    assert the_partition(draft).leader_recovery_state is LeaderRecoveryState.RECOVERED


def test_replicas_that_change_with_unknown_directories_stay_unknown() -> None:
    found = the_partition(replayed(topic(), partition(directories=[]), change(replicas=[1, 2])))
    assert found.directories == (MIGRATING_DIRECTORY,) * 2


def test_a_deleted_topic_takes_its_partitions_and_settings_along() -> None:
    draft = replayed(
        topic(1, "orders"), partition(1), config(2, "orders", "retention.ms", "5"), RemoveTopicRecord(topic_id=uuid(1))
    )
    assert len(draft.topics) == 0
    assert "orders" not in draft.topics.by_name
    assert ConfigResource(ResourceType.TOPIC, "orders") not in draft.configs
    draft.replay(topic(2, "orders"))
    assert draft.topics.by_name["orders"].id == uuid(2)
    assert draft.topics.by_name["orders"].partition_ids() == []


def test_elr_is_cleared_of_one_topic_or_of_all() -> None:
    records = [topic(1), topic(2), topic(3), partition(3)]
    records += [
        partition(number, at, eligible_leader_replicas=[2], last_known_elr=[3]) for number in (1, 2) for at in (0, 1)
    ]
    draft = replayed(*records, ClearElrRecord(topic_name="topic-1"))
    assert [bool(the_partition(draft, number).elr) for number in (1, 2)] == [False, True]
    draft.replay(ClearElrRecord(topic_name=""))
    assert [bool(the_partition(draft, number, at).last_known_elr) for number in (1, 2) for at in (0, 1)] == [False] * 4
    assert the_partition(draft, 2, 1).partition_epoch == 8
    assert the_partition(draft, 3).partition_epoch == 7  # there was nothing to clear


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        (topic(1), "'topic-1' exists already"),
        (topic(1, "other"), "exists already"),
        (topic(9, "topic-1"), "exists already"),
        (partition(9), "no topic with the id"),
        (change(9), "no topic with the id"),
        (change(1, 4), "'topic-1' has no partition 4"),
        (RemoveTopicRecord(topic_id=uuid(9)), "no topic with the id"),
        (ClearElrRecord(topic_name="nowhere"), "no topic 'nowhere'"),
        (partition(1, directories=[uuid(101)]), "1 directories for 3 replicas"),
        (change(1, replicas=[1]), "3 directories for 1 replicas"),
        (partition(1, leader_recovery_state=2), "no leader recovery state"),
        (change(1, leader_recovery_state=-2), "no leader recovery state"),
    ],
)
def test_a_record_that_does_not_fit_is_refused_and_changes_nothing(record: Any, complaint: str) -> None:
    draft = replayed(topic(1), partition(1))
    before = frozen(draft)
    with pytest.raises(InconsistentRecord, match=complaint):
        draft.replay(record)
    assert frozen(draft) == before


def test_equal_lists_are_one_object() -> None:
    draft = replayed(topic(), *(partition(1, number) for number in range(3)))
    first, second, third = (the_partition(draft, 1, number) for number in range(3))
    assert first.replicas is second.replicas is third.isr
    assert first.directories is third.directories


def test_a_partition_knows_its_preferred_replica_and_directories() -> None:
    found = the_partition(replayed(topic(), partition(replicas=[2, 1, 3])))
    assert found.preferred_replica == 2
    assert found.directory_of(1) == uuid(102)
    assert not found.is_reassigning
    with pytest.raises(ValueError, match="not in tuple"):
        found.directory_of(9)


def test_partitions_come_in_order_whatever_the_order_of_their_records() -> None:
    records: list[PartitionRecord] = [partition(1, number) for number in (65_537, 2, 65_536, 0, 1)]
    draft = replayed(metadata_version(), topic(), *records)
    assert draft.topics.by_id[uuid(1)].partition_ids() == [0, 1, 2, 65_536, 65_537]
