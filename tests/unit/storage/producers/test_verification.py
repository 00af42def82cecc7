"""A transaction's first batch, and whether its coordinator was asked about it (KIP-890)."""

from tests.unit.storage.producing import COORDINATOR, REPLICATION, Partition, data

from tidelog.model.errors import ErrorCode
from tidelog.storage.append.outcome import Refused
from tidelog.storage.producers.verification import VerificationGuard

NONE, INVALID_STATE = ErrorCode.NONE, ErrorCode.INVALID_TXN_STATE
OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def ask(
    partition: Partition, epoch: int = 0, sequence: int = 0, *, v2: bool = True, now_ms: int = 0
) -> VerificationGuard:
    guard = partition.state.start_verification(now_ms, 1, epoch, sequence, supports_epoch_bump=v2)
    assert isinstance(guard, VerificationGuard)
    return guard


def test_without_a_guard_no_transaction_begins() -> None:
    partition = Partition(verification=True)
    assert partition.send(txn=True) is INVALID_STATE
    assert partition.send(txn=True, origin=COORDINATOR) is INVALID_STATE
    assert partition.send(txn=True, guard=VerificationGuard()) is INVALID_STATE
    assert partition.state.is_empty


def test_with_the_guard_it_begins_and_goes_on_without() -> None:
    partition = Partition(verification=True)
    assert partition.send(txn=True, guard=ask(partition)) is NONE
    assert partition.state.start_verification(0, 1, 0, 1, supports_epoch_bump=True) is None
    assert partition.send(sequence=1, txn=True) is NONE


def test_the_setting_turns_it_off_at_once() -> None:
    partition = Partition(verification=True)
    partition.config.verification_enabled = False
    assert partition.send(txn=True) is NONE


def test_replicated_and_plain_batches_need_none() -> None:
    partition = Partition(verification=True)
    assert partition.send(producer_id=1, txn=True, origin=REPLICATION) is NONE
    assert partition.send(producer_id=2, txn=False) is NONE


def test_a_guard_serves_once() -> None:
    partition = Partition(verification=True)
    guard = ask(partition, v2=False)
    partition.send(txn=True, guard=guard)
    partition.end_txn()
    assert partition.send(sequence=1, txn=True, guard=guard) is INVALID_STATE


def test_an_abort_while_the_coordinator_is_asked_takes_the_guard() -> None:
    """The answer that is under way is about a transaction that has ended."""
    partition = Partition(verification=True)
    guard = ask(partition, v2=False)
    partition.end_txn(commit=False)
    assert partition.send(txn=True, guard=guard) is INVALID_STATE


def test_a_marker_of_the_epoch_under_verification_ended_the_one_before() -> None:
    partition = Partition(verification=True)
    guard = ask(partition, epoch=1)
    partition.end_txn(epoch=1, version=2)
    assert partition.send(epoch=1, txn=True, guard=guard) is NONE


def test_a_marker_of_another_epoch_takes_the_guard() -> None:
    partition = Partition(verification=True)
    guard = ask(partition, epoch=1)
    partition.end_txn(epoch=2, version=2)
    assert partition.send(epoch=2, txn=True, guard=guard) is INVALID_STATE


def test_asking_twice_gives_the_same_guard() -> None:
    partition = Partition(verification=True)
    assert ask(partition) is ask(partition, sequence=5)


def test_a_stale_epoch_is_refused_before_anyone_is_asked() -> None:
    partition = Partition(verification=True)
    partition.send(epoch=3)
    refused = partition.state.start_verification(0, 1, 2, 0, supports_epoch_bump=True)
    assert isinstance(refused, Refused)
    assert refused.code is ErrorCode.INVALID_PRODUCER_EPOCH
    assert partition.send(epoch=2, txn=True) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_an_open_transaction_of_an_older_epoch_is_not_this_one() -> None:
    partition = Partition(verification=True)
    partition.send(epoch=0, txn=True, guard=ask(partition))
    assert partition.send(epoch=1, txn=True) is INVALID_STATE


def test_transaction_version_2_without_state_starts_at_zero() -> None:
    partition = Partition(verification=True)
    guard = ask(partition, sequence=4)
    assert partition.send(sequence=4, txn=True, guard=guard) is OUT_OF_ORDER
    assert partition.send(sequence=0, txn=True, guard=guard) is NONE


def test_transaction_version_1_without_state_starts_anywhere() -> None:
    partition = Partition(verification=True)
    assert partition.send(sequence=4, txn=True, guard=ask(partition, sequence=4, v2=False)) is NONE


def test_transaction_version_2_with_only_a_marker_as_state_starts_at_zero() -> None:
    partition = Partition(verification=True)
    partition.end_txn(epoch=1, version=2)
    guard = ask(partition, epoch=1, sequence=3)
    assert partition.send(epoch=1, sequence=3, txn=True, guard=guard) is OUT_OF_ORDER


def test_nothing_above_the_lowest_sequence_under_verification() -> None:
    """Were the later batch written first, the earlier would be out of order for ever."""
    partition = Partition(verification=True)
    ask(partition, sequence=4, v2=False)
    guard = ask(partition, sequence=2, v2=False)
    assert partition.send(sequence=4, txn=True, guard=guard) is OUT_OF_ORDER
    assert partition.send(sequence=2, txn=True, guard=guard) is NONE


def test_the_lowest_sequence_is_of_one_epoch() -> None:
    partition = Partition(verification=True)
    ask(partition, epoch=0, sequence=2, v2=False)
    guard = ask(partition, epoch=1, sequence=7, v2=False)
    assert ask(partition, epoch=0, sequence=0, v2=False) is guard
    assert partition.send(epoch=1, sequence=7, txn=True, guard=guard) is NONE


def test_questions_that_nobody_answers_expire() -> None:
    partition = Partition(verification=True, expiration_ms=1_000)
    guard = ask(partition, now_ms=500)
    partition.state.expire(1_499)
    assert ask(partition, now_ms=1_499) is guard
    partition.state.expire(1_500)
    assert ask(partition, now_ms=1_500) is not guard


def test_a_write_that_fails_leaves_the_guard() -> None:
    partition = Partition(verification=True)
    guard = ask(partition)
    append = partition.state.begin()
    assert append.stage([data(0, txn=True)], COORDINATOR, guard=guard) is None
    del append
    assert partition.send(txn=True, guard=guard) is NONE
