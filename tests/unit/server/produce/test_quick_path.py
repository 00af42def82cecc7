"""The quick path of a produce request against the ordinary one: the same requests go to two nodes of one seed, one of
which forgets its produce paths before every request. Both give the same answers and keep the same log."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.unit.server.requests.test_first_contact import create, fetch

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.records.compression import CompressionType
from tidelog.records.patch import write_crc
from tidelog.server.requests.connection import ClientConnection
from tidelog.sim.node_world import NodeWorld, SimClient

VERSIONS = range(3, 14)
FIRST_BY_ID = 13
ATTRIBUTES_AT, TRANSACTIONAL = 22, 0x10


class Side:
    """One of the two nodes."""

    def __init__(self, is_quick: bool) -> None:
        self.is_quick = is_quick
        self.world = NodeWorld(seed=11, overrides={"message.max.bytes": "8000"})
        self.handled = 0
        self._count_handled()

    def _count_handled(self) -> None:
        dispatch = self.world.running.broker.dispatch
        handle: Callable[..., None] = dispatch.handle

        def counting(*arguments: Any) -> None:
            self.handled += 1
            handle(*arguments)

        dispatch.handle = counting  # type: ignore[method-assign, assignment]

    def connections(self) -> list[ClientConnection]:
        return self.world.running.broker.connections.all()

    def before_request(self) -> None:
        if not self.is_quick:
            for connection in self.connections():
                connection.produce_path = None


@pytest.fixture(scope="module")
def sides() -> tuple[Side, Side]:
    return Side(is_quick=True), Side(is_quick=False)


def batch(*values: bytes, **options: Any) -> bytes:
    builder = BatchBuilder(limit_bytes=1 << 24, options=BatchOptions(**options))
    for value in values:
        builder.append(1_000, None, value)
    return builder.build()


def changed(data: bytes, position: int, value: int, *, checksum: bool = True) -> bytes:
    result = bytearray(data)
    result[position] = value
    if checksum:
        write_crc(result)
    return bytes(result)


def of_producer(sequence: int, epoch: int = 0) -> bytes:
    return batch(b"idempotent", producer_id=77, producer_epoch=epoch, base_sequence=sequence)


PLAIN = batch(b"one", b"two")
BATCHES: dict[str, bytes | None] = {
    "the one that is learned from": PLAIN,
    "the same again": PLAIN,
    "longer": batch(b"x" * 3_000),
    "many": batch(*[b"r"] * 100),
    "wrong checksum": changed(PLAIN, 40, 0xFF, checksum=False),
    "wrong magic": changed(PLAIN, 16, 1),
    "its length lies": changed(PLAIN, 11, PLAIN[11] - 1),
    "its count lies": changed(PLAIN, 60, 9),
    "too large": batch(b"y" * 9_000),
    "none": None,
    "empty": b"",
    "cut short": PLAIN[:40],
    "two batches": PLAIN + PLAIN,
    "transactional": changed(PLAIN, ATTRIBUTES_AT, TRANSACTIONAL),
    "control": changed(PLAIN, ATTRIBUTES_AT, 0x20),
    "lz4": batch(b"z" * 500, compression=CompressionType.LZ4),
    "zstd": batch(b"z" * 500, compression=CompressionType.ZSTD),
    "first of a producer": of_producer(0),
    "second of a producer": of_producer(1),
    "second again": of_producer(1),
    "out of order": of_producer(5),
    "old epoch": of_producer(0, epoch=3),
    "older epoch": of_producer(2, epoch=0),
    "and the usual": PLAIN,
}


def request(topic: str, topic_id: Uuid, records: bytes | None, version: int, acks: int = 1) -> ProduceRequest:
    data = PartitionProduceData(index=0, records=records)
    named = {"topic_id": topic_id} if version >= FIRST_BY_ID else {"name": topic}
    topics = [TopicProduceData(partition_data=[data], **named)]
    return ProduceRequest(acks=acks, timeout_ms=1_000, topic_data=topics)


def topic_id_of(side: Side, topic: str) -> Uuid:
    found: Uuid = side.world.running.broker.image.topics.by_name[topic].id
    return found


def answers(side: Side, topic: str, version: int, acks: int) -> dict[str, Any]:
    """Return the answer to each of the batches, sent on one connection; "closed" where it was closed, after which a new
    one is made."""
    client = side.world.client()
    create(client, topic)
    topic_id = topic_id_of(side, topic)
    told: dict[str, Any] = {}
    for name, records in BATCHES.items():
        side.before_request()
        try:
            told[name] = client.ask(request(topic, topic_id, records, version, acks), version)
            if version >= FIRST_BY_ID:  # topic ids differ between the sides
                assert told[name].responses[0].topic_id == topic_id
                told[name].responses[0].topic_id = None
        except EOFError:
            told[name], client = "closed", side.world.client()
    return told


def stored(side: Side, topic: str) -> list[bytes]:
    return fetch(side.world.client(), topic)


@pytest.mark.parametrize(("version", "acks"), [*((version, 1) for version in VERSIONS), (3, -1), (9, -1), (13, 7)])
def test_both_ways_answer_alike(sides: tuple[Side, Side], version: int, acks: int) -> None:
    topic = f"alike-{version}-{acks}".replace("--", "-all-")
    quick, ordinary = (answers(side, topic, version, acks) for side in sides)
    assert quick == ordinary
    assert stored(sides[0], topic) == stored(sides[1], topic)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_quick_way_is_taken(sides: tuple[Side, Side], version: int) -> None:
    taken = []
    for side in sides:
        client, topic = side.world.client(), f"taken-{version}"
        create(client, topic)
        topic_id, before = topic_id_of(side, topic), side.handled
        for _ in range(5):
            side.before_request()
            client.ask(request(topic, topic_id, PLAIN, version), version)
        taken.append(side.handled - before)
    assert taken == [1, 5]


def test_requests_without_acks_go_between_others(sides: tuple[Side, Side]) -> None:
    logs = []
    for side in sides:
        client = side.world.client()
        create(client, "silent")
        for acks in (1, 0, 1, 0, 0, -1, 1):
            side.before_request()
            value = batch(b"acks %d" % acks)
            client.send(request("silent", Uuid(bytes(16)), value, 9, acks), 9, expect_response=acks != 0)
            if acks:
                assert client.receive().responses[0].partition_responses[0].error_code == ErrorCode.NONE
        logs.append(stored(side, "silent"))
    assert logs[0] == logs[1] == [b"acks 1", b"acks 0", b"acks 1", b"acks 0", b"acks 0", b"acks -1", b"acks 1"]


def test_a_frame_that_ends_inside_what_was_learned_is_not_read_beyond_its_end(sides: tuple[Side, Side]) -> None:
    """The bytes behind the frame in the buffer are left over from the request before."""
    ends = []
    for side in sides:
        client = side.world.client()
        create(client, "short")
        good = request("short", Uuid(bytes(16)), PLAIN, 7)
        for _ in range(3):
            side.before_request()
            client.ask(good, 7)
        whole = b"".join(map(bytes, client._protocol.send(good, 7)))
        side.before_request()
        client.send_bytes((30).to_bytes(4, "big") + whole[4:34])
        with pytest.raises(EOFError):
            client.receive()
        ends.append(len(stored(side, "short")))
    assert ends == [6, 6]


def test_a_path_is_forgotten_when_the_metadata_change(sides: tuple[Side, Side]) -> None:
    side = sides[0]
    client = side.world.client()
    create(client, "forgotten")
    client.ask(request("forgotten", Uuid(bytes(16)), PLAIN, 9), 9)
    client.ask(request("forgotten", Uuid(bytes(16)), PLAIN, 9), 9)
    before = side.handled
    create(side.world.client(), "another-topic")
    created = side.handled
    client.ask(request("forgotten", Uuid(bytes(16)), PLAIN, 9), 9)
    assert (created - before, side.handled - created) == (1, 1)
    client.ask(request("forgotten", Uuid(bytes(16)), PLAIN, 9), 9)
    assert side.handled - created == 1, "learned anew"


def test_pipelined_requests_are_answered_in_order_also_behind_a_slow_one(sides: tuple[Side, Side]) -> None:
    told = []
    for side in sides:
        client: SimClient = side.world.client()
        create(client, "pipelined")
        for index in range(20):
            records = PLAIN if index % 4 else batch(b"odd", compression=CompressionType.ZSTD)
            client.send(request("pipelined", Uuid(bytes(16)), records, 9, -1), 9)
        told.append([client.receive() for _ in range(20)])
    assert told[0] == told[1]
    offsets = [each.responses[0].partition_responses[0].base_offset for each in told[0]]
    assert offsets == sorted(offsets)


def test_quick_requests_are_counted(sides: tuple[Side, Side]) -> None:
    counts = []
    for side in sides:
        client = side.world.client()
        create(client, "counted")
        metrics = side.world.running.broker.request_metrics.of(0)
        before = metrics.total.total
        for _ in range(4):
            side.before_request()
            client.ask(request("counted", Uuid(bytes(16)), PLAIN, 9), 9)
        counts.append(metrics.total.total - before)
    assert counts == [4, 4]
