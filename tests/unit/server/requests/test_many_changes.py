"""Requests that change thousands of things at once: their effects are spread over turns, too."""

import logging
from typing import Any

import pytest
from tests.support.serving import batch_of, create, fetch_values

from tidelog.metadata.changes import Changes
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from tidelog.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.delete_topics import DeleteTopicsRequest
from tidelog.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tidelog.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tidelog.server.hosting.hosted_partitions import Hosted
from tidelog.server.node.node import Node
from tidelog.server.produce.appending import LOGS_A_TURN
from tidelog.server.requests import audit
from tidelog.sim.node_world import NodeWorld
from tidelog.storage.directories.logs import Logs
from tidelog.storage.log.log import Log

LOOK_NS = 1_000_000  # the time that each look at the clock takes: a slice is a few looks, a turn fifteen
MANY = 3_000


def test_a_turn_that_applies_many_changes_leaves_the_logs_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next turn works on the logs, however many changes it applies itself."""
    world = NodeWorld(seed=31, look_ns=LOOK_NS)
    applied: dict[int, None] = {}
    worked: dict[int, None] = {}
    apply, work = Node._apply, Node._work_on_logs

    def advance(_node: Node, _completions: object) -> Changes:
        return Changes()

    def apply_long(node: Node, changes: Changes) -> None:
        apply(node, changes)
        while not node.broker.turn.is_over():
            pass  # as if there were as many changes as a turn has time for
        applied[world.turns] = None

    def note_work(node: Node) -> bool:
        worked[world.turns] = None
        return work(node)

    monkeypatch.setattr(Node, "_advance", advance)
    monkeypatch.setattr(Node, "_apply", apply_long)
    monkeypatch.setattr(Node, "_work_on_logs", note_work)
    for _ in range(4):
        world.running.broker.turn.is_eventful = True
        world.turn()
        is_due = world.running.deadline_ms == world.running.broker.turn.monotonic_ms
        assert is_due or world.turns in worked, "what was left is due at once"
    assert [turn in worked for turn in applied] == [False, True, False, True]


def test_partitions_of_changed_and_deleted_topics_are_gone_through_when_their_turn_has_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = NodeWorld(seed=36, look_ns=LOOK_NS)
    client = world.client()
    create(client, "t", partitions=100)
    queued: list[int] = []
    apply = Hosted.apply

    def note(hosted: Hosted, changes: Changes) -> None:
        apply(hosted, changes)
        queued.append(len(hosted._to_configure) + len(hosted._still_there or ()))

    monkeypatch.setattr(Hosted, "apply", note)
    setting = AlterableConfig(name="retention.ms", config_operation=0, value="1234")
    topic = AlterConfigsResource(resource_type=2, resource_name="t", configs=[setting])
    client.ask(IncrementalAlterConfigsRequest(resources=[topic], validate_only=False), 1)
    world.wait_for(lambda: not world.running.broker.hosted.is_behind or None)
    logs = [each.log for each in world.running.broker.hosted.by_topic_partition.values()]
    assert {log.config.retention_ms for log in logs} == {1234}
    client.ask(DeleteTopicsRequest(topic_names=["t"], timeout_ms=1_000), 5)
    world.wait_for(lambda: not world.running.broker.hosted.is_behind or None)
    assert not world.running.broker.hosted.by_topic_partition
    assert queued
    assert not any(queued)


def test_the_answer_of_the_controller_is_gone_through_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    world = NodeWorld(seed=32, look_ns=LOOK_NS)
    looks: dict[int, int] = {}
    is_done = audit._is_done

    def note(result: Any) -> bool:
        looks[world.turns] = looks.get(world.turns, 0) + 1
        return is_done(result)

    monkeypatch.setattr(audit, "_is_done", note)
    topics = [CreatePartitionsTopic(name=f"t{index}", count=2, assignments=None) for index in range(MANY)]
    request = CreatePartitionsRequest(topics=topics, timeout_ms=1_000, validate_only=False)
    answer = world.client().ask(request, 3)
    assert [each.error_code for each in answer.results] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION] * MANY
    assert sum(looks.values()) == MANY
    assert max(looks.values()) <= 10


def test_a_change_is_told_although_the_client_has_gone(caplog: pytest.LogCaptureFixture) -> None:
    world = NodeWorld(seed=33, look_ns=LOOK_NS)
    create(world.client(), "t")
    client = world.client()
    names = ["t", *(f"unknown-{index}" for index in range(MANY))]
    with caplog.at_level(logging.INFO):
        client.send(DeleteTopicsRequest(topic_names=names, timeout_ms=1_000), 5)
        world.wait_for(lambda: world.running.broker.image.topics.by_name.get("t") is None or None)
        for connection in world.running.broker.connections.all():
            connection.close()
        world.run(MANY)
    told: list[Any] = [each for each in caplog.records if "action" in getattr(each, "fields", {})]
    assert [each.fields["names"] for each in told] == ["t"]
    assert not len(world.running.broker.slices)


def test_a_topic_that_exists_is_refused_among_thousands_and_the_rest_is_made() -> None:
    world = NodeWorld(seed=34, look_ns=10_000)
    client = world.client()
    create(client, "t0")
    topics = [
        CreatableTopic(name=f"t{index}", num_partitions=1, replication_factor=1, assignments=[], configs=[])
        for index in range(600)
    ]
    answer = client.ask(CreateTopicsRequest(topics=topics, timeout_ms=30_000), 7)
    codes = {each.name: each.error_code for each in answer.topics}
    assert codes.pop("t0") == ErrorCode.TOPIC_ALREADY_EXISTS
    assert set(codes.values()) == {ErrorCode.NONE}
    assert len(world.running.broker.hosted.by_topic_partition) == 600, (
        "who creates topics is answered when their logs are made"
    )


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the list of how many logs each turn has written to."""
    written: list[int] = []
    commit = Logs.commit

    def note(logs: Logs, staged: Any, now_ms: int, *, uses_reserve: bool = False) -> None:
        staged = list[Log](staged)
        if staged:
            written.append(len(staged))
        commit(logs, staged, now_ms, uses_reserve=uses_reserve)

    monkeypatch.setattr(Logs, "commit", note)
    return written


def produce_to(topic: str, indexes: range) -> ProduceRequest:
    data = [PartitionProduceData(index=index, records=batch_of(b"%d" % index)) for index in indexes]
    return ProduceRequest(acks=-1, timeout_ms=1_000, topic_data=[TopicProduceData(name=topic, partition_data=data)])


def test_a_large_request_is_written_to_so_many_logs_a_turn(written: list[int]) -> None:
    """No look at the clock takes any time here: the number of files to open and write ends a turn."""
    world = NodeWorld(seed=35)
    client, count = world.client(), 2 * LOGS_A_TURN + 10
    create(client, "t", partitions=count)
    written.clear()
    answers = client.ask(produce_to("t", range(count)), 9).responses[0].partition_responses
    assert [(each.index, each.error_code, each.base_offset) for each in answers] == [(i, 0, 0) for i in range(count)]
    assert written == [LOGS_A_TURN, LOGS_A_TURN, 10]
    assert fetch_values(client, "t", partition=count - 1) == [b"%d" % (count - 1)]


def test_ordinary_requests_are_written_together_however_many_there_are(written: list[int]) -> None:
    world = NodeWorld(seed=37)
    clients = [world.client() for _ in range(3)]
    create(clients[0], "t", partitions=3 * LOGS_A_TURN)
    written.clear()
    for number, client in enumerate(clients):
        client.send(produce_to("t", range(number * LOGS_A_TURN, (number + 1) * LOGS_A_TURN)), 9)
    for client in clients:
        assert {each.error_code for each in client.receive().responses[0].partition_responses} == {0}
    assert written == [3 * LOGS_A_TURN]
