"""AssignReplicasToDirs."""

from typing import Any

import pytest
from tests.unit.controller.cluster import Cluster, assigning, directory, uuid

from tidelog.metadata.topics import NO_LEADER
from tidelog.model.errors import ErrorCode
from tidelog.protocol.codec import encode

NO_ELR = {"eligible.leader.replicas.version": 0}


def codes(response: Any) -> list[ErrorCode]:
    return [
        ErrorCode(partition.error_code)
        for each in response.directories
        for topic in each.topics
        for partition in topic.partitions
    ]


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster(chosen=NO_ELR).start(2)
    return cluster.start(1, log_dirs=[directory(1), directory(1, 1)])


def test_replicas_are_placed(cluster: Cluster) -> None:
    topic_id = cluster.assign("t", [1, 2], [2, 1])
    response = cluster.send(assigning(cluster, 1, {directory(1): {topic_id: [0]}, directory(1, 1): {topic_id: [1]}}))
    assert (response.error_code, codes(response)) == (ErrorCode.NONE, [ErrorCode.NONE] * 2)
    assert encode(response, 0)
    assert cluster.partition("t", 0).directories == (directory(1), directory(2))
    assert cluster.partition("t", 1).directories == (directory(2), directory(1, 1))
    assert cluster.partition("t", 0).leader_epoch == 0
    again = cluster.decide(assigning(cluster, 1, {directory(1): {topic_id: [0]}}))
    assert (codes(again.response), again.records) == ([ErrorCode.NONE], [])


def test_unknown_and_foreign_ones(cluster: Cluster) -> None:
    mine, foreign = cluster.assign("t", [1]), cluster.assign("foreign", [2])
    asked = {directory(1): {mine: [0, 7, -1], foreign: [0], uuid(9): [0, 1]}}
    result = cluster.decide(assigning(cluster, 1, asked))
    assert codes(result.response) == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_ID,
    ]
    assert len(result.records) == 1


def test_a_directory_that_is_gone_takes_the_replica_out_of_sync(cluster: Cluster) -> None:
    topic_id, alone = cluster.assign("t", [1, 2]), cluster.assign("alone", [1])
    gone = uuid(4242)
    result = cluster.decide(assigning(cluster, 1, {gone: {topic_id: [0], alone: [0]}}))
    assert len(result.records) == 2
    partition = cluster.partition("t")
    assert (partition.leader, partition.isr, partition.directories) == (2, (2,), (gone, directory(2)))
    assert (cluster.partition("alone").leader, cluster.partition("alone").isr) == (NO_LEADER, (1,))


def test_refusals(cluster: Cluster) -> None:
    topic_id = cluster.assign("t", [1])
    result = cluster.decide(assigning(cluster, 1, {directory(1): {topic_id: [0]}}, epoch=0))
    assert (result.response.error_code, result.records) == (ErrorCode.STALE_BROKER_EPOCH, [])
    old = Cluster(16).start(1, log_dirs=[])
    assert old.send(assigning(old, 1, {})).error_code == ErrorCode.UNSUPPORTED_VERSION
