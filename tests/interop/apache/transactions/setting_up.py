"""A broker made ready for the scenarios: a topic for each, and coordinators that are at work."""

import contextlib
import time

from tests.interop.apache.transactions.script import Wire

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tidelog.protocol.messages.find_coordinator import FindCoordinatorRequest
from tidelog.protocol.messages.init_producer_id import InitProducerIdRequest
from tidelog.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup

READY_SECONDS_MAX = 30
GROUP, TRANSACTION = 0, 1


def prepare(bootstrap: str, topics: list[str]) -> None:
    with contextlib.closing(Wire(bootstrap)) as wire:
        _create(wire, topics)
        _await_coordinator(wire, GROUP)
        _await_coordinator(wire, TRANSACTION)
        _await_groups(wire)
        _await_transactions(wire)


def _create(wire: Wire, topics: list[str]) -> None:
    wanted = [
        CreatableTopic(name=name, num_partitions=2, replication_factor=1, assignments=[], configs=[]) for name in topics
    ]
    answer = wire.ask(CreateTopicsRequest(topics=wanted), 7)
    assert {each.error_code for each in answer.topics} == {ErrorCode.NONE}, answer


def _await_coordinator(wire: Wire, key_type: int) -> None:
    """Its topic is created when it is first asked for."""
    deadline = time.monotonic() + READY_SECONDS_MAX
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["warm-up"])
    while wire.ask(request, 4).coordinators[0].error_code:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _await_groups(wire: Wire) -> None:
    deadline = time.monotonic() + READY_SECONDS_MAX
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="warm-up", topics=[])])
    while wire.ask(request, 8).groups[0].error_code:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _await_transactions(wire: Wire) -> None:
    deadline = time.monotonic() + READY_SECONDS_MAX
    request = InitProducerIdRequest(transactional_id="warm-up", transaction_timeout_ms=10_000)
    while wire.ask(request, 4).error_code:
        assert time.monotonic() < deadline
        time.sleep(0.05)
