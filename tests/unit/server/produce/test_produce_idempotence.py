"""Every rule for sequences and epochs of an idempotent producer, over the wire, by the quick and the ordinary path."""

from itertools import count
from typing import Any

import pytest
from tests.support.serving import batch_of, create, fetch_values, produced
from tests.support.transactional import SimProducer, transactional_world

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.sim.node_world import NodeWorld, SimClient

_ids = count(10_000)
WINDOW = 5
LAST_SEQUENCE = 2**31 - 1
NONE, OUT_OF_ORDER = ErrorCode.NONE, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


class Idempotent:
    """A producer with an id of its own, which sends any sequence that a test asks for."""

    def __init__(self, client: SimClient, topic: str) -> None:
        self.client = client
        self.topic = topic
        self.producer_id = next(_ids)

    def batch(self, sequence: int, *values: bytes, epoch: int = 0) -> memoryview:
        now_ms = self.client._world.clock.wall_ms()
        return batch_of(
            *(values or (b"v%d" % sequence,)),
            first_timestamp=now_ms,
            producer_id=self.producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
        )

    def send(self, sequence: int, *values: bytes, epoch: int = 0) -> tuple[ErrorCode, int]:
        answer = produced(self.client, self.topic, self.batch(sequence, *values, epoch=epoch))
        return ErrorCode(answer.error_code), answer.base_offset


@pytest.fixture(params=["quick", "ordinary"])
def one(client: SimClient, topic: str, request: pytest.FixtureRequest) -> Idempotent:
    """Return a producer for each path. On the ordinary one the connection forgets the quick path before every
    request."""
    create(client, topic)
    producer = Idempotent(client, topic)
    if request.param == "ordinary":
        send = producer.send

        def forgetful(*args: Any, **kwargs: Any) -> tuple[ErrorCode, int]:
            broker = client._world.running.broker
            broker.generation += 1
            return send(*args, **kwargs)

        producer.send = forgetful  # type: ignore[method-assign]
    return producer


def test_a_duplicate_within_the_window_has_its_first_offset(one: Idempotent) -> None:
    for sequence in range(WINDOW):
        assert one.send(sequence) == (NONE, sequence)
    for sequence in range(WINDOW):
        assert one.send(sequence) == (NONE, sequence)
    assert len(fetch_values(one.client, one.topic)) == WINDOW


def test_behind_the_window_it_is_out_of_order(one: Idempotent) -> None:
    for sequence in range(WINDOW + 1):
        one.send(sequence)
    assert one.send(0) == (OUT_OF_ORDER, -1)
    assert one.send(1) == (NONE, 1)
    assert one.send(WINDOW + 1) == (NONE, WINDOW + 1)


def test_a_gap_an_overlap_and_what_comes_next(one: Idempotent) -> None:
    assert one.send(0, b"a", b"b", b"c") == (NONE, 0)
    assert one.send(4) == (OUT_OF_ORDER, -1)
    assert one.send(1, b"b", b"c") == (OUT_OF_ORDER, -1), "a part of a batch is no repetition of it"
    assert one.send(0, b"a", b"b") == (OUT_OF_ORDER, -1)
    assert one.send(0, b"a", b"b", b"c") == (NONE, 0)
    assert one.send(3) == (NONE, 3)


def test_a_refusal_says_where_the_log_begins(one: Idempotent) -> None:
    """A producer tells by the log start offset whether it is out of order or its records were deleted."""
    for sequence in range(3):
        one.send(sequence)
    cut = DeleteRecordsTopic(name=one.topic, partitions=[DeleteRecordsPartition(partition_index=0, offset=2)])
    one.client.ask(DeleteRecordsRequest(topics=[cut], timeout_ms=0), 2)
    answer = produced(one.client, one.topic, one.batch(7))
    assert (answer.error_code, answer.log_start_offset) == (OUT_OF_ORDER, 2)
    flipped = one.batch(3)
    flipped[-1] ^= 1
    answer = produced(one.client, one.topic, flipped)
    assert (answer.error_code, answer.log_start_offset) == (ErrorCode.CORRUPT_MESSAGE, -1)


def test_an_unknown_producer_may_start_anywhere(one: Idempotent) -> None:
    assert one.send(1_000) == (NONE, 0)
    assert one.send(1_001) == (NONE, 1)
    assert one.send(1_003) == (OUT_OF_ORDER, -1)


def test_epochs_go_up_and_start_at_0(one: Idempotent) -> None:
    assert one.send(0, epoch=3) == (NONE, 0)
    assert one.send(1, epoch=4) == (OUT_OF_ORDER, -1)
    assert one.send(0, epoch=5) == (NONE, 1)
    assert one.send(1, epoch=3) == (ErrorCode.INVALID_PRODUCER_EPOCH, -1)
    assert one.send(0, epoch=3) == (ErrorCode.INVALID_PRODUCER_EPOCH, -1), "the window is of one epoch"
    assert one.send(1, epoch=5) == (NONE, 2)


def test_sequences_wrap_around_to_0(one: Idempotent) -> None:
    assert one.send(LAST_SEQUENCE - 1, b"a", b"b") == (NONE, 0)
    assert one.send(0) == (NONE, 2)
    assert one.send(LAST_SEQUENCE - 1, b"a", b"b") == (NONE, 0)
    other = Idempotent(one.client, one.topic)
    assert other.send(LAST_SEQUENCE, b"a", b"b") == (NONE, 3), "within a batch too"
    assert other.send(1) == (NONE, 5)


@pytest.mark.parametrize("version", [3, 9, 12])
def test_a_duplicate_in_the_same_turn_shares_the_fate_of_the_first(client: SimClient, topic: str, version: int) -> None:
    create(client, topic)
    one = Idempotent(client, topic)

    def request(sequence: int) -> ProduceRequest:
        data = PartitionProduceData(index=0, records=one.batch(sequence))
        return ProduceRequest(
            acks=-1, timeout_ms=1_000, topic_data=[TopicProduceData(name=topic, partition_data=[data])]
        )

    for sequence in (0, 0, 1, 0, 1, 3, 2):
        client.send(request(sequence), version)
    answers = [client.receive().responses[0].partition_responses[0] for _ in range(7)]
    found = [(each.error_code, each.base_offset) for each in answers]
    assert found == [(NONE, 0), (NONE, 0), (NONE, 1), (NONE, 0), (NONE, 1), (OUT_OF_ORDER, -1), (NONE, 2)]
    assert fetch_values(client, topic) == [b"v0", b"v1", b"v2"]


def test_two_producers_do_not_mind_each_other(one: Idempotent) -> None:
    other = Idempotent(one.client, one.topic)
    assert [each.send(sequence) for sequence in range(2) for each in (one, other)] == [(NONE, at) for at in range(4)]


@pytest.mark.parametrize("end", [NodeWorld.stop, NodeWorld.kill, NodeWorld.lose_power])
def test_the_last_batch_outlives_the_node(end: Any) -> None:
    """A snapshot, by its format, has nothing of earlier batches."""
    world = NodeWorld(41, {"log.flush.interval.messages": "1"})
    create(world.client(), "t")
    one = Idempotent(world.client(), "t")
    for sequence in range(7):
        one.send(sequence)
    end(world)
    world.start()
    one.client = world.client()
    assert one.send(6) == (NONE, 6)
    assert one.send(8) == (OUT_OF_ORDER, -1)
    assert one.send(7) == (NONE, 7)


def test_an_idle_producer_is_forgotten_and_goes_on_where_it_was() -> None:
    """Being forgotten never shows as an out-of-order sequence."""
    world = NodeWorld(42, {"producer.id.expiration.ms": "1000", "producer.id.expiration.check.interval.ms": "500"})
    create(world.client(), "t")
    one = Idempotent(world.client(), "t")
    one.send(0)
    assert one.send(2) == (OUT_OF_ORDER, -1)
    world.run(2_000)
    assert one.send(2) == (NONE, 1)
    assert one.send(0) == (OUT_OF_ORDER, -1)


def test_a_producer_with_an_open_transaction_is_not_forgotten() -> None:
    overrides = {"producer_id_expiration_ms": "1000", "producer_id_expiration_check_interval_ms": "500"}
    world = transactional_world(43, **overrides)
    client = world.client()
    create(client, "t")
    one = SimProducer(world, "id").init()
    one.write(("t", 0))
    world.run(3_000)
    one.write(("t", 0))
    one.end()
    world.run(3_000)
    assert one.write(("t", 0)) == [3]


def test_a_topic_that_is_made_anew_knows_nobody(client: SimClient, node: NodeWorld, topic: str) -> None:
    create(client, topic)
    one = Idempotent(client, topic)
    for sequence in range(3):
        one.send(sequence)
    client.ask(DeleteTopicsRequest(topic_names=[topic], timeout_ms=1_000), 5)
    node.wait_for(lambda: topic not in node.running.broker.image.topics.by_name or None)
    create(client, topic)
    assert one.send(3) == (NONE, 0)
