"""Classic requests to groups of another type: they are handed on, refused, or take over an empty group."""

from dataclasses import dataclass
from typing import Any, cast

import pytest
from tests.unit.coordinator.classic.bench import DELAY_MS, GROUP, Bench

from tidelog.coordinator.group.classic import handlers
from tidelog.coordinator.group.classic.decision import Decision
from tidelog.coordinator.group.classic.group import ClassicGroup
from tidelog.coordinator.group.classic.rebalance import refuse_waiting
from tidelog.coordinator.group.consumer import handlers as consumer
from tidelog.coordinator.group.shard import Group, GroupShard, GroupType
from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.model.decisions import Record, Result
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from tidelog.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from tidelog.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

TOMBSTONE: Record = ("what removes it", 0)


@dataclass
class Other:
    type: GroupType
    is_empty: bool

    def tombstones(self) -> list[Record]:
        return [TOMBSTONE]


def shard_with(group_type: GroupType, *, is_empty: bool) -> Bench:
    bench = Bench()
    bench.shard.groups[GROUP] = cast(Group, Other(group_type, is_empty))
    return bench


def asked(bench: Bench, message: Any, version: int) -> Result:
    request = CoordinatorRequest(message, version, bench.wall_ms)
    return handlers.HANDLE[type(message)](bench.shard, bench.now_ms, request)


def join_message(member_id: str = "") -> Any:
    other = Bench()
    return other.join(member_id).request.message


def sync_message() -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id=GROUP, generation_id=1, member_id="m", protocol_type="consumer", protocol_name="range", assignments=[]
    )


MESSAGES = {
    "classic_join": (join_message("m"), 9),
    "classic_sync": (sync_message(), 5),
    "classic_heartbeat": (HeartbeatRequest(group_id=GROUP, generation_id=1, member_id="m"), 4),
    "classic_leave": (LeaveGroupRequest(group_id=GROUP, members=[]), 5),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_members_of_a_consumer_group_are_served_there(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = Result([], "from there")

    def serve(shard: GroupShard, now_ms: int, request: CoordinatorRequest) -> Result:
        assert (shard, now_ms, request.message) == (bench.shard, bench.now_ms, MESSAGES[name][0])
        return answer

    monkeypatch.setattr(consumer, name, serve)
    bench = shard_with(GroupType.CONSUMER, is_empty=False)
    assert asked(bench, *MESSAGES[name]) is answer


def test_other_kinds_are_not_for_classic_members() -> None:
    bench = shard_with(GroupType.SHARE, is_empty=False)
    joined = asked(bench, *MESSAGES["classic_join"]).response
    assert (joined.error_code, joined.member_id) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    assert asked(bench, *MESSAGES["classic_sync"]).response == SyncGroupResponse(
        error_code=ErrorCode.UNKNOWN_MEMBER_ID, assignment=b""
    )
    assert asked(bench, *MESSAGES["classic_heartbeat"]).response == HeartbeatResponse(
        error_code=ErrorCode.UNKNOWN_MEMBER_ID
    )
    assert asked(bench, *MESSAGES["classic_leave"]).response == LeaveGroupResponse(error_code=0, members=[])


def test_an_empty_group_of_another_kind_is_taken_over() -> None:
    bench = shard_with(GroupType.CONSUMER, is_empty=True)
    result = asked(bench, join_message(), 9)
    assert result.response.error_code == ErrorCode.MEMBER_ID_REQUIRED
    first, (message, _) = result.records
    assert first == TOMBSTONE
    assert (message.key.group, message.value.generation, message.value.members) == (GROUP, 0, [])
    assert isinstance(bench.shard.groups[GROUP], ClassicGroup)


def test_a_member_of_an_empty_group_of_another_kind_is_unknown() -> None:
    bench = shard_with(GroupType.CONSUMER, is_empty=True)
    result = asked(bench, join_message("m"), 9)
    assert result.response.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert result.records == []
    assert isinstance(bench.shard.groups[GROUP], Other)


def test_who_waits_in_a_group_that_becomes_another_is_told() -> None:
    bench = Bench()
    leader, follower = bench.stable(2)
    waiting = bench.join(leader)
    decision = Decision(bench.shard, bench.now_ms, bench.wall_ms)
    refuse_waiting(decision, bench.group, ErrorCode.REBALANCE_IN_PROGRESS)
    ((request, response),) = decision.answers
    assert request is waiting.request
    assert (response.error_code, response.member_id) == (ErrorCode.REBALANCE_IN_PROGRESS, leader)
    assert bench.group.awaiting_join_count == 0
    assert follower in bench.group.members


def test_who_waits_for_an_assignment_is_told_too() -> None:
    bench = Bench()
    bench.join_with_id()
    bench.join_with_id()
    bench.advance(2 * DELAY_MS)
    follower = list(bench.group.members)[1]
    waiting = bench.sync(follower, 1)
    decision = Decision(bench.shard, bench.now_ms, bench.wall_ms)
    refuse_waiting(decision, bench.group, ErrorCode.REBALANCE_IN_PROGRESS)
    ((request, response),) = decision.answers
    assert request is waiting.request
    assert response.error_code == ErrorCode.REBALANCE_IN_PROGRESS
