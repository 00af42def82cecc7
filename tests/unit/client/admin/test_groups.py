"""Groups as brokers of different versions describe them, and the assignments among members of classic groups."""

import pytest
from tests.unit.client.scripted import ScriptedClient, coordinator

from tidelog.client.admin.admin_client import Admin
from tidelog.client.admin.groups import assigned_by_leader
from tidelog.client.errors import ClientError, UnsupportedByBroker
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.protocol.messages import describe_groups, offset_fetch
from tidelog.protocol.messages import offset_commit as commit
from tidelog.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from tidelog.protocol.messages.consumer_protocol import ConsumerProtocolAssignment
from tidelog.protocol.messages.consumer_protocol import TopicPartition as Assigned
from tidelog.protocol.stored import encode_prefixed

PLACE = TopicPartition("t", 0)


@pytest.fixture
def client() -> ScriptedClient:
    client = ScriptedClient()
    client.answers["FindCoordinator"] = [coordinator("g", 1)]
    unsupported = UnsupportedByBroker(ErrorCode.UNSUPPORTED_VERSION, "", "broker 1", "it does not serve it")
    client.answers["ConsumerGroupDescribe"] = [unsupported]
    return client


def classic(state: str, assignment: bytes = b"", protocol_type: str = "consumer") -> object:
    member = describe_groups.DescribedGroupMember(
        member_id="m", client_id="c", client_host="/h", member_metadata=b"", member_assignment=assignment
    )
    group = describe_groups.DescribedGroup(
        error_code=0,
        group_id="g",
        group_state=state,
        protocol_type=protocol_type,
        protocol_data="range",
        members=[member],
    )
    return describe_groups.DescribeGroupsResponse(groups=[group])


def assignment(version: int = 3, after: bytes = b"") -> bytes:
    message = ConsumerProtocolAssignment(assigned_partitions=[Assigned(topic="t", partitions=[2, 0])])
    return encode_prefixed(message, version) + after


def test_a_broker_that_knows_only_classic_groups(client: ScriptedClient) -> None:
    client.answers["DescribeGroups"] = [classic("Stable", assignment())]
    found = Admin(client).describe_group("g")
    assert (found.type, found.state, found.assignor, found.coordinator) == ("classic", "Stable", "range", 1)
    assert found.members[0].assignment == [PLACE, TopicPartition("t", 2)]
    assert found.is_live


def test_who_knows_that_a_group_is_classic_asks_once(client: ScriptedClient) -> None:
    client.answers["DescribeGroups"] = [classic("Stable")]
    Admin(client).describe_groups(["g"], {"g": "classic"})
    assert client.requests(ConsumerGroupDescribeRequest) == []


def test_an_old_broker_calls_a_group_dead_that_is_not_there(client: ScriptedClient) -> None:
    client.answers["DescribeGroups"] = [classic("Dead")]
    with pytest.raises(ClientError, match="GROUP_ID_NOT_FOUND; look with `tidelog groups list`"):
        Admin(client).describe_group("g")


def test_groups_of_other_kinds_have_assignments_of_their_own(client: ScriptedClient) -> None:
    client.answers["DescribeGroups"] = [classic("Stable", b"\x00\x01whatever", protocol_type="connect")]
    assert Admin(client).describe_group("g").members[0].assignment == []


@pytest.mark.parametrize("data", [b"", b"\x00", b"\x00\x00", b"\x00\x00\xff", b"\x00\x01\x00\x00\x00\x09abc"])
def test_an_assignment_that_makes_no_sense_is_none(data: bytes) -> None:
    assert assigned_by_leader(data) == []


def test_a_newer_assignment_is_read_as_far_as_we_know_it() -> None:
    newer = b"\x00\x09" + assignment()[2:] + b"more"
    assert assigned_by_leader(newer) == [PLACE, TopicPartition("t", 2)]


def test_offsets_go_by_name(client: ScriptedClient) -> None:
    partition = offset_fetch.OffsetFetchResponsePartitions(
        partition_index=0, committed_offset=5, metadata=None, error_code=0
    )
    without = offset_fetch.OffsetFetchResponsePartitions(
        partition_index=1, committed_offset=-1, metadata="", error_code=0
    )
    topic = offset_fetch.OffsetFetchResponseTopics(name="t", partitions=[partition, without])
    group = offset_fetch.OffsetFetchResponseGroup(group_id="g", topics=[topic])
    client.answers["OffsetFetch"] = [offset_fetch.OffsetFetchResponse(groups=[group])]
    assert Admin(client).list_group_offsets("g") == {PLACE: (5, -1, "")}
    assert client.asked[-1][2] == 9  # the highest version in which topics have names


def committed(code: int) -> commit.OffsetCommitResponse:
    partition = commit.OffsetCommitResponsePartition(partition_index=0, error_code=code)
    return commit.OffsetCommitResponse(topics=[commit.OffsetCommitResponseTopic(name="t", partitions=[partition])])


def test_a_group_with_members_is_not_changed_from_outside(client: ScriptedClient) -> None:
    client.answers["OffsetCommit"] = [committed(ErrorCode.UNKNOWN_MEMBER_ID)]
    outcome = Admin(client).alter_group_offsets("g", {PLACE: 3})[PLACE]
    assert isinstance(outcome, ClientError)
    assert outcome.code is ErrorCode.NON_EMPTY_GROUP
    assert str(outcome).endswith("stop its members first; `tidelog groups describe` names them")


def test_a_commit_waits_for_its_coordinator_but_not_for_a_topic(client: ScriptedClient) -> None:
    client.answers["OffsetCommit"] = [committed(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), committed(0)]
    assert Admin(client).alter_group_offsets("g", {PLACE: 3}) == {PLACE: None}
    client.answers["OffsetCommit"] = [committed(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
    asked = len(client.asked)
    outcome = Admin(client).alter_group_offsets("g", {PLACE: 3})[PLACE]
    assert isinstance(outcome, ClientError)
    assert len(client.asked) == asked + 2  # the coordinator, and the commit
