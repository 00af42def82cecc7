"""Requests to a cluster: retries, unreachable addresses, metadata that come later, and error texts."""

from typing import Any

import pytest
from tests.unit.client.simulated import SimWorld, client_of, world_of

from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.topics import NewTopic, common_code
from tidelog.client.client import Client
from tidelog.client.errors import CannotConnect, ClientError, DeliveryFailed, FailedDelivery, TimedOut, error_code
from tidelog.client.offsets import FoundOffset
from tidelog.metadata.configs import ResourceType
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages.create_topics import CreatableTopicResult
from tidelog.protocol.messages.metadata import MetadataRequest
from tidelog.sim.node_world import NodeWorld


@pytest.fixture
def nodes() -> NodeWorld:
    return NodeWorld(seed=31)


def test_an_address_that_never_answered_is_an_error_at_once(nodes: NodeWorld) -> None:
    client = Client("nobody:1,nobody:2", world=SimWorld(nodes))
    began_ms = client.now_ms()
    with pytest.raises(CannotConnect) as caught:
        Admin(client).list_topics()
    assert client.now_ms() - began_ms < 1_000
    assert str(caught.value).startswith("connect (cluster at nobody:1, nobody:2): NETWORK_EXCEPTION: refused;")
    assert "`tidelog dev`" in str(caught.value)


def test_a_patient_client_waits_for_its_first_connection(nodes: NodeWorld, caplog: pytest.LogCaptureFixture) -> None:
    """A patient client takes its addresses for right: a node that does not answer is away, and will come back."""
    Admin(client_of(nodes)).create_topic(NewTopic("kept", 1))
    nodes.kill()
    client = Client("node:9092", is_patient=True, world=SimWorld(nodes))
    down_until_ms = client.now_ms() + 20_000

    def tick() -> None:
        if nodes.node is None and client.now_ms() >= down_until_ms:
            nodes.start(until_running=False)

    world_of(client).on_tick = tick
    assert [topic.name for topic in Admin(client).list_topics()] == ["kept"]
    assert client.now_ms() >= down_until_ms
    (said,) = [each.getMessage() for each in caplog.records if each.name == "tidelog.client"]
    assert said.startswith("connect (cluster at node:9092): no answer in time; trying again for ")


def test_a_patient_client_gives_up_when_its_patience_is_over(nodes: NodeWorld) -> None:
    client = Client("nobody:1", is_patient=True, retry_timeout_ms=5_000, world=SimWorld(nodes))
    began_ms = client.now_ms()
    with pytest.raises(CannotConnect, match="is it running"):
        Admin(client).list_topics()
    assert 5_000 <= client.now_ms() - began_ms < 7_000


def test_the_next_bootstrap_address_is_tried(nodes: NodeWorld) -> None:
    client = Client(["nobody:1", "node:9092"], world=SimWorld(nodes))
    assert Admin(client).list_topics() == []
    assert client.metadata.cluster_id


def test_a_node_that_comes_back_is_waited_for(nodes: NodeWorld) -> None:
    client = client_of(nodes)
    Admin(client).create_topic(NewTopic("kept", 1))
    nodes.kill()
    down_until_ms = client.now_ms() + 3_000

    def tick() -> None:
        if nodes.node is None and client.now_ms() >= down_until_ms:
            nodes.start(until_running=False)

    world_of(client).on_tick = tick
    assert [topic.name for topic in Admin(client).list_topics()] == ["kept"]
    assert client.now_ms() >= down_until_ms


def test_a_node_that_does_not_come_back_is_given_up_in_the_end(nodes: NodeWorld) -> None:
    client = Client("node:9092", retry_timeout_ms=2_000, world=SimWorld(nodes))
    admin = Admin(client)
    assert admin.list_topics() == []
    nodes.kill()
    began_ms = client.now_ms()
    with pytest.raises(TimedOut, match="find the brokers"):
        admin.list_topics()
    assert 2_000 <= client.now_ms() - began_ms < 4_000


def test_an_error_that_passes_is_asked_again_and_any_other_is_handed_back(nodes: NodeWorld) -> None:
    client = client_of(nodes)
    seen: list[Any] = []
    codes = [ErrorCode.NOT_CONTROLLER, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.INVALID_CONFIG, ErrorCode.NONE]

    def failed(response: Any) -> int:
        seen.append(response)
        return codes[len(seen) - 1]

    assert client.ask(MetadataRequest(topics=[]), "ask", failed=failed) is seen[-1]
    assert len(seen) == 3


def test_a_topic_that_is_just_being_made_is_waited_for_and_a_missing_one_is_not_made(nodes: NodeWorld) -> None:
    client, other = client_of(nodes), client_of(nodes, seed=2)
    with pytest.raises(ClientError) as caught:
        client.topic("missing")
    assert caught.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert Admin(other).list_topics() == []
    assert client.topic("missing", may_create=True).name == "missing"


def test_offsets_are_asked_of_the_leaders_and_every_partition_has_an_outcome(nodes: NodeWorld) -> None:
    client = client_of(nodes)
    admin = Admin(client)
    admin.create_topic(NewTopic("t", 2))
    wanted = dict.fromkeys([TopicPartition("t", 1), TopicPartition("t", 7), TopicPartition("u", 0)], -1)
    found = admin.list_offsets(wanted)
    assert list(found) == list(wanted)
    first, second, third = found.values()
    assert first == FoundOffset(0, -1, 0)
    assert "the topic has 2 partition(s)" in str(second)
    assert isinstance(third, ClientError)
    assert third.asked == "find an offset of u-0"


def test_what_some_were_granted_is_not_asked_again() -> None:
    def result(code: int) -> CreatableTopicResult:
        return CreatableTopicResult(name="t", error_code=code, error_message=None)

    assert common_code([result(41), result(41)]) == ErrorCode.NOT_CONTROLLER
    assert common_code([result(41), result(0)]) == ErrorCode.NONE
    assert common_code([]) == ErrorCode.NONE


def test_an_error_says_what_was_asked_of_whom_and_what_to_do() -> None:
    error = ClientError(ErrorCode.TOPIC_ALREADY_EXISTS, "create topic t", "broker 1 at h:1", "it is there")
    text = "create topic t (broker 1 at h:1): TOPIC_ALREADY_EXISTS: it is there; choose another name"
    assert str(error).startswith(text)
    assert not error.is_retriable
    failures = [FailedDelivery(TopicPartition("t", 0), 2, error), FailedDelivery(TopicPartition("t", 1), 3, error)]
    assert "produce 5 records" in str(DeliveryFailed(failures))
    assert error_code(9_999) is ErrorCode.UNKNOWN_SERVER_ERROR


def test_a_config_of_a_topic_that_is_not_there(nodes: NodeWorld) -> None:
    with pytest.raises(ClientError, match="describe the configs of topic nope"):
        Admin(client_of(nodes)).describe_configs(ResourceType.TOPIC, "nope")


def test_a_broker_that_the_metadata_do_not_name_is_not_reached_and_that_passes(nodes: NodeWorld) -> None:
    client, outcomes = client_of(nodes), list[Any]()
    client.send(77, MetadataRequest(topics=[]), outcomes.append)
    (error,) = outcomes
    assert isinstance(error, ClientError)
    assert error.is_retriable
    assert "77" in str(error)
