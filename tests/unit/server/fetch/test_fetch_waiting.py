"""Fetches that wait: what an append has to look at, what counts, what wakes them; and the cost of large sessions."""

import gc
from typing import Any, cast

import pytest
from tests.support.serving import batch_of, create, produce, produced, values_in
from tests.unit.server.fetch.test_fetch import LARGE, hosted, only, request, wanted

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from tidelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ReplicaState
from tidelog.protocol.messages.metadata import MetadataRequest
from tidelog.server.fetch.session import ENTRY_BYTES, FetchEntry
from tidelog.server.hosting.partition import Partition
from tidelog.server.requests.connection import OWED_BYTES_MAX
from tidelog.sim.node_world import NodeWorld, SimClient
from tidelog.storage.log.reading import FetchIsolation, readable_bytes

MANY = 60


def partitions_of(node: NodeWorld, topic: str) -> list[Partition]:
    found = [
        each for each in node.running.broker.hosted.by_topic_partition.values() if each.topic_partition.topic == topic
    ]
    return sorted(found, key=lambda each: each.topic_partition.partition)


def reads(node: NodeWorld, topic: str) -> int:
    """Return how often a partition of the topic was read for a fetch."""
    return hosted(node, topic).metrics.fetches


def test_an_append_reads_nothing_for_those_who_wait(client: SimClient, node: NodeWorld, topic: str) -> None:
    create(client, topic, partitions=MANY)
    readers = [node.client() for _ in range(3)]
    for reader in readers:
        reader.send(request(topic, *map(wanted, range(MANY)), max_wait_ms=60_000, min_bytes=LARGE // 2), 12)
    node.run(5)
    before = reads(node, topic)
    for _ in range(20):
        produce(client, topic, b"x" * 100)
    assert reads(node, topic) == before
    produce(client, topic, b"x" * (LARGE // 2 - 2_500))  # together with the others more than half a megabyte
    for reader in readers:
        told = reader.receive().responses[0].partitions
        assert [len(bytes(each.records or b"")) >= LARGE // 2 for each in told] == [True] + [False] * (MANY - 1)
    assert reads(node, topic) == before + 3 * MANY


def test_bytes_of_all_partitions_count_together(client: SimClient, node: NodeWorld, topic: str) -> None:
    create(client, topic, partitions=3)
    reader = node.client()
    reader.send(request(topic, *map(wanted, range(3)), max_wait_ms=60_000, min_bytes=3_000), 12)
    for index in range(3):
        node.run(5)
        assert reader.poll() is None
        produce(client, topic, bytes(1_000), partition=index)
    assert all(each.records for each in reader.receive().responses[0].partitions)


def test_a_partition_counts_no_more_than_its_own_limit(client: SimClient, node: NodeWorld, topic: str) -> None:
    create(client, topic, partitions=2)
    reader = node.client()
    small = [wanted(index, max_bytes=1_500) for index in range(2)]
    reader.send(request(topic, *small, max_wait_ms=60_000, min_bytes=3_000), 12)
    for _ in range(5):
        produce(client, topic, bytes(1_000), partition=0)
    node.run(5)
    assert reader.poll() is None
    for _ in range(2):
        produce(client, topic, bytes(1_000), partition=1)
    assert len(reader.receive().responses[0].partitions) == 2


def test_one_that_has_all_it_may_be_sent_hears_of_the_next_segment(
    client: SimClient, node: NodeWorld, topic: str
) -> None:
    """An append to the same segment does not wake the fetch. Once there is a next segment, the fetch is behind and is
    answered; likewise when the log's start passes it."""
    create(client, topic, partitions=2)
    readers = [node.client(), node.client()]
    for index, reader in enumerate(readers):
        produce(client, topic, bytes(1_000), partition=index)
        asked = request(topic, wanted(index, max_bytes=500), max_wait_ms=600_000, min_bytes=3_000)
        reader.send(asked, 12)
    node.run(10)
    for index in (0, 1, 0, 1):
        produce(client, topic, bytes(1_000), partition=index)
    node.run(10)
    assert [reader.poll() for reader in readers] == [None, None]
    (entry,) = partitions_of(node, topic)[0].fetch_waiters
    assert cast(FetchEntry, entry).is_capped
    log = partitions_of(node, topic)[0].log
    log.flush.now(log)
    log.roll(node.clock.wall_ms())
    produce(client, topic, b"next", partition=0)
    assert len(log.segments) == 2
    assert only(readers[0].receive()).partition_index == 0
    cut = DeleteRecordsTopic(name=topic, partitions=[DeleteRecordsPartition(partition_index=1, offset=2)])
    client.ask(DeleteRecordsRequest(topics=[cut], timeout_ms=0), 2)
    assert only(readers[1].receive()).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_partition_that_is_named_twice_is_one(client: SimClient, node: NodeWorld, topic: str) -> None:
    """The last entry counts, at the position of the first, as in Apache's map of partitions."""
    create(client, topic, partitions=2)
    for value in (b"a", b"b"):
        produce(client, topic, value)
    twice = request(topic, wanted(0, 0), wanted(1), wanted(0, 1))
    told = client.ask(twice, 12).responses[0].partitions
    assert [each.partition_index for each in told] == [0, 1]
    assert values_in(told[0].records, 1) == [b"b"]
    reader = node.client()
    reader.send(request(topic, *[wanted(0, 2)] * 5_000, max_wait_ms=60_000), 12)
    node.run(100)
    assert len(hosted(node, topic).fetch_waiters) == 1
    produce(client, topic, b"c")
    assert len(reader.receive().responses[0].partitions) == 1


def test_who_is_a_segment_behind_is_not_kept_waiting(client: SimClient, node: NodeWorld, topic: str) -> None:
    create(client, topic)
    produce(client, topic, b"old")
    log = hosted(node, topic).log
    log.roll(node.clock.wall_ms())
    log.flush.now(log)
    log.roll(node.clock.wall_ms())
    produce(client, topic, b"new")
    assert len(log.segments) == 2
    began_ms = node.clock.monotonic_ms()
    client.ask(request(topic, wanted(), max_wait_ms=60_000, min_bytes=LARGE), 12)
    assert node.clock.monotonic_ms() - began_ms < 100


@pytest.mark.parametrize("change", ["epoch", "offline", "start"])
def test_what_ends_the_wait_at_once(client: SimClient, node: NodeWorld, topic: str, change: str) -> None:
    create(client, topic)
    for _ in range(3):
        produce(client, topic, b"x")
    partition, reader = hosted(node, topic), node.client()
    at = wanted(offset=1, current_leader_epoch=partition.leader_epoch)
    reader.send(request(topic, at, max_wait_ms=60_000, min_bytes=LARGE), 12)
    node.run(5)
    epoch = partition.leader_epoch
    if change == "epoch":
        partition.leader_epoch += 1
        node.running.broker.turn.moved[partition] = None
    elif change == "offline":
        partition.is_online = False
        node.running.broker.turn.moved[partition] = None
    else:
        cut = DeleteRecordsTopic(name=topic, partitions=[DeleteRecordsPartition(partition_index=0, offset=2)])
        client.ask(DeleteRecordsRequest(topics=[cut], timeout_ms=0), 2)
    code = only(reader.receive()).error_code
    partition.leader_epoch, partition.is_online = epoch, True
    expected = {
        "epoch": ErrorCode.FENCED_LEADER_EPOCH,
        "offline": ErrorCode.KAFKA_STORAGE_ERROR,
        "start": ErrorCode.OFFSET_OUT_OF_RANGE,
    }
    assert code == expected[change]


# How far each kind of reader may read


def not_replicated(client: SimClient, node: NodeWorld, topic: str) -> Partition:
    """Write a record that consumers do not see yet; return its partition."""
    create(client, topic)
    partition = hosted(node, topic)
    produce(client, topic, b"seen")
    partition.isr_size = 0
    produced(client, topic, batch_of(b"unseen"), acks=1)
    assert (partition.log.high_watermark, partition.log.log_end_offset) == (1, 2)
    return partition


@pytest.mark.parametrize("version", [12, 14, 15, 18])
def test_a_debug_consumer_reads_to_the_end_in_every_version(
    client: SimClient, node: NodeWorld, topic: str, version: int
) -> None:
    partition = not_replicated(client, node, topic)
    name: str | bytes = topic if version < 13 else bytes(partition.topic_id)
    debug: dict[str, Any] = {"replica_state": ReplicaState(replica_id=-2)} if version >= 15 else {"replica_id": -2}
    found = only(client.ask(request(name, wanted(), **debug), version))
    assert values_in(found.records) == [b"seen", b"unseen"]
    consumed = only(client.ask(request(name, wanted()), version))
    assert values_in(consumed.records) == [b"seen"]
    partition.isr_size = 1


def test_a_debug_consumer_is_woken_by_what_is_written(client: SimClient, node: NodeWorld, topic: str) -> None:
    partition = not_replicated(client, node, topic)
    debug, consumer = node.client(), node.client()
    debug.send(request(topic, wanted(offset=2), replica_id=-2, max_wait_ms=60_000), 12)
    consumer.send(request(topic, wanted(offset=1), max_wait_ms=60_000), 12)
    node.run(5)
    produced(client, topic, batch_of(b"more"), acks=1)
    assert values_in(only(debug.receive()).records, 2) == [b"more"]
    assert consumer.poll() is None
    partition.isr_size = 1
    produce(client, topic, b"last")
    assert values_in(only(consumer.receive()).records, 1) == [b"unseen", b"more", b"last"]


def test_bytes_are_counted_up_to_what_the_reader_may_see(client: SimClient, node: NodeWorld, topic: str) -> None:
    partition = not_replicated(client, node, topic)
    log = partition.log
    first_end = log.segments.active.position_of(1)
    assert readable_bytes(log, 0, FetchIsolation.HIGH_WATERMARK) == first_end
    assert readable_bytes(log, 0, FetchIsolation.LOG_END) == log.size_bytes
    assert readable_bytes(log, 1, FetchIsolation.HIGH_WATERMARK) == 0
    partition.isr_size = 1


# Sessions of many partitions


def in_session(client: SimClient, topic: str, count: int) -> Any:
    first = client.ask(request(topic, *map(wanted, range(count)), session_epoch=0), 12)
    assert len(first.responses[0].partitions) == count
    return first.session_id


def test_an_incremental_fetch_looks_only_at_what_moved(client: SimClient, node: NodeWorld, topic: str) -> None:
    create(client, topic, partitions=MANY)
    reader = node.client()
    session_id = in_session(reader, topic, MANY)
    for epoch, moved in ((1, [3, 7, 50]), (2, [3]), (3, [])):
        for index in moved:
            produce(client, topic, b"x", partition=index)
        before = reads(node, topic)
        again = FetchRequest(max_wait_ms=0, min_bytes=1, session_id=session_id, session_epoch=epoch, topics=[])
        told = reader.ask(again, 12)
        # Partitions with records stay in the answer until the client asks for the next offset.
        expected = [3, 7, 50]
        assert sorted(each.partition_index for named in told.responses for each in named.partitions) == expected
        assert reads(node, topic) == before + 3
    done = [wanted(index, 2 if index == 3 else 1) for index in (3, 7, 50)]
    session = {"session_id": session_id, "session_epoch": 4}
    assert reader.ask(request(topic, *done, **session), 12).responses == []
    before = reads(node, topic)
    last = FetchRequest(max_wait_ms=0, min_bytes=1, session_id=session_id, session_epoch=5, topics=[])
    assert reader.ask(last, 12).responses == []
    assert reads(node, topic) == before


def test_a_session_that_waits_is_woken_by_any_of_its_partitions(client: SimClient, node: NodeWorld, topic: str) -> None:
    create(client, topic, partitions=MANY)
    reader = node.client()
    session_id = in_session(reader, topic, MANY)
    for epoch, index in ((1, 41), (2, 5)):
        done = [FetchTopic(topic=topic, partitions=[wanted(41, 1)])] if epoch == 2 else []
        session = {"session_id": session_id, "session_epoch": epoch}
        reader.send(FetchRequest(max_wait_ms=60_000, min_bytes=1, topics=done, **session), 12)
        node.run(5)
        assert reader.poll() is None
        produce(client, topic, b"x", partition=index)
        assert only(reader.receive()).partition_index == index


def test_a_client_that_is_away_is_touched_once(client: SimClient, node: NodeWorld, topic: str) -> None:
    create(client, topic, partitions=2)
    in_session(client, topic, 2)
    first, second = partitions_of(node, topic)
    assert (len(first.fetch_waiters), len(second.fetch_waiters)) == (1, 1)
    produce(client, topic, b"x")
    assert (len(first.fetch_waiters), len(second.fetch_waiters)) == (0, 1)


def test_a_start_that_moves_is_told_to_the_session(client: SimClient, node: NodeWorld, topic: str) -> None:
    """The session is told even when retention moves the log start, without any request."""
    create(client, topic)
    for _ in range(3):
        produce(client, topic, b"x")
    first = client.ask(request(topic, wanted(offset=3), session_epoch=0), 12)
    session = {"session_id": first.session_id, "topics": [], "max_wait_ms": 0, "min_bytes": 1}
    assert client.ask(FetchRequest(session_epoch=1, **session), 12).responses == []
    hosted(node, topic).log.advance_log_start(2)
    node.run(1_500)  # a turn of the node, in which retention would do this
    assert only(client.ask(FetchRequest(session_epoch=2, **session), 12)).log_start_offset == 2
    assert client.ask(FetchRequest(session_epoch=3, **session), 12).responses == []


def test_the_next_request_of_a_session_ends_the_wait_of_the_last(
    client: SimClient, node: NodeWorld, topic: str
) -> None:
    create(client, topic)
    first = client.ask(request(topic, wanted(), session_epoch=0), 12)
    session = {"session_id": first.session_id, "topics": [], "max_wait_ms": 60_000, "min_bytes": 1}
    client.send(FetchRequest(session_epoch=1, **session), 12)
    node.run(5)
    client.send(FetchRequest(session_epoch=2, **session), 12)
    assert client.receive().responses == []
    node.run(5)
    assert client.poll() is None
    produce(node.client(), topic, b"x")
    assert values_in(only(client.receive()).records) == [b"x"]


# Memory


def test_fetches_that_wait_are_not_piled_up(client: SimClient, node: NodeWorld, topic: str) -> None:
    """A connection's fetches are only accepted until their partitions take a megabyte."""
    create(client, topic)
    reader = node.client()
    count = OWED_BYTES_MAX // ENTRY_BYTES
    unknown = [wanted(index) for index in range(count)]
    for _ in range(5):
        reader.send(request(topic, *unknown, max_wait_ms=60_000), 12)
    reader.send(MetadataRequest(topics=[]), 9)
    node.run(50)
    connection = max(node.running.broker.connections.all(), key=lambda each: each.kept_bytes)
    assert OWED_BYTES_MAX < connection.kept_bytes < 2.5 * OWED_BYTES_MAX
    for _ in range(5):
        produce(client, topic, b"x")
        assert len(reader.receive().responses[0].partitions) == count
    assert reader.receive().topics == []
    assert connection.kept_bytes == 0


@pytest.mark.parametrize("count", [50, 19_000], ids=["whole", "in slices"])
@pytest.mark.parametrize("session_epoch", [-1, 0])
def test_the_end_of_a_connection_lets_go_of_its_fetches_at_once(
    client: SimClient, node: NodeWorld, topic: str, count: int, session_epoch: int
) -> None:
    """A fetch that would wait for weeks is freed, too. The session's own memory is freed later, with the session."""
    create(client, topic, partitions=2)
    reader = node.client()
    unknown = [wanted(index) for index in range(count)]
    reader.send(request(topic, *unknown, max_wait_ms=0x7FFF_FFFF, session_epoch=session_epoch), 12)
    node.run(100)
    connection = max(node.running.broker.connections.all(), key=lambda each: each.id)
    (fetch,) = connection.parked
    assert len(fetch.session.partitions) == count
    assert reader.poll() is None
    assert not connection.is_held
    reader.close()
    node.wait_for(lambda: connection.is_closed or None)
    assert fetch.is_done
    assert fetch not in list(node.running.broker.purgatory.waiting())
    assert (len(fetch.session.partitions), fetch.request.topics, connection.kept_bytes) == (0, [], 0)
    assert (len(connection.parked), len(connection.receive.buffer), len(fetch.context.request.buffer)) == (0, 0, 0)
    gc.collect()
    left = sum(type(each) is FetchEntry and each.topic_partition.topic == topic for each in gc.get_objects())
    assert left == (count if session_epoch == 0 else 0)


def test_what_an_earlier_request_counted_does_not_hide_a_new_record(
    node: NodeWorld, client: SimClient, topic: str
) -> None:
    """A response that an error sends early counts no bytes, so the earlier count must be forgotten."""
    create(client, topic, partitions=2)
    reader, epoch, session_id = node.client(), 0, 0

    def send(*partitions: FetchPartition, wait_ms: int) -> None:
        topics = [FetchTopic(topic=topic, partitions=list(partitions))] if partitions else []
        body = FetchRequest(max_wait_ms=wait_ms, min_bytes=1, topics=topics, session_id=session_id, session_epoch=epoch)
        reader.send(body, 12)

    send(wanted(0, 0), wanted(1, 0), wait_ms=0)
    session_id, epoch = reader.receive().session_id, 1
    send(wait_ms=10_000)
    produce(client, topic, bytes(500), partition=1)
    reader.receive()
    epoch = 2
    send(wanted(0, 999), wanted(1, 1), wait_ms=10_000)  # out of range: answered at once
    reader.receive()
    epoch = 3
    send(wanted(0, 0), wait_ms=10_000)
    node.run(10)
    assert reader.poll() is None
    produce(client, topic, b"x", partition=1)
    node.run(20)
    assert reader.poll() is not None
