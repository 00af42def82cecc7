"""Readers of committed records, operators who look on or write markers by hand, and timeouts that end open
transactions."""

from functools import partial

from tests.interop.apache.transactions.asking import FIRST_TIMESTAMP, V1, V2, Asking, Producer, Versions
from tests.interop.apache.transactions.offset_scenarios import committed
from tests.interop.apache.transactions.script import Scenario, Script

from tidelog.protocol.messages.list_transactions import ListTransactionsRequest
from tidelog.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

READ_UNCOMMITTED = 0
EARLIEST, LATEST, MAX_TIMESTAMP = -2, -1, -3
SHORT_MS = 1_000


def reads(script: Script, versions: Versions) -> None:
    """Three producers write to one partition: one commits, one aborts, one stays open."""
    asking = Asking(script, versions)
    one, two, three = (asking.init(f"{asking.id}-{number}") for number in range(3))
    plain = asking.init(None)
    asking.produce(plain, 0)
    asking.open(one)
    asking.open(two)
    asking.produce(plain, 1)
    asking.open(three)
    _read_all(asking)
    asking.end(two, commit=False)
    _read_all(asking)
    asking.end(one)
    _read_all(asking)
    three = asking.end(three, commit=False)
    _read_all(asking)
    asking.open(three, 0 if versions.is_v2 else 1)
    asking.end(three, commit=False)
    _read_all(asking)


def _read_all(asking: Asking) -> None:
    for version in (4, 7, 11, 12):
        asking.fetch(version=version)
    asking.fetch(isolation=READ_UNCOMMITTED)
    for offset in (2, 4, 6):
        asking.fetch(offset)
    for timestamp in (LATEST, EARLIEST, MAX_TIMESTAMP, FIRST_TIMESTAMP, FIRST_TIMESTAMP + 1):
        asking.offset(timestamp)
        asking.offset(timestamp, isolation=READ_UNCOMMITTED)
    for version in (2, 5, 11):
        asking.offset(version=version)
    asking.fetch(100)


def lists(script: Script, version: int) -> None:
    asking = Asking(script)
    script_ids = [f"{script.name}-{state}" for state in ("empty", "open", "committed", "aborted")]
    empty, open_, committed, aborted = (asking.init(each) for each in script_ids)
    asking.open(open_, partition=1)
    asking.open(open_)
    asking.open(committed)
    asking.end(committed)
    asking.open(aborted)
    asking.end(aborted, commit=False)
    mine = [each.producer_id for each in (empty, open_, committed, aborted)]

    def ask(
        why: str, states: list[str], producer_ids: list[int], duration_ms: int = -1, pattern: str | None = None
    ) -> None:
        request = ListTransactionsRequest(state_filters=states, producer_id_filters=producer_ids)
        if version >= 1:
            request.duration_filter = duration_ms
        if version >= 2:
            request.transactional_id_pattern = pattern
        script.ask(request, version, why)

    ask("mine", [], mine)
    ask("open", ["Ongoing"], mine)
    ask("two states", ["CompleteAbort", "Empty"], mine)
    ask("a state that does not exist", ["Confused"], mine)
    ask("one that does not exist, and one that does, twice", ["Confused", "Ongoing", "Ongoing", "Confused"], mine)
    ask("states of all kinds", ["Dead", "PrepareEpochFence", "PrepareCommit", "ongoing", ""], mine)
    ask("an unknown producer", [], [987_654_321])
    ask("one of them", [], [open_.producer_id, 987_654_321])
    if version >= 1:
        ask("older than nothing", [], mine, 0)
        ask("older than an hour", [], mine, 3_600_000)
    if version >= 2:
        ask("by name", [], [], -1, f"{script.name}-(open|empty)")
        ask("by a part of the name: no match", [], [], -1, f"{script.name}-ope")
        ask("an empty pattern", [], mine, -1, "")
        ask("no pattern", [], mine, -1, "(")
    asking.describe(*script_ids, "nobody", "")
    asking.describe()
    asking.describe(script_ids[0], script_ids[0])


def describes_producers(script: Script) -> None:
    asking = Asking(script)
    asking.producers(0, 1, 2, -1, why="two of them are not there")
    asking.producers(0, topic="no-such-topic")
    asking.producers(0, topic="not a name!")
    asking.producers()
    plain, first = asking.init(None), asking.init(asking.id)
    asking.produce(plain, 5)
    asking.open(first)
    asking.producers(0, 1)
    after = asking.end(first)
    asking.producers(0)
    asking.open(after)
    asking.producers(0)
    asking.end(after, commit=False)
    asking.producers(0)


def markers(script: Script, version: int) -> None:
    """Markers come from an operator who ends a hanging transaction, and from a coordinator with an old epoch."""
    asking = Asking(script)

    def mark(producer: Producer, why: str, **options: int) -> None:
        asking.write_markers(producer, why=why, version=version, transaction_version=0, **options)  # type: ignore[arg-type]

    mark(Producer(None, 555, 0), "a producer that the partition does not know")
    asking.producers(0)
    producer = asking.init(asking.id)
    asking.open(producer)
    mark(producer.at(producer.epoch), "aborted by hand", coordinator_epoch=3)
    asking.look(asking.id)
    asking.produce(producer, 1, why="it goes on: the coordinator still has it")
    mark(producer, "a coordinator from the past", coordinator_epoch=2)
    mark(producer, "of the same epoch", coordinator_epoch=3)
    asking.produce(producer, 2)
    mark(producer.at(producer.epoch + 1), "a higher producer epoch", coordinator_epoch=3)
    asking.look(asking.id)
    mark(producer, "a lower producer epoch", coordinator_epoch=4)
    mark(producer.at(producer.epoch + 2), "not in this partition", coordinator_epoch=4, partitions=[0, 1, 2])  # type: ignore[arg-type]
    asking.write_markers(producer, topic="no-such-topic", version=version, coordinator_epoch=4)
    asking.write_markers(Producer(None, -1, -1), version=version, why="nobody's")
    asking.look(asking.id)


def markers_of_version_2(script: Script) -> None:
    """Under transaction version 2 a marker has a higher producer epoch than the data."""
    asking = Asking(script)
    producer = asking.init(asking.id)
    asking.open(producer)
    asking.write_markers(producer, why="the epoch of the data")
    asking.write_markers(producer.at(producer.epoch + 1), why="the next one")
    asking.write_markers(producer.at(producer.epoch + 1), why="again")
    asking.write_markers(producer.at(producer.epoch + 1), commit=True, why="again, the opposite")
    asking.write_markers(producer, why="one that is over")
    asking.look(asking.id)
    asking.end(producer)
    asking.look(asking.id)


def markers_for_offsets(script: Script, transaction_version: int) -> None:
    """Markers are written by hand into the partition of a group's offsets; its coordinator has to notice them."""
    asking, group = Asking(script), f"{script.name}-group"
    offsets = {"topic": "__consumer_offsets", "transaction_version": transaction_version}
    for commit in (True, False):
        producer = asking.init(asking.id)
        asking.commit_offsets(producer, group, 11 if commit else 12)
        asking.write_markers(producer, commit=commit, why="of its own epoch", **offsets)  # type: ignore[arg-type]
        committed(asking, group, require_stable=True)
        asking.write_markers(producer.at(producer.epoch + 1), commit=commit, why="of the next", **offsets)  # type: ignore[arg-type]
        committed(asking, group, require_stable=True)
        asking.commit_offsets(producer, group, 13, why="it goes on: the coordinator still has it")
        asking.end(producer, commit=False)
        committed(asking, group, require_stable=True)


def markers_for_the_coordinator(script: Script) -> None:
    asking = Asking(script)
    producer = asking.init(asking.id)
    asking.write_markers(producer, topic="__transaction_state", why="the coordinator's own log")


def several_markers(script: Script) -> None:
    asking = Asking(script)
    one, other = asking.init(f"{asking.id}-one"), asking.init(f"{asking.id}-other")
    for producer in (one, other):
        asking.open(producer)
        asking.open(producer, partition=1)
    wanted = [
        WritableTxnMarker(
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch + 1,
            transaction_result=commit,
            topics=[WritableTxnMarkerTopic(name=asking.topic, partition_indexes=list(partitions))],
            coordinator_epoch=0,
            transaction_version=2,
        )
        for producer, commit, partitions in (
            (one, True, (0,)),
            (other, False, (0, 1)),
            (other._replace(producer_id=77_777), False, (0, 9)),
        )
    ]
    script.ask(WriteTxnMarkersRequest(markers=wanted), 2)
    script.ask(WriteTxnMarkersRequest(markers=[]), 2, "none")
    asking.look(f"{asking.id}-one", f"{asking.id}-other")


def times_out(script: Script, versions: Versions) -> None:
    asking = Asking(script, versions)
    producer = asking.init(asking.id, timeout_ms=SHORT_MS)
    asking.open(producer)
    asking.commit_offsets(producer, asking.id, why="not added in version 1")
    asking.await_abort(asking.id)
    asking.look(asking.id)
    asking.produce(producer, 1, why="timed out, and fenced")
    asking.add(producer, why="timed out, and fenced")
    asking.add_offsets(producer, asking.id, why="timed out, and fenced")
    asking.commit_offsets(producer, asking.id, why="timed out, and fenced")
    asking.end(producer, why="timed out, and fenced")
    asking.end(producer, commit=False, why="timed out, and fenced")
    asking.look(asking.id)
    recovered = asking.init(asking.id, producer, why="it recovers by naming itself")
    asking.init(asking.id, producer, why="and again")
    recovered = asking.init(asking.id, why="anew")
    asking.open(recovered)
    asking.end(recovered)
    asking.look(asking.id)


SCENARIOS: dict[str, Scenario] = {
    "read-committed-v1": partial(reads, versions=V1),
    "read-committed-v2": partial(reads, versions=V2),
    **{f"list-v{version}": partial(lists, version=version) for version in range(3)},
    "producers": describes_producers,
    "markers-v1": partial(markers, version=1),
    "markers-v2": partial(markers, version=2),
    "markers-of-version-2": markers_of_version_2,
    "markers-offsets-v1": partial(markers_for_offsets, transaction_version=0),
    "markers-offsets-v2": partial(markers_for_offsets, transaction_version=2),
    "markers-several": several_markers,
    "markers-coordinator": markers_for_the_coordinator,
    "timeout-v1": partial(times_out, versions=V1),
    "timeout-v2": partial(times_out, versions=V2),
}
