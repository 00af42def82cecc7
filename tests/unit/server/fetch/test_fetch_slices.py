"""Fetches of many partitions are counted, read and answered over several turns. Nobody sees a session half changed, no
partition moves unnoticed, and no file stays pinned."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from tests.support.preparing import produce_request
from tests.support.serving import batch_of, create, produce, values_in
from tests.unit.server.conftest import COORDINATING

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.api_versions import ApiVersionsRequest
from tidelog.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tidelog.server.fetch.delayed_fetch import DelayedFetch
from tidelog.server.fetch.session import FetchSession
from tidelog.server.hosting.partition import Partition
from tidelog.server.requests import sliced_requests as slices
from tidelog.server.requests.element_limits import WHOLE_ELEMENTS_MAX
from tidelog.server.requests.sliced_requests import SlicedRequests
from tidelog.server.requests.sliced_work import SLICE_NS
from tidelog.sim.node_world import NodeWorld, SimClient

LOOK_NS = 200_000  # a slice is 26 looks at the clock, one at each partition
LOOKS = 26
PARTITIONS = WHOLE_ELEMENTS_MAX + 100
ALL = list(range(PARTITIONS))
LONG_MS = 30_000
FINAL = -1
_names = count()


@pytest.fixture(scope="module")
def shared() -> NodeWorld:
    return NodeWorld(seed=91, overrides={**COORDINATING, "auto.create.topics.enable": "false"})


@pytest.fixture
def world(shared: NodeWorld) -> Iterator[NodeWorld]:
    broker = shared.running.broker
    before = broker.dispatch.bugs
    yield shared
    shared.clock.look_ns = 0
    for session_id in list(broker.fetch_sessions._sessions):
        broker.fetch_sessions.close(session_id)
    shared.wait_for(lambda: not len(broker.slices) or None)
    assert broker.dispatch.bugs == before
    assert shared.fs.pinned_files == 0, "a range was not released"
    assert not any(partition.fetch_waiters for partition in broker.hosted.by_topic_partition.values())


@pytest.fixture
def topic(world: NodeWorld) -> str:
    name = f"t{next(_names)}"
    world.clock.look_ns = 0
    create(world.client(), name, partitions=PARTITIONS)
    world.clock.look_ns = LOOK_NS
    return name


def fetch(topic: str, indexes: list[int], *, session: tuple[int, int] = (0, 0), wait_ms: int = 0) -> FetchRequest:
    """Build a Fetch. `session` is its id and the epoch of the request; (0, 0) begins one."""
    partitions = [FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=1 << 20) for index in indexes]
    return FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1,
        session_id=session[0],
        session_epoch=session[1],
        topics=[FetchTopic(topic=topic, partitions=partitions)] if indexes else [],
    )


def told(response: Any) -> dict[int, Any]:
    assert response.error_code == ErrorCode.NONE
    return {each.partition_index: each for named in response.responses for each in named.partitions}


def slices_of(world: NodeWorld) -> SlicedRequests:
    return world.running.broker.slices


def partition_of(world: NodeWorld, topic: str, index: int = 0) -> Partition:
    return world.running.broker.hosted.by_topic_partition[TopicPartition(topic, index)]


def until(world: NodeWorld, holds: Callable[[], object]) -> None:
    """Let the node run turns until `holds`, which has to be while a fetch is under way."""
    world.wait_for(lambda: holds() or None)
    assert len(slices_of(world)), "it is over already"


def append_here(world: NodeWorld, topic: str, index: int) -> None:
    """Append a record over the wire, while a fetch is under way."""
    produce(world.client(), topic, b"moved", partition=index)
    assert len(slices_of(world)), "it is over already"


def session_of(world: NodeWorld, session_id: int) -> FetchSession:
    found = world.running.broker.fetch_sessions.find(session_id)
    assert found is not None
    return found


def asked_versions(client: SimClient) -> None:
    client.ask(ApiVersionsRequest(client_software_name="t", client_software_version="1"), 3)


@pytest.mark.parametrize("epoch", [0, FINAL], ids=["session", "alone"])
def test_many_partitions_take_many_turns_and_others_are_served(world: NodeWorld, topic: str, epoch: int) -> None:
    produce(world.client(), topic, b"x", partition=7)
    large, small = world.client(), world.client()
    began = world.turns
    large.send(fetch(topic, ALL, session=(0, epoch)), 12)
    world.wait_for(lambda: len(slices_of(world)) or None)
    for _ in range(5):
        asked_versions(small)
        assert len(slices_of(world)) == 1, "the large one is still at it"
    response = large.receive()
    assert world.turns - began > 2 * PARTITIONS // LOOKS  # turns to name the partitions, and to read them
    assert list(told(response)) == ALL
    assert values_in(told(response)[7].records) == [b"x"]
    assert bool(response.session_id) == (epoch == 0)


def test_another_request_of_the_session_sees_all_of_an_update(world: NodeWorld, topic: str) -> None:
    first, second = world.client(), world.client()
    session_id = first.ask(fetch(topic, [0]), 12).session_id
    first.send(fetch(topic, ALL[1:], session=(session_id, 1)), 12)
    session = session_of(world, session_id)
    until(world, lambda: 1 < len(session.partitions) < PARTITIONS)
    second.send(fetch(topic, [], session=(session_id, 2)), 12)
    world.run(3)
    assert second.poll() is None
    assert len(session.partitions) < PARTITIONS, "the update goes on"
    assert list(told(first.receive())) == ALL[1:]
    assert told(second.receive()) == {}, "everything was told to the first"
    assert len(session.partitions) == PARTITIONS


def test_a_partition_that_moves_while_others_are_counted_ends_the_wait(world: NodeWorld, topic: str) -> None:
    client = world.client()
    client.send(fetch(topic, ALL, wait_ms=LONG_MS), 12)
    until(world, lambda: partition_of(world, topic).fetch_waiters)
    began_ms = world.clock.monotonic_ms()
    append_here(world, topic, 0)
    assert values_in(told(client.receive())[0].records) == [b"moved"]
    assert world.clock.monotonic_ms() - began_ms < LONG_MS


def test_a_partition_that_moves_after_it_was_read_is_told_next_time(world: NodeWorld, topic: str) -> None:
    client = world.client()
    client.send(fetch(topic, ALL), 12)
    until(world, lambda: partition_of(world, topic).fetch_waiters)  # until it is read and settled
    append_here(world, topic, 0)
    response = client.receive()
    assert not told(response)[0].records
    again = client.ask(fetch(topic, [], session=(response.session_id, 1), wait_ms=LONG_MS), 12)
    assert [(index, values_in(each.records)) for index, each in told(again).items()] == [(0, [b"moved"])]


def test_a_wait_for_many_partitions_ends_in_slices(world: NodeWorld, topic: str) -> None:
    client, other = world.client(), world.client()
    client.send(fetch(topic, ALL, wait_ms=2_000), 12)
    broker = world.running.broker
    world.wait_for(lambda: any(isinstance(each, DelayedFetch) for each in broker.purgatory.waiting()) or None)
    assert not len(slices_of(world)), "it waits"
    world.wait_for(lambda: len(slices_of(world)) or None)
    asked_versions(other)
    assert len(slices_of(world)) == 1, "it is still being read"
    assert list(told(client.receive())) == ALL


def test_a_short_request_of_a_session_with_much_to_say_goes_in_slices(world: NodeWorld, topic: str) -> None:
    """All partitions of the session have to be looked at, since the client names none with a new offset."""
    client, other = world.client(), world.client()
    session_id = client.ask(fetch(topic, ALL), 12).session_id
    session = session_of(world, session_id)
    session.unsettled.update(dict.fromkeys(session.partitions.values()))
    began = world.turns
    client.send(fetch(topic, [], session=(session_id, 1)), 12)
    world.wait_for(lambda: len(slices_of(world)) or None)
    asked_versions(other)
    assert len(slices_of(world)) == 1
    assert told(client.receive()) == {}
    assert world.turns - began > PARTITIONS // LOOKS


@pytest.mark.parametrize("end", ["theirs", "ours"])
def test_a_connection_that_ends_in_the_middle_of_the_reading(world: NodeWorld, topic: str, end: str) -> None:
    """The node does not read from a connection while it is held, so it notices the client's end only when it
    answers."""
    for index in range(5):
        produce(world.client(), topic, b"x", partition=index)
    client = world.client()
    client.send(fetch(topic, ALL, session=(0, FINAL)), 12)
    until(world, lambda: world.fs.pinned_files)
    if end == "theirs":
        client.close()
    else:
        next(each for each in world.running.broker.connections.all() if each.is_held).close()
    world.wait_for(lambda: not len(slices_of(world)) or None)
    world.run(10)
    assert world.fs.pinned_files == 0


def test_an_answer_that_is_too_large_leaves_nothing_pinned(
    world: NodeWorld, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    produce(world.client(), topic, b"x", partition=PARTITIONS - 1)
    monkeypatch.setattr(slices, "RESPONSE_BYTES_MAX", 100)
    answer = world.client().ask(fetch(topic, ALL, session=(0, FINAL)), 12)
    assert (answer.error_code, answer.responses) == (ErrorCode.INVALID_REQUEST, [])
    assert world.fs.pinned_files == 0


@pytest.mark.parametrize("when", ["named", "read"])
def test_a_session_that_is_closed_while_its_request_is_under_way(world: NodeWorld, topic: str, when: str) -> None:
    """The request is answered in full, and no partition remembers the session."""
    first, second = world.client(), world.client()
    session_id = first.ask(fetch(topic, [0]), 12).session_id
    session = session_of(world, session_id)
    first.send(fetch(topic, ALL[1:], session=(session_id, 1)), 12)
    is_there = {
        "named": lambda: 1 < len(session.partitions) < PARTITIONS,
        "read": lambda: partition_of(world, topic, 1).fetch_waiters,
    }
    until(world, is_there[when])
    assert second.ask(fetch(topic, [], session=(session_id, FINAL)), 12).error_code == ErrorCode.NONE
    assert len(slices_of(world))
    answer = first.receive()
    assert (answer.error_code, len(told(answer)) if not answer.error_code else 0) in [
        (ErrorCode.NONE, PARTITIONS - 1),
        (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0),
    ]
    hosted = world.running.broker.hosted.by_topic_partition.values()
    assert not any(partition.fetch_waiters for partition in hosted)
    assert first.ask(fetch(topic, [], session=(session_id, 2)), 12).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_bug_in_the_middle_does_not_keep_the_session(
    world: NodeWorld, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = world.client()
    produce(client, topic, b"x", partition=0)
    session_id = client.ask(fetch(topic, [0]), 12).session_id
    client.send(fetch(topic, ALL, session=(session_id, 1)), 12)
    until(world, lambda: world.fs.pinned_files)
    with monkeypatch.context() as patch:
        patch.setattr(world.running.broker, "leader_of", None)  # compiled modules see it, too
        assert client.receive().error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    world.running.broker.dispatch.bugs -= 1
    assert session_of(world, session_id).parked is None
    assert world.fs.pinned_files == 0
    assert 0 in told(client.ask(fetch(topic, [], session=(session_id, 2)), 12))


def parked_after_slices(world: NodeWorld, topic: str, client: SimClient) -> int:
    """Send a fetch of many partitions, all of them named, and wait until it is parked; return the session's id."""
    session_id: int = client.ask(fetch(topic, ALL), 12).session_id
    client.send(fetch(topic, ALL, session=(session_id, 1), wait_ms=LONG_MS), 12)
    world.wait_for(lambda: any(each.parked for each in world.running.broker.connections.all()) or None)
    assert not len(slices_of(world))
    return session_id


def test_the_answer_to_a_fetch_that_waited_lets_nobody_overtake_who_is_under_way(world: NodeWorld, topic: str) -> None:
    client = world.client()
    parked_after_slices(world, topic, client)
    client.send(fetch(topic, ALL, session=(0, FINAL)), 12)
    client.send(produce_request(topic, (5, batch_of(b"third"))), 9)
    world.wait_for(lambda: len(slices_of(world)) or None)
    append_here(world, topic, 3)
    assert list(told(client.receive())) == [3]
    assert len(slices_of(world)), "the second request is under way"
    assert partition_of(world, topic, 5).log.log_end_offset == 0, "and the third one waits for it"
    assert told(client.receive())[5].high_watermark == 0
    assert client.receive().responses[0].partition_responses[0].error_code == ErrorCode.NONE


def test_a_request_waits_for_an_earlier_one_of_its_session_although_the_queue_is_full(
    world: NodeWorld, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second request is under way, the third may not begin beside it, and the first continues behind the third."""
    monkeypatch.setattr(slices, "ELEMENTS_AT_ONCE", PARTITIONS + 10)
    first, second, third = world.client(), world.client(), world.client()
    session_id = parked_after_slices(world, topic, first)
    session = session_of(world, session_id)
    session.unsettled.update(dict.fromkeys(session.partitions.values()))
    world.clock.look_ns = SLICE_NS  # one step a turn: the third arrives before the second has found its session
    second.send(fetch(topic, ALL, session=(session_id, 2)), 12)
    third.send(fetch(topic, ALL, session=(0, FINAL)), 12)
    until(world, lambda: session.parked is not None and session.parked.is_under_way)
    world.clock.look_ns = 0
    for client in (first, second, third):
        assert client.receive().error_code == ErrorCode.NONE


def test_a_bug_after_a_wait_costs_that_request(world: NodeWorld, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    client = world.client()
    client.send(fetch(topic, [3, 4], session=(0, FINAL), wait_ms=500), 12)
    world.wait_for(lambda: any(each.parked for each in world.running.broker.connections.all()) or None)
    with monkeypatch.context() as patch:
        patch.setattr(world.running.broker, "leader_of", None)  # compiled modules see it, too
        assert client.receive().error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    world.running.broker.dispatch.bugs -= 1
    asked_versions(client)


def test_a_stop_ends_requests_that_wait_for_each_other(world: NodeWorld, topic: str) -> None:
    first, second = world.client(), world.client()
    session_id = parked_after_slices(world, topic, first)
    session = session_of(world, session_id)
    session.unsettled.update(dict.fromkeys(session.partitions.values()))
    second.send(fetch(topic, ALL, session=(session_id, 2)), 12)
    active = slices_of(world)._active

    def is_behind() -> bool:
        """Tell whether the request that is waited for is queued behind the one that waits for it."""
        earlier = session.parked
        return earlier is not None and earlier.is_under_way and active[0].context is not earlier.context

    until(world, is_behind)
    for connection in list(world.running.broker.connections.all()):
        connection.close()
    slices_of(world).stop()
    assert not len(slices_of(world))
    assert session.parked is None
