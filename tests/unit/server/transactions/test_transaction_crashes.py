"""The node ends, in every phase of a transaction's end and in every way. Every decision is carried out afterwards."""

from collections.abc import Callable

import pytest
from tests.support.serving import create
from tests.support.transactional import (
    SimProducer,
    committed_offset,
    committed_values,
    state_of,
    transactional_world,
    with_coordinators,
)

from tidelog.model.errors import ErrorCode
from tidelog.server.transactions.markers_to_send import MarkerSending
from tidelog.sim.node_world import NodeWorld

PLACES = [("t", 0), ("t", 1)]
EVERY_END = pytest.mark.parametrize("end", [NodeWorld.stop, NodeWorld.kill, NodeWorld.lose_power])
PROTOCOLS = pytest.mark.parametrize("is_v2", [False, True], ids=["v1", "v2"])
SYNCED = {"log_flush_interval_messages": "1"}  # so that no power loss takes what was acknowledged


def open_transaction(world: NodeWorld, *, is_v2: bool, timeout_ms: int = 60_000) -> SimProducer:
    create(world.client(), "t", partitions=2)
    one = SimProducer(world, "id", is_v2=is_v2).init(timeout_ms)
    one.write(*PLACES, value=b"v")
    one.commit_offsets("g", {("t", 0): 4})
    return one


def restart(world: NodeWorld, end: Callable[[NodeWorld], None]) -> None:
    end(world)
    world.start()
    with_coordinators(world)


def check_committed(world: NodeWorld) -> None:
    client = world.client()
    world.wait_for(lambda: state_of(client, "id") == "CompleteCommit" or None)
    assert [committed_values(client, topic_partition) for topic_partition in PLACES] == [[b"v"], [b"v"]]
    assert committed_offset(client, "g", ("t", 0), require_stable=True) == 4


def goes_on(world: NodeWorld, *, is_v2: bool) -> None:
    """Check that the id can be used again, and that nothing of the old transaction is in the way."""
    two = SimProducer(world, "id", is_v2=is_v2).init()
    two.write(*PLACES, value=b"w")
    two.end()
    assert [committed_values(two.client, topic_partition)[-1] for topic_partition in PLACES] == [b"w", b"w"]


@EVERY_END
@PROTOCOLS
def test_between_the_decision_and_the_markers(end: Callable[[NodeWorld], None], is_v2: bool) -> None:
    world = transactional_world(31, **SYNCED)
    one = open_transaction(world, is_v2=is_v2)
    world.running.broker.coordinators.transactions.on_effect = lambda _effect: None
    one.end()
    assert one.state() == "PrepareCommit"
    restart(world, end)
    check_committed(world)
    goes_on(world, is_v2=is_v2)


@EVERY_END
@PROTOCOLS
def test_between_the_markers_and_the_last_record(
    end: Callable[[NodeWorld], None], is_v2: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = transactional_world(32, **SYNCED)
    one = open_transaction(world, is_v2=is_v2)
    with monkeypatch.context() as patch:
        patch.setattr(MarkerSending, "_report", lambda _self, _outcomes: None)
        one.end()
        world.wait_for(lambda: committed_values(one.client, PLACES[1]) or None)
        assert one.state() == "PrepareCommit"
        end(world)
    world.start()
    with_coordinators(world)
    check_committed(world)  # although every log got its marker a second time
    goes_on(world, is_v2=is_v2)


@EVERY_END
@PROTOCOLS
def test_with_a_marker_in_one_of_two_partitions(end: Callable[[NodeWorld], None], is_v2: bool) -> None:
    """The other partition has no leader when the markers are written."""
    world = transactional_world(33, **SYNCED)
    one = open_transaction(world, is_v2=is_v2)
    partition = next(
        each
        for topic_partition, each in world.running.broker.hosted.by_topic_partition.items()
        if topic_partition == PLACES[1]
    )
    partition.leader_id = 7
    one.end()
    world.run(500)
    assert one.state() == "PrepareCommit"
    assert committed_values(one.client, PLACES[0]) == [b"v"]
    restart(world, end)
    check_committed(world)
    goes_on(world, is_v2=is_v2)


def test_markers_are_sent_until_there_is_a_leader() -> None:
    world = transactional_world(34)
    one = open_transaction(world, is_v2=True)
    partition = next(
        each
        for topic_partition, each in world.running.broker.hosted.by_topic_partition.items()
        if topic_partition == PLACES[1]
    )
    partition.leader_id = 7
    one.end()
    world.run(5_000)
    assert one.state() == "PrepareCommit"
    (effect,) = world.running.broker.transactions.sending
    assert effect.transactional_id == "id"
    partition.leader_id = partition.local_id
    check_committed(world)
    assert world.running.broker.transactions.sending == []


def test_a_coordinator_that_has_gone_sends_no_more() -> None:
    """Its successor sends the markers, on another broker or in a new epoch."""
    world = transactional_world(38)
    one = open_transaction(world, is_v2=True)
    broker = world.running.broker
    partition = next(
        each for topic_partition, each in broker.hosted.by_topic_partition.items() if topic_partition == PLACES[1]
    )
    partition.leader_id = 7
    one.end()
    assert len(broker.transactions.sending) == 1
    family = broker.coordinators.transactions
    log = family.partition_of("id")
    assert log is not None
    log.leader_epoch += 1
    broker.coordinators.look(log)
    partition.leader_id = partition.local_id
    check_committed(world)
    world.run(2_000)
    assert broker.transactions.sending == []
    log.leader_id = 7
    broker.coordinators.look(log)
    answer = world.client().ask(one.end_request(commit=True), 5)
    assert answer.error_code == ErrorCode.NOT_COORDINATOR


@EVERY_END
@PROTOCOLS
def test_before_the_decision_the_producer_may_still_make_it(end: Callable[[NodeWorld], None], is_v2: bool) -> None:
    world = transactional_world(35, **SYNCED)
    one = open_transaction(world, is_v2=is_v2)
    restart(world, end)
    one.client = world.client()
    one.write(("t", 0), value=b"more")
    one.end()
    client = world.client()
    assert committed_values(client, PLACES[0]) == [b"v", b"more"]
    assert committed_offset(client, "g", ("t", 0), require_stable=True) == 4


@EVERY_END
def test_before_the_decision_time_goes_on(end: Callable[[NodeWorld], None]) -> None:
    world = transactional_world(36, **SYNCED)
    open_transaction(world, is_v2=True, timeout_ms=2_000)
    restart(world, end)
    world.run(13_000)
    client = world.client()
    assert state_of(client, "id") == "CompleteAbort"
    assert [committed_values(client, topic_partition) for topic_partition in PLACES] == [[], []]
    assert committed_offset(client, "g", ("t", 0), require_stable=True) == -1


@pytest.mark.parametrize("commit", [True, False])
def test_killed_at_every_turn_of_an_end(commit: bool) -> None:
    """The answer may be lost with the node. Either it would have been true, or nothing has happened yet."""
    wanted = "CompleteCommit" if commit else "CompleteAbort"
    for turns in range(6):
        world = transactional_world(37 + turns, **SYNCED)
        one = open_transaction(world, is_v2=True)
        one.client.send(one.end_request(commit=commit), 5)
        for _ in range(turns):
            world.turn()
            world.clock.advance(1)
        restart(world, NodeWorld.lose_power)
        client = world.client()
        world.wait_for(lambda client=client: not state_of(client, "id").startswith("Prepare") or None)
        if state_of(client, "id") == "Ongoing":
            answer = client.ask(one.end_request(commit=commit), 5)
            assert answer.error_code == ErrorCode.NONE
        world.wait_for(lambda client=client: state_of(client, "id") == wanted or None)
        seen = [b"v"] if commit else []
        assert [committed_values(client, topic_partition) for topic_partition in PLACES] == [seen, seen]
        assert committed_offset(client, "g", ("t", 0), require_stable=True) == (4 if commit else -1)
