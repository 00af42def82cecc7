"""The heartbeats of a member of a consumer group: they carry only what changed, and everything when an answer may have
been lost."""

import pytest

from tidelog.client.group.member import GroupMember, MemberOptions
from tidelog.model.ids import TopicIdPartition, Uuid
from tidelog.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

TOPIC = Uuid(b"t" * 16)
OTHER = Uuid(b"u" * 16)


def at(*partitions: int, topic: Uuid = TOPIC) -> list[TopicIdPartition]:
    return [TopicIdPartition(topic, index) for index in partitions]


def answer(epoch: int, *partitions: int | None) -> ConsumerGroupHeartbeatResponse:
    """Build an answer. Without partitions it has no new assignment; None stands for an empty assignment."""
    response = ConsumerGroupHeartbeatResponse(
        throttle_time_ms=0, error_code=0, member_epoch=epoch, heartbeat_interval_ms=5_000
    )
    if partitions:
        listed = [each for each in partitions if each is not None]
        response.assignment = Assignment(topic_partitions=[TopicPartitions(topic_id=TOPIC, partitions=listed)])
    return response


def owned(request: ConsumerGroupHeartbeatRequest) -> list[int] | None:
    if request.topic_partitions is None:
        return None
    return [index for each in request.topic_partitions for index in each.partitions]


@pytest.fixture
def member() -> GroupMember:
    member = GroupMember(MemberOptions("g", "m", rack_id="r", assignor="range", rebalance_timeout_ms=7))
    member.subscribe(["b", "a"], None)
    return member


def test_who_joins_tells_everything(member: GroupMember) -> None:
    assert member.has_news
    request = member.request()
    assert (request.group_id, request.member_id, request.member_epoch) == ("g", "m", 0)
    assert (request.subscribed_topic_names, request.rack_id, request.server_assignor) == (["a", "b"], "r", "range")
    assert (request.rebalance_timeout_ms, request.topic_partitions) == (7, [])


def test_who_is_in_tells_only_what_changed(member: GroupMember) -> None:
    member.request()
    member.accept(answer(1, 0, 1))
    assert member.target == at(0, 1)
    quiet = member.request()
    assert (quiet.member_epoch, quiet.subscribed_topic_names, quiet.topic_partitions) == (1, None, None)
    assert (quiet.rebalance_timeout_ms, quiet.rack_id, quiet.server_assignor) == (-1, None, None)
    member.own(at(1, 0))
    assert (member.has_news, member.is_reconciled) == (True, False)
    assert owned(member.request()) == [0, 1]
    assert (member.has_news, member.is_reconciled) == (False, True)


def test_what_it_let_go_of_is_told(member: GroupMember) -> None:
    member.request()
    member.accept(answer(1, 0, 1))
    member.own(at(0, 1))
    member.request()
    member.accept(answer(1, 1))
    assert not member.is_reconciled
    member.own(at(1))
    assert owned(member.request()) == [1]
    member.accept(answer(2))
    assert (member.epoch, member.target) == (2, at(1))


def test_after_a_heartbeat_that_may_be_lost_everything_is_told_again(member: GroupMember) -> None:
    member.request()
    member.accept(answer(3, 0))
    member.own(at(0))
    member.request()
    member.not_heard()
    assert member.has_news
    again = member.request()
    assert (again.member_epoch, owned(again), again.subscribed_topic_names) == (3, [0], ["a", "b"])


def test_who_was_forgotten_begins_again_with_nothing(member: GroupMember) -> None:
    member.request()
    member.accept(answer(3, 0))
    member.own(at(0))
    member.begin_again()
    request = member.request()
    assert (request.member_epoch, request.member_id, owned(request)) == (0, "m", [])
    assert member.target is None


def test_another_subscription_is_told_at_once(member: GroupMember) -> None:
    member.request()
    member.accept(answer(1, None))
    member.subscribe([], "t.*")
    assert member.has_news
    request = member.request()
    assert (request.subscribed_topic_names, request.subscribed_topic_regex) == ([], "t.*")


def test_several_topics_are_told_by_topic(member: GroupMember) -> None:
    member.own([*at(1), *at(0, topic=OTHER), *at(0)])
    found = {each.topic_id: each.partitions for each in member.request().topic_partitions or []}
    assert found == {TOPIC: [0, 1], OTHER: [0]}


@pytest.mark.parametrize(("instance_id", "epoch"), [(None, -1), ("static", -2)])
def test_who_leaves(instance_id: str | None, epoch: int) -> None:
    member = GroupMember(MemberOptions("g", "m", instance_id))
    request = member.leave_request()
    assert (request.member_epoch, request.instance_id, request.member_id) == (epoch, instance_id, "m")
