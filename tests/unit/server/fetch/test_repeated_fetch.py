"""A fetch of many partitions without a session that repeats the last one gets the same answer with less work."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from tests.support.serving import create, produce, values_in
from tests.unit.server.fetch.test_fetch import FIRST_BY_ID, LARGE, NEWEST, OLDEST, hosted, request, wanted
from tests.unit.server.fetch.test_fetch_waiting import partitions_of, reads

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.client_connection import ClientConnection as ProtocolClient
from tidelog.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest
from tidelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.registry import RESPONSES
from tidelog.server.fetch import sessions as fetch_sessions
from tidelog.server.fetch.repeated_fetch import PARTITIONS_MIN
from tidelog.server.requests.connection import ClientConnection
from tidelog.server.requests.connections import QUIET_MS
from tidelog.sim.node_world import NodeWorld, SimClient

COUNT = 2 * PARTITIONS_MIN


class Consumer:
    """A consumer without sessions, and its twin, which uses a new connection for each request, so that nothing is
    remembered."""

    def __init__(self, node: NodeWorld, version: int) -> None:
        self.node, self.version = node, version
        self.client = node.client()
        self.connection = newest_connection(node)

    def ask(self, body: FetchRequest) -> Any:
        return plain(self.client.ask(body, self.version))

    def ask_anew(self, body: FetchRequest) -> Any:
        twin = self.node.client()
        response = plain(twin.ask(body, self.version))
        twin.close()
        return response


def newest_connection(node: NodeWorld) -> ClientConnection:
    node.run(20)
    return max(node.running.broker.connections.all(), key=lambda each: each.id)


def plain(response: Any) -> Any:
    """Return the response with its records as bytes, so that responses can be compared."""
    for topic in response.responses:
        for each in topic.partitions:
            each.records = bytes(each.records or b"")
    return response


@pytest.fixture
def sessions(node: NodeWorld) -> fetch_sessions.FetchSessions:
    """The sessions of the node, when no connection of another test is left that could give bytes back meanwhile."""
    node.run(QUIET_MS + 3_000)
    found = node.running.broker.fetch_sessions
    assert found.repeated_bytes == 0
    return found


@contextmanager
def without_dispatch(node: NodeWorld) -> Iterator[None]:
    """Fail any request that takes the ordinary path."""
    dispatch = node.running.broker.dispatch
    handle = dispatch.handle
    dispatch.handle = None  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        dispatch.handle = handle  # type: ignore[method-assign]


def rotated(partitions: Sequence[FetchPartition], by: int) -> list[FetchPartition]:
    by %= len(partitions)
    return [*partitions[by:], *partitions[:by]]


@pytest.mark.parametrize("version", range(OLDEST, NEWEST + 1))
@pytest.mark.parametrize("isolation_level", [0, 1])
def test_the_same_answer_as_the_ordinary_way(
    node: NodeWorld, client: SimClient, topic: str, version: int, isolation_level: int
) -> None:
    topic_id = create(client, topic, partitions=COUNT)
    for index in (0, 3, 3, 7):
        produce(client, topic, bytes(300), partition=index)
    name: str | bytes = topic_id if version >= FIRST_BY_ID else topic
    consumer = Consumer(node, version)
    at = [wanted(index) for index in range(COUNT)]
    limits = {"isolation_level": isolation_level, "max_bytes": 1_000}
    consumer.ask(request(name, *at, **limits))
    for turn in range(5):
        if turn > 2:
            at[3] = wanted(3, turn - 2)
        body = request(name, *rotated(at, turn // 2), **limits)
        with without_dispatch(node):
            mine = consumer.ask(body)
        assert mine == consumer.ask_anew(body)
        produce(client, topic, bytes(100), partition=turn)


def test_topics_that_are_named_twice_since_the_list_begins_in_the_middle(
    node: NodeWorld, client: SimClient, topic: str
) -> None:
    ids = {name: Uuid(create(client, name, partitions=COUNT)) for name in (topic, f"{topic}-b")}
    consumer, first = Consumer(node, 16), [wanted(index) for index in range(COUNT)]
    topics = list(ids.values())

    def body(at: int) -> FetchRequest:
        named = [
            FetchTopic(topic_id=topics[0], partitions=first[at:]),
            FetchTopic(topic_id=topics[1], partitions=first),
            FetchTopic(topic_id=topics[0], partitions=first[:at]),
        ]
        return FetchRequest(max_wait_ms=0, min_bytes=1, topics=[each for each in named if each.partitions])

    consumer.ask(body(0))
    for at in (1, 2, 5):
        produce(client, topic, b"x", partition=at)
        with without_dispatch(node):
            mine = consumer.ask(body(at))
        assert mine == consumer.ask_anew(body(at))
        assert [len(each.partitions) for each in mine.responses] == [COUNT, COUNT]


@pytest.mark.parametrize("at", [1, 5, COUNT - 2])
@pytest.mark.parametrize("change", ["swapped", "named twice", "offset"])
def test_a_list_that_begins_elsewhere_and_is_not_quite_the_last_one(
    node: NodeWorld, client: SimClient, topic: str, at: int, change: str
) -> None:
    """The list is as long as the last one and begins as if that had only been rotated, but something differs before or
    behind the point where the last one ended."""
    create(client, topic, partitions=COUNT)
    produce(client, topic, b"a", b"b", partition=3)
    first = [wanted(index) for index in range(COUNT)]
    for topic_partition in (1, COUNT - at, COUNT - at - 1, COUNT - 1):
        consumer = Consumer(node, 11)
        consumer.ask(request(topic, *first))
        named = rotated(first, at)
        if change == "swapped":
            named[topic_partition], named[topic_partition - 1] = named[topic_partition - 1], named[topic_partition]
        elif change == "named twice":
            named[topic_partition] = named[topic_partition - 1]
        else:
            named[topic_partition] = wanted(named[topic_partition].partition, 1)
        body = request(topic, *named)
        assert consumer.ask(body) == consumer.ask_anew(body)
        assert consumer.ask(request(topic, *first)) == consumer.ask_anew(request(topic, *first))
        consumer.client.close()
    node.run(50)  # until the connections are gone, before another test counts memory


@pytest.mark.parametrize("seed", range(6))
def test_any_sequence_of_requests(node: NodeWorld, client: SimClient, topic: str, seed: int) -> None:
    """Partitions come and go, offsets move or stay, the list begins anywhere, limits change: the answer is always the
    twin's."""
    random = Random(seed)
    version = random.choice([4, 7, 11, 12, 13, 16])
    topic_id = create(client, topic, partitions=COUNT)
    name: str | bytes = topic_id if version >= FIRST_BY_ID else topic
    consumer, offsets, ends = Consumer(node, version), [0] * COUNT, [0] * COUNT
    quick = 0
    for _ in range(60):
        for index in random.choices(range(COUNT), k=random.choice([0, 0, 1, 3])):
            produce(client, topic, bytes(random.choice([10, 2_000])), partition=index)
            ends[index] += 1
        for index in random.choices(range(COUNT), k=random.choice([0, 1, 4])):
            offsets[index] = random.choice([offsets[index], ends[index], ends[index]])
        named = [wanted(index, offsets[index]) for index in range(COUNT)]
        if random.random() < 0.2:
            named = random.sample(named, random.randrange(1, COUNT))
        if random.random() < 0.1:
            named.append(random.choice(named))
        if random.random() < 0.05:
            named.append(wanted(random.choice([COUNT + 3, 0]), random.choice([0, 999])))
        body = request(name, *rotated(named, random.randrange(COUNT)), max_bytes=random.choice([LARGE, LARGE, 3_000]))
        handled = consumer.connection.repeated_fetch
        mine = consumer.ask(body)
        quick += handled is not None and consumer.connection.repeated_fetch is handled
        assert mine == consumer.ask_anew(body)
    assert quick > 10


def test_a_request_that_is_damaged_gets_the_ordinary_answer(topic: str) -> None:
    """Every byte of the frame is changed, one at a time; the answer is the one that a new connection gets."""
    node = NodeWorld(seed=17)
    client = node.client()
    create(client, topic, partitions=PARTITIONS_MIN)
    produce(client, topic, b"x", partition=2)
    body = request(topic, *map(wanted, range(PARTITIONS_MIN)))
    frame = framed(body, 12)
    for at in range(len(frame)):
        damaged = bytearray(frame)
        damaged[at] ^= 0x05
        outcomes = []
        for is_repeated in (True, False):
            reader = node.client()
            if is_repeated:
                reader.ask(body, 12)
                assert newest_connection(node).repeated_fetch is not None
            outcomes.append(outcome(reader, node, bytes(damaged)))
            reader.close()
        assert outcomes[0] == outcomes[1], f"byte {at}"


def framed(body: FetchRequest, version: int) -> bytes:
    return b"".join(bytes(part) for part in ProtocolClient(RESPONSES, "sim").send(body, version))


def outcome(reader: SimClient, node: NodeWorld, frame: bytes) -> bytes | None:
    """Return the bytes that answer a frame within a short while; None where the connection ends."""
    reader.send_bytes(frame)
    node.run(30)
    receive = reader._protocol.receive
    return None if reader.is_closed else bytes(receive.buffer)[: receive.pending_bytes]


# Waiting


def test_one_that_waits_is_woken_by_any_partition(node: NodeWorld, client: SimClient, topic: str) -> None:
    create(client, topic, partitions=COUNT)
    consumer, at = Consumer(node, 12), [wanted(index) for index in range(COUNT)]
    waiting = {"max_wait_ms": 60_000, "max_bytes": LARGE}
    for turn, index in enumerate((5, COUNT - 1, 0)):
        before = reads(node, topic)
        consumer.client.send(request(topic, *rotated(at, turn), **waiting), 12)
        node.run(10)
        assert consumer.client.poll() is None
        produce(client, topic, b"x", partition=index)
        told = {each.partition_index: each for each in consumer.client.receive().responses[0].partitions}
        assert len(told) == COUNT
        assert values_in(told[index].records) == [b"x"]
        # All partitions at first; then the one with a new record, and the one whose offset moved.
        assert reads(node, topic) == before + (2 if turn else COUNT)
        at[index] = wanted(index, 1)


def test_only_what_moved_is_read(node: NodeWorld, client: SimClient, topic: str) -> None:
    create(client, topic, partitions=COUNT)
    consumer, at = Consumer(node, 12), [wanted(index) for index in range(COUNT)]
    waiting = {"max_wait_ms": 100, "min_bytes": LARGE}
    consumer.ask(request(topic, *at, **waiting))
    produce(client, topic, b"x", partition=4)
    before = reads(node, topic)
    with without_dispatch(node):
        for turn in range(1, 4):
            told = consumer.ask(request(topic, *rotated(at, turn), **waiting)).responses[0].partitions
            assert [each.partition_index for each in told if each.records] == [4]
            assert sum(each.high_watermark for each in told) == 1
    assert reads(node, topic) == before + 3


def test_what_changed_without_records_is_told(node: NodeWorld, client: SimClient, topic: str) -> None:
    create(client, topic, partitions=COUNT)
    for _ in range(3):
        produce(client, topic, b"x", partition=1)
    consumer, at = Consumer(node, 12), [wanted(index, 3 if index == 1 else 0) for index in range(COUNT)]
    consumer.ask(request(topic, *at))
    cut = DeleteRecordsTopic(name=topic, partitions=[DeleteRecordsPartition(partition_index=1, offset=2)])
    client.ask(DeleteRecordsRequest(topics=[cut], timeout_ms=0), 2)
    with without_dispatch(node):
        assert consumer.ask(request(topic, *at)).responses[0].partitions[1].log_start_offset == 2


@pytest.mark.parametrize("is_parked", [False, True])
def test_a_topic_that_is_deleted(node: NodeWorld, client: SimClient, topic: str, is_parked: bool) -> None:
    create(client, topic, partitions=COUNT)
    consumer, at = Consumer(node, 12), [wanted(index) for index in range(COUNT)]
    consumer.ask(request(topic, *at))
    body = request(topic, *at, max_wait_ms=60_000 if is_parked else 0)
    if is_parked:
        consumer.ask(replace(body, max_wait_ms=1))
        consumer.client.send(body, 12)
        node.run(5)
    client.ask(DeleteTopicsRequest(topic_names=[topic], timeout_ms=1_000), 5)
    told = consumer.client.receive() if is_parked else consumer.ask(body)
    assert {each.error_code for each in told.responses[0].partitions} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    create(client, topic, partitions=COUNT)
    produce(client, topic, b"new", partition=2)
    again = consumer.ask(request(topic, *at)).responses[0].partitions
    assert [values_in(each.records) for each in again if each.records] == [[b"new"]]


def test_an_epoch_that_is_fenced_and_one_that_is_changed(node: NodeWorld, client: SimClient, topic: str) -> None:
    create(client, topic, partitions=COUNT)
    consumer, partition = Consumer(node, 12), hosted(node, topic)
    epoch, index = partition.leader_epoch, partition.topic_partition.partition
    at = [wanted(each, current_leader_epoch=epoch) for each in range(COUNT)]
    consumer.ask(request(topic, *at, max_wait_ms=1))
    partition.leader_epoch += 1
    node.running.broker.turn.moved[partition] = None
    told = consumer.ask(request(topic, *at, max_wait_ms=1)).responses[0].partitions
    assert [each.error_code for each in told if each.partition_index == index] == [ErrorCode.FENCED_LEADER_EPOCH]
    assert sum(each.error_code != 0 for each in told) == 1
    at[index] = wanted(index, current_leader_epoch=epoch + 1)
    told = consumer.ask(request(topic, *at, max_wait_ms=1)).responses[0].partitions
    assert not any(each.error_code for each in told)
    partition.leader_epoch = epoch


def test_two_at_once_on_one_connection(node: NodeWorld, client: SimClient, topic: str) -> None:
    create(client, topic, partitions=COUNT)
    consumer, at = Consumer(node, 12), [wanted(index) for index in range(COUNT)]
    consumer.ask(request(topic, *at))
    body = request(topic, *at, max_wait_ms=60_000)
    for _ in range(3):
        consumer.client.send(body, 12)
    node.run(5)
    assert consumer.client.poll() is None
    produce(client, topic, b"x", partition=3)
    for _ in range(3):
        assert len(consumer.client.receive().responses[0].partitions) == COUNT
    assert not consumer.connection.parked


# Memory


@pytest.fixture(autouse=True)
def _nobody_is_leaving(node: NodeWorld) -> None:
    """Wait until the connections of other tests are gone, since memory is counted over all connections."""
    node.run(50)


def watched(node: NodeWorld, topic: str) -> int:
    return sum(len(each.fetch_waiters) for each in partitions_of(node, topic))


@pytest.mark.parametrize("is_parked", [False, True])
def test_the_end_of_the_connection_frees_it(
    node: NodeWorld, client: SimClient, topic: str, sessions: fetch_sessions.FetchSessions, is_parked: bool
) -> None:
    create(client, topic, partitions=COUNT)
    consumer, at = Consumer(node, 12), [wanted(index) for index in range(COUNT)]
    consumer.ask(request(topic, *at, max_wait_ms=1))
    if is_parked:
        consumer.client.send(request(topic, *at, max_wait_ms=0x7FFF_FFFF), 12)
        node.run(5)
    assert sessions.repeated_bytes > 0
    assert watched(node, topic) == COUNT
    consumer.client.close()
    node.wait_for(lambda: consumer.connection.is_closed or None)
    assert (sessions.repeated_bytes, watched(node, topic)) == (0, 0)


def test_a_connection_that_rests_gives_it_back(node: NodeWorld, client: SimClient, topic: str) -> None:
    create(client, topic, partitions=COUNT)
    consumer = Consumer(node, 12)
    consumer.ask(request(topic, *map(wanted, range(COUNT))))
    assert watched(node, topic) == COUNT
    node.run(QUIET_MS + 3_000)
    assert consumer.connection.repeated_fetch is None
    assert watched(node, topic) == 0


def test_beyond_the_bound_nothing_is_kept(
    node: NodeWorld, client: SimClient, topic: str, sessions: fetch_sessions.FetchSessions
) -> None:
    create(client, topic, partitions=COUNT)
    consumer, at = Consumer(node, 12), [wanted(index) for index in range(COUNT)]
    sessions.repeated_bytes = fetch_sessions.REPEATED_BYTES_MAX
    try:
        for _ in range(2):
            assert len(consumer.ask(request(topic, *at)).responses[0].partitions) == COUNT
            assert consumer.connection.repeated_fetch is None
        assert sessions.repeated_bytes == fetch_sessions.REPEATED_BYTES_MAX
        assert watched(node, topic) == 0
    finally:
        sessions.repeated_bytes = 0
    consumer.ask(request(topic, *at))
    assert consumer.connection.repeated_fetch is not None


def test_what_is_no_longer_named_is_forgotten(
    node: NodeWorld, client: SimClient, topic: str, sessions: fetch_sessions.FetchSessions
) -> None:
    create(client, topic, partitions=COUNT)
    consumer, at = Consumer(node, 12), [wanted(index) for index in range(COUNT)]
    consumer.ask(request(topic, *at))
    large = sessions.repeated_bytes
    with without_dispatch(node):
        consumer.ask(request(topic, *at[:3]))
        assert watched(node, topic) == 3
        assert sessions.repeated_bytes < large
        consumer.ask(request(topic, *at))
    assert (watched(node, topic), sessions.repeated_bytes) == (COUNT, large)
