"""Transactions of many partitions: their markers are written over several turns, none is lost on the way, and the
transaction is complete after the last and not before."""

from collections.abc import Callable

import pytest
from tests.support.serving import create
from tests.support.transactional import SimProducer, committed_values, state_of, transactional_world, with_coordinators

from tidelog.coordinator.transaction.requests import MarkersWritten
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.compile_sliced_decoder import SLICE
from tidelog.protocol.messages.api_versions import ApiVersionsRequest
from tidelog.server.requests import sliced_requests as slices
from tidelog.server.transactions.markers import PLACES_AT_ONCE
from tidelog.server.transactions.markers_to_send import WHOLE_PLACES_MAX
from tidelog.sim.node_world import NodeWorld

LOOK_NS = 6_000_000  # the time that each look at the clock takes: a slice is over at the first
MARKERS_A_TURN = PLACES_AT_ONCE
PARTITIONS = 8 * PLACES_AT_ONCE
ONGOING_END, MARKED_END = 1, 2  # the end offset of a log with one record, without and with its marker
PLACES = [("wide", index) for index in range(PARTITIONS)]


@pytest.fixture
def world() -> NodeWorld:
    world = transactional_world(51)
    create(world.client(), "wide", partitions=PARTITIONS)
    return world


@pytest.fixture
def producer(world: NodeWorld) -> SimProducer:
    """Return a producer in the middle of a transaction with all of the partitions."""
    assert PARTITIONS > WHOLE_PLACES_MAX
    producer = SimProducer(world, "tx").init()
    producer.write(*PLACES)
    world.clock.look_ns = LOOK_NS
    return producer


def marked(world: NodeWorld) -> int:
    by_topic_partition = world.running.broker.hosted.by_topic_partition
    ends = [by_topic_partition[TopicPartition(*topic_partition)].log.log_end_offset for topic_partition in PLACES]
    assert set(ends) <= {ONGOING_END, MARKED_END}
    return ends.count(MARKED_END)


def until(world: NodeWorld, holds: Callable[[], bool]) -> None:
    world.wait_for(lambda: holds() or None)


def begin_end(world: NodeWorld, producer: SimProducer) -> None:
    """Ask for the end of the transaction, and wait until some of its markers are written."""
    producer.client.send(producer.end_request(commit=True), producer.end_version)
    until(world, lambda: marked(world) > 0)


def test_the_markers_come_a_few_a_turn_and_others_are_served(world: NodeWorld, producer: SimProducer) -> None:
    other = world.client()
    begin_end(world, producer)
    before = marked(world)
    assert before <= MARKERS_A_TURN
    assert state_of(other, "tx") == "PrepareCommit"
    assert before < marked(world) < PARTITIONS, "others are answered in between"
    while marked(world) < PARTITIONS:
        before = marked(world)
        world.turn()
        world.clock.advance(1)
        assert marked(world) - before <= MARKERS_A_TURN
    until(world, lambda: state_of(other, "tx") == "CompleteCommit")
    assert producer.client.receive().error_code == ErrorCode.NONE
    assert not world.running.broker.transactions.sending


def test_it_is_complete_only_after_the_last_marker(
    world: NodeWorld, producer: SimProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    family, reported = world.running.broker.coordinators.transactions, []
    submit = family.submit

    def note(key: str, request: object, reply: Callable[[object], None]) -> None:
        message = getattr(request, "message", None)
        if isinstance(message, MarkersWritten):
            reported.append((len(message.outcomes), marked(world)))
        submit(key, request, reply)

    monkeypatch.setattr(family, "submit", note)
    begin_end(world, producer)
    until(world, lambda: not world.running.broker.transactions.sending)
    assert reported == [(PARTITIONS, PARTITIONS)]


def test_a_node_that_dies_in_the_middle_goes_on_with_it(world: NodeWorld, producer: SimProducer) -> None:
    begin_end(world, producer)
    assert 0 < marked(world) < PARTITIONS
    world.kill()
    world.clock.look_ns = 0
    world.start()
    with_coordinators(world)
    reader = world.client()
    until(world, lambda: state_of(reader, "tx") == "CompleteCommit")
    assert all(committed_values(reader, topic_partition) == [b"x"] for topic_partition in (PLACES[0], PLACES[-1]))
    by_topic_partition = world.running.broker.hosted.by_topic_partition
    logs = [by_topic_partition[TopicPartition(*topic_partition)].log for topic_partition in PLACES]
    assert all(log.last_stable_offset == log.log_end_offset > ONGOING_END for log in logs)


def test_the_partitions_of_a_produce_request_are_verified_over_several_turns(
    world: NodeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "WHOLE_ELEMENTS_MAX", SLICE)
    producer, other = SimProducer(world, "tx").init(), world.client()
    request = producer.request(
        *((topic_partition, producer.batch(topic_partition, b"x")) for topic_partition in PLACES)
    )
    world.clock.look_ns = 1_000_000  # six partitions a slice
    by_topic_partition = world.running.broker.hosted.by_topic_partition
    states = [by_topic_partition[TopicPartition(*topic_partition)].log.producers for topic_partition in PLACES]
    asked: list[object] = []
    family = world.running.broker.coordinators.transactions
    submit = family.submit

    def note(key: str, request: object, reply: Callable[[object], None]) -> None:
        asked.append(request)
        submit(key, request, reply)

    monkeypatch.setattr(family, "submit", note)
    producer.client.send(request, producer.produce_version)
    until(world, lambda: any(each.verifications for each in states))
    other.ask(ApiVersionsRequest(client_software_name="t", client_software_version="1"), 3)
    assert 0 < sum(bool(each.verifications) for each in states) < PARTITIONS, "others are answered in between"
    assert not asked, "the coordinator is asked once, about all of them"
    answered = producer.client.receive().responses
    results = [each for topic in answered for each in topic.partition_responses]
    assert [(each.index, each.error_code) for each in results] == [(index, 0) for _topic, index in PLACES]
    assert len(asked) == 1


def test_a_coordinator_that_sends_them_again_replaces_what_is_under_way(
    world: NodeWorld, producer: SimProducer
) -> None:
    begin_end(world, producer)
    transactions = world.running.broker.transactions
    (effect,) = transactions.sending
    earlier = transactions._sending["tx"]
    transactions.send_markers(effect)
    until(world, lambda: not transactions.sending)
    assert earlier.is_done
    until(world, lambda: state_of(world.client(), "tx") == "CompleteCommit")
    assert not transactions._large


def test_a_coordinator_that_is_gone_has_no_more_markers_written(world: NodeWorld, producer: SimProducer) -> None:
    begin_end(world, producer)
    transactions = world.running.broker.transactions
    world.running.broker.coordinators.transactions.stop()
    until(world, lambda: not transactions._large)
    assert marked(world) < PARTITIONS
    assert not transactions.sending
