"""Mistakes that Kafka itself, and others, once made (and what the old protocol can not help)."""

from typing import Any

import pytest
from tests.unit.coordinator.transaction.scene import TIMEOUT_MS, Scene

from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.coordinator.transaction.states import TransactionState as S
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.end_txn import EndTxnRequest
from tidelog.server.replicated import Replicated

LAST = 32766


def test_a_delayed_commit_of_the_old_protocol_can_not_hit_a_later_transaction_of_version_2() -> None:
    scene = Scene()
    producer = scene.init()
    scene.add(producer, "a-0")
    later = scene.end(producer, commit=True)
    scene.written()
    scene.add(later, "a-0")
    for version in (0, 4, 5):
        assert scene.end(producer, commit=True, version=version) in (
            ErrorCode.PRODUCER_FENCED,
            ErrorCode.INVALID_PRODUCER_EPOCH,
        )
    assert scene.state() is S.ONGOING


def test_no_double_bump_at_32766_when_an_init_fences() -> None:
    scene = Scene()
    scene.topic_partition(S.ONGOING, (5, LAST), "a-0")
    assert scene.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    assert (scene.epochs(), scene.of().next_producer_id) == ((5, 32767), 7)
    assert scene.effects[-1].producer_epoch == 32767
    scene.written()
    assert scene.epochs() == (7, 0)
    assert scene.init() == (7, 1)


def test_no_double_bump_at_32766_when_time_runs_out() -> None:
    scene = Scene()
    scene.topic_partition(S.ONGOING, (5, LAST), "a-0")
    scene.reload()
    scene.advance(TIMEOUT_MS + 20_000)
    assert scene.epochs() == (5, 32767)
    scene.written()
    assert scene.epochs() == (7, 0)
    assert scene.end((5, LAST), commit=False) == (7, 0)  # the client's own abort, late: a retry


def test_no_epoch_above_32767_under_the_old_protocol() -> None:
    scene = Scene(transaction_version=1)
    scene.topic_partition(S.ONGOING, (5, LAST), "a-0", version=0)
    assert scene.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    scene.written()
    assert scene.epochs() == (5, 32767)
    assert scene.init() == (7, 0)


@pytest.mark.parametrize("transaction_version", [1, 2])
def test_an_epoch_that_should_never_have_been_is_still_fenced(transaction_version: int) -> None:
    scene = Scene(transaction_version=transaction_version)
    scene.topic_partition(S.ONGOING, (5, 32767), "a-0")
    assert scene.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    assert scene.epochs() == (5, 32767)
    scene.written()
    assert scene.init() in [(7, 0), (7, 1)]


@pytest.mark.parametrize("commit", [True, False])
def test_overflow_hands_out_the_right_producer_id(commit: bool) -> None:
    """The new producer id begins at epoch 0. The client is told at once, and retries and the next coordinator give the
    same one."""
    scene = Scene()
    scene.topic_partition(S.ONGOING, (5, LAST), "a-0")
    assert scene.end((5, LAST), commit=commit) == (7, 0)
    assert (scene.effects[-1].producer_id, scene.effects[-1].producer_epoch) == (5, 32767)
    assert scene.end((5, LAST), commit=commit) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert scene.add((7, 0), "a-0") is ErrorCode.CONCURRENT_TRANSACTIONS
    scene.reload()
    scene.written()
    assert scene.end((5, LAST), commit=commit) == (7, 0)
    assert scene.end((5, LAST), commit=not commit) is ErrorCode.INVALID_TXN_STATE
    assert scene.add((7, 0), "a-0") is ErrorCode.NONE
    assert scene.end((5, LAST), commit=commit) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert scene.next_producer_id == 8  # one producer id was taken


def test_overflow_without_a_producer_id_at_hand_leaves_the_transaction_open() -> None:
    scene = Scene()
    scene.topic_partition(S.ONGOING, (5, LAST), "a-0")
    scene.has_producer_ids = False
    assert scene.end((5, LAST), commit=True) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    scene.has_producer_ids = True
    assert scene.end((5, LAST), commit=True) == (7, 0)


@pytest.mark.parametrize("state", [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_an_empty_abort_does_not_fence_its_own_producer(state: S) -> None:
    scene = Scene()
    scene.topic_partition(state, (5, 3), start_ms=1)
    producer = scene.end((5, 3), commit=False)
    assert producer == (5, 4)
    assert scene.add(producer, "a-0") is ErrorCode.NONE
    assert scene.end(producer, commit=True) == (5, 5)


def test_an_empty_abort_at_the_last_epoch() -> None:
    scene = Scene()
    scene.topic_partition(S.EMPTY, (5, LAST))
    assert scene.end((5, LAST), commit=False) == (7, 0)
    assert (scene.state(), scene.epochs()) == (S.COMPLETE_ABORT, (7, 0))


def test_an_expired_transaction_fences_its_producer() -> None:
    scene = Scene()
    producer = scene.init()
    scene.reload()
    scene.add(producer, "a-0")
    scene.advance(TIMEOUT_MS + 20_000)
    scene.written()
    assert scene.add(producer, "a-0") is ErrorCode.PRODUCER_FENCED
    assert scene.end(producer, commit=True) is ErrorCode.INVALID_TXN_STATE


class FailingLog:
    """A log that takes records and then can not write them."""

    def __init__(self) -> None:
        self.end_offset = self.high_watermark = 0

    def append_steps(self, records: Any, _wall_ms: int, *, is_atomic: bool) -> Any:
        self.end_offset += len(records)
        yield from ()

    def commit(self, _now_ms: int, _wall_ms: int) -> bool:
        return self.end_offset == self.high_watermark


@pytest.mark.parametrize("api_version", [4, 5])
def test_a_bump_is_not_kept_after_a_failed_append(api_version: int) -> None:
    """The machine that had replayed the bump is dropped, the next one reads only what was written, and no marker was
    sent."""
    scene = Scene()
    producer = scene.init()
    scene.add(producer, "a-0")
    answers: list[Any] = []
    effects: list[Any] = []
    driver: Replicated[Any] = Replicated(
        FailingLog(), ErrorCode.NOT_COORDINATOR, lambda *_bug: None, on_effect=effects.append
    )
    driver.start(scene.machine, iter([]))
    driver.turn(0, 0, lambda: False)
    message = EndTxnRequest(transactional_id="orders", producer_id=7, producer_epoch=0, committed=True)
    driver.submit(0, CoordinatorRequest(message, api_version, 0), answers.append)
    driver.turn(0, 0, lambda: False)
    assert scene.state() is S.PREPARE_COMMIT  # the state of the dropped machine
    assert (answers, effects, driver.machine) == ([ErrorCode.NOT_COORDINATOR], [], None)
    scene.reload()
    assert (scene.state(), scene.epochs()) == (S.ONGOING, producer)
    assert scene.end(producer, commit=False) == (7, 1)
