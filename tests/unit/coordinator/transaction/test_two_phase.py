"""KIP-939: transactions that wait, prepared, for an outcome that is decided elsewhere."""

import pytest
from tests.unit.coordinator.transaction.scene import ID, TIMEOUT_MS, Scene

from tidelog.coordinator.transaction.states import TransactionState as S
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.init_producer_id import InitProducerIdRequest

ALLOWED = ("transaction.two.phase.commit.enable", "true")
LAST = 32766


def prepared(scene: Scene) -> tuple[int, int]:
    producer: tuple[int, int] = scene.init(version=6, enable_2pc=True)
    scene.add(producer, "a-0")
    return producer


def keep(scene: Scene, expected: tuple[int, int] = (-1, -1)) -> tuple[ErrorCode, tuple[int, int], tuple[int, int]]:
    request = InitProducerIdRequest(
        transactional_id=ID,
        transaction_timeout_ms=TIMEOUT_MS,
        producer_id=expected[0],
        producer_epoch=expected[1],
        enable_2pc=True,
        keep_prepared_txn=True,
    )
    response = scene.ask(request, 6)
    ongoing = (response.ongoing_txn_producer_id, response.ongoing_txn_producer_epoch)
    return ErrorCode(response.error_code), (response.producer_id, response.producer_epoch), ongoing


def test_it_takes_the_brokers_leave() -> None:
    assert Scene().init(version=6, enable_2pc=True) is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def test_it_takes_version_2_to_keep_one() -> None:
    scene = Scene(ALLOWED, transaction_version=1)
    assert scene.init(version=6, keep_prepared_txn=True) is ErrorCode.UNSUPPORTED_VERSION


def test_it_has_no_timeout() -> None:
    scene = Scene(ALLOWED)
    producer = scene.init(version=6, enable_2pc=True, transaction_timeout_ms=0)
    scene.reload()
    scene.add(producer, "a-0")
    scene.advance(40 * 24 * 3_600_000)
    assert (scene.state(), scene.of().timeout_ms) == (S.ONGOING, 2**31 - 1)
    assert scene.end(producer, commit=True) == (7, 1)


def test_without_an_open_transaction_keeping_is_an_ordinary_init() -> None:
    scene = Scene(ALLOWED)
    assert keep(scene) == (ErrorCode.NONE, (7, 0), (-1, -1))
    assert keep(scene) == (ErrorCode.NONE, (7, 1), (-1, -1))


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("reload", [True, False])
def test_a_prepared_transaction_outlives_its_producer_and_is_ended_by_the_next(commit: bool, reload: bool) -> None:
    scene = Scene(ALLOWED)
    maker = prepared(scene)
    assert keep(scene) == (ErrorCode.NONE, (7, 1), maker)
    assert keep(scene) == (ErrorCode.NONE, (7, 2), maker)
    if reload:
        scene.reload()
    assert scene.end(maker, commit=commit) is ErrorCode.PRODUCER_FENCED
    assert scene.end((7, 1), commit=commit) is ErrorCode.PRODUCER_FENCED
    assert scene.end((7, 2), commit=commit) == (7, 3)
    effect = scene.effects[-1]
    assert (effect.committed, effect.producer_id, effect.producer_epoch) == (commit, 7, 3)
    assert scene.end((7, 2), commit=commit) is ErrorCode.CONCURRENT_TRANSACTIONS
    scene.written()
    assert scene.end((7, 2), commit=commit) == (7, 3)
    assert scene.epochs() == (7, 3)
    assert scene.add((7, 3), "a-0") is ErrorCode.NONE
    assert scene.end((7, 2), commit=commit) is ErrorCode.PRODUCER_FENCED  # a delayed request


def test_only_its_end_is_left_to_do() -> None:
    scene = Scene(ALLOWED)
    maker = prepared(scene)
    keep(scene)
    assert scene.add((7, 1), "a-1") is ErrorCode.INVALID_TXN_STATE
    assert scene.verify((7, 1), "a-0") == {"a-0": ErrorCode.INVALID_TXN_STATE}
    assert scene.add(maker, "a-0") is ErrorCode.PRODUCER_FENCED
    assert scene.verify(maker, "a-0") == {"a-0": ErrorCode.PRODUCER_FENCED}
    assert scene.end((7, 1), commit=True, version=4) is ErrorCode.INVALID_TXN_STATE
    assert scene.state() is S.ONGOING


def test_an_init_that_keeps_nothing_aborts_it() -> None:
    scene = Scene(ALLOWED)
    prepared(scene)
    keep(scene)
    keep(scene)
    assert scene.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    assert (scene.effects[-1].committed, scene.effects[-1].producer_epoch) == (False, 3)
    scene.written()
    assert scene.init() == (7, 4)


def test_a_client_that_asks_again_is_answered_again() -> None:
    scene = Scene(ALLOWED)
    maker = prepared(scene)
    assert keep(scene, maker) == (ErrorCode.NONE, (7, 1), maker)
    assert keep(scene, maker) == (ErrorCode.NONE, (7, 1), maker)
    assert keep(scene, (7, 1)) == (ErrorCode.NONE, (7, 2), maker)
    assert keep(scene, maker)[0] is ErrorCode.PRODUCER_FENCED


def test_epochs_run_out_while_it_waits() -> None:
    """The markers still have the id of the producer that wrote the records, and the client goes on under another id."""
    scene = Scene(ALLOWED)
    scene.topic_partition(S.ONGOING, (5, LAST), "a-0", timeout_ms=2**31 - 1)
    assert keep(scene, (5, LAST)) == (ErrorCode.NONE, (7, 0), (5, LAST))
    assert keep(scene, (5, LAST)) == (ErrorCode.NONE, (7, 0), (5, LAST))
    assert keep(scene) == (ErrorCode.NONE, (7, 1), (5, LAST))
    scene.reload()
    assert scene.end((5, LAST), commit=True) is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert scene.end((7, 1), commit=True) == (7, 2)
    assert (scene.effects[-1].producer_id, scene.effects[-1].producer_epoch) == (5, 32767)
    scene.reload()
    scene.written()
    assert scene.epochs() == (7, 2)
    assert scene.end((7, 1), commit=True) == (7, 2)


def test_the_keepers_epochs_run_out_too() -> None:
    scene = Scene(ALLOWED)
    scene.topic_partition(S.ONGOING, (5, 3), "a-0", next_producer_id=6, next_producer_epoch=LAST)
    assert scene.end((6, LAST), commit=True) == (7, 0)
    scene.written()
    assert scene.epochs() == (7, 0)


def test_one_without_a_producer_id_at_hand() -> None:
    scene = Scene(ALLOWED)
    scene.topic_partition(S.ONGOING, (5, LAST), "a-0")
    scene.has_producer_ids = False
    assert keep(scene)[0] is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_keeping_never_shortens_the_time_that_a_transaction_has() -> None:
    scene = Scene(ALLOWED)
    prepared(scene)
    assert scene.init(version=6, keep_prepared_txn=True) == (7, 1)
    scene.reload()
    scene.advance(2 * TIMEOUT_MS)
    assert scene.state() is S.ONGOING


def test_one_with_a_timeout_ends_with_it_kept_or_not() -> None:
    scene = Scene()
    scene.add(scene.init(), "a-0")
    assert scene.init(version=6, keep_prepared_txn=True) == (7, 1)
    scene.reload()
    scene.advance(2 * TIMEOUT_MS)
    assert (scene.state(), scene.effects[-1].producer_epoch) == (S.PREPARE_ABORT, 2)
