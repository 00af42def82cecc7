"""Timeouts: open transactions are aborted and unused ids forgotten; both at intervals, in slices."""

from collections.abc import Generator

import pytest
from tests.unit.coordinator.transaction.scene import ID, TIMEOUT_MS, Scene

from tidelog.coordinator.transaction import expiry
from tidelog.coordinator.transaction.states import TransactionState as S
from tidelog.model.errors import ErrorCode

INTERVAL_MS = 10_000
DAY_MS = 24 * 3_600_000
EXPIRED_MS = 7 * DAY_MS


def test_an_open_transaction_is_aborted_beyond_its_timeout_and_not_at_it() -> None:
    scene = Scene()
    producer = scene.init()
    scene.reload()
    scene.add(producer, "a-0")
    scene.advance(TIMEOUT_MS)
    assert scene.state() is S.ONGOING
    scene.advance(INTERVAL_MS)
    assert (scene.state(), scene.epochs()) == (S.PREPARE_ABORT, (7, 1))
    effect = scene.effects[-1]
    assert (effect.committed, effect.producer_epoch, effect.transaction_version) == (False, 1, 2)
    scene.advance(INTERVAL_MS)
    assert len(scene.effects) == 1
    scene.written()
    assert scene.machine.counters["timed_out"] == 1
    assert scene.init() == (7, 2)


def test_a_clock_that_is_set_back_does_not_keep_a_transaction_open() -> None:
    scene = Scene()
    producer = scene.init()
    scene.reload()
    scene.add(producer, "a-0")
    scene.set_back_ms = DAY_MS
    scene.advance(INTERVAL_MS)
    scene.advance(TIMEOUT_MS)
    assert scene.state() is S.ONGOING
    scene.advance(INTERVAL_MS)
    assert scene.state() is S.PREPARE_ABORT


def test_the_next_transaction_of_a_producer_has_its_own_time() -> None:
    scene = Scene()
    producer = scene.init()
    scene.reload()
    scene.add(producer, "a-0")
    scene.set_back_ms = DAY_MS
    scene.advance(INTERVAL_MS)
    scene.advance(TIMEOUT_MS - 1)
    scene.end(producer, commit=True)
    scene.written()
    scene.add(scene.epochs(), "a-0")
    scene.advance(INTERVAL_MS)
    assert scene.state() is S.ONGOING


def test_more_partitions_do_not_buy_more_time() -> None:
    scene = Scene()
    producer = scene.init()
    scene.reload()
    for step in range(7):
        scene.add(producer, f"a-{step}")
        scene.advance(INTERVAL_MS)
    assert scene.state() is S.PREPARE_ABORT


def test_time_counts_on_over_a_reload() -> None:
    scene = Scene()
    producer = scene.init()
    scene.add(producer, "a-0")
    scene.advance(TIMEOUT_MS)
    scene.reload()
    scene.advance(INTERVAL_MS)
    assert scene.state() is S.PREPARE_ABORT


def test_one_of_the_old_protocol_is_fenced_too() -> None:
    scene = Scene(transaction_version=0)
    producer = scene.init()
    scene.reload()
    scene.add_v3(producer, "a-0")
    scene.advance(TIMEOUT_MS + INTERVAL_MS)
    assert (scene.effects[-1].producer_epoch, scene.effects[-1].transaction_version) == (1, 0)
    scene.written()
    assert scene.end(producer, commit=True, version=4) is ErrorCode.PRODUCER_FENCED
    assert scene.init(producer) is ErrorCode.PRODUCER_FENCED
    assert scene.init() == (7, 2)


def test_without_a_producer_id_at_hand_the_abort_comes_later() -> None:
    scene = Scene()
    scene.topic_partition(S.ONGOING, (5, 32766), "a-0")
    scene.reload()
    scene.has_producer_ids = False
    scene.advance(TIMEOUT_MS + INTERVAL_MS)
    assert scene.state() is S.ONGOING
    scene.has_producer_ids = True
    scene.advance(INTERVAL_MS)
    assert scene.state() is S.PREPARE_ABORT


@pytest.mark.parametrize("state", [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_an_id_at_rest_is_forgotten_when_nobody_uses_it(state: S) -> None:
    scene = Scene()
    scene.topic_partition(state, (5, 3), start_ms=1)
    scene.reload()
    scene.advance(EXPIRED_MS - 1)
    assert ID in scene.machine.shard.transactions
    scene.advance(3_600_000)
    assert scene.machine.shard.transactions == {}
    assert scene.log[-1][1] is None
    assert scene.machine.counters["expired_ids"] == 1
    assert scene.add((5, 3), "a-0") is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert scene.end((5, 3), commit=True) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert scene.init((5, 3)) == (7, 0)


@pytest.mark.parametrize("state", [S.PREPARE_COMMIT, S.PREPARE_ABORT])
def test_one_that_is_not_at_rest_never_expires(state: S) -> None:
    scene = Scene()
    scene.topic_partition(state, (5, 3), "a-0")
    scene.reload()
    scene.advance(3 * EXPIRED_MS)
    assert scene.state() is state


def test_using_it_keeps_it() -> None:
    scene = Scene()
    producer = scene.init()
    scene.reload()
    for _day in range(20):
        scene.advance(DAY_MS)
        producer = scene.end(producer, commit=False)
    assert producer == (7, 20)


def test_many_at_once_are_decided_in_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRANSACTIONS_A_SLICE", "ABORTED_AT_ONCE", "EXPIRED_AT_ONCE"):
        monkeypatch.setattr(expiry, name, 3)
    scene = Scene()
    for number in range(10):
        scene.add(scene.init(id=str(number)), "a-0", id=str(number))
    scene.reload()
    scene.now_ms += TIMEOUT_MS + INTERVAL_MS
    step = scene.machine.step(scene.now_ms, scene.wall_ms)
    assert isinstance(step, Generator)
    next(step)  # it gives the turn back before it is done
    assert [len(scene.carry_out(step).effects), scene.machine.deadline] == [3, scene.now_ms]
    scene.advance(0)
    assert len(scene.effects) == 10
    for effect in list(scene.effects):
        scene.written(effect)
    scene.advance(EXPIRED_MS + 3_600_000)
    assert scene.machine.shard.transactions == {}
