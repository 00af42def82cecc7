"""Records in Kafka's versions, and the check that one record follows from another."""

from typing import Any

import pytest
from tests.unit.coordinator.transaction.scene import ID, Scene

from tidelog.coordinator.record_framing import decode_record
from tidelog.coordinator.requests import TransactionalKeyValue, TransactionMarker
from tidelog.coordinator.transaction.metadata import TransactionMetadata
from tidelog.coordinator.transaction.records import TRANSACTION_RECORDS, TransactionLogValue
from tidelog.coordinator.transaction.states import PREVIOUS_STATES, STATE_NAMES
from tidelog.coordinator.transaction.states import TransactionState as S
from tidelog.coordinator.transaction.transitions import checked


def last_value(scene: Scene) -> TransactionLogValue:
    value = decode_record(TRANSACTION_RECORDS, *scene.log[-1]).value
    assert isinstance(value, TransactionLogValue)
    return value


@pytest.mark.parametrize(("transaction_version", "value_version"), [(0, 0), (1, 1), (2, 1)])
def test_the_clusters_version_says_how_values_are_written(transaction_version: int, value_version: int) -> None:
    scene = Scene(transaction_version=transaction_version)
    producer = scene.init()
    scene.add_v3(producer, "a-0")
    scene.end(producer, commit=True, version=4)
    scene.written()
    assert scene.versions == [value_version] * 4
    assert last_value(scene).previous_producer_id == (7 if value_version else -1)


def test_a_record_that_needs_room_for_version_2_gets_it() -> None:
    """A client speaks version 2 to a cluster that does not: its epochs must not be lost with the coordinator."""
    scene = Scene(transaction_version=0)
    scene.topic_partition(S.ONGOING, (5, 32766), "a-0", version=0)
    assert scene.end((5, 32766), commit=True) == (7, 0)
    assert last_value(scene).next_producer_id == 7
    scene.reload()
    scene.written()
    assert scene.epochs() == (7, 0)
    assert scene.versions == [1, 0]


def test_an_empty_one_has_no_partitions_and_a_complete_one_an_empty_list() -> None:
    scene = Scene()
    producer = scene.init()
    assert last_value(scene).transaction_partitions is None
    scene.add(producer, "a-1", "a-0", "b-3")
    partitions = last_value(scene).transaction_partitions
    assert partitions is not None
    assert [(each.topic, each.partition_ids) for each in partitions] == [("a", [1, 0]), ("b", [3])]
    scene.end(producer, commit=True)
    scene.written()
    assert last_value(scene).transaction_partitions == []
    assert last_value(scene).client_transaction_version == 2


def test_every_state_has_its_number_and_name() -> None:
    assert [STATE_NAMES[S(number)] for number in range(8)] == [
        "Empty",
        "Ongoing",
        "PrepareCommit",
        "PrepareAbort",
        "CompleteCommit",
        "CompleteAbort",
        "Dead",
        "PrepareEpochFence",
    ]


def metadata(state: S, **fields: int) -> TransactionMetadata:
    start_ms = -1 if state is S.EMPTY else 1
    given: dict[str, Any] = {"producer_id": 5, "producer_epoch": 3, "start_ms": start_ms, **fields}
    return TransactionMetadata(transactional_id=ID, timeout_ms=1, last_update_ms=1, state=state, **given)


WRITTEN = [S.EMPTY, S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT, S.COMPLETE_COMMIT, S.COMPLETE_ABORT]


@pytest.mark.parametrize("before", WRITTEN)
@pytest.mark.parametrize("after", WRITTEN)
def test_only_what_may_follow_is_written(before: S, after: S) -> None:
    if before in PREVIOUS_STATES[after]:
        checked(metadata(before), metadata(after))
    else:
        with pytest.raises(AssertionError):
            checked(metadata(before), metadata(after))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (metadata(S.EMPTY), metadata(S.EMPTY, producer_epoch=2)),
        (metadata(S.EMPTY), metadata(S.EMPTY, producer_epoch=5)),
        (metadata(S.EMPTY), metadata(S.EMPTY, producer_id=6, producer_epoch=0)),
        (metadata(S.EMPTY), metadata(S.EMPTY, producer_epoch=-1)),
        (metadata(S.EMPTY), metadata(S.ONGOING, producer_epoch=4)),
        (metadata(S.ONGOING), metadata(S.PREPARE_ABORT, producer_epoch=32768)),
        (metadata(S.ONGOING), metadata(S.PREPARE_ABORT, producer_epoch=2)),
        (metadata(S.ONGOING), metadata(S.PREPARE_ABORT, producer_id=6)),
        (metadata(S.PREPARE_ABORT), metadata(S.COMPLETE_ABORT, producer_id=6)),
        (metadata(S.PREPARE_ABORT), metadata(S.COMPLETE_ABORT, producer_epoch=4)),
        (metadata(S.PREPARE_ABORT), metadata(S.COMPLETE_ABORT, start_ms=-1)),
        (None, metadata(S.ONGOING)),
    ],
)
def test_no_epoch_goes_back_leaps_or_changes_hands(
    before: TransactionMetadata | None, after: TransactionMetadata
) -> None:
    with pytest.raises(AssertionError):
        checked(before, after)


def test_a_tombstone_leaves_nothing() -> None:
    scene = Scene()
    scene.init()
    scene.log.append((scene.log[0][0], None))
    machine = scene.load()
    assert (machine.durable(), list(machine.open_transactions())) == ({}, [])


def test_what_tools_wrote_into_this_log_does_no_harm() -> None:
    """A directory of Apache's may have such records, and the node must come up."""
    scene = Scene()
    scene.init()
    before = scene.machine.durable()
    scene.machine.replay(TransactionMarker(1, 1, True, 1, 1))
    assert scene.machine.durable() == before
    record = decode_record(TRANSACTION_RECORDS, scene.log[0][0], None)
    scene.machine.replay(TransactionalKeyValue(1, 1, record.key, None))
    assert scene.machine.durable() == {}
