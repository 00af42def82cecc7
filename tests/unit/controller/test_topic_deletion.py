"""DeleteTopics by name and by id."""

from typing import Any

from tests.unit.controller.cluster import Cluster, count_turns, uuid

from tidelog.model.errors import ErrorCode
from tidelog.model.ids import ZERO_UUID, Uuid
from tidelog.protocol.codec import encode
from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState


def by_name(*names: str) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topic_names=list(names), timeout_ms=0)


def states(*topics: tuple[str | None, Uuid]) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(
        topics=[DeleteTopicState(name=name, topic_id=topic_id) for name, topic_id in topics], timeout_ms=0
    )


def rows(response: Any) -> list[tuple[str | None, Uuid, ErrorCode]]:
    return sorted(
        ((row.name, row.topic_id, ErrorCode(row.error_code)) for row in response.responses),
        key=lambda row: (row[0] or "", row[1]),
    )


def test_by_name_and_by_id() -> None:
    cluster = Cluster().start(1)
    first, second = cluster.create("a", 3), cluster.create("b", 2)
    result = cluster.decide(states(("a", ZERO_UUID), (None, second)))
    assert rows(result.response) == [("a", first, ErrorCode.NONE), ("b", second, ErrorCode.NONE)]
    assert len(result.records) == 2
    assert len(cluster.metadata.topics) == 0
    assert encode(result.response, 6)
    assert encode(cluster.send(by_name("a")), 1)


def test_unknown_ones() -> None:
    cluster = Cluster().start(1)
    response = cluster.send(states(("a", ZERO_UUID), (None, uuid(9))))
    assert rows(response) == [
        (None, uuid(9), ErrorCode.UNKNOWN_TOPIC_ID),
        ("a", ZERO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert rows(cluster.send(by_name("__cluster_metadata")))[0][2] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_malformed_ones() -> None:
    cluster = Cluster().start(1)
    topic_id = cluster.create("a")
    result = cluster.decide(states(("a", topic_id), (None, ZERO_UUID)))
    assert rows(result.response) == [
        (None, ZERO_UUID, ErrorCode.INVALID_REQUEST),
        ("a", topic_id, ErrorCode.INVALID_REQUEST),
    ]
    assert not result.records


def test_twice_in_one_request_is_deleted_by_neither() -> None:
    cluster = Cluster().start(1)
    a, b, c = (cluster.create(name) for name in "abc")
    result = cluster.decide(
        states(("a", ZERO_UUID), ("a", ZERO_UUID), (None, b), (None, b), (None, c), ("c", ZERO_UUID))
    )
    assert rows(result.response) == [
        (None, b, ErrorCode.INVALID_REQUEST),
        ("a", ZERO_UUID, ErrorCode.INVALID_REQUEST),
        ("c", c, ErrorCode.INVALID_REQUEST),
    ]
    assert not result.records
    assert a in cluster.metadata.topics.by_id


def test_deletion_switched_off() -> None:
    cluster = Cluster(delete_topic_enable="false").start(1)
    topic_id = cluster.create("a")
    for version, code in ((2, ErrorCode.INVALID_REQUEST), (3, ErrorCode.TOPIC_DELETION_DISABLED)):
        assert rows(cluster.send(by_name("a"), api_version=version)) == [("a", ZERO_UUID, code)]
    assert rows(cluster.send(states((None, topic_id)))) == [(None, topic_id, ErrorCode.TOPIC_DELETION_DISABLED)]
    assert "a" in cluster.metadata.topics.by_name


def test_the_work_is_sliced() -> None:
    cluster = Cluster().start(1)
    for index in range(20):
        cluster.create(f"t{index}")
    names = by_name(*(f"t{index}" for index in range(20)), *(f"unknown{index}" for index in range(80)))
    assert count_turns(cluster.controller.handle(0, names)) >= 2 * 100
