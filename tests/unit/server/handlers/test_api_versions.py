"""ApiVersions, and the answers to requests that are not served."""

import struct

import pytest
from tests.support.message_builder import smallest
from tests.support.raw_connection import Raw, raw_request

from tidelog.model.errors import ErrorCode
from tidelog.protocol.codec import decode
from tidelog.protocol.control_records import KRaftVersionRecord
from tidelog.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tidelog.protocol.messages.metadata import MetadataRequest
from tidelog.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from tidelog.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from tidelog.sim.node_world import NodeWorld, SimClient


@pytest.mark.parametrize("version", [5, 127, 32767, -1])
def test_an_unknown_version_is_answered_in_version_0_with_the_versions_that_there_are(
    node: NodeWorld, version: int
) -> None:
    raw = Raw(node)
    raw.send(raw_request(18, version, b"\x00whatever a later version has"))
    frame = raw.frame()
    assert struct.unpack_from(">i", frame) == (77,)
    response, end = decode(ApiVersionsResponse, bytearray(frame), 0, 4, len(frame))
    assert end == len(frame)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(each.api_key, each.min_version, each.max_version) for each in response.api_keys] == [(18, 0, 4)]


@pytest.mark.parametrize("version", range(5))
def test_the_header_stays_version_0(node: NodeWorld, version: int) -> None:
    """A flexible header would have a byte of tags between the correlation id and the error."""
    raw = Raw(node)
    raw.send(raw_request(18, version, b"\x00\x02a\x021\x00" if version >= 3 else b""))
    frame = raw.frame()
    assert struct.unpack_from(">ih", frame) == (77, ErrorCode.NONE)
    response, _end = decode(ApiVersionsResponse, bytearray(frame), version, 4, len(frame))
    assert len(response.api_keys) > 20


@pytest.mark.parametrize("name", ["", "-a", "a-", "a b", "a/b", "ä", "a\n"])
def test_what_a_client_may_call_itself(client: SimClient, name: str) -> None:
    for request in (
        ApiVersionsRequest(client_software_name=name, client_software_version="1"),
        ApiVersionsRequest(client_software_name="a", client_software_version=name),
    ):
        response = client.ask(request, 3)
        assert (response.error_code, response.api_keys) == (ErrorCode.INVALID_REQUEST, [])


def test_before_version_3_nobody_says_a_name(client: SimClient) -> None:
    request = ApiVersionsRequest(client_software_name="", client_software_version="")
    assert client.ask(request, 2).error_code == ErrorCode.NONE


def test_features_with_level_0_are_only_told_to_who_can_read_them(client: SimClient) -> None:
    request = ApiVersionsRequest(client_software_name="a", client_software_version="1.0-b")
    old, new = client.ask(request, 3), client.ask(request, 4)
    assert all(each.min_version > 0 for each in old.supported_features)
    assert {each.name for each in old.supported_features} < {each.name for each in new.supported_features}
    levels = {each.name: each.max_version_level for each in new.finalized_features}
    assert levels["metadata.version"] == 30
    assert new.finalized_features_epoch > 0


def test_the_kraft_version_is_told_where_the_voters_are_in_the_log() -> None:
    world = NodeWorld(seed=8)
    request = ApiVersionsRequest(client_software_name="a", client_software_version="1")

    def told() -> dict[str, int]:
        return {each.name: each.max_version_level for each in world.client().ask(request, 4).finalized_features}

    assert "kraft.version" not in told()
    world.running.broker.quorum.quorum.history.observe(0, KRaftVersionRecord(version=0, kraft_version=1))
    assert told()["kraft.version"] == 1


def test_an_api_that_is_not_served_yet_is_refused_in_its_own_words(client: SimClient) -> None:
    response = client.ask(smallest(ShareGroupHeartbeatRequest), 1)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert client.ask(MetadataRequest(topics=[]), 9).error_code == ErrorCode.NONE  # and the connection still works


def test_where_the_response_has_no_place_for_it_the_connection_ends(client: SimClient) -> None:
    client.send(smallest(ShareGroupDescribeRequest), 1)
    with pytest.raises(EOFError):
        client.receive()


@pytest.mark.parametrize(("api_key", "version"), [(4, 0), (7, 1), (999, 0), (-1, 0), (1, 3), (1, 19), (0, -1), (3, 99)])
def test_what_nobody_could_answer_ends_the_connection(node: NodeWorld, api_key: int, version: int) -> None:
    raw = Raw(node)
    raw.send(raw_request(18, 0) + raw_request(api_key, version, bytes(20)))
    assert raw.frame() != b""  # the request before it is answered
    assert raw.frame() == b""
