"""The client's view of the cluster, and the addresses that it starts from."""

import pytest

from tidelog.client.addresses import parse_bootstrap
from tidelog.client.metadata import Metadata
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition, Uuid
from tidelog.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

ONE, TWO = Uuid(b"1" * 16), Uuid(b"2" * 16)
PLACE = TopicPartition("t", 0)


def response(leader: int, epoch: int, topic_id: Uuid = ONE, error_code: int = 0, nodes: int = 3) -> MetadataResponse:
    partition = MetadataResponsePartition(
        error_code=0, partition_index=0, leader_id=leader, leader_epoch=epoch, replica_nodes=[1, 2], isr_nodes=[1]
    )
    topic = MetadataResponseTopic(error_code=error_code, name="t", topic_id=topic_id, partitions=[partition])
    brokers = [MetadataResponseBroker(node_id=node, host="h", port=node) for node in range(nodes)]
    return MetadataResponse(brokers=brokers, topics=[topic])


def test_an_older_answer_does_not_bring_an_old_leader_back() -> None:
    metadata = Metadata()
    metadata.update(response(1, 5), is_whole=False)
    metadata.update(response(2, 4), is_whole=False)
    assert metadata.leader(PLACE) == 1
    metadata.update(response(2, 6), is_whole=False)
    assert metadata.leader(PLACE) == 2


def test_the_epochs_of_a_topic_made_anew_begin_again() -> None:
    metadata = Metadata()
    metadata.update(response(1, 5), is_whole=False)
    metadata.update(response(2, 0, TWO), is_whole=False)
    assert metadata.leader(PLACE) == 2


def test_a_leader_without_an_address_is_none() -> None:
    metadata = Metadata()
    metadata.update(response(9, 5), is_whole=False)
    assert metadata.leader(PLACE) is None
    metadata.update(response(-1, 6), is_whole=False)
    assert metadata.leader(PLACE) is None


def test_a_topic_with_an_error_is_gone_and_its_error_known() -> None:
    metadata = Metadata()
    metadata.update(response(1, 5), is_whole=False)
    metadata.update(response(1, 5, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), is_whole=False)
    assert metadata.topics == {}
    assert metadata.errors == {"t": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    metadata.update(response(1, 5), is_whole=False)
    assert metadata.errors == {}


def test_only_an_answer_about_all_topics_removes_those_it_leaves_out() -> None:
    metadata = Metadata()
    metadata.update(response(1, 5), is_whole=False)
    metadata.update(MetadataResponse(brokers=[], topics=[]), is_whole=False)
    assert list(metadata.topics) == ["t"]
    assert len(metadata.nodes) == 3, "a broker that is starting knows none"
    metadata.update(MetadataResponse(brokers=[], topics=[]), is_whole=True)
    assert metadata.topics == {}


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("a:1", ["a:1"]),
        ("a:1, b:2,", ["a:1", "b:2"]),
        ("a", ["a:9092"]),
        ("[::1]:7", ["[::1]:7"]),
        ("[::1]", ["[::1]:9092"]),
    ],
)
def test_bootstrap_addresses(text: str, addresses: list[str]) -> None:
    nodes = parse_bootstrap(text)
    assert [node.address for node in nodes] == addresses
    assert [node.id for node in nodes] == [-1, -2][: len(nodes)]


@pytest.mark.parametrize("text", ["", " , ", "a:b", ":1", "a:70000"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="bootstrap address"):
        parse_bootstrap(text)
