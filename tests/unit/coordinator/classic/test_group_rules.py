"""The rules of a classic group for offsets, expiry, deletion and description."""

import pytest
from tests.unit.coordinator.classic.bench import DELAY_MS, SESSION_MS, Bench, subscription

from tidelog.coordinator.group.classic.group import ClassicGroup, new_empty
from tidelog.coordinator.group.classic.state import ClassicState
from tidelog.coordinator.group.classic.subscription import subscribed_topics
from tidelog.coordinator.group.shard import Group
from tidelog.model.errors import ApiError, ErrorCode

COMMITTED_MS = 123


def commit_code(
    group: ClassicGroup,
    member_id: str = "",
    generation: int = -1,
    instance: str | None = None,
    is_transactional: bool = False,
) -> ErrorCode:
    try:
        group.validate_offset_commit(member_id, instance, generation, is_transactional=is_transactional, api_version=9)
    except ApiError as error:
        return error.code
    return ErrorCode.NONE


def simple(bench: Bench) -> ClassicGroup:
    return new_empty(bench.shard, "s", bench.wall_ms)


def test_it_is_a_group() -> None:
    group: Group = simple(Bench())
    assert group.is_empty


def test_anyone_commits_to_an_empty_group_and_no_member_does() -> None:
    group = simple(Bench())
    assert commit_code(group) is ErrorCode.NONE
    assert commit_code(group, "m", -1) is ErrorCode.NONE
    assert commit_code(group, "m", 0) is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit_code(group, is_transactional=True) is ErrorCode.NONE


def test_members_commit_in_their_generation() -> None:
    bench = Bench()
    (member,) = bench.stable(1)
    group = bench.group
    assert commit_code(group, member, 1) is ErrorCode.NONE
    assert commit_code(group, member, 0) is ErrorCode.ILLEGAL_GENERATION
    assert commit_code(group, member, 2) is ErrorCode.ILLEGAL_GENERATION
    assert commit_code(group, member, -1) is ErrorCode.ILLEGAL_GENERATION
    assert commit_code(group, "stranger", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit_code(group) is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit_code(group, member, 1, instance="i") is ErrorCode.UNKNOWN_MEMBER_ID


def test_static_members_are_fenced_by_a_newer_one() -> None:
    bench = Bench()
    ticket = bench.join(instance="i")
    bench.advance(DELAY_MS)
    bench.sync_all([ticket.member_id])
    assert commit_code(bench.group, ticket.member_id, 1, instance="i") is ErrorCode.NONE
    assert commit_code(bench.group, "old", 1, instance="i") is ErrorCode.FENCED_INSTANCE_ID
    assert commit_code(bench.group, "old", 1, "i", is_transactional=True) is ErrorCode.FENCED_INSTANCE_ID


def test_commits_in_a_rebalance() -> None:
    """Members may commit while others are still joining; once all have joined, they have to sync first."""
    bench = Bench()
    leader, follower = bench.stable(2)
    bench.join(leader)
    assert bench.state == "PreparingRebalance"
    assert commit_code(bench.group, follower, 1) is ErrorCode.NONE
    bench.join(follower)
    assert bench.state == "CompletingRebalance"
    assert commit_code(bench.group, follower, 2) is ErrorCode.REBALANCE_IN_PROGRESS
    assert commit_code(bench.group, follower, 2, is_transactional=True) is ErrorCode.NONE
    assert commit_code(bench.group, follower, 1) is ErrorCode.ILLEGAL_GENERATION


def test_old_transactional_commits_name_no_member() -> None:
    bench = Bench()
    bench.stable(1)
    assert commit_code(bench.group, is_transactional=True) is ErrorCode.NONE
    assert commit_code(bench.group, "stranger", 1, is_transactional=True) is ErrorCode.UNKNOWN_MEMBER_ID


def code_of(group: ClassicGroup, what: str) -> ErrorCode:
    try:
        match what:
            case "fetch":
                group.validate_offset_fetch(None, -1)
            case "offset delete":
                group.validate_offset_delete()
            case "delete":
                group.validate_delete()
    except ApiError as error:
        return error.code
    return ErrorCode.NONE


@pytest.mark.parametrize(
    ("protocol_type", "offset_delete"), [("consumer", ErrorCode.NONE), ("connect", ErrorCode.NON_EMPTY_GROUP)]
)
def test_groups_with_members_are_not_deleted(protocol_type: str, offset_delete: ErrorCode) -> None:
    bench = Bench()
    bench.join_with_id(protocol_type=protocol_type)
    for _ in ClassicState:
        assert code_of(bench.group, "fetch") is ErrorCode.NONE
        assert code_of(bench.group, "offset delete") is offset_delete
        assert code_of(bench.group, "delete") is ErrorCode.NON_EMPTY_GROUP
        bench.advance(DELAY_MS)
        if bench.state == "CompletingRebalance":
            leader = bench.group.leader
            assert leader is not None
            bench.sync(leader, 1, protocol_type=protocol_type)
        if bench.state == "Stable":
            break
    assert bench.state == "Stable"
    bench.advance(SESSION_MS)
    assert code_of(bench.group, "offset delete") is ErrorCode.NONE
    assert code_of(bench.group, "delete") is ErrorCode.NONE


def test_a_dead_group_is_not_found() -> None:
    group = simple(Bench())
    group.state = ClassicState.DEAD
    assert {code_of(group, what) for what in ("fetch", "offset delete", "delete")} == {ErrorCode.GROUP_ID_NOT_FOUND}
    assert commit_code(group) is ErrorCode.COORDINATOR_NOT_AVAILABLE


# Expiry


def test_offsets_of_a_group_that_nobody_joined_count_from_their_commit() -> None:
    group = simple(Bench())
    assert group.expiry_base_ms(COMMITTED_MS) == COMMITTED_MS
    assert not group.is_subscribed_to("t")
    assert group.expires_subscribed()


def test_offsets_of_an_emptied_group_count_from_when_it_was_emptied() -> None:
    bench = Bench()
    bench.stable(1)
    bench.advance(SESSION_MS)
    emptied_ms = bench.log[-1][0].value.current_state_timestamp
    bench.advance(1_000_000)
    assert bench.group.expiry_base_ms(COMMITTED_MS) == emptied_ms
    assert bench.group.expires_subscribed()
    assert not bench.group.is_subscribed_to("t")
    bench.group.state_timestamp_ms = None
    assert bench.group.expiry_base_ms(COMMITTED_MS) == COMMITTED_MS


def test_offsets_of_members_count_only_when_it_is_known_what_they_read() -> None:
    bench = Bench()
    (member,) = bench.stable(1)
    assert bench.group.expiry_base_ms(COMMITTED_MS) == COMMITTED_MS
    assert bench.group.is_subscribed_to("t")
    assert not bench.group.is_subscribed_to("u")
    assert not bench.group.expires_subscribed()
    bench.join(member)
    assert bench.state == "CompletingRebalance"
    assert bench.group.expiry_base_ms(COMMITTED_MS) is None


def test_a_subscription_that_can_not_be_read_keeps_everything() -> None:
    bench = Bench()
    bench.stable(1, protocols=(("range", b"\x00"),))
    assert bench.group.subscribed_topics is None
    assert bench.group.is_subscribed_to("anything")
    assert bench.group.expiry_base_ms(COMMITTED_MS) is None


def test_other_protocols_are_not_looked_into() -> None:
    bench = Bench()
    member, _ = bench.join_with_id(protocol_type="connect", protocols=(("range", subscription("t")),))
    bench.advance(DELAY_MS)
    bench.sync(member, 1, protocol_type="connect")
    assert not bench.group.is_subscribed_to("t")
    assert bench.group.expiry_base_ms(COMMITTED_MS) is None


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_topics_are_read_from_every_version(version: int) -> None:
    assert subscribed_topics([subscription("a", "b", version=version), subscription()]) == frozenset("ab")
    newer = (99).to_bytes(2, "big") + subscription("c")[2:] + b"what comes later"
    assert subscribed_topics([newer]) == frozenset("c")


@pytest.mark.parametrize("damaged", [b"", b"\0", subscription("topic")[:-6], b"\0\0\xff\xff\xff\xf0"])
def test_damaged_subscriptions_are_unknown(damaged: bytes) -> None:
    assert subscribed_topics([subscription("a"), damaged]) is None


# Description


def test_a_stable_group_is_described_with_everything() -> None:
    bench = Bench()
    ticket = bench.join(instance="i")
    bench.advance(DELAY_MS)
    bench.sync_all([ticket.member_id])
    described = bench.group.describe()
    assert (described.error_code, described.group_id, described.group_state) == (0, "g", "Stable")
    assert (described.protocol_type, described.protocol_data) == ("consumer", "range")
    (member,) = described.members
    assert (member.member_id, member.group_instance_id) == (ticket.member_id, "i")
    assert (member.client_id, member.client_host) == ("c", "/10.0.0.1")
    assert member.member_metadata == subscription("t")
    assert member.member_assignment == ticket.member_id.encode()


def test_in_a_rebalance_there_is_no_protocol_to_describe() -> None:
    bench = Bench()
    bench.join_with_id()
    described = bench.group.describe()
    assert (described.group_state, described.protocol_data) == ("PreparingRebalance", "")
    assert [member.member_metadata for member in described.members] == [b""]
    empty = simple(bench).describe()
    assert (empty.group_state, empty.protocol_type, empty.members) == ("Empty", "", [])
