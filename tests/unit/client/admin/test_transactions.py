"""Hanging transactions: what leaders have open is compared with what coordinators know."""

import pytest
from tests.unit.client.scripted import ScriptedClient, coordinator
from tests.unit.client.simulated import COORDINATING, client_of

from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.offsets import ActiveProducer
from tidelog.client.admin.topics import NewTopic
from tidelog.client.admin.transactions import PartitionTransaction
from tidelog.client.errors import ClientError
from tidelog.client.producer import transaction as producer_transaction
from tidelog.client.producer.transaction import ProducerTransaction
from tidelog.client.producer.transactional_producer import TransactionalProducer
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages import describe_transactions, list_transactions
from tidelog.protocol.messages.list_transactions import ListTransactionsRequest
from tidelog.sim.node_world import NodeWorld

OLD_MS, LIMIT_MS, YOUNG_MS = 1_000, 5_000, 9_000
HERE, THERE = TopicPartition("t", 0), TopicPartition("t", 1)


def writer(producer_id: int, timestamp_ms: int = OLD_MS, open_from: int = 7) -> ActiveProducer:
    return ActiveProducer(producer_id, 0, 3, timestamp_ms, 0, open_from)


def listed(*known: tuple[str, int]) -> list_transactions.ListTransactionsResponse:
    states = [
        list_transactions.TransactionState(transactional_id=name, producer_id=number, transaction_state="Ongoing")
        for name, number in known
    ]
    return list_transactions.ListTransactionsResponse(
        throttle_time_ms=0, error_code=0, unknown_state_filters=[], transaction_states=states
    )


def described(code: int = 0, *partitions: int) -> describe_transactions.DescribeTransactionsResponse:
    state = describe_transactions.TransactionState(
        error_code=code,
        transactional_id="x",
        transaction_state="Ongoing",
        transaction_timeout_ms=1,
        transaction_start_time_ms=1,
        producer_id=1,
        producer_epoch=0,
        topics=[describe_transactions.TopicData(topic="t", partitions=list(partitions))] if partitions else [],
    )
    return describe_transactions.DescribeTransactionsResponse(throttle_time_ms=0, transaction_states=[state])


@pytest.fixture
def client() -> ScriptedClient:
    client = ScriptedClient(nodes=2)
    client.answers["FindCoordinator"] = [coordinator("x", 2)]
    client.answers["ListTransactions"] = [listed(), listed(("x", 1))]
    client.answers["DescribeTransactions"] = [described(0, 0)]
    return client


def hanging(client: ScriptedClient, **producers: list[ActiveProducer]) -> list[tuple[TopicPartition, int, str | None]]:
    found = Admin(client).hanging_transactions(
        {HERE: producers.get("here", []), THERE: producers.get("there", [])}, LIMIT_MS
    )
    return [(each.partition, each.producer.producer_id, each.transactional_id) for each in found]


def test_one_that_its_coordinator_has_open_there_does_not_hang(client: ScriptedClient) -> None:
    assert hanging(client, here=[writer(1)]) == []
    assert [request.producer_id_filters for request in client.requests(ListTransactionsRequest)] == [[1], [1]]


def test_one_that_its_coordinator_has_open_elsewhere_hangs_here(client: ScriptedClient) -> None:
    assert hanging(client, here=[writer(1)], there=[writer(1)]) == [(THERE, 1, "x")]


def test_one_that_no_coordinator_knows_hangs(client: ScriptedClient) -> None:
    assert hanging(client, here=[writer(1), writer(2)]) == [(HERE, 2, None)]


def test_one_whose_id_is_gone_by_now_hangs(client: ScriptedClient) -> None:
    client.answers["DescribeTransactions"] = [described(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)]
    assert hanging(client, here=[writer(1)]) == [(HERE, 1, "x")]


def test_what_can_not_be_told_is_no_verdict(client: ScriptedClient) -> None:
    client.answers["DescribeTransactions"] = [described(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)]
    with pytest.raises(ClientError, match="ask for the rights"):
        hanging(client, here=[writer(1)])


def test_the_young_and_those_with_none_open_are_not_asked_about(client: ScriptedClient) -> None:
    assert hanging(client, here=[writer(2, YOUNG_MS), writer(3, OLD_MS, open_from=-1)]) == []
    assert client.asked == []


def test_a_state_that_the_broker_does_not_know_is_a_mistake(client: ScriptedClient) -> None:
    answer = listed()
    answer.unknown_state_filters = ["Nonsense"]
    client.answers["ListTransactions"] = [answer]
    with pytest.raises(ClientError, match="it knows no state Nonsense"):
        Admin(client).list_transactions(["Nonsense"])


def test_a_broker_that_dies_while_they_are_listed(client: ScriptedClient) -> None:
    """Another broker coordinates the dead one's transactions, and the metadata lose the dead one in the end."""
    gone = ClientError(ErrorCode.NETWORK_EXCEPTION, "", "", "refused")
    loading = listed()
    loading.error_code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    def last(_request: ListTransactionsRequest) -> list_transactions.ListTransactionsResponse:
        del client.metadata.nodes[2]
        return loading

    client.answers["ListTransactions"] = [listed(), gone, last, listed(("x", 1))]
    assert [each.transactional_id for each in Admin(client).list_transactions()] == ["x"]
    assert [node for node, _, _ in client.asked] == [1, 2, 1, 1]


def test_a_cluster_that_stays_unreachable_is_an_error(client: ScriptedClient) -> None:
    client.answers["ListTransactions"] = [ClientError(ErrorCode.NETWORK_EXCEPTION, "", "", "refused")]
    with pytest.raises(ClientError, match="refused"):
        Admin(client).list_transactions()


def test_one_that_hangs_is_found_and_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The producer does not tell its coordinator where it writes, and the broker does not verify."""
    monkeypatch.setattr(producer_transaction, "speaks_protocol_2", lambda *_: False)
    monkeypatch.setattr(ProducerTransaction, "enter", lambda *_: None)
    nodes = NodeWorld(seed=71, overrides={**COORDINATING, "transaction.partition.verification.enable": "false"})
    client = client_of(nodes)
    admin = Admin(client)
    admin.create_topic(NewTopic("t", 2))
    producer = TransactionalProducer(client, "forgetful")
    producer.init_transactions()
    producer.begin_transaction()
    producer.send("t", b"x", partition=0)
    producer.flush()

    def found() -> list[PartitionTransaction]:
        producers = admin.describe_producers([HERE, THERE])
        now_ms = client.world.clock.wall_ms()
        known = {
            topic_partition: each for topic_partition, each in producers.items() if not isinstance(each, ClientError)
        }
        return admin.hanging_transactions(known, now_ms + 1)

    (hangs,) = found()
    assert (hangs.partition, hangs.transactional_id) == (HERE, "forgetful")
    assert hangs.producer.producer_id == producer.transaction_state.producer_id
    admin.abort_transaction(hangs.partition, hangs.producer)
    assert found() == []
