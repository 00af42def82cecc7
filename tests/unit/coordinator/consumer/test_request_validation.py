"""Heartbeats that are refused as invalid."""

from typing import Any

import pytest
from tests.unit.coordinator.consumer.bench import GROUP, Bench

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.messages.consumer_group_heartbeat import TopicPartitions

JOIN: dict[str, Any] = {
    "member_id": "a",
    "member_epoch": 0,
    "rebalance_timeout_ms": 1_000,
    "subscribed_topic_names": ["t"],
    "topic_partitions": [],
}


@pytest.mark.parametrize(
    "fields",
    [
        {"member_id": ""},
        {"member_id": "  "},
        {"group_id": ""},
        {"group_id": " "},
        {"instance_id": ""},
        {"rack_id": ""},
        {"rebalance_timeout_ms": -1},
        {"topic_partitions": None},
        {"topic_partitions": [TopicPartitions(topic_id=ZERO_UUID, partitions=[0])]},
        {"subscribed_topic_names": None},
        {"member_epoch": -2},
        {"member_epoch": -3},
        {"member_epoch": -1, "member_id": ""},
        {"member_epoch": 5, "member_id": ""},
    ],
)
def test_an_invalid_request(fields: dict[str, Any]) -> None:
    bench = Bench()
    response = bench.heartbeat(**JOIN | fields)
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert response.error_message
    assert not bench.log


def test_an_assignor_that_is_not_there() -> None:
    response = Bench().heartbeat(**JOIN, server_assignor="best")
    assert response.error_code == ErrorCode.UNSUPPORTED_ASSIGNOR


def test_an_assignor_that_is_not_configured() -> None:
    bench = Bench({"group.consumer.assignors": "range"})
    assert bench.heartbeat(**JOIN, server_assignor="uniform").error_code == ErrorCode.UNSUPPORTED_ASSIGNOR
    assert bench.heartbeat(**JOIN).error_code == 0
    assert bench.describe().assignor_name == "range"


def test_version_0_gets_its_id_from_the_coordinator() -> None:
    bench = Bench()
    first = bench.heartbeat(version=0, **JOIN | {"member_id": ""})
    second = bench.heartbeat(version=0, **JOIN | {"member_id": ""})
    assert first.member_id
    assert second.member_id
    assert first.member_id != second.member_id
    assert list(bench.group.members) == [first.member_id, second.member_id]


def test_a_member_may_subscribe_to_nothing() -> None:
    bench = Bench()
    assert bench.heartbeat(**JOIN | {"subscribed_topic_names": []}).member_epoch == 1
    assert bench.group.state_name == "Stable"


def test_only_who_joins_makes_a_group() -> None:
    response = Bench().heartbeat(member_id="a", member_epoch=1)
    assert response.error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_nobody_leaves_a_group_that_is_not_there() -> None:
    assert Bench().heartbeat(member_id="a", member_epoch=-1).error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_an_unknown_member() -> None:
    bench = Bench()
    bench.joined("a")
    for epoch in (1, -1):
        assert bench.heartbeat(member_id="x", member_epoch=epoch).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_full_group() -> None:
    bench = Bench({"group.consumer.max.size": "2"})
    a, _ = bench.joined("a", "b")
    assert bench.client("c").join() is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert a.join() is ErrorCode.NONE, "who is in it may join again"


def test_a_full_group_takes_back_a_static_member() -> None:
    bench = Bench({"group.consumer.max.size": "1"})
    client = bench.client("a", instance_id="i")
    client.join()
    client.leave(-2)
    assert bench.client("b", instance_id="i").join() is ErrorCode.NONE
    assert bench.client("c", instance_id="j").join() is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_record_that_the_log_would_not_take() -> None:
    bench = Bench(max_record_bytes=10_000)
    response = bench.heartbeat(**JOIN | {"subscribed_topic_names": [f"topic-{i}" for i in range(2_000)]})
    assert response.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert GROUP not in bench.shard.groups
    assert bench.heartbeat(**JOIN | {"subscribed_topic_names": [f"topic-{i}" for i in range(500)]}).error_code == 0
