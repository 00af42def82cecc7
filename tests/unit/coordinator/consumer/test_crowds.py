"""Members that come in a crowd: one assignment for all of them, made when the last in line has been heard."""

import pytest
from tests.unit.coordinator.consumer.bench import GROUP, Bench

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
    crowd.bench.tick()
    assert crowd.assignments() == 1
    for client in crowd.clients:
        assert client.beat() is ErrorCode.NONE
        assert len(client.assignment["t"]) == 2
    assert sorted(p for client in crowd.clients for p in client.assignment["t"]) == list(range(2 * members))
    assert crowd.bench.group.state_name == "Stable"
    crowd.bench.validate_state()


def test_the_last_in_line_hears_at_once_and_the_timer_finds_nothing_to_do() -> None:
    crowd = Crowd(2, 4)
    first, last = crowd.clients
    crowd.wait_in_line(others=True)
    first.join()
    crowd.wait_in_line(others=False)
    last.join()
    assert (len(last.assignment["t"]), crowd.assignments()) == (2, 1)
    crowd.bench.tick()
    assert crowd.assignments() == 1
    first.beat()
    assert len(first.assignment["t"]) == 2


def test_nobody_waits_for_longer_than_the_line() -> None:
    """Requests of other groups may be what is in line: then nobody of this one comes behind."""
    crowd = Crowd(1, 4)
    (only,) = crowd.clients
    crowd.wait_in_line(others=True)
    only.join()
    crowd.bench.tick()
    only.beat()
    assert only.assignment == {"t": [0, 1, 2, 3]}


def test_the_interval_counts_nevertheless() -> None:
    crowd = Crowd(2, 4, group_consumer_assignment_interval_ms="1000")
    first, second = crowd.clients
    first.join()
    crowd.wait_in_line(others=True)
    second.join()
    crowd.bench.tick()
    assert crowd.assignments() == 1, "the second has to wait"
    crowd.bench.advance(1_000)
    first.beat()
    crowd.bench.tick()
    assert crowd.assignments() == 2


def test_a_group_that_is_gone_by_then_does_no_harm() -> None:
    crowd = Crowd(1, 4)
    (only,) = crowd.clients
    crowd.wait_in_line(others=True)
    only.join()
    only.leave()
    crowd.bench.tick()
    assert crowd.assignments() == 0
    assert crowd.bench.group.members == {}


def test_an_assignment_that_does_not_fit_is_for_the_next_heartbeat_to_hear_of() -> None:
    crowd = Crowd(1, 1_000)
    (only,) = crowd.clients
    crowd.bench.shard.max_record_bytes = 2_000
    crowd.wait_in_line(others=True)
    assert only.join() is ErrorCode.NONE
    crowd.bench.tick()
    assert crowd.assignments() == 0
    crowd.wait_in_line(others=False)
    message = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id=only.member_id, member_epoch=only.epoch)
    assert crowd.bench.send(message, 1).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
