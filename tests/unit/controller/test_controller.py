"""The machine as its driver sees it, and the state checks that the other tests rely on."""

import pytest
from tests.unit.controller.cluster import Cluster, create, directory, topic

from tidelog.controller.results import Result, finish
from tidelog.metadata.errors import MetadataError
from tidelog.metadata.records.topics import PartitionChangeRecord, PartitionRecord, RemoveTopicRecord, TopicRecord
from tidelog.metadata.records.transactions import BeginTransactionRecord, EndTransactionRecord
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.metadata import MetadataRequest


def test_what_is_no_request_to_a_controller() -> None:
    with pytest.raises(TypeError, match="MetadataRequest"):
        Cluster().controller.handle(0, MetadataRequest(topics=None))


def test_a_bare_message_is_a_request_too() -> None:
    cluster = Cluster().start(1)
    assert finish(cluster.controller.handle(0, create(topic("t", 1, 1)))).response.topics[0].error_code == 0


def test_finish_takes_both_forms() -> None:
    result = Result([], None)
    assert finish(result) is result


def test_an_abandoned_request_leaves_nothing_behind() -> None:
    cluster = Cluster().start(1)
    steps = cluster.controller.handle(0, create(topic("t", 1000, 1)))
    assert not isinstance(steps, Result)
    next(steps)
    steps.close()
    assert "t" not in cluster.metadata.topics.by_name
    cluster.create("t")


def test_a_record_that_does_not_fit_stops_the_node() -> None:
    with pytest.raises(MetadataError):
        Cluster().controller.replay(RemoveTopicRecord(topic_id=Uuid(bytes(16))))
    with pytest.raises(MetadataError):
        Cluster().controller.replay(TopicRecord)


def test_records_of_a_transaction_are_followed_when_it_ends() -> None:
    cluster = Cluster().start(1)
    topic_id = Uuid(b"t" * 16)
    partition = PartitionRecord(
        partition_id=0,
        topic_id=topic_id,
        replicas=[1],
        isr=[1],
        removing_replicas=[],
        adding_replicas=[],
        leader=1,
        leader_epoch=0,
        partition_epoch=0,
        directories=[directory(1)],
    )
    messages = [BeginTransactionRecord(), TopicRecord(name="a.b", topic_id=topic_id), partition, EndTransactionRecord()]
    for message in messages:
        cluster.log.append((message, 2 if message is partition else 0))
        cluster.controller.replay(message)
    cluster.controller.validate_state()
    cluster.heartbeat(1, want_fence=True)
    assert cluster.partition("a.b").leader == -1


@pytest.mark.parametrize(
    "change",
    [
        {"leader": 2, "isr": [1]},
        {"isr": [2, 9]},
        {"isr": []},
        {"replicas": [1, 1], "directories": [directory(1)] * 2},
        {"eligible_leader_replicas": [1]},
        {"leader": 3, "isr": [3]},
        {"leader_recovery_state": 1},
    ],
)
def test_broken_metadata_is_found(change: dict[str, object]) -> None:
    """Partition 0 of t has the replicas 1, 2 and 3, of which 3 is fenced; 1 leads."""
    cluster = Cluster().start(1, 2)
    cluster.register(3)
    topic_id = cluster.assign("t", [1, 2, 3])
    record = PartitionChangeRecord(partition_id=0, topic_id=topic_id, **change)  # type: ignore[arg-type]
    cluster.controller.replay(record)
    with pytest.raises(AssertionError):
        cluster.controller.validate_state()
