"""Members that come in a crowd: one assignment for all of them, and each is answered with its share."""

from typing import Any

import pytest
from tests.unit.coordinator.consumer.bench import SESSION_MS, Bench, Client
from tests.unit.coordinator.consumer.classic_client import ClassicClient
from tests.unit.coordinator.consumer.line import Line

from tidelog.coordinator.group.consumer.crowd import ANSWERS_MAX
from tidelog.coordinator.group.consumer.member import MemberState
from tidelog.coordinator.group.consumer.target import LARGE
from tidelog.model.errors import ErrorCode

TARGET_EPOCH = "ConsumerGroupTargetAssignmentMetadataKey"
MEMBER, EPOCH = "ConsumerGroupMemberMetadataKey", "ConsumerGroupMetadataKey"


class Crowd(Line):
    def __init__(self, partitions: int, members: int, **more: Any) -> None:
        super().__init__(Bench(**more))
        self.bench.topic("t", partitions)
        self.clients = [self.bench.client(f"m{index:03d}") for index in range(members)]

    def assignments(self) -> int:
        return sum(type(message.key).__name__ == TARGET_EPOCH for message, _version in self.bench.log)


def owned(clients: list[Client]) -> list[int]:
    return sorted(partition for client in clients for partition in client.assignment.get("t", []))


@pytest.mark.parametrize("members", [2, ANSWERS_MAX + 5, LARGE + 50])
def test_one_assignment_for_all_and_everybody_has_its_share_at_once(members: int) -> None:
    crowd = Crowd(2 * members, members)
    for client in crowd.clients:
        crowd.join(client)
    assert (crowd.heard, crowd.assignments()) == ({}, 0)
    crowd.tick()
    assert (crowd.waiting, crowd.assignments()) == ({}, 1)
    assert {client.epoch for client in crowd.clients} == {crowd.bench.group.epoch}
    assert {len(client.assignment["t"]) for client in crowd.clients} == {2}
    assert owned(crowd.clients) == list(range(2 * members))
    assert crowd.bench.group.state_name == "Stable"
    assert crowd.bench.shard.crowds == {}
    crowd.bench.validate_state()


def test_it_is_a_member_as_soon_as_it_waits() -> None:
    crowd = Crowd(4, 1)
    crowd.join(crowd.clients[0])
    assert crowd.bench.taken(2) == [MEMBER, EPOCH]
    assert len(crowd.bench.log) == 2
    assert list(crowd.bench.group.members) == ["m000"]
    crowd.bench.validate_state()


def test_who_is_not_in_line_does_not_wait() -> None:
    crowd = Crowd(4, 2)
    first, second = crowd.clients
    crowd.beat(first, is_in_line=False, **first.joining())
    assert first.assignment == {"t": [0, 1, 2, 3]}
    crowd.beat(second, is_in_line=False, **second.joining())
    assert (crowd.waiting, crowd.assignments()) == ({}, 2)
    assert crowd.bench.shard.crowds == {}


def test_one_that_has_nothing_to_wait_for_does_not() -> None:
    """A request is answered at once when no target is due: the group has not changed, or has just been assigned."""
    crowd = Crowd(4, 2, settings={"group.consumer.assignment.interval.ms": "1000"})
    first, second = crowd.clients
    crowd.bench.settle(*crowd.bench.joined("m000"))
    first.epoch = crowd.bench.group.epoch
    crowd.report(first)
    crowd.join(second)
    assert crowd.waiting == {}
    assert second.assignment == {}


def test_what_an_earlier_one_gives_back_a_later_one_gets() -> None:
    """The requests of a line are answered as if they had come one after the other."""
    crowd = Crowd(4, 2)
    first, second = crowd.clients
    crowd.bench.settle(*crowd.bench.joined("m000"))
    first.epoch, first.told = crowd.bench.group.epoch, {crowd.bench.topic_id("t"): [0, 1, 2, 3]}
    second.join()
    crowd.report(first)
    assert first.assignment == {"t": [0, 1]}
    third = crowd.bench.client("m002")
    crowd.join(third)
    crowd.report(first)  # it has given back 2 and 3
    crowd.report(second)
    assert len(crowd.waiting) == 3
    crowd.tick()
    assert second.state.state is MemberState.STABLE
    assert len(second.assignment["t"]) == 1
    assert third.assignment == {}, "it came before anything was given back"
    crowd.report(third)
    assert owned([first, second, third]) == [0, 1, 2, 3]
    assert {len(client.assignment["t"]) for client in (first, second, third)} == {1, 2}
    crowd.bench.validate_state()


def test_what_an_earlier_one_has_still_to_give_back_nobody_gets() -> None:
    crowd = Crowd(4, 0)
    (first,) = crowd.bench.joined("m000")
    second, third = crowd.bench.client("m001"), crowd.bench.client("m002")
    crowd.join(second)
    crowd.beat(first)
    crowd.join(third)
    crowd.tick()
    assert first.state.state is MemberState.UNREVOKED_PARTITIONS
    assert (second.assignment, third.assignment) == ({}, {})
    assert len(first.assignment["t"]) < 4
    assert second.state.state is third.state.state is MemberState.UNRELEASED_PARTITIONS


def test_one_that_waits_twice_is_answered_twice() -> None:
    """A client that lost its connection sends its request again, and both are answered alike."""
    crowd = Crowd(4, 2)
    first, second = crowd.clients
    requests = [crowd.join(first), crowd.join(second), crowd.join(first)]
    crowd.tick()
    once, _, again = (crowd.heard[request] for request in requests)
    assert once == again
    assert owned(crowd.clients) == [0, 1, 2, 3]


def test_a_repeated_report_is_answered_like_the_first() -> None:
    crowd = Crowd(4, 2)
    first, second = crowd.bench.joined("m000", "m001")
    crowd.join(crowd.bench.client("m002"))
    before = (first.epoch, dict(first.told))
    once = crowd.report(first)
    first.epoch, first.told = before
    again = crowd.report(first)
    crowd.tick()
    assert crowd.code(once) is crowd.code(again) is ErrorCode.NONE
    assert crowd.heard[once].member_epoch == crowd.heard[again].member_epoch
    assert second.report() is ErrorCode.NONE


def test_a_server_made_id_is_told() -> None:
    crowd = Crowd(4, 0)
    client = crowd.bench.client("")
    crowd.join(client, version=0)
    crowd.tick()
    assert client.member_id in crowd.bench.group.members
    assert client.assignment == {"t": [0, 1, 2, 3]}


def test_those_who_come_while_others_are_answered_are_the_next_crowd() -> None:
    crowd = Crowd(400, ANSWERS_MAX + 1)
    late = crowd.bench.client("late")
    for client in crowd.clients:
        crowd.join(client)
    for _ in range(2):  # computes the target, then gives the first answers
        crowd.bench.fire()
    crowd.take_answers()
    assert len(crowd.waiting) == 1
    crowd.join(late)
    crowd.tick()
    assert (crowd.waiting, crowd.assignments()) == ({}, 2)
    assert late.epoch == crowd.bench.group.epoch > crowd.clients[-1].epoch


def test_one_whose_target_was_computed_meanwhile_gets_that() -> None:
    crowd = Crowd(4, 2)
    first, second = crowd.clients
    crowd.join(first)
    crowd.beat(second, is_in_line=False, **second.joining())
    assert crowd.assignments() == 1
    crowd.tick()
    assert crowd.assignments() == 1
    assert owned(crowd.clients) == [0, 1, 2, 3]


def test_one_that_left_meanwhile_is_told_so() -> None:
    crowd = Crowd(4, 2)
    first, second = crowd.clients
    gone, stays = crowd.join(first), crowd.join(second)
    crowd.beat(first, member_epoch=-1)
    crowd.tick()
    assert (crowd.code(gone), crowd.code(stays)) == (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE)
    assert second.assignment == {"t": [0, 1, 2, 3]}


def test_when_all_have_left_nothing_is_computed() -> None:
    crowd = Crowd(4, 1)
    (only,) = crowd.clients
    gone = crowd.join(only)
    crowd.beat(only, member_epoch=-1)
    crowd.tick()
    assert crowd.code(gone) is ErrorCode.UNKNOWN_MEMBER_ID
    assert crowd.assignments() == 0


def test_a_group_that_is_gone_is_not_found() -> None:
    crowd = Crowd(4, 1)
    (only,) = crowd.clients
    gone = crowd.join(only)
    crowd.beat(only, member_epoch=-1)
    crowd.bench.remove_group()
    crowd.tick()
    assert crowd.code(gone) is ErrorCode.GROUP_ID_NOT_FOUND
    assert crowd.bench.shard.crowds == {}


def test_a_static_member_that_left_for_a_while_stays_away() -> None:
    """The late answer to its join does not bring it back."""
    crowd = Crowd(4, 0)
    member = crowd.bench.client("a", instance_id="i")
    request = crowd.join(member)
    crowd.beat(member, member_epoch=-2)
    crowd.tick()
    assert crowd.code(request) is ErrorCode.FENCED_MEMBER_EPOCH
    assert crowd.bench.group.members["a"].epoch == -2


def test_a_static_member_whose_place_was_taken_is_fenced() -> None:
    crowd = Crowd(4, 0)
    former, later = (crowd.bench.client(each, instance_id="i") for each in ("a", "b"))
    request = crowd.join(former)
    crowd.beat(former, member_epoch=-2)
    taking = crowd.join(later)
    assert crowd.code(taking) is ErrorCode.NONE, "who takes a place does not wait"
    crowd.tick()
    assert crowd.code(request) is ErrorCode.FENCED_INSTANCE_ID
    assert later.assignment == {"t": [0, 1, 2, 3]}
    crowd.bench.validate_state()


def test_an_older_epoch_is_fenced_when_the_member_has_gone_on() -> None:
    crowd = Crowd(4, 0)
    first, second = crowd.bench.joined("m000", "m001")
    crowd.join(crowd.bench.client("m002"))
    late = crowd.beat(first)  # it does not report the partitions that it owns
    for member in (second, first):
        crowd.beat(member, is_in_line=False, topic_partitions=crowd.bench.wire(member.assignment))
    assert first.epoch > late.message.member_epoch
    crowd.tick()
    assert crowd.code(late) is ErrorCode.FENCED_MEMBER_EPOCH
    assert crowd.waiting == {}


def test_nobody_waits_in_a_group_with_classic_members() -> None:
    crowd = Crowd(4, 2)
    first, second = crowd.clients
    first.join()
    assert ClassicClient(crowd.bench).join() is ErrorCode.NONE
    assert crowd.code(crowd.join(second)) is ErrorCode.NONE


def test_a_session_is_kept_while_it_waits() -> None:
    crowd = Crowd(4, 1)
    (only,) = crowd.clients
    crowd.join(only)
    assert crowd.bench.shard.timers.due_of(("consumer-session", "g", "m000")) == crowd.bench.now_ms + SESSION_MS
    crowd.tick()
    crowd.bench.advance(SESSION_MS)
    assert crowd.bench.group.members == {}


def test_a_subscription_that_changes_in_line_counts_at_once() -> None:
    crowd = Crowd(4, 0)
    crowd.bench.topic("u", 2)
    (member,) = crowd.bench.joined("m000")
    crowd.beat(member, subscribed_topic_names=["u"])
    crowd.tick()
    assert member.assignment == {}, "t is to be given back"
    crowd.report(member)
    assert member.assignment == {"u": [0, 1]}


def test_what_it_no_longer_subscribes_to_goes_at_once_also_from_one_that_has_still_to_give_back() -> None:
    crowd = Crowd(4, 0)
    crowd.bench.topic("u", 2)
    first, second = crowd.bench.client("m000", "t", "u"), crowd.bench.client("m001", "t", "u")
    first.join()
    second.join()
    first.beat()
    assert first.state.state is MemberState.UNREVOKED_PARTITIONS
    crowd.beat(first, subscribed_topic_names=["u"])
    crowd.tick()
    assert "t" not in first.assignment
    assert sorted(first.state.pending_revocation[crowd.bench.topic_id("t")]) == [0, 1, 2, 3]


# Records that the log refuses


def test_a_target_that_is_too_large_is_refused_to_all() -> None:
    crowd = Crowd(1_000, 2)
    crowd.bench.shard.max_record_bytes = 2_000
    requests = [crowd.join(client) for client in crowd.clients]
    crowd.tick()
    assert {crowd.code(request) for request in requests} == {ErrorCode.UNKNOWN_SERVER_ERROR}
    assert crowd.assignments() == 0
    assert crowd.bench.shard.crowds == {}
    assert (crowd.bench.shard.timers.deadline or 0) > crowd.bench.now_ms, "it is not tried again and again"


def test_a_target_that_the_log_refused_is_refused_to_all() -> None:
    crowd = Crowd(4, 2)
    requests = [crowd.join(client) for client in crowd.clients]
    crowd.bench.refuses_next = True
    crowd.tick()
    assert {crowd.code(request) for request in requests} == {ErrorCode.UNKNOWN_SERVER_ERROR}
    assert crowd.bench.shard.crowds == {}
    assert crowd.clients[0].join() is ErrorCode.NONE


def test_records_that_may_not_fit_together_do_not_wait() -> None:
    """Such a request is answered at once; otherwise its client would wait, although it never became a member."""
    crowd = Crowd(4, 1)
    crowd.bench.shard.max_record_bytes = 2_000
    client = crowd.bench.client("m" * 600)
    assert crowd.code(crowd.join(client)) is ErrorCode.NONE
    assert crowd.bench.shard.crowds == {}
