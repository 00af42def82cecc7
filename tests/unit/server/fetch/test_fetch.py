"""Fetch without sessions: limits, waiting, offsets, epochs."""

from typing import Any

import pytest
from tests.support.serving import batch_of, create, produce, produced, values_in

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tidelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.records.batch import batches
from tidelog.server.hosting.partition import Partition
from tidelog.sim.node_world import NodeWorld, SimClient

OLDEST, NEWEST, FIRST_BY_ID = 4, 18, 13
LARGE = 1 << 20


def wanted(index: int = 0, offset: int = 0, max_bytes: int = LARGE, **kwargs: Any) -> FetchPartition:
    return FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=max_bytes, **kwargs)


def request(topic: str | bytes, *partitions: FetchPartition, **kwargs: Any) -> FetchRequest:
    """Build a Fetch of a topic by name, or by id where bytes are given."""
    name: dict[str, Any] = {"topic_id": Uuid(topic)} if isinstance(topic, bytes) else {"topic": topic}
    named = FetchTopic(**name, partitions=list(partitions))
    return FetchRequest(**{"max_wait_ms": 0, "min_bytes": 1, "topics": [named], **kwargs})


def only(response: Any) -> Any:
    assert response.error_code == ErrorCode.NONE
    return response.responses[0].partitions[0]


def hosted(node: NodeWorld, topic: str) -> Partition:
    return next(p for p in node.running.broker.hosted.by_topic_partition.values() if p.topic_partition.topic == topic)


@pytest.mark.parametrize("version", range(OLDEST, NEWEST + 1))
def test_every_version(client: SimClient, topic: str, version: int) -> None:
    topic_id = create(client, topic)
    produce(client, topic, b"a", b"b")
    produce(client, topic, b"c")
    name: str | bytes = topic_id if version >= FIRST_BY_ID else topic
    response = client.ask(request(name, wanted()), version)
    data = only(response)
    assert values_in(data.records) == [b"a", b"b", b"c"]
    assert (data.error_code, data.high_watermark, data.last_stable_offset) == (ErrorCode.NONE, 3, 3)
    assert data.log_start_offset == (0 if version >= 5 else -1)
    assert data.preferred_read_replica == -1
    named = response.responses[0]
    assert (bytes(named.topic_id) == topic_id) if version >= FIRST_BY_ID else (named.topic == topic)


def test_from_the_middle_of_a_batch_the_whole_batch_comes(client: SimClient, topic: str) -> None:
    create(client, topic)
    produce(client, topic, b"a", b"b", b"c")
    data = only(client.ask(request(topic, wanted(offset=1)), 12))
    assert values_in(data.records) == [b"a", b"b", b"c"]


@pytest.mark.parametrize("limits", [{"max_bytes": 1}, {"max_bytes": 0}, {}])
def test_the_first_batch_comes_whole_whatever_the_limits(client: SimClient, topic: str, limits: dict[str, int]) -> None:
    create(client, topic)
    produce(client, topic, bytes(5_000))
    produce(client, topic, b"second")
    found = only(client.ask(request(topic, wanted(max_bytes=1), **limits), 12))
    assert [batch.header.base_offset for batch in batches(bytes(found.records))] == [0]


def test_only_the_first_partition_may_pass_the_limit_of_the_request(client: SimClient, topic: str) -> None:
    create(client, topic, partitions=3)
    for index in range(3):
        produce(client, topic, bytes(5_000), partition=index)
    response = client.ask(request(topic, wanted(0), wanted(1), wanted(2), max_bytes=100), 12)
    sizes = [len(bytes(each.records or b"")) for each in response.responses[0].partitions]
    assert sizes[0] > 5_000
    assert sizes[1:] == [0, 0]


def test_the_limit_of_a_partition_cuts_between_batches(client: SimClient, topic: str) -> None:
    create(client, topic)
    for _ in range(10):
        produce(client, topic, bytes(1_000))
    found = only(client.ask(request(topic, wanted(max_bytes=3_500)), 12))
    assert [batch.header.base_offset for batch in batches(bytes(found.records))] == [0, 1, 2]


@pytest.mark.parametrize(("offset", "code"), [(-1, 1), (4, 1), (3, 0), (0, 0)])
def test_offsets_that_are_not_there(client: SimClient, topic: str, offset: int, code: int) -> None:
    create(client, topic)
    produce(client, topic, b"a", b"b", b"c")
    data = only(client.ask(request(topic, wanted(offset=offset), max_wait_ms=10_000, min_bytes=0), 12))
    assert data.error_code == code
    if code:
        assert (data.high_watermark, data.log_start_offset) == (-1, -1)


def test_before_the_start_of_the_log(client: SimClient, topic: str) -> None:
    create(client, topic)
    produce(client, topic, b"a", b"b", b"c")
    cut = DeleteRecordsTopic(name=topic, partitions=[DeleteRecordsPartition(partition_index=0, offset=2)])
    assert client.ask(DeleteRecordsRequest(topics=[cut], timeout_ms=0), 2).topics[0].partitions[0].low_watermark == 2
    epochs = {"last_fetched_epoch": 0}
    assert only(client.ask(request(topic, wanted(offset=1)), 12)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    hidden = only(client.ask(request(topic, wanted(offset=1, **epochs)), 12))
    assert (hidden.error_code, hidden.diverging_epoch.epoch) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    data = only(client.ask(request(topic, wanted(offset=2)), 12))
    assert values_in(data.records, 2) == [b"c"]
    assert data.log_start_offset == 2


def test_an_epoch_that_this_log_has_left_behind(client: SimClient, node: NodeWorld, topic: str) -> None:
    create(client, topic)
    produce(client, topic, b"a", b"b")
    hosted(node, topic).log.assign_epoch(5, 2)
    hosted(node, topic).leader_epoch = 5
    produce(client, topic, b"c")
    same = only(client.ask(request(topic, wanted(offset=2, last_fetched_epoch=0)), 12))
    assert (same.diverging_epoch.epoch, values_in(same.records, 2)) == (-1, [b"c"])
    for epoch, offset, diverging in ((0, 3, (0, 2)), (3, 2, (0, 2)), (5, 9, (5, 3))):
        data = only(client.ask(request(topic, wanted(offset=offset, last_fetched_epoch=epoch), max_wait_ms=9_999), 12))
        assert (data.diverging_epoch.epoch, data.diverging_epoch.end_offset) == diverging
        assert (data.error_code, bytes(data.records or b"")) == (ErrorCode.NONE, b"")


@pytest.mark.parametrize("version", [9, 12, 16])
def test_the_leaders_epoch_is_checked_and_told(client: SimClient, node: NodeWorld, topic: str, version: int) -> None:
    topic_id = create(client, topic)
    name: str | bytes = topic_id if version >= FIRST_BY_ID else topic
    hosted(node, topic).leader_epoch = 3
    old = client.ask(request(name, wanted(current_leader_epoch=2)), version)
    new = client.ask(request(name, wanted(current_leader_epoch=4)), version)
    assert only(new).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert only(old).error_code == ErrorCode.FENCED_LEADER_EPOCH
    leader = only(old).current_leader
    assert (leader.leader_id, leader.leader_epoch) == ((1, 3) if version >= 12 else (-1, -1))
    assert [each.node_id for each in old.node_endpoints] == ([1] if version >= 16 else [])
    hosted(node, topic).leader_epoch = 0


def test_what_is_not_there(client: SimClient, topic: str) -> None:
    topic_id = create(client, topic)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert only(client.ask(request("absent", wanted(), max_wait_ms=60_000), 12)).error_code == unknown
    assert only(client.ask(request(topic, wanted(7), max_wait_ms=60_000), 12)).error_code == unknown
    assert only(client.ask(request(topic_id, wanted(7)), 13)).error_code == unknown
    assert only(client.ask(request(bytes(15) + b"\x03", wanted()), 13)).error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_topic_that_is_gone_does_not_hurry_the_others(client: SimClient, node: NodeWorld, topic: str) -> None:
    create(client, topic)
    both = [FetchTopic(topic=name, partitions=[wanted()]) for name in ("absent", topic)]
    client.send(FetchRequest(max_wait_ms=50, min_bytes=1, topics=both), 12)
    node.run(30)
    assert client.poll() is None
    response = client.receive()
    codes = {each.topic: each.partitions[0].error_code for each in response.responses}
    assert codes == {"absent": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, topic: ErrorCode.NONE}


def test_enough_bytes_or_enough_waiting(client: SimClient, node: NodeWorld, topic: str) -> None:
    create(client, topic)
    produce(client, topic, bytes(1_000))
    reader = node.client()
    reader.send(request(topic, wanted(), max_wait_ms=10_000, min_bytes=2_000), 12)
    node.run(20)
    assert reader.poll() is None
    produce(client, topic, bytes(1_000))
    assert len(bytes(only(reader.receive()).records)) > 2_000
    began_ms = node.clock.monotonic_ms()
    assert bytes(only(reader.ask(request(topic, wanted(offset=2), max_wait_ms=300), 12)).records or b"") == b""
    assert node.clock.monotonic_ms() - began_ms >= 300


def test_more_than_a_response_may_hold_is_not_waited_for(client: SimClient, node: NodeWorld, topic: str) -> None:
    create(client, topic)
    produce(client, topic, bytes(1_000))
    began_ms = node.clock.monotonic_ms()
    client.ask(request(topic, wanted(), max_wait_ms=30_000, min_bytes=1_000_000, max_bytes=500), 12)
    assert node.clock.monotonic_ms() - began_ms < 100


def test_a_fetch_that_was_answered_is_forgotten_everywhere(client: SimClient, node: NodeWorld, topic: str) -> None:
    """A partition on which nothing ever happens forgets it, too, although its deadline is far away."""
    create(client, topic, partitions=2)
    writer = node.client()
    for number in range(5):
        client.send(request(topic, wanted(0, number), wanted(1), max_wait_ms=2_147_483_647), 12)
        node.run(5)
        produce(writer, topic, b"x")
        client.receive()
    topic_partitions = node.running.broker.hosted.by_topic_partition
    assert [len(p.fetch_waiters) for p in topic_partitions.values() if p.topic_partition.topic == topic] == [0, 0]


def test_a_deleted_topic_answers_who_waits_for_it(client: SimClient, node: NodeWorld, topic: str) -> None:
    from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest

    topic_id = create(client, topic)
    reader = node.client()
    reader.send(request(topic_id, wanted(), max_wait_ms=30_000), 13)
    node.run(5)
    client.ask(DeleteTopicsRequest(topic_names=[topic], timeout_ms=1_000), 5)
    assert only(reader.receive()).error_code in (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.NOT_LEADER_OR_FOLLOWER)


def test_a_followers_fetch_is_turned_away_by_partition(client: SimClient, topic: str) -> None:
    create(client, topic)
    data = only(client.ask(request(topic, wanted(), replica_id=2), 12))
    assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(
    ("version", "code"), [(5, ErrorCode.NOT_LEADER_OR_FOLLOWER), (6, ErrorCode.KAFKA_STORAGE_ERROR)]
)
def test_a_failed_directory(client: SimClient, node: NodeWorld, topic: str, version: int, code: ErrorCode) -> None:
    create(client, topic)
    hosted(node, topic).is_online = False
    assert only(client.ask(request(topic, wanted()), version)).error_code == code
    hosted(node, topic).is_online = True


def test_readers_of_decided_transactions_are_told_which_were_aborted(client: SimClient, topic: str) -> None:
    create(client, topic)
    produced(client, topic, batch_of(b"x"))
    assert only(client.ask(request(topic, wanted(), isolation_level=1), 12)).aborted_transactions == []
    assert only(client.ask(request(topic, wanted(), isolation_level=0), 12)).aborted_transactions is None


def test_a_damaged_log_is_said_to_be_corrupt_and_the_other_partitions_are_read(
    node: NodeWorld, client: SimClient, topic: str
) -> None:
    create(client, topic, partitions=2)
    produce(client, topic, b"a", partition=0)
    produce(client, topic, b"b", partition=1)
    log = next(p.log for p in node.running.broker.hosted.by_topic_partition.values() if p.topic_partition == (topic, 0))
    log.flush.now(log)
    magic_at = 16
    node.fs.rot(f"{log.directory}/{0:020d}.log", [8 * magic_at])
    first, second = client.ask(request(topic, wanted(0), wanted(1)), 12).responses[0].partitions
    assert (first.error_code, bytes(first.records or b"")) == (ErrorCode.CORRUPT_MESSAGE, b"")
    assert values_in(second.records) == [b"b"]
