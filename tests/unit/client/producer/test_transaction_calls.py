"""Transactions are ended while their coordinator is dead: nothing is sent to it, until another takes its place."""

import pytest
from tests.unit.client.scripted import ScriptedClient, coordinator

from tidelog.client.coordinators import CoordinatorClient, CoordinatorType
from tidelog.client.errors import ClientError
from tidelog.client.producer.transaction_calls import OLD_END_TXN, end_together, end_transaction
from tidelog.client.producer_id_and_epoch import ProducerIdAndEpoch
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.api_versions import ApiVersionsResponse, FinalizedFeatureKey
from tidelog.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse

DEAD, ALIVE = 3, 1
MINE, NEXT = ProducerIdAndEpoch(7, 0), ProducerIdAndEpoch(7, 1)


def versions(level: int) -> ApiVersionsResponse:
    feature = FinalizedFeatureKey(name="transaction.version", max_version_level=level, min_version_level=level)
    return ApiVersionsResponse(error_code=0, api_keys=[], finalized_features=[feature])


@pytest.fixture
def client() -> ScriptedClient:
    """Return a client of three nodes, of which the last, the coordinator, is gone."""
    client = ScriptedClient(nodes=2)
    client.answers["ApiVersions"] = [versions(2)]
    client.answers["FindCoordinator"] = [coordinator("x", DEAD), coordinator("x", ALIVE)]
    client.answers["EndTxn"] = [
        EndTxnResponse(throttle_time_ms=0, error_code=0, producer_id=NEXT.producer_id, producer_epoch=1)
    ]
    return client


@pytest.fixture
def transactions(client: ScriptedClient) -> CoordinatorClient:
    return CoordinatorClient(client, CoordinatorType.TRANSACTION)


def test_one_is_ended_by_the_coordinator_that_comes_after(
    client: ScriptedClient, transactions: CoordinatorClient
) -> None:
    assert end_transaction(client, transactions, "x", MINE, commit=True) == NEXT
    assert [node for node, request, _ in client.asked if isinstance(request, EndTxnRequest)] == [ALIVE]


def test_of_several_the_dead_coordinators_are_left(client: ScriptedClient, transactions: CoordinatorClient) -> None:
    client.answers["EndTxn"] = [ClientError(ErrorCode.NETWORK_EXCEPTION, "", "", "no such broker")]
    assert end_together(client, transactions, {"x": MINE}, commit=True) == []


def test_of_none_nobody_is_asked(client: ScriptedClient, transactions: CoordinatorClient) -> None:
    assert end_together(client, transactions, {}, commit=True) == []
    assert client.asked == []


@pytest.mark.parametrize(("level", "version_max"), [(1, OLD_END_TXN), (2, None)])
def test_the_clusters_protocol_is_spoken(
    client: ScriptedClient, transactions: CoordinatorClient, level: int, version_max: int | None
) -> None:
    client.answers["ApiVersions"] = [versions(level)]
    assert end_together(client, transactions, {"x": MINE}, commit=True) == ["x"]
    ended = [version for _, request, version in client.asked if isinstance(request, EndTxnRequest)]
    assert ended == [version_max]
