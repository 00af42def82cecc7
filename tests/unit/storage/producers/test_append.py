"""Group commits: later requests see earlier ones, a refused one leaves nothing, and what is not written has no
effect."""

import pytest
from tests.unit.storage.producing import CLIENT, COORDINATOR, REPLICATION, Partition, data, marker

from tidelog.model.errors import ErrorCode
from tidelog.storage.append.outcome import Refused
from tidelog.storage.producers.append import DuplicateBatch
from tidelog.storage.producers.state import CompletedTransaction
from tidelog.storage.producers.verification import VerificationGuard


def test_a_request_sees_the_one_staged_before_it() -> None:
    append = Partition().state.begin()
    assert append.stage([data(0, sequence=0)], CLIENT) is None
    assert append.stage([data(1, sequence=1)], CLIENT) is None
    outcome = append.stage([data(2, sequence=3)], CLIENT)
    assert isinstance(outcome, Refused)
    assert outcome.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_duplicate_of_what_is_only_staged_says_so() -> None:
    partition = Partition()
    partition.send(sequence=0)
    append = partition.state.begin()
    append.stage([data(1, sequence=1)], CLIENT)
    assert append.stage([data(2, sequence=1)], CLIENT) == DuplicateBatch(1, 1, 0, is_staged=True)
    assert append.stage([data(2, sequence=0)], CLIENT) == DuplicateBatch(0, 0, 0, is_staged=False)


def test_what_is_not_committed_never_was() -> None:
    partition = Partition()
    partition.send(sequence=0)
    before = partition.state.producers[1]
    append = partition.state.begin()
    append.stage([data(1, sequence=1, txn=True)], CLIENT)
    append.stage([marker(2, 1, 1, commit=False)], COORDINATOR, transaction_version=2)
    append.stage([data(3, producer_id=2)], CLIENT)
    assert partition.state.producers == {1: before}
    assert partition.state.first_unstable_offset is None
    assert partition.send(sequence=1) is ErrorCode.NONE


def test_a_request_is_staged_as_a_whole_or_not_at_all() -> None:
    partition = Partition()
    append = partition.state.begin()
    append.stage([data(0, producer_id=3, txn=True)], REPLICATION)
    refused = append.stage(
        [data(1, producer_id=1, txn=True), marker(2, producer_id=3), data(3, producer_id=1, sequence=1)], REPLICATION
    )
    assert isinstance(refused, Refused)
    assert append.entry(1) is None
    assert partition.state.commit(append, 1) == []
    partition.state.validate_state()
    assert partition.state.first_undecided_offset == 0


def test_transactions_end_in_the_order_of_the_log() -> None:
    """The last stable offset of each transaction is that of its own end: one that began later must not move it."""
    partition = Partition()
    append = partition.state.begin()
    batches = [
        data(0, producer_id=1, txn=True),
        data(1, producer_id=2, txn=True),
        marker(2, producer_id=1, commit=False),
        marker(3, producer_id=2, commit=False),
        data(4, producer_id=1, sequence=1, txn=True),
        data(5, producer_id=3, txn=True),
        marker(6, producer_id=1, commit=True),
    ]
    assert append.stage(batches, REPLICATION) is None
    assert partition.state.commit(append, 7) == [
        CompletedTransaction(1, 0, 2, True, 1),
        CompletedTransaction(2, 1, 3, True, 4),
        CompletedTransaction(1, 4, 6, False, 5),
    ]
    partition.state.validate_state()
    assert partition.state.first_undecided_offset == 5


def test_an_append_belongs_to_the_end_it_was_begun_at() -> None:
    partition = Partition()
    append = partition.state.begin()
    partition.send(sequence=0)
    with pytest.raises(AssertionError, match="moved on"):
        partition.state.commit(append, 1)


def test_behind_a_roll_the_group_commit_goes_on() -> None:
    partition = Partition(verification=True)
    guard = partition.state.start_verification(0, 1, 0, 0, supports_epoch_bump=True)
    assert isinstance(guard, VerificationGuard)
    first = partition.state.begin()
    assert first.stage([data(0, txn=True)], CLIENT, guard=guard) is None
    second = first.follow(1)
    assert second.stage([data(1, sequence=1, txn=True)], CLIENT) is None
    assert second.stage([data(2, sequence=0, txn=True)], CLIENT) == DuplicateBatch(0, 0, 0, is_staged=True)
    third = second.follow(2)
    assert third.stage([marker(2, epoch=1)], COORDINATOR, transaction_version=2) is None
    partition.state.commit(first, 1)
    assert partition.state.producers[1].last_sequence == 0
    partition.state.commit(second, 2)
    assert partition.state.producers[1].last_sequence == 1
    assert partition.state.commit(third, 3) == [CompletedTransaction(1, 0, 2, False, 3)]
    partition.state.validate_state()


@pytest.mark.parametrize("damage", ["lost", "unordered"])
def test_validate_state_notices(damage: str) -> None:
    partition = Partition()
    partition.send(txn=True)
    partition.send(sequence=1, txn=True)
    entry = partition.state.producers[1]
    if damage == "lost":
        partition.state.producers[1] = type(entry)(1, 0, -1, 0, None, entry.batches)
    else:
        entry.batches = entry.batches[::-1]
    with pytest.raises(AssertionError):
        partition.state.validate_state()


def test_a_verification_that_begins_after_a_roll_of_the_same_turn_counts() -> None:
    partition = Partition(verification=True)
    second = partition.state.begin().follow(0)
    guard = partition.state.start_verification(0, 1, 0, 0, supports_epoch_bump=True)
    assert isinstance(guard, VerificationGuard)
    assert second.stage([data(0, txn=True)], CLIENT, guard=guard) is None
