"""A request gets the same bytes in slices and in one go, for every API and every array of its requests.

Two nodes from one seed get the same requests. One of them takes everything in one go.
"""

from bisect import bisect_right
from typing import Any

import pytest
from tests.support.giant_requests import array_paths, elements_each, giant
from tests.support.raw_connection import Raw, raw_request
from tests.unit.server.conftest import COORDINATING

from tidelog.protocol.api import ApiKey
from tidelog.protocol.codec import decode, encode
from tidelog.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.find_coordinator import FindCoordinatorRequest
from tidelog.protocol.messages.produce import ProduceRequest
from tidelog.protocol.messages.registry import REQUESTS, RESPONSES
from tidelog.protocol.schema import schema_of
from tidelog.server.requests import dispatch
from tidelog.server.requests.element_limits import WHOLE_ELEMENTS_MAX
from tidelog.server.requests.registry import HANDLERS
from tidelog.sim.node_world import NodeWorld

LOOK_NS = 500_000
PARTITIONS = 40
SIZES = (WHOLE_ELEMENTS_MAX + 1, 2_500)
UNSTABLE = {ApiKey.INIT_PRODUCER_ID: 5}


def world_with_topic() -> NodeWorld:
    world = NodeWorld(seed=81, overrides={**COORDINATING, "auto.create.topics.enable": "false"}, look_ns=LOOK_NS)
    topic = CreatableTopic(name="n0", num_partitions=PARTITIONS, replication_factor=1, assignments=[], configs=[])
    world.client().ask(CreateTopicsRequest(topics=[topic], timeout_ms=60_000), 5)
    for key_type in (0, 1):
        world.client().ask(FindCoordinatorRequest(key="any", key_type=key_type), 3)
    coordinators = world.running.broker.coordinators
    world.wait_for(lambda: (coordinators.groups.machines() and coordinators.transactions.machines()) or None)
    return world


def cases() -> list[Any]:
    found: list[Any] = []
    for api_key in sorted(HANDLERS):
        cls = REQUESTS[api_key]
        version = UNSTABLE.get(ApiKey(api_key), schema_of(cls).versions.highest)
        name = ApiKey(api_key).name
        found += [
            pytest.param(api_key, version, path, id=f"{name}-{'.'.join(path)}") for path in array_paths(cls, version)
        ]
    return found


def framed(request: Any, version: int) -> bytes:
    schema = schema_of(type(request))
    is_flexible = version in schema.flexible
    return raw_request(schema.api_key, version, b"\x00" * is_flexible + encode(request, version))


class Watched:
    """A node, and the time at which each case began by its clock: the two nodes do the same at different times."""

    def __init__(self) -> None:
        self.world = world_with_topic()
        self._began_ms: list[int] = []

    def begin_case(self) -> None:
        self.world.run(5)  # so that what the last case wrote is older
        self._began_ms.append(self.world.clock.wall_ms())

    def written_in(self, timestamp: int) -> Any:
        """Return the case during which that timestamp was written. A time before all cases is the request's own, and is
        returned as it is."""
        case = bisect_right(self._began_ms, timestamp)
        return ("case", case) if case else timestamp

    def comparable(self, api_key: int, version: int, frame: bytes) -> Any:
        """Return the frame without the free space of the disk, and with the case in which something was written in
        place of its time."""
        if api_key not in (ApiKey.DESCRIBE_LOG_DIRS, ApiKey.DESCRIBE_PRODUCERS, ApiKey.LIST_OFFSETS):
            return frame
        response, _ = decode(RESPONSES[api_key], frame, version, 5)
        if api_key == ApiKey.DESCRIBE_LOG_DIRS:
            for result in response.results:
                result.usable_bytes = 0
            return response
        for partition in (each for named in response.topics for each in named.partitions):
            if api_key == ApiKey.LIST_OFFSETS:
                partition.timestamp = self.written_in(partition.timestamp)
            else:
                for producer in partition.active_producers:
                    producer.last_timestamp = self.written_in(producer.last_timestamp)
        return response


@pytest.fixture(scope="module")
def sliced() -> Watched:
    return Watched()


@pytest.fixture(scope="module")
def whole() -> Watched:
    return Watched()


@pytest.mark.parametrize(("api_key", "version", "path"), cases())
def test_the_same_bytes(
    sliced: Watched,
    whole: Watched,
    monkeypatch: pytest.MonkeyPatch,
    api_key: int,
    version: int,
    path: tuple[str, ...],
) -> None:
    cls = REQUESTS[api_key]
    each = elements_each(cls, version, path)
    for size in SIZES:
        for distinct in (True, False):
            request = giant(cls, version, path, size // each + 1, distinct=distinct)
            if isinstance(request, ProduceRequest):
                request.acks = 1
            frame = framed(request, version)
            answers = []
            for watched in (sliced, whole):
                watched.begin_case()
                with monkeypatch.context() as patch:
                    if watched is whole:
                        patch.setattr(dispatch, "WHOLE_BYTES_MAX", 1 << 40)
                    raw = Raw(watched.world)
                    raw.send(frame)
                    answer = raw.frame()
                    watched.world.client_host.close(raw.connection)
                assert answer, "closed"
                answers.append(watched.comparable(api_key, version, answer))
            assert answers[0] == answers[1]
