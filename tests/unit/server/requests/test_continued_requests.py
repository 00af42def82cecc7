"""Requests that go on in later turns than they came in: a bug there, too, fails only its own request, and a stop ends
them."""

import errno
import os
from collections import Counter
from typing import Any

import pytest
from tests.support.preparing import HEAVY_CONFIG, IdleWorkers, heavy_batch, produce_request
from tests.support.serving import batch_of, create, fetch_values, produce, produced
from tests.support.transactional import SimProducer, transactional_world
from tests.unit.server.handlers.test_list_offsets import heavy_times

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.ports.errors import NotFound
from tidelog.protocol.api import ApiKey
from tidelog.protocol.errors import EncodeError, MessageTooLarge
from tidelog.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from tidelog.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tidelog.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tidelog.protocol.server_connection import Request
from tidelog.records.compression import CompressionType
from tidelog.server.handlers import list_offsets
from tidelog.server.handlers import produce as produce_handler
from tidelog.server.node import stopping
from tidelog.server.node.node import Phase
from tidelog.server.produce import held_requests as held_produces
from tidelog.server.produce.appending import ProduceAppending
from tidelog.server.requests import dispatch
from tidelog.server.requests import handler as handling
from tidelog.server.requests import sliced_requests as slices
from tidelog.server.requests.handler import SlicedContext
from tidelog.sim.node_world import NodeWorld, SimClient
from tidelog.storage.log.log import Log
from tidelog.storage.log.reading import search_offset

LOOK_NS = 4_000_000  # the time that each look at the clock takes: a turn is over after a few


@pytest.fixture
def world() -> NodeWorld:
    return NodeWorld(seed=5)


def poison(*_args: Any, **_options: Any) -> Any:
    raise IndexError("poison")


def search(timestamp: int, partitions: int = 1) -> ListOffsetsRequest:
    asked = [ListOffsetsPartition(partition_index=index, timestamp=timestamp) for index in range(partitions)]
    return ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=asked)])


def prepared_later(world: NodeWorld, client: SimClient, acks: int) -> IdleWorkers:
    """Send a produce request with a light batch, which is staged, and a heavy one, which a worker has to prepare."""
    create(client, "t", partitions=2, configs=HEAVY_CONFIG)
    workers = IdleWorkers(world)
    request = produce_request("t", (0, batch_of(b"staged")), (1, heavy_batch(b"heavy")), acks=acks)
    client.send(request, 9, expect_response=acks != 0)
    workers.wait_for()
    return workers


def test_a_bug_after_a_preparation_costs_that_request(world: NodeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    client, bugs = world.client(), world.running.broker.dispatch.bugs
    workers = prepared_later(world, client, acks=-1)
    client.send(produce_request("t", (0, batch_of(b"behind"))), 9)
    with monkeypatch.context() as patched:
        patched.setattr(produce_handler, "append_prepared", poison)
        workers.let_go()
        answers = client.receive().responses[0].partition_responses
    assert [each.error_code for each in answers] == [ErrorCode.UNKNOWN_SERVER_ERROR] * 2
    assert client.receive().responses[0].partition_responses[0].base_offset == 1, "who waited behind it goes on"
    assert fetch_values(client, "t") == [b"staged", b"behind"]
    broker = world.running.broker
    assert broker.dispatch.bugs == bugs + 1
    assert broker.transactions.held == {}
    assert next(iter(broker.connections.all())).kept_bytes == 0


def test_without_acks_it_ends_the_connection(world: NodeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    client = world.client()
    workers = prepared_later(world, client, acks=0)
    monkeypatch.setattr(produce_handler, "append_prepared", poison)
    workers.let_go()
    world.wait_for(lambda: not len(world.running.broker.connections) or None)
    assert world.running.broker.dispatch.bugs == 1
    assert produce(world.client(), "t", b"next") == 1


def test_a_bug_in_a_later_turn_of_a_produce_request(monkeypatch: pytest.MonkeyPatch) -> None:
    world = NodeWorld(seed=5, look_ns=LOOK_NS)
    client, broker = world.client(), world.running.broker
    create(client, "t")
    client.send(produce_request("t", *[(0, batch_of(b"x"))] * 40), 9)
    world.wait_for(lambda: any(isinstance(each, ProduceAppending) for each in broker.turn.backlog) or None)
    with monkeypatch.context() as patched:
        patched.setattr(produce_handler, "find_leader", poison)
        answers = client.receive().responses[0].partition_responses
    assert {each.error_code for each in answers} == {ErrorCode.UNKNOWN_SERVER_ERROR}
    assert produced(client, "t", batch_of(b"next")).error_code == ErrorCode.NONE


def test_a_bug_after_a_lookup_of_a_worker_costs_that_request(world: NodeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    client = world.client()
    create(client, "t")
    assert produced(client, "t", heavy_times(CompressionType.ZSTD)).error_code == ErrorCode.NONE
    workers = IdleWorkers(world)
    client.send(search(120), 7)
    workers.wait_for()
    with monkeypatch.context() as patched:
        patched.setattr(list_offsets, "remember", poison)
        workers.let_go()
        assert client.receive().topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert client.ask(search(120), 7).topics[0].partitions[0].offset == 1


def test_a_bug_in_a_later_turn_of_a_search(world: NodeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    client, broker = world.client(), world.running.broker
    create(client, "t", partitions=3)
    for index in range(3):
        produced(client, "t", batch_of(b"x", first_timestamp=1_000), partition=index)
    monkeypatch.setattr(list_offsets, "STEPS_A_SLICE", 1)
    client.send(search(500, partitions=3), 7)
    world.wait_for(
        lambda: any(isinstance(each, list_offsets.DelayedListOffsets) for each in broker.turn.backlog) or None
    )
    with monkeypatch.context() as patched:
        patched.setattr(list_offsets.OffsetSearch, "step", poison)
        found = client.receive().topics[0].partitions
    assert [each.error_code for each in found] == [ErrorCode.UNKNOWN_SERVER_ERROR] * 3
    assert [each.offset for each in client.ask(search(500, partitions=3), 7).topics[0].partitions] == [0] * 3


def test_a_search_looks_at_the_clock_after_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step may inflate megabytes, so a turn has time for only a few, unlike steps over headers alone."""
    world = NodeWorld(seed=5, look_ns=LOOK_NS)
    client, partitions = world.client(), 40
    create(client, "t", partitions=partitions)
    for index in range(partitions):
        produced(client, "t", batch_of(b"x", first_timestamp=1_000), partition=index)
    step, steps = list_offsets.OffsetSearch.step, Counter[int]()

    def counted(self: list_offsets.OffsetSearch, broker: Any, *, may_wait: bool) -> Any:
        steps[world.turns] += 1
        return step(self, broker, may_wait=may_wait)

    monkeypatch.setattr(list_offsets.OffsetSearch, "step", counted)
    found = client.ask(search(500, partitions), 7).topics[0].partitions
    assert [each.offset for each in found] == [0] * partitions
    assert steps.total() >= partitions
    assert max(steps.values()) < 8


def test_a_segment_that_is_missing_is_an_error_and_not_looked_for_for_ever(
    world: NodeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = world.client()
    create(client, "t")
    produced(client, "t", batch_of(b"x", first_timestamp=1_000))

    def missing(log: Log, _timestamp: int) -> Any:
        yield
        raise NotFound(f"{log.directory}/00000000000000000000.log", "no such file")

    monkeypatch.setattr(list_offsets, "search_offset", missing)
    assert client.ask(search(500), 7).topics[0].partitions[0].error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_segment_that_was_deleted_meanwhile_is_passed_over(world: NodeWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    client = world.client()
    create(client, "t")
    produced(client, "t", batch_of(b"x", first_timestamp=1_000))
    began = []

    def missing_once(log: Log, timestamp: int) -> Any:
        began.append(timestamp)
        if len(began) == 1:
            raise NotFound(f"{log.directory}/00000000000000000000.log", "no such file")
        return (yield from search_offset(log, timestamp))

    monkeypatch.setattr(list_offsets, "search_offset", missing_once)
    assert client.ask(search(500), 7).topics[0].partitions[0].offset == 0


def stop_by_itself(_broker: Any) -> Any:
    """Stop like a node whose controller does not answer, and moves no leader away."""
    yield from ()


def test_a_stop_ends_a_produce_request_before_the_logs_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    world = NodeWorld(seed=5, look_ns=LOOK_NS)
    client, node, broker = world.client(), world.running, world.running.broker
    create(client, "t")
    batches = [(0, batch_of(b"x"))] * 400
    client.send(produce_request("t", *batches, acks=0), 9, expect_response=False)
    world.wait_for(lambda: any(isinstance(each, ProduceAppending) for each in broker.turn.backlog) or None)
    client.close()
    log = broker.hosted.by_topic_partition[TopicPartition("t", 0)].log
    begin_closing, ends = broker.logs.begin_closing, []

    def noted() -> Any:
        ends.append(log.log_end_offset)
        assert not broker.turn.appended, "what is staged after the logs were told to close"
        return begin_closing()

    monkeypatch.setattr(broker.logs, "begin_closing", noted)
    monkeypatch.setattr(stopping, "SETTLE_MS", 0)
    monkeypatch.setattr(stopping, "_leave", stop_by_itself)
    node.begin_stop()
    world.wait_for(lambda: node.phase is Phase.STOPPED or None)
    assert 0 < ends[0] < len(batches), "it was under way"
    assert log.log_end_offset == ends[0]
    assert broker.turn.backlog == []


def test_a_stop_ends_what_is_under_way_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    world = NodeWorld(seed=5, look_ns=LOOK_NS)
    client, node, broker = world.client(), world.running, world.running.broker
    names = [MetadataRequestTopic(name=f"topic-{index}") for index in range(6_000)]
    client.send(MetadataRequest(topics=names, allow_auto_topic_creation=False), 12)
    world.wait_for(lambda: len(broker.slices) or None)
    monkeypatch.setattr(stopping, "SETTLE_MS", 0)
    node.begin_stop()
    world.wait_for(lambda: broker.is_closing or None)
    assert not len(broker.slices)
    assert broker.turn.backlog == []
    world.wait_for(lambda: node.phase is Phase.STOPPED or None)


@pytest.mark.parametrize(
    "error", [OSError(errno.EMFILE, os.strerror(errno.EMFILE)), ImportError(os.strerror(errno.EMFILE))]
)
@pytest.mark.parametrize("table", ["handlers", "requests"])
def test_a_handler_that_can_not_be_imported_costs_the_connection(
    world: NodeWorld, monkeypatch: pytest.MonkeyPatch, error: Exception, table: str
) -> None:
    client, broker = world.client(), world.running.broker
    create(client, "t")

    class Missing(dict[int, Any]):
        def __missing__(self, _key: int) -> Any:
            raise error

    with monkeypatch.context() as patched:
        if table == "handlers":
            patched.setattr(broker.dispatch, "handlers", Missing())
        else:
            patched.setattr(dispatch, "REQUESTS", Missing())
        client.send(search(500), 7)
        world.wait_for(lambda: not len(broker.connections) or None)
    assert broker.dispatch.bugs == 0, "a shortage is no bug"
    assert produce(world.client(), "t", b"next") == 0


class Range:
    def __init__(self) -> None:
        self.released = 0

    def __len__(self) -> int:
        return 100

    def release(self) -> None:
        self.released += 1


def fetched(records: Range) -> FetchResponse:
    data = PartitionData(
        partition_index=0,
        error_code=0,
        high_watermark=1,
        last_stable_offset=1,
        log_start_offset=0,
        aborted_transactions=None,
        records=records,
    )
    topic = FetchableTopicResponse(topic="t", topic_id=Uuid(bytes(16)), partitions=[data])
    return FetchResponse(throttle_time_ms=0, responses=[topic])


def sliced(world: NodeWorld) -> SlicedContext:
    world.client()
    broker = world.running.broker
    connection = world.wait_for(lambda: next(iter(broker.connections.all()), None))
    sequence = connection.protocol.open_unread()
    request = Request(sequence, ApiKey.FETCH, 12, 1, "t", bytearray(), 0, 0)
    return SlicedContext(connection, request, 0, 0)


def test_an_answer_to_who_has_left_is_not_encoded_and_gives_its_files_back(
    world: NodeWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    context, records = sliced(world), Range()
    context.connection.close()
    monkeypatch.setattr(handling, "encode_response", poison)
    context.respond(fetched(records))
    assert records.released == 1
    assert not len(world.running.broker.slices)


@pytest.mark.parametrize("error", [MessageTooLarge("too much"), EncodeError("wrong", "field")])
def test_an_answer_that_can_not_be_encoded_gives_its_files_back(
    world: NodeWorld, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    context, records = sliced(world), Range()

    def refuse(_response: object, _limit: int) -> Any:
        yield
        raise error

    monkeypatch.setattr(slices, "sliced_encoder", lambda *_: refuse)
    context.respond(fetched(records))
    world.wait_for(lambda: records.released or None)
    world.run(10)
    assert records.released == 1


def test_a_bug_on_the_way_to_a_coordinator_does_not_hold_up_who_is_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    world = transactional_world(31)
    create(world.client(), "t")
    one = SimProducer(world, "id", is_v2=True).init()
    with monkeypatch.context() as patched:
        patched.setattr(held_produces, "ask_coordinator", poison)
        assert one.ask_produce(("t", 0), b"x").error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert world.running.broker.transactions.held == {}
    assert produced(one.client, "t", batch_of(b"behind")).error_code == ErrorCode.NONE
