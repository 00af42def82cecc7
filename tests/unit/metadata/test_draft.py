"""The draft itself: images that do not change, changes in their order, metadata transactions."""

from typing import Any

import pytest
from tests.unit.metadata.built import (
    acl,
    broker,
    config,
    controller,
    frozen,
    partition,
    quota,
    replayed,
    scram,
    token,
    topic,
    uuid,
)

from tidelog.metadata.changes import Changes
from tidelog.metadata.client_quotas import QuotaEntityPart
from tidelog.metadata.configs import ConfigResource, ResourceType
from tidelog.metadata.draft import MetadataDraft
from tidelog.metadata.errors import InconsistentRecord, UnplayableRecord
from tidelog.metadata.image import Provenance, empty_image
from tidelog.metadata.records import METADATA_RECORDS
from tidelog.metadata.records.brokers import BrokerRegistrationChangeRecord, UnregisterBrokerRecord
from tidelog.metadata.records.cluster import FeatureLevelRecord, ProducerIdsRecord, ZkMigrationStateRecord
from tidelog.metadata.records.security import RemoveAccessControlEntryRecord
from tidelog.metadata.records.topics import PartitionChangeRecord, RemoveTopicRecord
from tidelog.metadata.records.transactions import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    NoOpRecord,
)
from tidelog.metadata.replay import REPLAY
from tidelog.metadata.security import ScramMechanism, ScramUser
from tidelog.metadata.shared_map import SharedMap

TRANSACTIONS = {BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord}


def test_every_record_of_the_log_has_a_meaning() -> None:
    assert set(REPLAY) | TRANSACTIONS == set(METADATA_RECORDS.values())


def test_what_is_no_record_is_refused() -> None:
    with pytest.raises(UnplayableRecord, match="Changes is no record"):
        replayed().replay(Changes())


@pytest.mark.parametrize("record", [NoOpRecord(), ZkMigrationStateRecord(zk_migration_state=1)])
def test_some_records_change_nothing(record: Any) -> None:
    draft = replayed(topic())
    draft.take_changes()
    before = frozen(draft)
    draft.replay(record)
    assert frozen(draft) == before
    assert draft.take_changes().is_empty


def test_an_image_says_where_it_comes_from() -> None:
    assert frozen(replayed()).provenance == Provenance(42, 3, 1_700_000_000_000)
    assert empty_image().provenance == Provenance(-1, -1, -1)


def test_an_image_does_not_see_what_is_replayed_later() -> None:
    draft = replayed(topic(1), partition(1), broker(1))
    before = frozen(draft)
    draft.replay(PartitionChangeRecord(partition_id=0, topic_id=uuid(1), leader=2))
    draft.replay(partition(1, 1))
    draft.replay(topic(2))
    draft.replay(UnregisterBrokerRecord(broker_id=1, broker_epoch=10))
    after = frozen(draft)
    draft.replay(RemoveTopicRecord(topic_id=uuid(1)))

    assert before.topics.by_name["topic-1"].partition_ids() == [0]
    assert before.topics.by_id[uuid(1)].partitions[0].leader == 1
    assert "topic-2" not in before.topics.by_name
    assert 1 in before.brokers
    assert after.topics.by_name["topic-1"].partition_ids() == [0, 1]
    assert after.topics.by_id[uuid(1)].partitions[0].leader == 2
    assert 1 not in after.brokers
    assert list(draft.topics.by_name) == ["topic-2"]


def test_what_did_not_change_is_the_same_object() -> None:
    draft = replayed(topic(1), topic(2), broker(1))
    before = frozen(draft)
    draft.replay(partition(1))
    after = frozen(draft)
    assert after.topics.by_id[uuid(2)] is before.topics.by_id[uuid(2)]
    assert after.topics.by_id[uuid(1)] is not before.topics.by_id[uuid(1)]
    assert after.brokers is before.brokers


def test_drafts_of_one_image_do_not_see_each_other() -> None:
    base = frozen(replayed(topic(1), partition(1)))
    one, other = MetadataDraft(base), MetadataDraft(base)
    one.replay(partition(1, 1))
    other.replay(RemoveTopicRecord(topic_id=uuid(1)))
    assert one.topics.by_id[uuid(1)].partition_ids() == [0, 1]
    assert len(other.topics) == 0
    assert base.topics.by_id[uuid(1)].partition_ids() == [0]


def test_changes_come_in_the_order_they_happened() -> None:
    draft = replayed(topic(2), partition(2, 1), partition(2, 0), topic(1), partition(1), broker(5), broker(4))
    draft.replay(partition(2, 1))
    changes = draft.take_changes()
    assert list(changes.topics_created.items()) == [(uuid(2), "topic-2"), (uuid(1), "topic-1")]
    assert [(each, list(ids)) for each, ids in changes.partitions.items()] == [(uuid(2), [1, 0]), (uuid(1), [0])]
    assert list(changes.brokers) == [5, 4]
    assert draft.take_changes().is_empty


def test_a_change_of_a_partition_names_only_that_partition() -> None:
    draft = replayed(topic(1), partition(1, 0), partition(1, 1))
    draft.take_changes()
    draft.replay(PartitionChangeRecord(partition_id=1, topic_id=uuid(1), leader=2))
    assert draft.take_changes() == Changes(partitions={uuid(1): {1: None}})


def test_a_deleted_topic_is_handed_over_as_it_was() -> None:
    draft = replayed(topic(1), partition(1, 0), partition(1, 1), config(2, "topic-1", "a", "b"))
    draft.take_changes()
    frozen(draft)
    draft.replay(partition(1, 2))
    draft.replay(RemoveTopicRecord(topic_id=uuid(1)))
    changes = draft.take_changes()
    assert changes.topics_deleted[uuid(1)].partition_ids() == [0, 1, 2]
    assert changes.configs == {ConfigResource(ResourceType.TOPIC, "topic-1"): None}
    assert not changes.partitions


def test_a_topic_made_and_deleted_in_between_leaves_no_trace() -> None:
    assert replayed(topic(1), partition(1), RemoveTopicRecord(topic_id=uuid(1))).take_changes().is_empty


def test_a_topic_made_anew_is_deleted_and_created() -> None:
    draft = replayed(topic(1, "orders"))
    draft.take_changes()
    draft.replay(RemoveTopicRecord(topic_id=uuid(1)))
    draft.replay(topic(2, "orders"))
    changes = draft.take_changes()
    assert list(changes.topics_deleted) == [uuid(1)]
    assert changes.topics_created == {uuid(2): "orders"}


def test_every_kind_of_change_is_noticed() -> None:
    assert replayed(
        controller(3),
        config(4, "", "a", "b"),
        FeatureLevelRecord(name="group.version", feature_level=1),
        ProducerIdsRecord(broker_id=1, next_producer_id=1000),
        quota({"user": "alice"}, "rate", 1.0),
        acl(1),
        RemoveAccessControlEntryRecord(id=uuid(701)),
        scram(),
        token(),
    ).take_changes() == Changes(
        controllers={3: None},
        configs={ConfigResource(ResourceType.BROKER, ""): None},
        features={"group.version": None},
        producer_ids=True,
        client_quotas={(QuotaEntityPart("user", "alice"),): None},
        acls={uuid(701): None},
        scram_credentials={ScramUser(ScramMechanism.SCRAM_SHA_256, "alice"): None},
        delegation_tokens={"token-1": None},
    )


def test_a_registration_that_changes_nothing_is_no_change() -> None:
    draft = replayed(broker(1))
    draft.take_changes()
    draft.replay(BrokerRegistrationChangeRecord(broker_id=1, broker_epoch=10, fenced=1))
    assert draft.take_changes().is_empty


def test_a_draft_that_was_not_asked_to_track_changes_says_so() -> None:
    draft = MetadataDraft()
    draft.replay(topic())
    assert draft.changes is None
    with pytest.raises(ValueError, match="tracks_changes=True"):
        draft.take_changes()


def test_a_transaction_is_seen_when_it_ends() -> None:
    draft = replayed(BeginTransactionRecord(), topic(1), partition(1))
    assert draft.in_transaction
    assert len(draft.topics) == 0
    draft.replay(EndTransactionRecord())
    assert draft.topics.by_name["topic-1"].partition_ids() == [0]
    assert list(draft.take_changes().topics_created) == [uuid(1)]


def test_an_aborted_transaction_is_never_seen() -> None:
    draft = replayed(BeginTransactionRecord(), topic(1), AbortTransactionRecord())
    assert not draft.in_transaction
    assert len(draft.topics) == 0
    draft.replay(topic(1))
    assert len(draft.topics) == 1


def test_within_a_transaction_there_is_no_image() -> None:
    draft = replayed(BeginTransactionRecord())
    with pytest.raises(ValueError, match="in_transaction"):
        frozen(draft)


@pytest.mark.parametrize(
    "records",
    [
        [BeginTransactionRecord(), BeginTransactionRecord()],
        [EndTransactionRecord()],
        [AbortTransactionRecord()],
        [BeginTransactionRecord(), EndTransactionRecord(), EndTransactionRecord()],
    ],
)
def test_transactions_do_not_nest_and_end_once(records: list[Any]) -> None:
    with pytest.raises(InconsistentRecord, match="metadata transaction"):
        replayed(*records)


def test_a_transaction_holds_only_records_that_can_be_played() -> None:
    draft = replayed(BeginTransactionRecord())
    with pytest.raises(UnplayableRecord):
        draft.replay(Changes())


def test_the_names_of_changed_topics_are_found_once_however_many_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each coordinator of a broker asks for the names, and thousands of topics may have changed."""
    draft = replayed(topic(1), partition(1), topic(2), partition(2), topic(3))
    before = draft.take_changes()
    draft.replay(RemoveTopicRecord(topic_id=uuid(2)))
    draft.replay(topic(4))
    changes, topics = draft.take_changes(), frozen(draft).topics
    assert list(before.topic_names(topics)) == ["topic-1", "topic-2", "topic-3"]
    looks: list[object] = []
    get = SharedMap.get

    def note(*given: Any) -> Any:
        looks.append(given)
        return get(*given)

    monkeypatch.setattr(SharedMap, "get", note)
    changes.partitions[uuid(1)] = {0: None}
    for _ in range(2):
        assert list(changes.topic_names(topics)) == ["topic-1", "topic-4", "topic-2"]
    assert len(looks) == 1
    assert changes.deleted_names() == {uuid(2): "topic-2"}
    assert changes.deleted_names() is changes.deleted_names()
