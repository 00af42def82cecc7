"""Classic members inside of a consumer group."""

from typing import Any

from tests.unit.coordinator.consumer.bench import REBALANCE_MS, Bench, Client
from tests.unit.coordinator.consumer.classic_client import SESSION_MS, ClassicClient

from tidelog.coordinator.group.consumer.member import MemberState
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.join_group import JoinGroupRequestProtocol
from tidelog.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity


def mixed(partitions: int = 4, **settings: str) -> tuple[Bench, Client, ClassicClient]:
    """Return a bench with a member of the consumer protocol, and a classic one that has joined its group."""
    bench = Bench({name.replace("_", "."): value for name, value in settings.items()})
    bench.topic("t", partitions)
    (new,) = bench.joined("new")
    old = ClassicClient(bench)
    assert old.join() is ErrorCode.NONE
    return bench, new, old


def settled() -> tuple[Bench, Client, ClassicClient]:
    bench, new, old = mixed()
    assert old.sync() is ErrorCode.NONE
    for _ in range(3):
        new.report()
        old.follow()
    return bench, new, old


def test_a_join_is_answered_at_once() -> None:
    bench, _, old = mixed()
    response: Any = ClassicClient(bench, member_id="named").ask_to_join()
    assert (response.error_code, response.generation_id, response.leader, response.members) == (0, 4, "", [])
    assert (response.protocol_type, response.protocol_name, response.member_id) == ("consumer", "range", "named")
    member = bench.group.members[old.member_id]
    assert member.classic is not None
    assert (member.classic.session_timeout_ms, member.regex, member.topics) == (SESSION_MS, "", ("t",))
    assert [each.name for each in member.classic_protocols] == ["range", "cooperative-sticky"]
    bench.validate_state()


def test_it_waits_for_its_partitions_and_joins_again_when_they_are_free() -> None:
    bench, new, old = mixed()
    assert old.sync() is ErrorCode.NONE
    assert old.owned == {}
    assert old.beat() is ErrorCode.NONE, "what it is to get is not free yet"
    new.report()
    new.report()
    assert old.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    old.join()
    old.sync()
    assert len(old.owned["t"]) == 2
    assert old.beat() is ErrorCode.NONE
    assert bench.group.state_name == "Stable"
    bench.validate_state()


def test_it_gives_back_by_joining_with_less() -> None:
    bench, _, old = settled()
    third = bench.client("third")
    third.join()
    assert old.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    before = old.owned
    assert old.join() is ErrorCode.NONE
    assert bench.group.members[old.member_id].state is MemberState.UNREVOKED_PARTITIONS
    old.sync()
    assert len(old.owned["t"]) < len(before["t"])
    assert old.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert old.join() is ErrorCode.NONE
    assert bench.group.members[old.member_id].state is MemberState.STABLE


def test_versions_before_4_need_no_id() -> None:
    bench, _, _ = mixed()
    client = ClassicClient(bench)
    response: Any = client.ask_to_join(version=3)
    assert response.error_code == 0
    assert response.member_id


def test_a_nameless_member_is_given_an_id_first() -> None:
    bench, _, _ = mixed()
    count = len(bench.log)
    response: Any = ClassicClient(bench).ask_to_join(version=4)
    assert response.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert response.member_id
    assert len(bench.log) == count


def test_joins_that_are_refused() -> None:
    bench, _, _ = mixed(group_consumer_max_size="2")
    assert ClassicClient(bench, member_id="x").join() is ErrorCode.GROUP_MAX_SIZE_REACHED
    bench, _, _ = mixed()
    refused = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert ClassicClient(bench, protocols=("other",), member_id="x").join() is refused
    assert ClassicClient(bench, member_id="x").join(protocol_type="connect") is refused
    broken = [JoinGroupRequestProtocol(name="range", metadata=b"\x00")]
    assert ClassicClient(bench, member_id="x").join(protocols=broken) is ErrorCode.UNKNOWN_SERVER_ERROR
    response: Any = ClassicClient(bench, member_id="x").ask_to_join(protocols=[])
    assert (response.error_code, response.member_id) == (refused, "")
    assert ClassicClient(bench, instance_id="i", member_id="x").join() is ErrorCode.UNKNOWN_MEMBER_ID
    bench, _, _ = mixed()
    bench.settings["group.consumer.migration.policy"] = "disabled"
    bench.reload()
    assert ClassicClient(bench, member_id="x").join() is refused


def test_syncs_that_are_refused() -> None:
    bench, new, old = settled()
    assert old.sync(generation_id=old.generation + 1) is ErrorCode.ILLEGAL_GENERATION
    assert old.sync(member_id="x") is ErrorCode.UNKNOWN_MEMBER_ID
    assert old.sync(member_id="new", generation_id=new.epoch) is ErrorCode.UNKNOWN_MEMBER_ID
    assert old.sync(protocol_name="sticky") is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert old.sync(protocol_type="connect") is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    bench.client("third").join()
    assert old.sync() is ErrorCode.REBALANCE_IN_PROGRESS
    bench.advance(REBALANCE_MS)
    assert old.member_id not in bench.group.members


def test_heartbeats_that_are_refused() -> None:
    _, new, old = settled()
    generation, member_id = old.generation, old.member_id
    old.generation += 1
    assert old.beat() is ErrorCode.ILLEGAL_GENERATION
    old.member_id, old.generation = "new", new.epoch
    assert old.beat() is ErrorCode.UNKNOWN_MEMBER_ID
    old.member_id, old.generation, old.instance_id = member_id, generation, "i"
    assert old.beat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_heartbeat_keeps_its_own_session() -> None:
    bench, _, old = settled()
    for _ in range(3):
        bench.advance(SESSION_MS - 1)
        assert old.beat() is ErrorCode.NONE
    bench.advance(SESSION_MS)
    assert old.member_id not in bench.group.members


def test_who_does_not_sync_in_time_is_out() -> None:
    bench, _, old = mixed()
    for _ in range(3):
        bench.advance(REBALANCE_MS // 3 - 1)
        old.beat()
    assert old.member_id in bench.group.members
    bench.advance(3)
    assert old.member_id not in bench.group.members


def test_who_does_not_join_in_time_is_out() -> None:
    bench, _, old = settled()
    bench.client("third").join()
    for _ in range(4):
        assert old.beat() is ErrorCode.REBALANCE_IN_PROGRESS
        bench.advance(REBALANCE_MS // 4)
    assert old.member_id not in bench.group.members


def test_leaving_one_by_one_and_by_instance() -> None:
    bench, _, old = settled()
    static = ClassicClient(bench, instance_id="i")
    static.join()
    fenced = MemberIdentity(member_id="x", group_instance_id="i")
    unknown = MemberIdentity(member_id="x")
    nobody = MemberIdentity(member_id="", group_instance_id="j")
    by_instance = MemberIdentity(member_id="", group_instance_id="i")
    mine = MemberIdentity(member_id=old.member_id)
    request = LeaveGroupRequest(group_id="g", members=[fenced, unknown, nobody, by_instance, mine])
    codes = [member.error_code for member in bench.send(request, 5).members]
    assert codes == [ErrorCode.FENCED_INSTANCE_ID, *[ErrorCode.UNKNOWN_MEMBER_ID] * 2, 0, 0]
    assert list(bench.group.members) == ["new"]
    bench.validate_state()


def test_a_static_classic_member_comes_back_with_another_id() -> None:
    bench, _, _ = mixed()
    first = ClassicClient(bench, instance_id="i")
    first.join()
    again = ClassicClient(bench, instance_id="i")
    assert again.join() is ErrorCode.NONE
    assert again.member_id != first.member_id
    assert first.member_id not in bench.group.members
    assert first.beat() is ErrorCode.FENCED_INSTANCE_ID
    assert again.sync() is ErrorCode.NONE
    bench.validate_state()


def test_it_moves_up_under_its_own_id() -> None:
    bench, _, old = settled()
    moved = bench.client(old.member_id)
    assert moved.join() is ErrorCode.NONE
    assert not moved.state.is_classic
    assert bench.group.classic_count == 0
    assert bench.group.classic_supporters == {}


def test_offsets_of_a_classic_member() -> None:
    bench, _, old = settled()
    bench.group.validate_offset_commit(old.member_id, None, old.generation, is_transactional=False, api_version=5)
    bench.group.validate_offset_fetch(old.member_id, old.generation)
