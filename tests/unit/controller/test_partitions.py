"""CreatePartitions."""

from typing import Any

import pytest
from tests.unit.controller.cluster import Cluster, count_turns

from tidelog.model.errors import ErrorCode
from tidelog.protocol.codec import encode
from tidelog.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)


def grow(*topics: tuple[str, int, list[list[int]] | None], validate_only: bool = False) -> CreatePartitionsRequest:
    return CreatePartitionsRequest(
        topics=[
            CreatePartitionsTopic(
                name=name,
                count=count,
                assignments=None
                if assignments is None
                else [CreatePartitionsAssignment(broker_ids=each) for each in assignments],
            )
            for name, count, assignments in topics
        ],
        timeout_ms=0,
        validate_only=validate_only,
    )


def codes(response: Any) -> dict[str, ErrorCode]:
    assert len({row.name for row in response.results}) == len(response.results)
    return {row.name: ErrorCode(row.error_code) for row in response.results}


def test_more_partitions() -> None:
    cluster = Cluster().start(1, 2, 3)
    cluster.create("t", 2, 2)
    before = [cluster.partition("t", number) for number in (0, 1)]
    response = cluster.send(grow(("t", 5, None)))
    assert codes(response) == {"t": ErrorCode.NONE}
    assert encode(response, 3)
    assert cluster.metadata.topics.by_name["t"].partition_ids() == [0, 1, 2, 3, 4]
    assert [cluster.partition("t", number) for number in (0, 1)] == before
    assert all(len(cluster.partition("t", number).replicas) == 2 for number in range(5))


def test_assigned_ones_follow_those_there_are() -> None:
    cluster = Cluster().start(1, 2)
    cluster.create("t", 1, 2)
    assert codes(cluster.send(grow(("t", 3, [[2, 1], [1, 2]])))) == {"t": ErrorCode.NONE}
    assert [cluster.partition("t", number).replicas for number in (1, 2)] == [(2, 1), (1, 2)]


def test_validate_only() -> None:
    cluster = Cluster().start(1)
    cluster.create("t")
    result = cluster.decide(grow(("t", 2, None), ("u", 2, None), validate_only=True))
    assert codes(result.response) == {"t": ErrorCode.NONE, "u": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert not result.records


@pytest.mark.parametrize(
    ("count", "assignments", "code"),
    [
        (2, None, ErrorCode.INVALID_PARTITIONS),
        (1, None, ErrorCode.INVALID_PARTITIONS),
        (0, None, ErrorCode.INVALID_PARTITIONS),
        (-1, None, ErrorCode.INVALID_PARTITIONS),
        (3, [], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (3, [[1, 2], [1, 2]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (3, [[1]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (3, [[]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (3, [[1, 1]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (3, [[1, 9]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (3, [[3, 4]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (10_003, None, ErrorCode.POLICY_VIOLATION),
        (2**31 - 1, None, ErrorCode.POLICY_VIOLATION),
    ],
)
def test_refusals(count: int, assignments: list[list[int]] | None, code: ErrorCode) -> None:
    """Brokers 3 and 4 are fenced."""
    cluster = Cluster().start(1, 2)
    cluster.register(3)
    cluster.register(4)
    cluster.assign("t", [1, 2], [2, 1])
    cluster.create("innocent")
    result = cluster.decide(grow(("t", count, assignments), ("innocent", 2, None)))
    assert codes(result.response) == {"t": code, "innocent": ErrorCode.NONE}
    assert len(result.records) == 1


def test_unknown_topics_and_repeated_ones() -> None:
    cluster = Cluster().start(1)
    cluster.create("t")
    result = cluster.decide(grow(("t", 2, None), ("t", 3, None), ("none", 2, None)))
    assert codes(result.response) == {
        "t": ErrorCode.INVALID_REQUEST,
        "none": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert not result.records


def test_too_few_brokers_are_left() -> None:
    cluster = Cluster().start(1, 2)
    cluster.create("t", 1, 2)
    cluster.heartbeat(2, cordoned_log_dirs=list(cluster.metadata.brokers[2].log_dirs))
    assert codes(cluster.send(grow(("t", 2, None)))) == {"t": ErrorCode.INVALID_REPLICATION_FACTOR}
    cluster.heartbeat(2, cordoned_log_dirs=[])
    cluster.heartbeat(2, want_fence=True)
    assert codes(cluster.send(grow(("t", 2, None)))) == {"t": ErrorCode.NONE}
    assert cluster.partition("t", 1).isr == (1,)
    cluster.heartbeat(1, want_fence=True)
    assert codes(cluster.send(grow(("t", 3, None)))) == {"t": ErrorCode.INVALID_REPLICATION_FACTOR}


def test_the_limit_is_for_the_whole_request() -> None:
    cluster = Cluster().start(1)
    cluster.create("a")
    cluster.create("b")
    result = cluster.decide(grow(("a", 10_000, None), ("b", 3, None), validate_only=True))
    assert codes(result.response) == {"a": ErrorCode.NONE, "b": ErrorCode.POLICY_VIOLATION}


def test_the_work_is_sliced() -> None:
    cluster = Cluster().start(1)
    cluster.create("t")
    assert count_turns(cluster.controller.handle(0, grow(("t", 10_001, None)))) >= 40


def test_and_so_is_the_looking_for_topics_that_are_there_twice() -> None:
    cluster = Cluster().start(1)
    asked = grow(*(("t", 2, None) for _ in range(1_000)))
    assert count_turns(cluster.controller.handle(0, asked)) >= 1_000
