"""The work that is done on a broker's coordinators, and what its successor is asked to do with the result.

begin     classic groups (a member, a static one, none), a KIP-848 group of two, offsets, tombstones of each kind,
          transactional ids at rest, and one whose transaction is open, with records and offsets in it
go_on     the members are still members, the open transaction is ended, more of everything is added, and another
          transaction left open for the next broker
"""

import time
from dataclasses import dataclass
from typing import Any

from tests.interop.apache.coordinated.members import ClassicMember, ConsumerMember, commit, reconcile
from tests.interop.apache.coordinated.view import view
from tests.interop.apache.transactions.asking import V1, V2, Asking, Producer
from tests.interop.apache.transactions.script import Script
from tests.support.blocking_connection import BlockingConnection

from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.delete_groups import DeleteGroupsRequest
from tidelog.protocol.messages.describe_transactions import DescribeTransactionsRequest
from tidelog.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tidelog.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic

TOPIC = "ledger"
LONG_MS = 600_000
# Transactional ids at rest expire so soon that the first is gone while later ones are made; those outlive the broker.
SHORT_LIVED_IDS = {
    "transactional.id.expiration.ms": "8000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "100",
}
EXPIRY_SECONDS_MAX = 60


@dataclass
class Coordinated:
    """The members, the open transaction and the ids that are carried from one broker to the next."""

    classic: list[ClassicMember]
    consumers: list[ConsumerMember]
    open: Producer
    staged: int  # the offset of group "simple" in partition 0 that the open transaction holds
    groups: list[str]
    transactional_ids: list[str]

    def view(self, wire: BlockingConnection) -> dict[str, Any]:
        return view(wire, TOPIC, self.groups, self.transactional_ids)


def _asking(wire: BlockingConnection, *, is_v2: bool = True) -> Asking:
    return Asking(Script(TOPIC, wire), V2 if is_v2 else V1)


def begin(wire: BlockingConnection) -> Coordinated:
    asking = _asking(wire)
    asking.init("expired")
    classic = [ClassicMember(wire, "classic", TOPIC), ClassicMember(wire, "static", TOPIC, "instance")]
    consumers = [ConsumerMember("modern", "one", [TOPIC]), ConsumerMember("modern", "two", [], "ledg.*")]
    reconcile(wire, consumers)
    classic[0].commit(wire, TOPIC, {0: 10, 1: 11})
    consumers[0].commit(wire, TOPIC, {0: 20})
    commit(wire, "simple", TOPIC, {0: 1, 1: 2})
    commit(wire, "gone", TOPIC, {0: 3})
    _delete(wire, "gone")
    _forget_offset(wire, "simple", 1)
    _await_expiry(wire, "expired")
    open_ = _begin_transactions(asking)
    groups = ["classic", "static", "modern", "simple", "gone", "later", "nobody"]
    transactional_ids = ["committed", "aborted", "idle", "open", "expired", "later"]
    return Coordinated(classic, consumers, open_, 30, groups, transactional_ids)


def _begin_transactions(asking: Asking) -> Producer:
    for transactional_id, is_committed in (("committed", True), ("aborted", False)):
        producer = asking.init(transactional_id, timeout_ms=LONG_MS)
        asking.open(producer)
        asking.open(producer, partition=1)
        asking.end(producer, commit=is_committed)
    asking.init("idle", timeout_ms=LONG_MS)
    open_ = asking.init("open", timeout_ms=LONG_MS)
    _leave_open(asking, open_, 30)
    return open_


def _leave_open(asking: Asking, producer: Producer, offset: int) -> None:
    asking.open(producer)
    if not asking.versions.is_v2:
        asking.add_offsets(producer, "simple")
    asking.commit_offsets(producer, "simple", offset)
    _assert_well(asking)


def go_on(wire: BlockingConnection, there: Coordinated, *, offset: int, is_v2: bool) -> None:
    """Check that every member is as the last broker left it, end its open transaction, and leave another one open that
    stages `offset`."""
    assert [each.beat(wire) for each in there.classic] == [ErrorCode.NONE] * len(there.classic)
    epochs = [each.epoch for each in there.consumers]
    reconcile(wire, there.consumers)
    assert [each.epoch for each in there.consumers] == epochs, "nobody had to be reassigned"
    there.classic[0].commit(wire, TOPIC, {0: offset})
    there.consumers[1].commit(wire, TOPIC, {1: offset})
    commit(wire, "simple", TOPIC, {1: offset})
    _delete(wire, "static", expected=ErrorCode.NON_EMPTY_GROUP)
    _end_open(wire, there)
    asking = _asking(wire, is_v2=is_v2)
    for transactional_id in ("committed", "aborted"):
        producer = asking.init(transactional_id, timeout_ms=LONG_MS)
        asking.open(producer, partition=1)
        asking.end(producer, commit=transactional_id == "aborted")
    there.open = asking.init("later", timeout_ms=LONG_MS)
    _leave_open(asking, there.open, offset)
    there.staged = offset


def _end_open(wire: BlockingConnection, there: Coordinated) -> None:
    """End the transaction that the last broker left open; the offset staged in it counts from then on."""
    topics = [OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0])]
    request = OffsetFetchRequest(group_id="simple", topics=topics, require_stable=True)
    assert wire.ask(request, 7).topics[0].partitions[0].error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT
    asking = _asking(wire)
    asking.end(there.open)
    _assert_well(asking)
    assert wire.ask(request, 7).topics[0].partitions[0].committed_offset == there.staged


def _assert_well(asking: Asking) -> None:
    for step in asking.script.steps:
        codes = [part.split("'")[1] for part in str(step).split("error_code': ")[1:]]
        assert set(codes) <= {"NONE"}, step


def _delete(wire: BlockingConnection, group: str, expected: ErrorCode = ErrorCode.NONE) -> None:
    assert wire.ask(DeleteGroupsRequest(groups_names=[group]), 2).results[0].error_code == expected


def _forget_offset(wire: BlockingConnection, group: str, partition: int) -> None:
    wanted = OffsetDeleteRequestTopic(name=TOPIC, partitions=[OffsetDeleteRequestPartition(partition_index=partition)])
    answer = wire.ask(OffsetDeleteRequest(group_id=group, topics=[wanted]), 0)
    assert (answer.error_code, answer.topics[0].partitions[0].error_code) == (ErrorCode.NONE, ErrorCode.NONE)


def _await_expiry(wire: BlockingConnection, transactional_id: str) -> None:
    deadline = time.monotonic() + EXPIRY_SECONDS_MAX
    request = DescribeTransactionsRequest(transactional_ids=[transactional_id])
    while wire.ask(request, 0).transaction_states[0].error_code != ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
        assert time.monotonic() < deadline
        time.sleep(0.05)
