"""Which batch of a producer may follow which: sequence numbers, epochs, the window of duplicates."""

import pytest
from tests.unit.storage.producing import COORDINATOR, MAX_SEQUENCE, REPLICATION, Partition, data

from tidelog.model.errors import ErrorCode
from tidelog.storage.append.outcome import AppendedBatch
from tidelog.storage.producers.append import DuplicateBatch

NONE, OUT_OF_ORDER = ErrorCode.NONE, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
STALE_EPOCH = ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_batch_without_a_producer_leaves_no_trace() -> None:
    partition = Partition()
    assert partition.append(AppendedBatch(0, 4, 0, 100)) is None
    assert partition.state.is_empty
    assert partition.end == 5


def test_sequences_follow_each_other() -> None:
    partition = Partition()
    assert partition.send(sequence=0, count=3) is NONE
    assert partition.send(sequence=3, count=2) is NONE
    assert partition.send(sequence=5) is NONE


@pytest.mark.parametrize("sequence", [4, 6, 100, 1])
def test_a_gap_or_an_overlap_is_out_of_order(sequence: int) -> None:
    partition = Partition()
    partition.send(sequence=0, count=5)
    assert partition.send(sequence=sequence) is OUT_OF_ORDER
    assert partition.send(sequence=5) is NONE


def test_an_unknown_producer_may_start_anywhere() -> None:
    """The producer may have expired, or its records may have been deleted, so its last sequence is not known."""
    assert Partition().send(epoch=7, sequence=1234) is NONE


def test_sequences_wrap_to_zero() -> None:
    partition = Partition()
    assert partition.send(sequence=MAX_SEQUENCE) is NONE
    assert partition.send(sequence=1) is OUT_OF_ORDER
    assert partition.send(sequence=0) is NONE


def test_a_batch_may_span_the_wrap() -> None:
    partition = Partition()
    assert partition.send(sequence=MAX_SEQUENCE - 1, count=4) is NONE
    assert partition.send(sequence=MAX_SEQUENCE - 1, count=4) == (0, 3)
    assert partition.send(sequence=2) is NONE


def test_a_duplicate_gets_its_original_offsets_and_timestamp() -> None:
    partition = Partition()
    partition.send(sequence=0, count=3, timestamp=70)
    partition.send(sequence=3, count=1)
    outcome = partition.append(data(partition.end, sequence=0, count=3, timestamp=99))
    assert outcome == DuplicateBatch(0, 2, 70, is_staged=False)
    assert partition.end == 4


def test_five_batches_are_remembered_and_not_six() -> None:
    partition = Partition()
    for sequence in range(6):
        partition.send(sequence=sequence)
    assert [partition.send(sequence=sequence) for sequence in range(1, 6)] == [(n, n) for n in range(1, 6)]
    assert partition.send(sequence=0) is OUT_OF_ORDER


def test_a_duplicate_is_the_whole_batch_or_none() -> None:
    partition = Partition()
    partition.send(sequence=0, count=3)
    assert partition.send(sequence=0, count=2) is OUT_OF_ORDER
    assert partition.send(sequence=1, count=2) is OUT_OF_ORDER


def test_producers_do_not_know_each_other() -> None:
    partition = Partition()
    partition.send(producer_id=1, sequence=0)
    assert partition.send(producer_id=2, sequence=0) is NONE
    assert partition.send(producer_id=1, sequence=1) is NONE


def test_a_new_epoch_starts_at_zero() -> None:
    partition = Partition()
    partition.send(epoch=0, sequence=0)
    assert partition.send(epoch=1, sequence=1) is OUT_OF_ORDER
    assert partition.send(epoch=1, sequence=0) is NONE
    assert partition.send(epoch=1, sequence=1) is NONE


def test_a_new_epoch_forgets_the_window() -> None:
    """The same sequence is another batch in the new epoch."""
    partition = Partition()
    partition.send(epoch=0, sequence=0)
    partition.send(epoch=1, sequence=0)
    assert len(partition.state.producers[1].batches) == 1
    assert partition.send(epoch=1, sequence=0) == (1, 1)


def test_a_lower_epoch_is_fenced() -> None:
    partition = Partition()
    partition.send(epoch=3, sequence=0)
    assert partition.send(epoch=2, sequence=0) is STALE_EPOCH
    assert partition.send(epoch=2, sequence=0, origin=COORDINATOR) is STALE_EPOCH
    assert partition.state.producers[1].producer_epoch == 3


def test_a_coordinator_needs_no_sequence() -> None:
    """Offset commits of a transaction all have sequence 0, and none is a duplicate of another."""
    partition = Partition()
    assert partition.send(sequence=0, origin=COORDINATOR) is NONE
    assert partition.send(sequence=0, origin=COORDINATOR) is NONE
    assert partition.end == 2


def test_what_the_leader_has_written_is_taken_as_it_is() -> None:
    """The leader has decided about sequence, epoch and duplicates, and a follower's log is the leader's log."""
    partition = Partition()
    partition.send(epoch=3, sequence=0)
    assert partition.send(epoch=3, sequence=0, origin=REPLICATION) is NONE
    assert partition.send(epoch=3, sequence=9, origin=REPLICATION) is NONE
    assert partition.send(epoch=1, sequence=5, origin=REPLICATION) is NONE
    entry = partition.state.producers[1]
    assert (entry.producer_epoch, entry.last_sequence, len(entry.batches)) == (1, 5, 1)


def test_idle_producers_expire_and_return_at_any_sequence() -> None:
    partition = Partition(expiration_ms=1_000)
    partition.send(sequence=0, timestamp=5_000)
    assert partition.state.expire(5_999) == []
    assert partition.state.expire(6_000) == [1]
    assert partition.state.is_empty
    assert partition.send(sequence=77) is NONE


def test_a_producer_inside_a_transaction_never_expires() -> None:
    partition = Partition(expiration_ms=1_000)
    partition.send(sequence=0, txn=True, timestamp=5_000)
    assert partition.state.expire(10**12) == []
    partition.end_txn(timestamp=6_000)
    assert partition.state.expire(7_000) == [1]


def test_the_last_records_of_live_producers_are_known_to_compaction() -> None:
    partition = Partition()
    partition.send(producer_id=1, epoch=2, sequence=0, count=3)
    partition.end_txn(producer_id=9, epoch=4)
    assert partition.state.last_records() == {1: (2, 2), 9: (None, 4)}


def test_a_duplicate_is_found_even_where_it_would_be_next() -> None:
    """A leader that had forgotten the producer let it start anew; this replica, which leads now, has not forgotten
    it."""
    partition = Partition()
    for sequence in (4, 5, 6, 4):
        partition.send(sequence=sequence, origin=REPLICATION)
    assert partition.send(sequence=5) == (1, 1)
