"""The coordinators' part in a node's turn, with a machine whose decisions the test sets."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.support.serving import create

from tidelog.coordinator.group.records import GROUP_RECORDS
from tidelog.coordinator.group.records.classic import OffsetCommitKey, OffsetCommitValue
from tidelog.coordinator.requests import CoordinatorRequest, KeyValue, LogMessage, TransactionalKeyValue
from tidelog.model.decisions import PENDING, Record, Result
from tidelog.model.errors import ErrorCode
from tidelog.records.compression import CompressionType
from tidelog.server.coordination.family import CoordinatorFamily
from tidelog.server.coordination.kind import CoordinatorKind
from tidelog.sim.node_world import NodeWorld, SimClient

NEVER: Callable[[], bool] = lambda: False  # noqa: E731
ALWAYS: Callable[[], bool] = lambda: True  # noqa: E731


class Obedient:
    """A machine that decides what the request says; its state is the list of messages that it has replayed."""

    def __init__(self) -> None:
        self.replayed: list[LogMessage] = []
        self.deadline: int | None = None
        self.steps = 0

    def handle(self, _now_ms: int, request: CoordinatorRequest) -> Result:
        result: Result = request.message
        return result

    def step(self, _now_ms: int, _wall_ms: int) -> Result:
        self.steps += 1
        self.deadline = None
        return Result([], None)

    def replay(self, message: LogMessage) -> None:
        self.replayed.append(message)


def record(number: int) -> Record:
    return KeyValue(OffsetCommitKey(group="g", topic="t", partition=number), None), 0


class Coordinating:
    """A family of such machines over a topic of four partitions, driven by hand."""

    def __init__(self, node: NodeWorld, client: SimClient, topic: str) -> None:
        self.topic = topic
        self.broker = node.running.broker
        create(client, topic, partitions=4)
        kind = CoordinatorKind(
            topic=topic,
            types=GROUP_RECORDS,
            partitions_wanted=lambda _broker: 4,
            compression=lambda _broker: CompressionType.NONE,
            make=lambda _broker, _partition, _bytes: Obedient(),
            activate=lambda _machine, _now_ms: Result([], None),
            image_changed=lambda _machine, _now_ms, _broker, _changes: None,
            reconfigured=lambda _machine, _broker, _bytes: None,
        )
        self.family = CoordinatorFamily(self.broker, kind.topic, lambda: kind)
        for partition in list(self.broker.hosted.by_topic_partition.values()):
            if partition.topic_partition.topic == topic:
                self.family.look(partition)

    def active(self) -> "Coordinating":
        while self.family.has_work:
            self.turn()
        return self

    def turn(self, is_over: Callable[[], bool] = NEVER, now_ms: int = 0) -> bool:
        return self.family.turn(now_ms, 1_000, is_over)

    def submit(self, partition: int, result: Result) -> list[Any]:
        answers: list[Any] = []
        self.family.submit_to(partition, CoordinatorRequest(result, 0, 0), answers.append)
        return answers


@pytest.fixture
def coordinating(node: NodeWorld, client: SimClient, topic: str) -> Coordinating:
    return Coordinating(node, client, topic)


def test_before_they_are_loaded_and_where_there_is_none(coordinating: Coordinating) -> None:
    assert coordinating.family.machines() == []
    assert coordinating.submit(1, Result([], "x")) == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    assert coordinating.submit(9, Result([], "x")) == [ErrorCode.NOT_COORDINATOR]
    assert [index for index, _ in coordinating.active().family.machines()] == [0, 1, 2, 3]


def test_a_turn_that_is_over_leaves_the_rest_to_the_next_in_order(coordinating: Coordinating) -> None:
    coordinating.active()
    answers = [coordinating.submit(index, Result([record(index)], index)) for index in range(4)]
    for done in range(1, 5):
        assert coordinating.turn(ALWAYS)
        assert answers == [[index] if index < done else [] for index in range(4)], "somebody gets something done"
    assert not coordinating.family.has_work
    assert not coordinating.turn()


def test_answers_wait_for_the_high_watermark(coordinating: Coordinating) -> None:
    coordinating.active()
    partition = coordinating.family._shards[0].partition
    partition.log.config = replace(partition.log.config, flush_messages=1)  # a copy: the defaults are shared
    answers = coordinating.submit(0, Result([record(1)], "done"))
    coordinating.turn()
    assert (answers, coordinating.family.has_work, coordinating.family.is_due(0)) == ([], False, True)
    partition.log.update_high_watermark(1)
    coordinating.turn()
    assert (answers, coordinating.family.is_due(0)) == (["done"], False)


def test_the_earliest_deadline_is_kept(coordinating: Coordinating) -> None:
    machines = dict(coordinating.active().family.machines())
    for index, due_ms in ((0, 500), (2, 300)):
        machines[index].deadline = due_ms
        coordinating.submit(index, Result([], None))
    coordinating.turn()
    assert coordinating.family.deadline_ms == 300
    assert not coordinating.family.is_due(299)
    coordinating.turn(now_ms=300)
    assert (machines[0].steps, machines[2].steps, coordinating.family.deadline_ms) == (0, 1, 500)


def test_effects_and_the_answers_of_others_come_with_the_commit(coordinating: Coordinating) -> None:
    effects: list[Any] = []
    coordinating.active().family.on_effect = effects.append
    pending = CoordinatorRequest(Result([], PENDING), 0, 0)
    answers: list[Any] = []
    coordinating.family.submit_to(0, pending, answers.append)
    coordinating.turn()
    assert answers == []
    coordinating.submit(0, Result([record(1)], None, answers=[(pending, "at last")], effects=["go"]))
    coordinating.turn()
    assert (answers, effects) == (["at last"], ["go"])


def test_what_the_log_refuses_is_answered_and_not_replayed(coordinating: Coordinating) -> None:
    """Requests whose answer depended on the refused records get the error, too."""
    machine = dict(coordinating.active().family.machines())[0]
    pending = CoordinatorRequest(Result([], PENDING), 0, 0)
    waiting: list[Any] = []
    coordinating.family.submit_to(0, pending, waiting.append)
    value = OffsetCommitValue(offset=1, metadata="", commit_timestamp=1)
    unverified = TransactionalKeyValue(5, 0, record(1)[0].key, value), 3
    answers = coordinating.submit(0, Result([unverified], "done", answers=[(pending, "done")]))
    coordinating.turn()
    assert (answers, waiting) == ([ErrorCode.INVALID_TXN_STATE], [ErrorCode.INVALID_TXN_STATE])
    assert machine.replayed == []


def test_stopped_ones_are_gone(coordinating: Coordinating) -> None:
    coordinating.active()
    answers = coordinating.submit(0, Result([record(1)], "done"))
    coordinating.family.stop()
    assert answers == [ErrorCode.NOT_COORDINATOR]
    assert (coordinating.family.partitions(), coordinating.family.has_work) == ([], False)
