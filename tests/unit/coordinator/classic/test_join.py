"""Which members may join a classic group, and how each is answered."""

import pytest
from tests.unit.coordinator.classic.bench import DELAY_MS, GROUP, RANGE, REBALANCE_MS, SESSION_MS, Bench, subscription

from tidelog.coordinator.group.records.classic import GroupMetadataKey, GroupMetadataValue
from tidelog.coordinator.group.shard import GroupType
from tidelog.model.errors import ErrorCode


def test_a_new_group_is_written_before_anybody_is_in_it() -> None:
    bench = Bench()
    bench.join()
    (message, version), *rest = bench.log
    assert not rest
    assert version == 3
    assert message.key == GroupMetadataKey(group=GROUP)
    assert message.value == GroupMetadataValue(
        protocol_type="",
        generation=0,
        protocol=None,
        leader=None,
        current_state_timestamp=bench.wall_ms,
        members=[],
    )
    assert bench.state == "Empty"
    assert bench.group.type is GroupType.CLASSIC


def test_a_group_is_written_even_when_its_first_member_is_refused() -> None:
    bench = Bench()
    assert bench.join(protocols=()).code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert bench.join(protocol_type="").code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert len(bench.log) == 1
    assert bench.group.is_simple


def test_a_known_group_is_not_written_again_for_a_member() -> None:
    bench = Bench()
    bench.join()
    bench.join()
    assert len(bench.log) == 1


@pytest.mark.parametrize("version", [4, 5, 9])
def test_a_dynamic_member_has_to_come_back_with_its_id(version: int) -> None:
    bench = Bench()
    refused = bench.join(version=version, client_id="reader")
    assert refused.code is ErrorCode.MEMBER_ID_REQUIRED
    assert refused.member_id.startswith("reader-")
    assert len(refused.member_id) == len("reader-") + 36
    assert refused.response.protocol_name == ""
    assert refused.response.generation_id == -1
    assert list(bench.group.pending_join) == [refused.member_id]
    assert bench.group.is_empty
    assert not bench.group.is_simple
    again = bench.join(refused.member_id, version=version)
    assert again.is_pending
    assert bench.group.pending_join == {}
    bench.advance(DELAY_MS)
    assert again.code is ErrorCode.NONE
    assert again.member_id == refused.member_id


@pytest.mark.parametrize("version", [0, 3])
def test_an_old_client_is_a_member_at_once(version: int) -> None:
    bench = Bench()
    ticket = bench.join(version=version)
    assert ticket.is_pending
    bench.advance(DELAY_MS)
    assert ticket.code is ErrorCode.NONE
    assert ticket.response.leader == ticket.member_id


def test_version_0_has_its_session_timeout_for_a_rebalance_timeout() -> None:
    bench = Bench()
    bench.join(version=0, rebalance_ms=-1, session_ms=SESSION_MS)
    assert bench.group.rebalance_timeout_ms == SESSION_MS


def test_a_member_id_that_is_not_of_this_group_is_unknown() -> None:
    bench = Bench()
    nowhere = bench.join("nobody")
    assert (nowhere.code, nowhere.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "nobody")
    assert not bench.shard.groups
    bench.stable(1)
    somewhere = bench.join("nobody")
    assert (somewhere.code, somewhere.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "nobody")
    assert somewhere.response.protocol_name is None
    assert bench.join("nobody", version=6).response.protocol_name == ""


def test_the_group_needs_a_name() -> None:
    bench = Bench()
    assert bench.join(group_id="").code is ErrorCode.INVALID_GROUP_ID
    assert not bench.shard.groups


@pytest.mark.parametrize(
    ("session_ms", "code"),
    [
        (5_999, ErrorCode.INVALID_SESSION_TIMEOUT),
        (6_000, ErrorCode.MEMBER_ID_REQUIRED),
        (20_000, ErrorCode.MEMBER_ID_REQUIRED),
        (20_001, ErrorCode.INVALID_SESSION_TIMEOUT),
    ],
)
def test_the_session_timeout_has_limits(session_ms: int, code: ErrorCode) -> None:
    bench = Bench({"group_max_session_timeout_ms": "20000"})
    assert bench.join(session_ms=session_ms).code is code


def test_the_protocol_type_is_the_groups() -> None:
    bench = Bench()
    bench.stable(1)
    assert bench.join(protocol_type="connect").code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_one_protocol_has_to_be_everyones() -> None:
    bench = Bench()
    first, second = (("range", b""), ("sticky", b"")), (("sticky", b""), ("mine", b""))
    bench.join_with_id(protocols=first)
    bench.join_with_id(protocols=second)
    refused = bench.join(protocols=(("range", b""), ("mine", b"")))
    assert (refused.code, refused.member_id) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    assert bench.join(protocols=(("other", b""), ("sticky", b""))).code is ErrorCode.MEMBER_ID_REQUIRED


def test_a_protocol_that_a_member_names_twice_counts_once() -> None:
    bench = Bench()
    _, ticket = bench.join_with_id(protocols=(*RANGE, *RANGE))
    bench.advance(DELAY_MS)
    assert ticket.response.protocol_name == "range"


def test_the_protocol_with_the_most_votes_is_taken() -> None:
    bench = Bench()
    range_first = (("range", b""), ("cooperative-sticky", b""))
    sticky_first = (("cooperative-sticky", b"s"), ("range", b"r"), ("own", b""))
    tickets = [bench.join_with_id(protocols=each)[1] for each in (range_first, sticky_first, sticky_first)]
    bench.advance(2 * DELAY_MS)
    assert {ticket.response.protocol_name for ticket in tickets} == {"cooperative-sticky"}
    leader = tickets[0].response
    assert [member.metadata for member in leader.members] == [b"", b"s", b"s"]


def test_the_leader_alone_learns_of_everyone() -> None:
    bench = Bench()
    leader, first = bench.join_with_id(protocols=(("range", b"one"),))
    second = bench.join(instance="i", protocols=(("range", b"two"),))
    bench.advance(2 * DELAY_MS)
    assert first.response.leader == second.response.leader == leader
    assert second.response.members == []
    listed = [(each.member_id, each.group_instance_id, each.metadata) for each in first.response.members]
    assert listed == [(leader, None, b"one"), (second.member_id, "i", b"two")]
    for ticket in (first, second):
        assert ticket.response.generation_id == 1
        assert ticket.response.protocol_type == "consumer"
        assert ticket.response.protocol_name == "range"
        assert not ticket.response.skip_assignment
    assert bench.state == "CompletingRebalance"


def test_a_pending_member_can_not_turn_static() -> None:
    bench = Bench()
    member_id = bench.join().member_id
    assert bench.join(member_id, instance="i").code is ErrorCode.UNKNOWN_SERVER_ERROR


def test_the_reason_is_told_to_the_operator() -> None:
    bench = Bench()
    bench.join_with_id(reason="scaled\nout")
    assert any("'scaled\\nout'" in line for line in bench.notes)


def test_a_name_that_can_not_be_written_makes_no_group() -> None:
    bench = Bench(max_record_bytes=500)
    assert bench.join(group_id="n" * 500).code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert not bench.shard.groups
    assert not bench.log


# The size of a group


def test_a_full_group_takes_nobody_in() -> None:
    bench = Bench({"group_max_size": "2"})
    members = bench.stable(2)
    refused = bench.join()
    assert (refused.code, refused.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    assert bench.join(instance="i").code is ErrorCode.GROUP_MAX_SIZE_REACHED
    # Members of the full group may rejoin.
    assert bench.join(members[0]).is_pending
    assert bench.join(members[1]).code is ErrorCode.NONE


def test_those_who_have_joined_count_while_a_group_prepares() -> None:
    bench = Bench({"group_max_size": "2"})
    _, first = bench.join_with_id()
    member_id, second = bench.join_with_id()
    assert bench.join().code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert bench.join(version=0).code is ErrorCode.GROUP_MAX_SIZE_REACHED
    # A member that waits already may ask again.
    again = bench.join(member_id)
    assert second.code is ErrorCode.REBALANCE_IN_PROGRESS
    bench.advance(2 * DELAY_MS)
    assert (first.code, again.code) == (ErrorCode.NONE, ErrorCode.NONE)


def test_the_last_to_rejoin_are_too_many() -> None:
    bench = Bench()
    members = bench.stable(4)
    bench.reload(group_max_size="2")
    bench.advance(0)
    assert bench.state == "PreparingRebalance"
    tickets = [bench.join(member) for member in members]
    # The group does not wait for members that it has removed.
    assert [ticket.code for ticket in tickets] == [
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        ErrorCode.GROUP_MAX_SIZE_REACHED,
    ]
    assert list(bench.group.members) == members[:2]
    assert bench.state == "CompletingRebalance"


def test_ids_that_were_only_given_out_do_not_fill_a_group() -> None:
    bench = Bench({"group_max_size": "1"})
    first, second = bench.join().member_id, bench.join().member_id
    assert bench.join(first).is_pending
    assert bench.join(second).code is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert bench.group.pending_join == {}
    bench.advance(DELAY_MS)
    assert list(bench.group.members) == [first]


# The initial rebalance


def test_a_new_group_waits_for_more_members() -> None:
    bench = Bench()
    _, ticket = bench.join_with_id()
    bench.advance(DELAY_MS - 1)
    assert ticket.is_pending
    bench.advance(1)
    assert ticket.code is ErrorCode.NONE


def test_it_waits_on_while_more_come() -> None:
    bench = Bench()
    _, first = bench.join_with_id()
    for _ in range(3):
        bench.advance(DELAY_MS - 1)
        bench.join_with_id()
    bench.advance(DELAY_MS + 2)
    assert first.is_pending
    bench.advance(DELAY_MS)
    assert first.code is ErrorCode.NONE
    assert len(first.response.members) == 4
    assert bench.group.generation == 1


def test_it_waits_no_longer_than_the_rebalance_timeout() -> None:
    bench = Bench()
    start_ms = bench.now_ms
    _, first = bench.join_with_id(rebalance_ms=7_000)
    while first.is_pending:
        bench.join_with_id(rebalance_ms=7_000)
        bench.advance(1_000)
    assert bench.now_ms - start_ms == 7_000


def test_without_a_delay_the_first_member_begins_at_once() -> None:
    bench = Bench({"group_initial_rebalance_delay_ms": "0"})
    _, ticket = bench.join_with_id()
    bench.advance(0)
    assert ticket.code is ErrorCode.NONE


def test_a_group_that_was_empty_waits_again() -> None:
    bench = Bench()
    (member_id,) = bench.stable(1)
    assert bench.leave((member_id, None)) == [ErrorCode.NONE]
    assert (bench.state, bench.group.generation) == ("Empty", 2)
    _, ticket = bench.join_with_id()
    bench.advance(DELAY_MS - 1)
    assert ticket.is_pending
    bench.advance(1)
    assert ticket.response.generation_id == 3


def test_who_came_late_to_the_last_initial_rebalance_does_not_delay_the_next() -> None:
    bench = Bench()
    joined = [bench.join_with_id(rebalance_ms=DELAY_MS)[0] for _ in range(2)]
    bench.advance(DELAY_MS)
    assert bench.state == "CompletingRebalance"
    bench.leave(*((member_id, None) for member_id in joined))
    assert bench.state == "Empty"
    _, ticket = bench.join_with_id()
    bench.advance(DELAY_MS)
    assert ticket.code is ErrorCode.NONE


def test_only_an_initial_rebalance_is_extended() -> None:
    bench = Bench({"group_initial_rebalance_delay_ms": "20000"})
    bench.join(session_ms=6_000)
    joined = [bench.join_with_id(session_ms=60_000)[0] for _ in range(2)]
    bench.advance(6_000)
    bench.sync_all(joined)
    ticket = bench.join(joined[0], session_ms=60_000)
    bench.advance(REBALANCE_MS)
    assert ticket.response.generation_id == 2


def test_members_wait_for_one_that_was_given_an_id() -> None:
    bench = Bench()
    (first,) = bench.stable(1)
    pending = bench.join().member_id
    ticket = bench.join(first)
    assert ticket.is_pending
    joined = bench.join(pending)
    assert (ticket.code, joined.code) == (ErrorCode.NONE, ErrorCode.NONE)
    assert bench.group.generation == 2


def test_the_topics_are_known_with_the_generation() -> None:
    bench = Bench()
    bench.join_with_id(protocols=(("range", subscription("a", version=3)),))
    bench.join_with_id(protocols=(("range", subscription("b", "c")),))
    assert bench.group.is_subscribed_to("unknown"), "nothing is known yet"
    bench.advance(2 * DELAY_MS)
    assert [bench.group.is_subscribed_to(topic) for topic in "abcd"] == [True, True, True, False]


def test_the_rebalance_timeout_is_the_longest_of_all() -> None:
    bench = Bench()
    bench.join_with_id(rebalance_ms=REBALANCE_MS)
    bench.join_with_id(rebalance_ms=2 * REBALANCE_MS)
    assert bench.group.rebalance_timeout_ms == 2 * REBALANCE_MS
