"""Finding coordinators and asking them: which errors are waited out, and for how long."""

import pytest
from tests.unit.client.scripted import ScriptedClient, coordinator

from tidelog.client.admin.admin_client import Admin
from tidelog.client.coordinators import CoordinatorClient, CoordinatorType
from tidelog.client.errors import ClientError, TimedOut
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from tidelog.protocol.messages.find_coordinator import FindCoordinatorRequest


def deleted(code: int) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(throttle_time_ms=0, results=[DeletableGroupResult(group_id="g", error_code=code)])


@pytest.fixture
def client() -> ScriptedClient:
    client = ScriptedClient(nodes=3)
    client.answers["FindCoordinator"] = [coordinator("g", 2)]
    return client


def test_one_that_is_not_available_yet_is_waited_for(client: ScriptedClient) -> None:
    not_yet = coordinator("g", -1, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    client.answers["FindCoordinator"] = [not_yet, not_yet, coordinator("g", 3)]
    began_ms = client.now_ms()
    assert CoordinatorClient(client, CoordinatorType.GROUP).find("g") == 3
    assert client.now_ms() > began_ms
    (asked, *_) = client.requests(FindCoordinatorRequest)
    assert (asked.key_type, asked.coordinator_keys) == (0, ["g"])


def test_it_is_looked_up_once_until_it_moves(client: ScriptedClient) -> None:
    client.answers["FindCoordinator"] = [coordinator("g", 2), coordinator("g", 3)]
    client.answers["DeleteGroups"] = [deleted(0), deleted(ErrorCode.NOT_COORDINATOR), deleted(0)]
    admin = Admin(client)
    assert admin.delete_groups(["g"]) == {"g": None}
    assert admin.delete_groups(["g"]) == {"g": None}
    asked = [node for node, request, _ in client.asked if isinstance(request, DeleteGroupsRequest)]
    assert asked == [2, 2, 3]
    assert len(client.requests(FindCoordinatorRequest)) == 2


def test_one_that_loads_stays_the_one_to_ask(client: ScriptedClient) -> None:
    client.answers["DeleteGroups"] = [deleted(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), deleted(0)]
    assert Admin(client).delete_groups(["g"]) == {"g": None}
    assert len(client.requests(FindCoordinatorRequest)) == 1


def test_a_connection_that_breaks_is_no_answer(client: ScriptedClient) -> None:
    broken = ClientError(ErrorCode.NETWORK_EXCEPTION, "", "broker 2")
    client.answers["DeleteGroups"] = [broken, deleted(0)]
    assert Admin(client).delete_groups(["g"]) == {"g": None}
    assert len(client.requests(FindCoordinatorRequest)) == 2


def test_what_lasts_is_given_up_with_the_last_that_was_heard() -> None:
    client = ScriptedClient(retry_timeout_ms=3_000)
    client.answers["FindCoordinator"] = [coordinator("g", 1)]
    client.answers["DeleteGroups"] = [deleted(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)]
    began_ms = client.now_ms()
    outcome = Admin(client).delete_groups(["g"])["g"]
    assert isinstance(outcome, TimedOut)
    assert outcome.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert "delete group g (broker 1 at host:9092)" in str(outcome)
    assert "try again; the coordinator has just moved" in str(outcome)
    assert 3_000 <= client.now_ms() - began_ms < 5_000


def test_nobody_to_be_found_in_time() -> None:
    client = ScriptedClient(retry_timeout_ms=3_000)
    client.answers["FindCoordinator"] = [coordinator("g", -1, ErrorCode.COORDINATOR_NOT_AVAILABLE)]
    with pytest.raises(ClientError, match=r"find the coordinator of group g .*COORDINATOR_NOT_AVAILABLE.*try again"):
        Admin(client).describe_group("g")


def test_a_coordinator_that_never_will_be_is_not_waited_for() -> None:
    client = ScriptedClient()
    reason = "offsets.topic.replication.factor=3, but there is only 1 broker: __consumer_offsets cannot be created"
    client.answers["FindCoordinator"] = [coordinator("g", -1, ErrorCode.COORDINATOR_NOT_AVAILABLE, reason)]
    began_ms = client.now_ms()
    with pytest.raises(ClientError) as caught:
        Admin(client).describe_group("g")
    assert str(caught.value).endswith(reason)
    assert client.now_ms() == began_ms
    assert len(client.requests(FindCoordinatorRequest)) == 1


def test_what_does_not_pass_is_told_at_once(client: ScriptedClient) -> None:
    client.answers["DeleteGroups"] = [deleted(ErrorCode.NON_EMPTY_GROUP)]
    outcome = Admin(client).delete_groups(["g"])["g"]
    assert isinstance(outcome, ClientError)
    assert "stop its members first" in str(outcome)
    assert len(client.requests(DeleteGroupsRequest)) == 1
