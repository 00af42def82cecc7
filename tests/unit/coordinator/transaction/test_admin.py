"""DescribeTransactions and ListTransactions."""

from typing import Any

import pytest
from tests.unit.coordinator.transaction.scene import ID, TIMEOUT_MS, Scene

from tidelog.model.errors import ApiError, ErrorCode
from tidelog.protocol.messages.describe_transactions import DescribeTransactionsRequest, TopicData, TransactionState
from tidelog.protocol.messages.heartbeat import HeartbeatRequest
from tidelog.protocol.messages.list_transactions import ListTransactionsRequest


def described(scene: Scene, name: str) -> TransactionState:
    (state,) = scene.ask(DescribeTransactionsRequest(transactional_ids=[name])).transaction_states
    assert isinstance(state, TransactionState)
    return state


def test_an_open_transaction_is_described_whole() -> None:
    scene = Scene()
    scene.add(scene.init(), "a-0", "b-1", "a-2")
    assert described(scene, ID) == TransactionState(
        error_code=0,
        transactional_id=ID,
        transaction_state="Ongoing",
        transaction_timeout_ms=TIMEOUT_MS,
        transaction_start_time_ms=scene.wall_ms,
        producer_id=7,
        producer_epoch=0,
        topics=[TopicData(topic="a", partitions=[0, 2]), TopicData(topic="b", partitions=[1])],
    )


def test_partitions_leave_it_as_they_get_their_markers() -> None:
    scene = Scene()
    producer = scene.init()
    scene.add(producer, "a-0", "b-1")
    scene.end(producer, commit=True)
    scene.written(None, ErrorCode.NONE, "a-0")
    state = described(scene, ID)
    assert (state.transaction_state, state.topics) == ("PrepareCommit", [TopicData(topic="b", partitions=[1])])


def test_what_is_not_there() -> None:
    scene = Scene()
    assert described(scene, "other").error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert described(scene, "").error_code == ErrorCode.INVALID_REQUEST


def listed(scene: Scene, **filters: Any) -> tuple[list[str], list[str]]:
    given = {"state_filters": [], "producer_id_filters": [], **filters}
    response = scene.ask(ListTransactionsRequest(**given), 2)
    assert response.error_code == ErrorCode.NONE
    return [each.transactional_id for each in response.transaction_states], response.unknown_state_filters


@pytest.fixture
def scene() -> Scene:
    """Make three ids: app-1 at rest; app-2 open for 1,000 ms; other open since now, of producer 9."""
    scene = Scene()
    scene.init(id="app-1")
    scene.add(scene.init(id="app-2"), "a-0", id="app-2")
    scene.now_ms += 1_000
    scene.add(scene.init(id="other"), "a-0", id="other")
    return scene


def test_without_filters_all_are_listed(scene: Scene) -> None:
    assert listed(scene) == (["app-1", "app-2", "other"], [])


def test_filters_by_state(scene: Scene) -> None:
    assert listed(scene, state_filters=["Ongoing"]) == (["app-2", "other"], [])
    assert listed(scene, state_filters=["Empty", "Nonsense"]) == (["app-1"], ["Nonsense"])
    assert listed(scene, state_filters=["Nonsense"]) == ([], ["Nonsense"])


def test_filters_by_producer_and_duration(scene: Scene) -> None:
    assert listed(scene, producer_id_filters=[9, 7]) == (["app-1", "other"], [])
    assert listed(scene, state_filters=["Ongoing"], duration_filter=999) == (["app-2"], [])
    assert listed(scene, state_filters=["Ongoing"], duration_filter=1_000) == ([], [])
    assert listed(scene, state_filters=["Ongoing"], duration_filter=0) == (["app-2"], [])


def test_a_pattern_matches_the_whole_id(scene: Scene) -> None:
    assert listed(scene, transactional_id_pattern="app-[0-9]") == (["app-1", "app-2"], [])
    assert listed(scene, transactional_id_pattern="app") == ([], [])
    assert listed(scene, transactional_id_pattern="") == (["app-1", "app-2", "other"], [])
    with pytest.raises(ApiError) as refused:
        listed(scene, transactional_id_pattern="(ab")
    assert refused.value.code is ErrorCode.INVALID_REGULAR_EXPRESSION


def test_the_state_is_printed_in_plain_values(scene: Scene) -> None:
    printed = scene.machine.printed()
    assert printed["transactions"]["app-2"] == {
        "transactional_id": "app-2",
        "producer_id": 8,
        "producer_epoch": 0,
        "timeout_ms": TIMEOUT_MS,
        "last_update_ms": scene.wall_ms - 1_000,
        "state": "Ongoing",
        "partitions": ["a-0"],
        "start_ms": scene.wall_ms - 1_000,
        "previous_producer_id": 8,
        "next_producer_id": -1,
        "next_producer_epoch": -1,
        "client_transaction_version": 2,
    }
    assert (printed["markers_missing"], list(printed["last_producers"])) == ({}, ["app-1", "app-2", "other"])


def test_a_request_for_somebody_else_is_refused() -> None:
    scene = Scene()
    with pytest.raises(ApiError) as refused:
        scene.ask(HeartbeatRequest(group_id="g", generation_id=1, member_id="m"))
    assert refused.value.code is ErrorCode.INVALID_REQUEST
