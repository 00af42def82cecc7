"""An API in ApiVersions is a promise: every one of them is answered, at every version, on each listener."""

from typing import Any

import pytest
from tests.support.message_builder import MessageBuilder, seed_of, smallest

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.api_versions import ApiVersionsRequest
from tidelog.protocol.messages.produce import ProduceRequest
from tidelog.protocol.messages.registry import REQUESTS
from tidelog.protocol.schema import schema_of
from tidelog.server.requests.registry import HANDLERS
from tidelog.sim.node_world import CONTROLLER_PORT, PORT, NodeWorld

BUILDS = 2


def advertised(world: NodeWorld, port: int) -> dict[int, tuple[int, int]]:
    request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
    response = world.client(port).ask(request, 4)
    return {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}


def codes_in(value: Any) -> list[int]:
    """Return every error code of a response, however deep."""
    if isinstance(value, list):
        return [code for each in value for code in codes_in(each)]
    if not hasattr(type(value), "__schema__"):
        return []
    found: list[int] = []
    for field in schema_of(type(value)).fields:
        held = getattr(value, field.name)
        found += [held] if field.name == "error_code" else codes_in(held)
    return found


def is_answered(request: Any) -> bool:
    return not (isinstance(request, ProduceRequest) and request.acks == 0)


def requests_of(cls: type, version: int) -> list[Any]:
    built = [MessageBuilder(version, seed_of(cls.__name__, version, build)).build(cls) for build in range(BUILDS)]
    return [each for each in (smallest(cls), *built) if is_answered(each)]


@pytest.mark.parametrize("port", [PORT, CONTROLLER_PORT])
@pytest.mark.parametrize("api_key", sorted(HANDLERS))
def test_every_version_is_answered_and_never_with_an_internal_error(node: NodeWorld, api_key: int, port: int) -> None:
    cls = REQUESTS[api_key]
    _lowest, highest = advertised(node, port).get(api_key, (0, -1))
    for version in range(schema_of(cls).versions.lowest, highest + 1):
        client = node.client(port)
        for request in requests_of(cls, version):
            assert ErrorCode.UNKNOWN_SERVER_ERROR not in codes_in(client.ask(request, version)), request
        client.close()


def test_the_ranges_are_those_of_kafka_4_3(node: NodeWorld) -> None:
    assert advertised(node, PORT) == {
        0: (0, 13),
        1: (4, 18),
        2: (1, 11),
        3: (0, 13),
        8: (2, 10),
        9: (1, 10),
        10: (0, 6),
        11: (0, 9),
        12: (0, 4),
        13: (0, 5),
        14: (0, 5),
        15: (0, 6),
        16: (0, 5),
        18: (0, 4),
        19: (2, 7),
        20: (1, 6),
        21: (0, 2),
        22: (0, 6),  # Kafka keeps 6 back as unstable; two-phase participation needs it
        23: (2, 4),
        24: (0, 5),
        25: (0, 4),
        26: (0, 5),
        27: (1, 2),
        28: (0, 5),
        32: (1, 4),
        33: (0, 2),
        34: (1, 2),
        35: (1, 5),
        37: (0, 3),
        42: (0, 2),
        44: (0, 1),
        47: (0, 0),
        55: (0, 2),
        57: (0, 2),
        60: (0, 2),
        61: (0, 0),
        64: (0, 0),
        65: (0, 0),
        66: (0, 2),
        68: (0, 1),
        69: (0, 1),
        74: (0, 1),
        75: (0, 0),
    }


def test_a_controllers_listener_serves_what_a_controller_answers(node: NodeWorld) -> None:
    assert sorted(advertised(node, CONTROLLER_PORT)) == [18, 19, 20, 32, 33, 37, 44, 55, 57, 60, 64]
