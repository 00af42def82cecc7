"""Transactions of a partition: what opens and ends one, which markers are too late, and how far stable reads go."""

import pytest
from tests.unit.storage.producing import MAX_EPOCH, REPLICATION, Partition, marker

from tidelog.config.catalogue import BROKER
from tidelog.model.errors import ErrorCode
from tidelog.storage.producers.state import CompletedTransaction, ProducerStateConfig

NONE, STALE_EPOCH = ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_EPOCH
FENCED, INVALID_STATE = ErrorCode.TRANSACTION_COORDINATOR_FENCED, ErrorCode.INVALID_TXN_STATE


def test_the_first_transactional_batch_opens_and_the_marker_ends() -> None:
    partition = Partition()
    partition.send(producer_id=7, sequence=0)
    partition.send(sequence=0, count=2, txn=True)
    partition.send(sequence=2, txn=True)
    assert partition.state.first_unstable_offset == 1
    assert partition.state.has_ongoing_transaction(1, 0)
    assert partition.end_txn(commit=False) is NONE
    assert not partition.state.has_ongoing_transaction(1, 0)
    assert partition.completed == [CompletedTransaction(1, 1, 4, True, 5)]


def test_a_commit_completes_too_and_is_no_abort() -> None:
    partition = Partition()
    partition.send(txn=True)
    partition.end_txn(commit=True)
    assert partition.completed == [CompletedTransaction(1, 0, 1, False, 2)]


def test_a_marker_without_data_completes_nothing() -> None:
    partition = Partition()
    assert partition.end_txn(epoch=5, coordinator_epoch=3, commit=False, timestamp=8) is NONE
    assert partition.completed == []
    assert partition.state.first_unstable_offset is None
    entry = partition.state.producers[1]
    assert (entry.producer_epoch, entry.coordinator_epoch, entry.last_timestamp) == (5, 3, 8)


def test_a_control_batch_that_compaction_has_emptied_says_nothing() -> None:
    partition = Partition()
    partition.send(txn=True)
    emptied = marker(partition.end, epoch=9)
    emptied.marker = None
    assert partition.append(emptied, REPLICATION) is None
    assert partition.state.producers[1].producer_epoch == 0
    assert partition.state.first_unstable_offset == 0


def test_inside_a_transaction_nothing_else_is_written() -> None:
    partition = Partition()
    partition.send(sequence=0, txn=True)
    assert partition.send(sequence=1, txn=False) is INVALID_STATE
    assert partition.send(sequence=1, txn=False, origin=REPLICATION) is INVALID_STATE
    assert partition.send(sequence=1, txn=True) is NONE


def test_the_sequence_goes_on_behind_a_marker_of_the_same_epoch() -> None:
    partition = Partition()
    partition.send(sequence=0, count=2, txn=True)
    partition.end_txn(epoch=0)
    assert partition.send(sequence=0, count=2, txn=True) == (0, 1)
    assert partition.send(sequence=0, txn=True) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert partition.send(sequence=2, txn=True) is NONE


def test_the_sequence_starts_anew_behind_a_marker_of_a_higher_epoch() -> None:
    partition = Partition()
    partition.send(sequence=0, count=2, txn=True)
    partition.end_txn(epoch=1, version=2)
    assert partition.state.producers[1].batches == ()
    assert partition.send(epoch=0, sequence=2, txn=True) is STALE_EPOCH
    assert partition.send(epoch=1, sequence=2, txn=True) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert partition.send(epoch=1, sequence=0, txn=True) is NONE


@pytest.mark.parametrize(
    ("version", "epoch", "expected"),
    [
        (0, 2, STALE_EPOCH),
        (0, 3, NONE),
        (1, 2, STALE_EPOCH),
        (1, 3, NONE),
        (1, 4, NONE),
        (2, 2, STALE_EPOCH),
        (2, 3, STALE_EPOCH),  # a marker of the transaction before the open one
        (2, 4, NONE),
    ],
)
def test_which_epoch_ends_an_open_transaction(version: int, epoch: int, expected: ErrorCode) -> None:
    partition = Partition()
    partition.send(epoch=3, txn=True)
    assert partition.end_txn(epoch=epoch, version=version) is expected


def test_the_same_marker_again_is_accepted_when_nothing_is_open() -> None:
    """The answer to the marker was lost, or the coordinator moved: it must be able to send it again."""
    partition = Partition()
    partition.send(epoch=3, txn=True)
    partition.end_txn(epoch=4, version=2)
    assert partition.end_txn(epoch=4, version=2) is NONE
    assert partition.end_txn(epoch=3, version=2) is STALE_EPOCH
    assert len(partition.completed) == 1


def test_the_highest_epoch_can_end_what_it_began() -> None:
    partition = Partition()
    partition.send(epoch=MAX_EPOCH, txn=True)
    assert partition.end_txn(epoch=MAX_EPOCH, version=2) is NONE
    assert len(partition.completed) == 1


def test_a_coordinator_that_was_replaced_is_fenced() -> None:
    partition = Partition()
    partition.end_txn(coordinator_epoch=5)
    assert partition.end_txn(coordinator_epoch=4) is FENCED
    assert partition.end_txn(coordinator_epoch=5) is NONE
    assert partition.end_txn(coordinator_epoch=6) is NONE


def test_a_stale_epoch_is_said_before_a_stale_coordinator() -> None:
    partition = Partition()
    partition.end_txn(epoch=3, coordinator_epoch=5)
    assert partition.end_txn(epoch=2, coordinator_epoch=4) is STALE_EPOCH


def test_markers_of_the_leader_are_taken_as_they_are() -> None:
    partition = Partition()
    partition.send(epoch=3, txn=True)
    partition.end_txn(epoch=3, coordinator_epoch=5)
    assert partition.end_txn(epoch=1, coordinator_epoch=2, version=None, origin=REPLICATION) is NONE
    entry = partition.state.producers[1]
    assert (entry.producer_epoch, entry.coordinator_epoch) == (1, 2)


def test_a_marker_of_ours_must_say_its_version() -> None:
    with pytest.raises(ValueError, match="transaction version"):
        Partition().end_txn(version=None)


def test_unstable_until_the_marker_is_replicated() -> None:
    partition = Partition()
    partition.send(txn=True)
    partition.end_txn()
    assert partition.state.first_undecided_offset is None
    assert partition.state.first_unstable_offset == 0
    partition.state.advance_high_watermark(1)
    assert partition.state.first_unstable_offset == 0
    partition.state.advance_high_watermark(2)
    assert partition.state.first_unstable_offset is None


def test_a_state_is_empty_without_producers_and_without_unreplicated_ends() -> None:
    partition = Partition(expiration_ms=1_000)
    emptiness = [partition.state.is_empty]
    partition.send(txn=True)
    emptiness.append(partition.state.is_empty)
    partition.end_txn()
    partition.state.expire(1_000)
    emptiness.append(partition.state.is_empty)
    partition.state.advance_high_watermark(2)
    emptiness.append(partition.state.is_empty)
    assert emptiness == [True, False, False, True]


def test_the_oldest_of_several_decides() -> None:
    partition = Partition()
    partition.send(producer_id=1, txn=True)  # 0
    partition.send(producer_id=2, txn=True)  # 1
    partition.send(producer_id=3, txn=True)  # 2
    partition.end_txn(producer_id=2)  # 3
    assert (partition.state.first_undecided_offset, partition.state.first_unstable_offset) == (0, 0)
    partition.end_txn(producer_id=1)  # 4
    assert (partition.state.first_undecided_offset, partition.state.first_unstable_offset) == (2, 0)
    partition.state.advance_high_watermark(4)  # the marker at 3 is safe, the one at 4 not
    assert partition.state.first_unstable_offset == 0
    partition.state.advance_high_watermark(5)
    assert partition.state.first_unstable_offset == 2


def test_an_unreplicated_transaction_may_be_older_than_one_whose_marker_came_first() -> None:
    partition = Partition()
    partition.send(producer_id=1, txn=True)  # 0
    partition.send(producer_id=2, txn=True)  # 1
    partition.end_txn(producer_id=2)  # 2
    partition.end_txn(producer_id=1)  # 3
    partition.state.advance_high_watermark(3)
    assert partition.state.first_unstable_offset == 0


def test_the_last_stable_offset_of_an_end_is_the_next_open_start() -> None:
    partition = Partition()
    partition.send(producer_id=1, txn=True)  # 0
    partition.send(producer_id=2, txn=True)  # 1
    partition.end_txn(producer_id=1, commit=False)  # 2
    partition.end_txn(producer_id=2, commit=False)  # 3
    assert [(c.first_offset, c.last_stable_offset) for c in partition.completed] == [(0, 1), (1, 4)]


def test_the_log_start_leaves_replicated_ends_behind() -> None:
    partition = Partition()
    partition.send(txn=True)
    partition.end_txn()
    partition.state.advance_log_start(2, None)
    assert partition.state.first_unstable_offset is None
    assert (partition.end, partition.state.snapshot_offset) == (2, 2)
    partition.state.advance_log_start(9, 5)
    assert (partition.end, partition.state.snapshot_offset) == (9, 5)


def test_a_hanging_transaction_is_late() -> None:
    partition = Partition()
    limit = 900_000 + 300_000  # transaction.max.timeout.ms, and five minutes of grace
    assert not partition.state.has_late_transaction(10**12)
    partition.send(txn=True, timestamp=1_000)
    assert not partition.state.has_late_transaction(1_000 + limit)
    assert partition.state.has_late_transaction(1_001 + limit)
    partition.end_txn()
    assert not partition.state.has_late_transaction(10**12)


def test_the_defaults_are_the_declared_ones() -> None:
    config = ProducerStateConfig()
    assert config.expiration_ms == BROKER["producer.id.expiration.ms"].default
    assert config.verification_enabled == BROKER["transaction.partition.verification.enable"].default
    assert config.max_transaction_timeout_ms == BROKER["transaction.max.timeout.ms"].default
