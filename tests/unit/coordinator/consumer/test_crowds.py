"""Members that come in a crowd: one assignment for all of them, made when a turn brought nobody else."""

import pytest
from tests.unit.coordinator.consumer.bench import GROUP, Bench

from tidelog.coordinator.group.consumer.target import CROWD_MS
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

TARGET_EPOCH = "ConsumerGroupTargetAssignmentMetadataKey"


class Crowd:
    def __init__(self, members: int, partitions: int, **settings: str) -> None:
        self.bench = Bench(settings={name.replace("_", "."): value for name, value in settings.items()})
        self.bench.topic("t", partitions)
        self.clients = [self.bench.client(f"m{index:03d}") for index in range(members)]

    def wait_in_line(self, *, others: bool) -> None:
        self.bench.shard.others_wait = lambda: others

    def assignments(self) -> int:
        return sum(type(message.key).__name__ == TARGET_EPOCH for message, _version in self.bench.log)


@pytest.mark.parametrize("members", [3, 250])  # some, and more than are assigned at one go
def test_one_assignment_for_all(members: int) -> None:
    crowd = Crowd(members, 2 * members)
    crowd.wait_in_line(others=True)
    for client in crowd.clients:
        assert client.join() is ErrorCode.NONE
        assert client.assignment == {}
        assert client.epoch > 0
    assert crowd.assignments() == 0
    crowd.bench.advance(2)
    assert crowd.assignments() == 1
    for client in crowd.clients:
        assert client.beat() is ErrorCode.NONE
        assert len(client.assignment["t"]) == 2
    assert sorted(p for client in crowd.clients for p in client.assignment["t"]) == list(range(2 * members))
    assert crowd.bench.group.state_name == "Stable"
    crowd.bench.validate_state()


def test_a_crowd_that_comes_over_several_turns_is_one() -> None:
    """Also where the last of a turn has nobody behind it."""
    crowd = Crowd(20, 40)
    for client in crowd.clients:
        crowd.wait_in_line(others=client is not crowd.clients[-1])
        client.join()
        crowd.bench.tick()
        crowd.bench.now_ms += 1
    assert crowd.assignments() == 0
    crowd.bench.advance(2)
    assert crowd.assignments() == 1


def test_a_crowd_without_end_is_assigned_nevertheless() -> None:
    crowd = Crowd(40, 80)
    crowd.wait_in_line(others=True)
    began_ms = crowd.bench.now_ms
    for client in crowd.clients:
        client.join()
        crowd.bench.tick()
        crowd.bench.now_ms += CROWD_MS // 20
        assert crowd.assignments() == (crowd.bench.now_ms - CROWD_MS // 20 >= began_ms + CROWD_MS)
    assert crowd.clients[0].beat() is ErrorCode.NONE
    assert 2 < len(crowd.clients[0].assignment["t"]) < 5, "of 80 for the twenty that were there first"


def test_without_a_crowd_everybody_hears_at_once() -> None:
    crowd = Crowd(2, 4)
    for client in crowd.clients:
        client.join()
    assert crowd.assignments() == 2
    crowd.bench.advance(1_000)
    assert crowd.assignments() == 2


def test_nobody_waits_for_longer_than_the_line() -> None:
    """Requests of other groups may be what is in line: then nobody of this one comes behind."""
    crowd = Crowd(1, 4)
    (only,) = crowd.clients
    crowd.wait_in_line(others=True)
    only.join()
    crowd.bench.advance(2)
    only.beat()
    assert only.assignment == {"t": [0, 1, 2, 3]}


def test_the_interval_counts_nevertheless() -> None:
    crowd = Crowd(2, 4, group_consumer_assignment_interval_ms="1000")
    first, second = crowd.clients
    first.join()
    crowd.wait_in_line(others=True)
    second.join()
    crowd.bench.advance(2)
    assert crowd.assignments() == 1, "the second has to wait"
    crowd.bench.advance(1_000)
    first.beat()
    crowd.bench.advance(2)
    assert crowd.assignments() == 2


def test_a_group_that_is_gone_by_then_does_no_harm() -> None:
    crowd = Crowd(1, 4)
    (only,) = crowd.clients
    crowd.wait_in_line(others=True)
    only.join()
    only.leave()
    crowd.bench.advance(CROWD_MS)
    assert crowd.assignments() == 0
    assert crowd.bench.group.members == {}


def test_an_assignment_that_does_not_fit_is_for_the_next_heartbeat_to_hear_of() -> None:
    crowd = Crowd(1, 1_000)
    (only,) = crowd.clients
    crowd.bench.shard.max_record_bytes = 2_000
    crowd.wait_in_line(others=True)
    assert only.join() is ErrorCode.NONE
    crowd.bench.advance(2)
    assert crowd.assignments() == 0
    crowd.wait_in_line(others=False)
    message = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id=only.member_id, member_epoch=only.epoch)
    assert crowd.bench.send(message, 1).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
