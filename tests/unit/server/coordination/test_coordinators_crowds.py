"""Members that join a consumer group in one turn of a node: assigned together, and answered in that very turn."""

from typing import Any

import pytest
from tests.support.coordinating import group_world
from tests.support.serving import create

from tidelog.coordinator.group.consumer.crowd import LINE_MS_MAX
from tidelog.coordinator.group.consumer.group import ConsumerGroup
from tidelog.coordinator.group.coordinator import GroupCoordinator
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tidelog.server.coordination.running_coordinator import CoordinatorShard

MEMBERS = 8


class Joining:
    def __init__(self) -> None:
        self.world = group_world(1, {"group.consumer.assignment.interval.ms": "0"})
        create(self.world.client(), "many", partitions=2 * MEMBERS)
        self.coordinators = self.world.running.broker.coordinators
        self.answers: dict[int, Any] = {}

    @property
    def shard(self) -> CoordinatorShard[GroupCoordinator]:
        shard = self.coordinators.groups.shard_of("g")
        assert shard is not None
        return shard

    def join(self, index: int) -> None:
        def reply(response: Any) -> None:
            assert index not in self.answers, "it was answered before"
            self.answers[index] = response

        request = CoordinatorRequest(joining(index), 1, self.world.running.broker.turn.wall_ms)
        self.coordinators.groups.submit("g", request, reply)

    def crowds(self) -> dict[str, Any]:
        assert self.shard.machine is not None
        return self.shard.machine.shard.crowds

    @property
    def group(self) -> ConsumerGroup:
        assert self.shard.machine is not None
        found = self.shard.machine.shard.groups["g"]
        assert isinstance(found, ConsumerGroup)
        return found

    def epochs(self) -> list[int]:
        return [self.answers[index].member_epoch for index in sorted(self.answers)]


def joining(index: int) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id=f"m{index}",
        member_epoch=0,
        rebalance_timeout_ms=10_000,
        subscribed_topic_names=["many"],
        topic_partitions=[],
    )


@pytest.fixture
def group() -> Joining:
    return Joining()


def test_all_are_assigned_together(group: Joining) -> None:
    """The first member gets only its share, because the coordinator sees the others in line: it does not get everything
    just to give most of it back."""
    for index in range(MEMBERS):
        group.join(index)
    group.coordinators.turn()
    assert group.epochs() == [MEMBERS + 1] * MEMBERS
    assert [len(partitions(group.answers[index])) for index in range(MEMBERS)] == [2] * MEMBERS
    assert group.crowds() == {}


def test_the_assignment_waits_for_all_who_stand_in_line(group: Joining) -> None:
    """However many turns the coordinator needs for the line, nothing is computed for a part of it."""
    for index in range(MEMBERS):
        group.join(index)
    now_ms = group.world.running.broker.turn.monotonic_ms
    for handled in range(1, MEMBERS + 1):  # each turn handles one, however little time there is
        group.coordinators.groups.turn(now_ms, 0, lambda: True)
        assert (group.answers, len(group.crowds()["g"].arrived)) == ({}, handled)
    group.coordinators.turn()
    assert [len(partitions(group.answers[index])) for index in range(MEMBERS)] == [2] * MEMBERS


def test_a_line_without_end_is_not_waited_for(group: Joining) -> None:
    for index in range(3):
        group.join(index)
    now_ms = group.world.running.broker.turn.monotonic_ms
    group.coordinators.groups.turn(now_ms, 0, lambda: True)
    group.coordinators.groups.turn(now_ms + LINE_MS_MAX, 0, lambda: True)
    assert group.group.target_epoch == 2  # computed for the one member that was handled
    group.coordinators.groups.turn(now_ms + LINE_MS_MAX, 0, lambda: True)
    assert list(group.answers) == [0]


def test_who_comes_with_the_next_turn_does_not_wait(group: Joining) -> None:
    for index in range(MEMBERS):
        group.join(index)
        group.coordinators.turn()
        assert group.epochs()[-1] == index + 2


def test_in_a_turn_that_is_over_the_next_goes_on_at_once(group: Joining) -> None:
    for index in range(3):
        group.join(index)
    now_ms, wall_ms = group.world.running.broker.turn.monotonic_ms, 0
    for _ in range(2):  # each turn handles one, however little time there is
        group.coordinators.groups.turn(now_ms, wall_ms, lambda: True)
    assert (list(group.answers), len(group.crowds()["g"].arrived)) == ([], 2)
    assert group.coordinators.groups.is_due(now_ms)
    assert (group.coordinators.deadline_ms or 0) <= now_ms
    group.world.turn()
    assert group.epochs() == [4, 4, 4]


def test_when_the_leadership_goes_those_who_wait_are_told(group: Joining) -> None:
    for index in range(3):
        group.join(index)
    group.shard.turn(group.world.running.broker.turn.monotonic_ms, 0, lambda: False)
    assert (list(group.answers), len(group.crowds()["g"].arrived)) == ([], 3)
    group.shard.drop()
    assert [group.answers[index] for index in range(3)] == [ErrorCode.NOT_COORDINATOR] * 3


def test_over_the_wire(group: Joining) -> None:
    clients = [group.world.client() for _ in range(MEMBERS)]
    for index, client in enumerate(clients):
        client.send(joining(index), 1)
    assert [client.receive().error_code for client in clients] == [ErrorCode.NONE] * MEMBERS


def partitions(response: Any) -> list[int]:
    return [partition for topic in response.assignment.topic_partitions for partition in topic.partitions]
