"""KIP-939 over the wire: a transaction whose outcome is decided elsewhere stays open until it is ended, whatever
becomes of its producer, of the node, and of the clock. Only the broker's setting gives that right."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.support.serving import create
from tests.support.transactional import (
    SMALL,
    SimProducer,
    committed_offset,
    committed_values,
    state_of,
    transactional_world,
    with_coordinators,
)

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.api_versions import ApiVersionsRequest
from tidelog.protocol.messages.init_producer_id import InitProducerIdRequest
from tidelog.sim.node_world import NodeWorld

PLACE = ("t", 0)
TWO_PHASE = 6  # the version of InitProducerId
# A power loss takes nothing that was acknowledged, and timeouts are looked for often.
PARTICIPATING = {
    "transaction_two_phase_commit_enable": "true",
    "log_flush_interval_messages": "1",
    "transaction_abort_timed_out_transaction_cleanup_interval_ms": "1000",
}
A_DAY_MS = 24 * 60 * 60 * 1000


def ask_init(one: SimProducer, *, keep: bool = False, version: int = TWO_PHASE, two_phase: bool = True) -> Any:
    request = InitProducerIdRequest(
        transactional_id=one.transactional_id,
        transaction_timeout_ms=1_000,
        enable_2pc=two_phase,
        keep_prepared_txn=keep,
    )
    return one.client.ask(request, version)


def init(one: SimProducer, *, keep: bool = False) -> Any:
    answer = ask_init(one, keep=keep)
    assert answer.error_code == ErrorCode.NONE, answer
    one.producer_id, one.producer_epoch = answer.producer_id, answer.producer_epoch
    return answer


def prepared(world: NodeWorld) -> SimProducer:
    """Write records and offsets in a transaction, and do not end it: a client that votes yes has done this much."""
    create(world.client(), "t")
    one = SimProducer(world, "id")
    assert init(one).ongoing_txn_producer_id == -1
    one.write(PLACE, value=b"v")
    one.commit_offsets("g", {PLACE: 4})
    return one


def restart(world: NodeWorld, end: Callable[[NodeWorld], None]) -> None:
    end(world)
    world.start()
    with_coordinators(world)


def check_outcome(world: NodeWorld, commit: bool) -> None:
    client = world.client()
    wanted = "CompleteCommit" if commit else "CompleteAbort"
    world.wait_for(lambda: state_of(client, "id") == wanted or None)
    assert committed_values(client, PLACE) == ([b"v"] if commit else [])
    assert committed_offset(client, "g", PLACE, require_stable=True) == (4 if commit else -1)


def test_the_version_is_offered() -> None:
    answer = (
        transactional_world(51)
        .client()
        .ask(ApiVersionsRequest(client_software_name="a", client_software_version="1"), 4)
    )
    offered = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
    assert offered[22] == (0, TWO_PHASE)


@pytest.mark.parametrize(
    ("end", "commit"), [(NodeWorld.stop, True), (NodeWorld.kill, False), (NodeWorld.lose_power, True)]
)
def test_it_outlives_time_the_node_and_its_producer_and_is_then_decided(
    end: Callable[[NodeWorld], None], commit: bool
) -> None:
    world = transactional_world(52, **PARTICIPATING)
    one = prepared(world)
    maker = (one.producer_id, one.producer_epoch)
    world.run(5_000)  # five times the timeout that the client named
    restart(world, end)
    world.clock.advance(A_DAY_MS)
    world.run(3_000)
    assert state_of(world.client(), "id") == "Ongoing"
    heir = SimProducer(world, "id")
    answer = init(heir, keep=True)
    assert (answer.ongoing_txn_producer_id, answer.ongoing_txn_producer_epoch) == maker
    assert (heir.producer_id, heir.producer_epoch) > maker
    assert committed_values(heir.client, PLACE) == []
    heir.end(commit=commit)
    check_outcome(world, commit)
    heir.write(PLACE, value=b"w")  # goes on with the id and epoch that the end gave it
    heir.end()
    assert committed_values(heir.client, PLACE)[-1] == b"w"


def test_it_is_kept_again_when_the_second_client_dies_too() -> None:
    world = transactional_world(53, **PARTICIPATING)
    one = prepared(world)
    maker = (one.producer_id, one.producer_epoch)
    second, third = SimProducer(world, "id"), SimProducer(world, "id")
    init(second, keep=True)
    restart(world, NodeWorld.kill)
    second.client, third.client = world.client(), world.client()
    answer = init(third, keep=True)
    assert (answer.ongoing_txn_producer_id, answer.ongoing_txn_producer_epoch) == maker
    fenced = second.client.ask(second.end_request(commit=True), 5)
    assert fenced.error_code == ErrorCode.PRODUCER_FENCED, "one decides, and it is the last to have come"
    third.end()
    check_outcome(world, commit=True)


def test_the_maker_is_fenced_once_another_keeps_it() -> None:
    world = transactional_world(54, **PARTICIPATING)
    one = prepared(world)
    heir = SimProducer(world, "id")
    init(heir, keep=True)
    assert one.client.ask(one.end_request(commit=False), 5).error_code == ErrorCode.PRODUCER_FENCED
    heir.end()
    check_outcome(world, commit=True)
    assert one.ask_produce(PLACE, b"late").error_code == ErrorCode.INVALID_PRODUCER_EPOCH


def test_who_does_not_keep_it_aborts_it() -> None:
    world = transactional_world(55, **PARTICIPATING)
    prepared(world)
    heir = SimProducer(world, "id")
    assert ask_init(heir).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    check_outcome(world, commit=False)
    assert init(heir).ongoing_txn_producer_id == -1


def test_with_nothing_open_there_is_nothing_to_keep() -> None:
    world = transactional_world(56, **PARTICIPATING)
    one = SimProducer(world, "id")
    answer = init(one, keep=True)
    assert (answer.ongoing_txn_producer_id, answer.ongoing_txn_producer_epoch) == (-1, -1)
    assert answer.producer_epoch == 0


def test_without_two_phases_time_goes_on_as_always() -> None:
    """A request of version 6 alone does not give the right to stay open: the timeout applies."""
    world = transactional_world(57, **PARTICIPATING)
    create(world.client(), "t")
    one = SimProducer(world, "id")
    answer = ask_init(one, two_phase=False)
    one.producer_id, one.producer_epoch = answer.producer_id, answer.producer_epoch
    one.write(PLACE, value=b"v")
    world.run(5_000)
    assert one.state() == "CompleteAbort"


@pytest.mark.parametrize("keep", [False, True])
def test_without_the_right_it_is_refused(keep: bool) -> None:
    assert "transaction.two.phase.commit.enable" not in SMALL
    one = SimProducer(transactional_world(58), "id")
    refused = ask_init(one, keep=keep)
    assert refused.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert (refused.producer_id, refused.producer_epoch) == (-1, -1)
    assert ask_init(one, two_phase=False).error_code == ErrorCode.NONE, "and nothing is left of the attempt"
