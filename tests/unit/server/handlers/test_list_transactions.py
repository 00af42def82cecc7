"""ListTransactions, DescribeTransactions, InitProducerId: the answers of several coordinators, put together."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from tests.support.serving import create
from tests.support.transactional import SimProducer, transactional_world

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from tidelog.protocol.messages.describe_transactions import DescribeTransactionsRequest
from tidelog.protocol.messages.init_producer_id import InitProducerIdRequest
from tidelog.protocol.messages.list_transactions import ListTransactionsRequest
from tidelog.server.cluster.internal_topics import TRANSACTION_STATE
from tidelog.sim.node_world import NodeWorld, SimClient

_names = count()


@pytest.fixture(scope="module")
def shared() -> NodeWorld:
    world = transactional_world(25)
    create(world.client(), "t")
    return world


@pytest.fixture
def world(shared: NodeWorld) -> Iterator[NodeWorld]:
    before = shared.running.broker.dispatch.bugs
    yield shared
    assert shared.running.broker.dispatch.bugs == before


@pytest.fixture
def client(world: NodeWorld) -> SimClient:
    return world.client()


def of_every_partition(world: NodeWorld) -> list[SimProducer]:
    """Return producers with transactional ids, one for each coordinator."""
    family = world.running.broker.coordinators.transactions
    found: dict[int, SimProducer] = {}
    while len(found) < family.partition_count:
        name = f"l{next(_names)}"
        found.setdefault(family.partition_for(name), SimProducer(world, name))
    return [found[index].init() for index in sorted(found)]


def listed(client: SimClient, version: int = 2, **filters: Any) -> Any:
    return client.ask(ListTransactionsRequest(**{"state_filters": [], "producer_id_filters": [], **filters}), version)


@pytest.mark.parametrize("version", range(3))
def test_the_transactions_of_every_coordinator_are_listed(world: NodeWorld, client: SimClient, version: int) -> None:
    one, other = of_every_partition(world)
    one.write(("t", 0))
    ids = [one.producer_id, other.producer_id]
    states = {each.producer_id: each for each in listed(client, version, producer_id_filters=ids).transaction_states}
    assert {each: states[each].transaction_state for each in ids} == {ids[0]: "Ongoing", ids[1]: "Empty"}
    assert states[ids[0]].transactional_id == one.transactional_id
    ongoing = listed(client, version, state_filters=["Ongoing", "Nonsense"])
    assert ongoing.unknown_state_filters == ["Nonsense"]
    assert one.transactional_id in [each.transactional_id for each in ongoing.transaction_states]
    assert {each.transaction_state for each in ongoing.transaction_states} == {"Ongoing"}
    one.end()


def test_by_age_and_by_pattern(world: NodeWorld, client: SimClient) -> None:
    one, other = of_every_partition(world)
    one.write(("t", 0))
    world.run(500)
    other.write(("t", 0))
    old = [each.transactional_id for each in listed(client, duration_filter=400).transaction_states]
    assert (one.transactional_id in old, other.transactional_id in old) == (True, False)
    matching = listed(client, transactional_id_pattern=f"{other.transactional_id}|none")
    assert [each.transactional_id for each in matching.transaction_states] == [other.transactional_id]
    assert listed(client, transactional_id_pattern="(").error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    for each in (one, other):
        each.end()


def refuse(code: ErrorCode, world: NodeWorld, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def submit(_key: Any, _request: Any, reply: Callable[[Any], None]) -> None:
        reply(code)

    monkeypatch.setattr(world.running.broker.coordinators.transactions, method, submit)


def test_a_list_is_whole_or_not_given(world: NodeWorld, client: SimClient, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, world, "submit_to", monkeypatch)
    answer = listed(client)
    assert (answer.error_code, answer.transaction_states) == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, [])


def test_without_a_coordinator_there_is_nothing_to_list() -> None:
    world = NodeWorld(26)
    answer = listed(world.client(), state_filters=["Nonsense"])
    assert (answer.error_code, answer.transaction_states) == (ErrorCode.NONE, [])
    assert answer.unknown_state_filters == ["Nonsense"]


def test_each_id_is_described_by_its_coordinator(world: NodeWorld, client: SimClient) -> None:
    one, other = of_every_partition(world)
    one.write(("t", 0))
    asked = [other.transactional_id, "absent", one.transactional_id]
    found = client.ask(DescribeTransactionsRequest(transactional_ids=asked), 0).transaction_states
    assert [each.transactional_id for each in found] == asked
    codes = [each.error_code for each in found]
    assert codes == [ErrorCode.NONE, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, ErrorCode.NONE]
    assert [(each.topic, each.partitions) for each in found[2].topics] == [("t", [0])]
    assert (found[2].transaction_state, found[2].transaction_timeout_ms) == ("Ongoing", 60_000)
    assert found[2].transaction_start_time_ms > 0
    assert client.ask(DescribeTransactionsRequest(transactional_ids=[]), 0).transaction_states == []
    one.end()


def test_what_can_not_be_described(world: NodeWorld, client: SimClient, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse(ErrorCode.NOT_COORDINATOR, world, "submit", monkeypatch)
    (found,) = client.ask(DescribeTransactionsRequest(transactional_ids=["x"]), 0).transaction_states
    assert (found.error_code, found.transactional_id) == (ErrorCode.NOT_COORDINATOR, "x")


# AddPartitionsToTxn between brokers


@pytest.mark.parametrize("version", [4, 5])
def test_one_request_for_the_transactions_of_several_coordinators(
    world: NodeWorld, client: SimClient, version: int
) -> None:
    one, other = of_every_partition(world)

    def transaction(each: SimProducer, topic: str, *, verify_only: bool) -> AddPartitionsToTxnTransaction:
        return AddPartitionsToTxnTransaction(
            transactional_id=each.transactional_id,
            producer_id=each.producer_id,
            producer_epoch=each.producer_epoch,
            verify_only=verify_only,
            topics=[AddPartitionsToTxnTopic(name=topic, partitions=[0])],
        )

    def ask(*transactions: AddPartitionsToTxnTransaction) -> list[tuple[str, ErrorCode]]:
        answer = client.ask(AddPartitionsToTxnRequest(transactions=list(transactions)), version)
        return [
            (each.transactional_id, ErrorCode(each.topic_results[0].results_by_partition[0].partition_error_code))
            for each in answer.results_by_transaction
        ]

    assert ask(transaction(other, "t", verify_only=False), transaction(one, "absent", verify_only=False)) == [
        (other.transactional_id, ErrorCode.NONE),
        (one.transactional_id, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert ask(transaction(one, "t", verify_only=True), transaction(other, "t", verify_only=True)) == [
        (one.transactional_id, ErrorCode.TRANSACTION_ABORTABLE),
        (other.transactional_id, ErrorCode.NONE),
    ]
    assert client.ask(AddPartitionsToTxnRequest(transactions=[]), version).results_by_transaction == []
    other.end()


# InitProducerId


@pytest.mark.parametrize("version", range(6))
def test_every_version_gives_an_id_and_then_the_next_epoch(world: NodeWorld, version: int) -> None:
    one = SimProducer(world, f"init{next(_names)}")
    first, second = one.ask_init(version=version), one.ask_init(version=version)
    assert (first.error_code, first.producer_epoch) == (ErrorCode.NONE, 0)
    assert (second.producer_id, second.producer_epoch) == (first.producer_id, 1)


def test_a_timeout_that_is_too_long_and_an_id_that_is_none(world: NodeWorld) -> None:
    one = SimProducer(world, f"init{next(_names)}")
    assert one.ask_init(timeout_ms=900_001).error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert one.ask_init(timeout_ms=0).error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT
    one.transactional_id = ""
    assert one.ask_init().error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(("version", "code"), [(3, ErrorCode.INVALID_PRODUCER_EPOCH), (4, ErrorCode.PRODUCER_FENCED)])
def test_a_producer_that_comes_back_with_an_old_epoch(
    world: NodeWorld, client: SimClient, version: int, code: ErrorCode
) -> None:
    one = SimProducer(world, f"init{next(_names)}").init()
    for _ in range(3):
        SimProducer(world, one.transactional_id).init()
    request = InitProducerIdRequest(
        transactional_id=one.transactional_id,
        transaction_timeout_ms=60_000,
        producer_id=one.producer_id,
        producer_epoch=0,
    )
    assert client.ask(request, version).error_code == code


def test_an_idempotent_producer_that_names_its_id_gets_another(client: SimClient) -> None:
    """The producer's sequence is out of order, and it wants to begin anew (KIP-360)."""
    fresh = client.ask(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0), 5)
    named = InitProducerIdRequest(
        transactional_id=None,
        transaction_timeout_ms=0,
        producer_id=fresh.producer_id,
        producer_epoch=fresh.producer_epoch,
    )
    again = client.ask(named, 5)
    assert (again.error_code, again.producer_epoch) == (ErrorCode.NONE, 0)
    assert again.producer_id != fresh.producer_id


def test_the_first_to_ask_waits_for_the_first_block_of_ids() -> None:
    world = transactional_world(27)
    assert SimProducer(world, "first").ask_init().error_code == ErrorCode.NONE, "at once, not after a retry"


def test_ids_that_the_controller_does_not_give(monkeypatch: pytest.MonkeyPatch) -> None:
    world = transactional_world(28)
    one = SimProducer(world, "id")
    with monkeypatch.context() as patch:
        patch.setattr(world.running.broker, "ask_controller", lambda _request, reply: reply(ErrorCode.NOT_CONTROLLER))
        assert one.ask_init().error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert one.ask_init().error_code == ErrorCode.NONE


def test_no_transaction_writes_to_the_coordinators_own_log(world: NodeWorld) -> None:
    """A broker may name that log to the coordinator, but no marker is written to it, and nothing waits for one."""
    one = SimProducer(world, f"own{next(_names)}", is_v2=False).init()
    refused = one.ask_add((TRANSACTION_STATE, 0)).results_by_topic_v3_and_below[0].results_by_partition[0]
    assert refused.partition_error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    transaction = AddPartitionsToTxnTransaction(
        transactional_id=one.transactional_id,
        producer_id=one.producer_id,
        producer_epoch=one.producer_epoch,
        topics=[AddPartitionsToTxnTopic(name=TRANSACTION_STATE, partitions=[0])],
    )
    added = one.client.ask(AddPartitionsToTxnRequest(transactions=[transaction]), 5).results_by_transaction[0]
    assert added.topic_results[0].results_by_partition[0].partition_error_code == ErrorCode.NONE
    one.end()
    world.wait_for(lambda: one.state() == "CompleteCommit" or None)
