"""Brokers that a client can not reach: leader -1, offline replicas, and the codes of each version."""

from typing import Any

import pytest
from tests.support.serving import create

from tidelog.metadata.nodes import Broker as Registered
from tidelog.metadata.topics import Partition
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import Uuid
from tidelog.ports.network import Accepted, Address, ConnectionId
from tidelog.protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from tidelog.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tidelog.server.cluster.reachable import Reachable
from tidelog.server.handlers.metadata import _partition
from tidelog.sim.node_world import NodeWorld, SimClient

ACCEPTED = Accepted(ConnectionId(1), "PLAINTEXT", Address("client", 1), Address("node", 9092))
GOOD, FAILED = Uuid(bytes(15) + b"\x70"), Uuid(bytes(15) + b"\x71")


class FakeBroker:
    """A broker that sees node 1 as alive, 2 as fenced and 3 as unknown."""

    def __init__(self) -> None:
        self.image = self
        self.brokers = {node: registered(node, fenced=node == 2) for node in (1, 2)}

    def endpoint_of(self, node_id: int, _accepted: Accepted) -> Any:
        return None if self.brokers[node_id].fenced else Address("node", 9092)


def registered(node: int, *, fenced: bool) -> Registered:
    return Registered(node, 1, Uuid(bytes(16)), {}, {}, None, fenced, False, log_dirs=(GOOD,))


def partition(leader: int, replicas: tuple[int, ...] = (1, 2, 3)) -> Partition:
    return Partition(replicas, (GOOD,) * len(replicas), replicas, leader, 5, 5)


def answer(leader: int, version: int, image: Partition | None = None) -> Any:
    return _partition(0, image or partition(leader), version, Reachable(FakeBroker(), ACCEPTED))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("leader", "version", "code"),
    [
        (1, 1, ErrorCode.NONE),
        (-1, 13, ErrorCode.LEADER_NOT_AVAILABLE),
        (3, 13, ErrorCode.LEADER_NOT_AVAILABLE),
        (2, 13, ErrorCode.LISTENER_NOT_FOUND),
        (2, 6, ErrorCode.LISTENER_NOT_FOUND),
        (2, 5, ErrorCode.LEADER_NOT_AVAILABLE),
    ],
)
def test_why_there_is_no_leader(leader: int, version: int, code: ErrorCode) -> None:
    found = answer(leader, version)
    assert (found.error_code, found.leader_id) == (code, 1 if leader == 1 else -1)
    assert found.leader_epoch == 5  # the epoch stays, although there is no leader
    assert (found.replica_nodes, found.isr_nodes, found.offline_replicas) == ([1, 2, 3], [1, 2, 3], [2, 3])


def test_version_0_leaves_out_who_is_not_there() -> None:
    found = answer(1, 0)
    assert (found.error_code, found.replica_nodes, found.isr_nodes) == (ErrorCode.REPLICA_NOT_AVAILABLE, [1], [1])


def test_a_replica_in_a_failed_directory_is_offline() -> None:
    image = Partition((1,), (FAILED,), (1,), 1, 5, 5)
    assert answer(1, 13, image).offline_replicas == [1]


def test_describe_topic_partitions_says_no_error_without_a_leader(
    node: NodeWorld, client: SimClient, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(client, topic)
    monkeypatch.setattr(node.running.broker, "endpoint_of", lambda _node, _accepted: None)
    request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name=topic)])
    found = client.ask(request, 0).topics[0].partitions[0]
    assert (found.error_code, found.leader_id, found.offline_replicas) == (ErrorCode.NONE, -1, [1])
    wanted = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
    assert client.ask(wanted, 12).topics[0].partitions[0].error_code == ErrorCode.LISTENER_NOT_FOUND
