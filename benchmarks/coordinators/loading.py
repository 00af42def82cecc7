"""A million committed offsets at the start of our node: written by real commits, loaded, measured from its start to the
moment when every coordinator answers with what was committed; and the longest turn of the loop meanwhile, of the node's
own time (`broker/timed_node.py`)."""

import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.broker.systems import OURS, System, restarted, running
from benchmarks.coordinators.admin import AdminConnection
from benchmarks.coordinators.frames import COMMIT_VERSION, OFFSET_FETCH_VERSION
from benchmarks.coordinators.measures import SETTINGS, await_coordinators, create_topic
from tidelog.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tidelog.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics

TOPIC = "offsets"
PARTITIONS = 1_000
POLL_SECONDS = 0.005
GIVE_UP_SECONDS = 60


@dataclass(slots=True)
class LoadFigures:
    offsets: int
    seconds: float
    longest_turn_ms: float


def load_offsets(scratch: Path, groups: int) -> LoadFigures:
    """Commit for so many groups an offset in every partition of a topic; start the node again and measure the load."""
    with running(OURS, scratch, SETTINGS) as system:
        create_topic(system, TOPIC, PARTITIONS)
        await_coordinators(system)
        _commit(system, groups)
        system.stop()
        began = time.perf_counter()
        with restarted(system, SETTINGS) as again:
            _wait_until_loaded(again, groups, began)
            seconds = time.perf_counter() - began
    return LoadFigures(groups * PARTITIONS, seconds, again.longest_turn().own_ms)


def _name(group: int) -> str:
    return f"group-{group:04d}"


def _commit(system: System, groups: int) -> None:
    partitions = [
        OffsetCommitRequestPartition(partition_index=index, committed_offset=_offset(index), committed_metadata="")
        for index in range(PARTITIONS)
    ]
    topics = [OffsetCommitRequestTopic(name=TOPIC, partitions=partitions)]
    with AdminConnection(system.port) as admin:
        for group in range(groups):
            request = OffsetCommitRequest(group_id=_name(group), member_id="", topics=topics)
            answer = admin.ask(request, COMMIT_VERSION)
            codes = {each.error_code for each in answer.topics[0].partitions}
            assert codes == {0}, f"{_name(group)}: {codes}"


def _offset(partition: int) -> int:
    return 1_000_000 + partition


def _wait_until_loaded(system: System, groups: int, began: float) -> None:
    admin = _connected(system, began)
    with admin:
        for group in range(0, groups, max(1, groups // 200)):  # more than enough to ask every coordinator
            while not _is_loaded(admin, group):
                if time.perf_counter() - began > GIVE_UP_SECONDS:
                    raise RuntimeError(f"{_name(group)} is not loaded after {GIVE_UP_SECONDS} s")
                time.sleep(POLL_SECONDS)


def _connected(system: System, began: float) -> AdminConnection:
    while True:
        try:
            return AdminConnection(system.port)
        except OSError:
            if time.perf_counter() - began > GIVE_UP_SECONDS:
                raise
            time.sleep(POLL_SECONDS)


def _is_loaded(admin: AdminConnection, group: int) -> bool:
    """Return False while the coordinator says that it loads; raise at any other wrong answer."""
    wanted = OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[0, PARTITIONS - 1])
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=_name(group), topics=[wanted])])
    (answer,) = admin.ask(request, OFFSET_FETCH_VERSION).groups
    if answer.error_code:
        return False
    found = [each.committed_offset for each in answer.topics[0].partitions]
    assert found == [_offset(0), _offset(PARTITIONS - 1)], f"{_name(group)}: {found}"
    return True
