"""Limits on what one client may use of the node: connections, memory, time."""

import logging
import struct

import pytest
from tests.support.raw_connection import Raw, raw_request
from tests.support.recorded_frames import framed
from tests.support.serving import batch_of, create, fetch_values, produce

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from tidelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.protocol.messages.metadata import MetadataRequest
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.server.requests.connection import OWED_BYTES_MAX
from tidelog.server.requests.request_memory import RequestMemory
from tidelog.sim.node_world import NodeWorld, SimClient


def describe_broker() -> DescribeConfigsRequest:
    """Return a request of sixty bytes that is answered with tens of thousands."""
    return DescribeConfigsRequest(
        resources=[DescribeConfigsResource(resource_type=4, resource_name="1", configuration_keys=None)],
        include_synonyms=True,
        include_documentation=True,
    )


def test_who_does_not_read_is_not_answered_any_further() -> None:
    """The client's requests wait in its own socket, and other clients notice nothing. When it reads again, it gets all
    answers."""
    world = NodeWorld(seed=21)
    slow, other = Raw(world), world.client()
    slow.send(raw_request(18, 0))
    slow.frame()
    connection = min(world.running.broker.connections.all(), key=lambda each: each.id)
    create(other, "t")
    world.client_host.mute(slow.connection)
    count = 60
    slow.send(framed(describe_broker(), 4) * count)
    most = 0
    for number in range(10):
        world.run(5)
        most = max(most, sum(map(len, world.node_host._sides[connection.id].unsent)))
        assert produce(other, "t", b"x") == number
    assert OWED_BYTES_MAX / 2 < most < OWED_BYTES_MAX * 1.5
    assert connection.is_sending
    world.client_host.unmute(slow.connection)
    for _ in range(count):
        assert len(slow.frame()) > 20_000


def test_answers_behind_a_long_poll_are_not_piled_up() -> None:
    world = NodeWorld(seed=22)
    client, other = world.client(), world.client()
    create(client, "t")
    wanted = FetchTopic(topic="t", partitions=[FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1_000)])
    client.send(FetchRequest(max_wait_ms=50_000, min_bytes=1, topics=[wanted]), 12)
    count = 60
    for _ in range(count):
        client.send(describe_broker(), 4)
    world.run(200)
    connection = max(world.running.broker.connections.all(), key=lambda each: each.owed_bytes)
    assert OWED_BYTES_MAX < connection.owed_bytes < 2 * OWED_BYTES_MAX
    assert connection.is_full
    produce(other, "t", b"x")
    assert client.receive().responses[0].partitions[0].high_watermark == 1
    for _ in range(count):
        assert client.receive().results[0].error_code == ErrorCode.NONE


def test_what_a_connection_keeps_counts_until_it_is_given_back() -> None:
    """The kept bytes still count after an answer has been sent, whose bytes are counted apart."""
    world = NodeWorld(seed=27)
    client, other = world.client(), world.client()
    create(other, "t")
    wanted = FetchTopic(topic="t", partitions=[FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1_000)])
    client.send(FetchRequest(max_wait_ms=50_000, min_bytes=1, topics=[wanted]), 12)
    world.run(20)
    connection = max(world.running.broker.connections.all(), key=lambda each: each.kept_bytes)
    connection.keep(OWED_BYTES_MAX + 1)  # as a produce that is held back does
    produce(other, "t", b"x")
    assert client.receive().responses[0].partitions[0].high_watermark == 1
    client.send(MetadataRequest(topics=[]), 9)
    world.run(50)
    assert client.poll() is None
    connection.give_back(OWED_BYTES_MAX + 1)
    assert client.receive().topics == []


def test_half_a_frame_and_silence() -> None:
    world = NodeWorld(seed=23, overrides={"connections.max.idle.ms": "5000"})
    raw, other = Raw(world), world.client()
    raw.send(raw_request(18, 0)[:-3])
    for _ in range(6):
        world.run(1_100)
        assert other.ask(MetadataRequest(topics=[]), 9).error_code == ErrorCode.NONE
    assert raw.is_closed
    assert not other.is_closed
    assert len(world.running.broker.connections) == 1


def test_one_connection_too_many(caplog: pytest.LogCaptureFixture) -> None:
    world = NodeWorld(seed=24, overrides={"max.connections": "3"})
    clients = [world.client() for _ in range(3)]
    for client in clients:
        client.ask(MetadataRequest(topics=[]), 9)
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        refused = [world.client() for _ in range(30)]
        world.run(20)
    assert all(each.is_closed for each in refused)
    assert not any(each.is_closed for each in clients)
    lines = [each.getMessage() for each in caplog.records]
    assert "max.connections" in lines[0]
    assert "client" in lines[0]  # names the client
    assert len(lines) == 10  # no more lines: the rest is only counted
    clients[0].close()
    world.run(20)
    assert world.client().ask(MetadataRequest(topics=[]), 9).error_code == ErrorCode.NONE


def test_too_many_from_one_address() -> None:
    world = NodeWorld(
        seed=25, overrides={"max.connections.per.ip": "2", "max.connections.per.ip.overrides": "client:1"}
    )
    first = world.client()
    first.ask(MetadataRequest(topics=[]), 9)
    second = world.client()
    world.run(20)
    assert (first.is_closed, second.is_closed) == (False, True)


def test_requests_in_flight_are_answered_in_order(client: SimClient, node: NodeWorld, topic: str) -> None:
    create(client, topic)
    wanted = FetchTopic(topic=topic, partitions=[FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=9)])
    client.send(FetchRequest(max_wait_ms=100, min_bytes=1, topics=[wanted]), 12)
    client.send(MetadataRequest(topics=[]), 9)
    assert hasattr(client.receive(), "responses")
    assert hasattr(client.receive(), "brokers")


# Bytes that are no request


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        bytes.fromhex("16030100c8010000c40303") + bytes(64),  # a TLS hello
        b"\x7f\xff\xff\xff" + bytes(100),
        b"\xff\xff\xff\xff" + bytes(100),
        b"\x80\x00\x00\x00",
        b"\x00\x00\x00\x00",
        b"\x00\x00\x00\x05hello",
        struct.pack(">i", 14) + struct.pack(">hhih", 3, 9, 1, 100) + b"abcd",
        raw_request(3, 9, b"\xff" * 8),
        raw_request(1, 12, b"\x00"),
    ],
)
def test_garbage_ends_its_own_connection_only_and_is_named_once(
    node: NodeWorld, client: SimClient, garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    assert client.ask(MetadataRequest(topics=[]), 9).error_code == ErrorCode.NONE
    node.running.events._windows.clear()
    raw = Raw(node)
    with caplog.at_level(logging.WARNING):
        raw.send(garbage)
        assert raw.frame() == b""
    # Lines about the disk of the node, which other tests fill, may stand among them.
    named = [each for each in caplog.records if each.getMessage().startswith("client:")]
    assert [each.levelname for each in named] == ["WARNING"], caplog.text
    assert client.ask(MetadataRequest(topics=[]), 9).error_code == ErrorCode.NONE


def test_a_client_that_speaks_tls_is_told_apart(node: NodeWorld, caplog: pytest.LogCaptureFixture) -> None:
    node.running.events._windows.clear()  # forget the garbage of other tests
    raw = Raw(node)
    with caplog.at_level(logging.WARNING):
        raw.send(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        assert raw.frame() == b""
    assert "it looks like TLS" in caplog.records[-1].getMessage()


def test_a_flood_of_garbage_is_a_handful_of_lines(node: NodeWorld, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        for _ in range(50):
            raw = Raw(node)
            raw.send(b"\xff\xff\xff\xff")
            raw.frame()
    assert 0 < len(caplog.records) <= 12


# queued.max.request.bytes

LIMIT = 200_000


def large_produce(topic: str, size: int = 150_000) -> bytes:
    data = PartitionProduceData(index=0, records=batch_of(bytes(size)))
    topics = [TopicProduceData(name=topic, partition_data=[data])]
    return framed(ProduceRequest(acks=1, timeout_ms=1_000, topic_data=topics), 9)


def test_beyond_the_limit_nobody_begins_a_large_request_and_everybody_ends_theirs() -> None:
    overrides = {"queued.max.request.bytes": str(LIMIT), "socket.request.max.bytes": str(LIMIT)}
    world = NodeWorld(seed=26, overrides=overrides)
    small = world.client()
    create(small, "t")
    memory = world.running.broker.request_memory
    assert memory is not None
    frame = large_produce("t")
    raws = [Raw(world) for _ in range(6)]
    for raw in raws:
        raw.send(frame[:100_000])
        world.run(30)
    assert LIMIT <= memory.used_bytes < LIMIT + len(frame)
    assert memory.waiting_count == 4
    held = sum(each.receive.capacity for each in world.running.broker.connections.all())
    assert held < LIMIT + len(frame) + 8 * 65_536
    assert produce(small, "t", b"small ones go on") == 0
    for raw in raws:
        raw.send(frame[100_000:])
    for raw in raws:
        assert raw.frame()
    assert (memory.used_bytes, memory.waiting_count) == (0, 0)
    assert len(fetch_values(small, "t", 1)) == 6


def starving_world(seed: int, *, waiting: int = 1) -> tuple[NodeWorld, list[Raw], bytes]:
    """Return a world in which two clients hold all of the memory with half a request each, while others wait for it."""
    overrides = {"queued.max.request.bytes": str(LIMIT), "socket.request.max.bytes": str(LIMIT)}
    world = NodeWorld(seed=seed, overrides=overrides)
    create(world.client(), "t")
    frame = large_produce("t")
    raws = [Raw(world) for _ in range(2 + waiting)]
    for raw in raws:
        raw.send(frame[:100_000])
        world.run(30)
    assert memory_of(world).used_bytes >= LIMIT
    assert memory_of(world).waiting_count == waiting
    return world, raws, frame


def memory_of(world: NodeWorld) -> RequestMemory:
    memory = world.running.broker.request_memory
    assert memory is not None
    return memory


def test_half_a_request_does_not_keep_others_waiting_for_ever() -> None:
    """A client that sends one byte a second does not count as making progress."""
    world, raws, frame = starving_world(28)
    for at in range(100_000, 100_015):
        raws[0].send(frame[at : at + 1])
        world.run(1_000)
    raws[2].send(frame[100_000:])
    assert raws[2].frame()
    for raw in raws[:2]:
        assert raw.frame() == b""
    assert (memory_of(world).used_bytes, memory_of(world).waiting_count) == (0, 0)


def test_while_nobody_waits_a_client_may_be_slow() -> None:
    world, raws, frame = starving_world(29, waiting=0)
    world.run(20_000)
    for raw in raws:
        raw.send(frame[100_000:])
        assert raw.frame()


def test_a_client_that_sends_one_large_request_after_another_is_not_slow() -> None:
    """Each frame is timed by itself, although the memory is never given back in between."""
    world, raws, frame = starving_world(30)
    for _ in range(14):
        world.run(1_000)
        raws[0].send(frame[100_000:] + frame[:100_000])
        assert raws[0].frame()
    raws[0].send(frame[100_000:])
    assert raws[0].frame()
    assert raws[1].frame() == b"", "this one was"


def test_who_goes_away_gives_the_memory_back() -> None:
    overrides = {"queued.max.request.bytes": str(LIMIT), "socket.request.max.bytes": str(LIMIT)}
    world = NodeWorld(seed=27, overrides=overrides)
    create(world.client(), "t")
    frame = large_produce("t")
    raws = [Raw(world) for _ in range(3)]
    for raw in raws:
        raw.send(frame[:50_000])
        world.run(30)
    for raw in raws[:2]:
        world.client_host.close(raw.connection)
    raws[2].send(frame[50_000:])
    assert raws[2].frame()
