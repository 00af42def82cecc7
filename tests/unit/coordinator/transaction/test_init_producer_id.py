"""InitProducerId with a transactional id: which id and epoch it gives, which producer is fenced, and which has to
wait."""

import pytest
from tests.unit.coordinator.transaction.scene import ID, TIMEOUT_MS, Scene

from tidelog.coordinator.transaction.states import TransactionState as S
from tidelog.model.errors import ErrorCode

LAST = 32766  # the highest epoch that a client ever has


def test_a_new_id_begins_at_epoch_0_with_a_new_producer_id() -> None:
    scene = Scene()
    assert scene.init() == (7, 0)
    assert scene.init(id="other") == (8, 0)
    assert (scene.state(), scene.of().timeout_ms, scene.of().last_update_ms) == (S.EMPTY, TIMEOUT_MS, scene.wall_ms)
    assert scene.of().previous_producer_id == 7


def test_a_new_id_is_made_whatever_the_client_believes_to_have() -> None:
    """The id expired, and its producer recovers from that."""
    assert Scene().init(expected=(99, 3)) == (7, 0)


def test_each_init_raises_the_epoch_and_takes_the_new_timeout() -> None:
    scene = Scene()
    scene.init()
    assert scene.init(transaction_timeout_ms=5) == (7, 1)
    assert scene.of().timeout_ms == 5


@pytest.mark.parametrize("state", [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_at_rest_the_next_epoch_is_given_at_once(state: S) -> None:
    scene = Scene()
    scene.topic_partition(state, (5, 10), start_ms=1)
    assert scene.init() == (5, 11)
    assert (scene.state(), scene.of().start_ms) == (S.EMPTY, -1)


@pytest.mark.parametrize("state", [S.PREPARE_COMMIT, S.PREPARE_ABORT])
@pytest.mark.parametrize("expected", [(-1, -1), (5, 10), (99, 1)])
def test_while_markers_are_on_their_way_everybody_waits(state: S, expected: tuple[int, int]) -> None:
    scene = Scene()
    scene.topic_partition(state, (5, 10), "a-0")
    assert scene.init(expected) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert scene.state() is state


def test_an_open_transaction_is_aborted_first() -> None:
    scene = Scene()
    producer = scene.init()
    scene.add(producer, "a-0", "a-1")
    assert scene.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    effect = scene.effects[-1]
    assert (effect.committed, effect.producer_id, effect.producer_epoch, effect.transaction_version) == (False, 7, 1, 2)
    assert scene.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    scene.written()
    assert scene.init() == (7, 2)
    assert scene.add(producer, "a-0") is ErrorCode.PRODUCER_FENCED


def test_an_open_transaction_of_the_old_protocol_is_fenced_by_an_epoch_that_nobody_is_told() -> None:
    scene = Scene(transaction_version=1)
    producer = scene.init()
    scene.add_v3(producer, "a-0")
    assert scene.init() is ErrorCode.CONCURRENT_TRANSACTIONS
    effect = scene.effects[-1]
    assert (effect.producer_epoch, effect.transaction_version, effect.committed) == (1, 0, False)
    scene.written()
    assert scene.init() == (7, 2)


@pytest.mark.parametrize(
    ("version", "code"),
    [(3, ErrorCode.INVALID_PRODUCER_EPOCH), (4, ErrorCode.PRODUCER_FENCED)],
)
def test_the_fenced_hear_it_in_words_that_they_know(version: int, code: ErrorCode) -> None:
    scene = Scene()
    scene.topic_partition(S.EMPTY, (5, 10))
    assert scene.init((5, 8), version) is code
    assert scene.init((4, 10), version) is code


def test_a_producer_that_recovers_gets_the_next_epoch_and_the_same_again_if_it_asks_again() -> None:
    scene = Scene()
    scene.init()
    assert scene.init((7, 0)) == (7, 1)
    assert scene.init((7, 0)) == (7, 1)
    assert scene.init((7, 1)) == (7, 2)
    assert scene.init((7, 0)) is ErrorCode.PRODUCER_FENCED


def test_a_recovery_is_no_retry_once_another_producer_came() -> None:
    scene = Scene()
    scene.topic_partition(S.EMPTY, (5, 10))
    assert scene.init() == (5, 11)
    assert scene.init((5, 10)) is ErrorCode.PRODUCER_FENCED


def test_what_was_asked_before_a_reload_is_forgotten() -> None:
    """A repeated request is fenced after a reload, as in Kafka, because no record has the last epoch."""
    scene = Scene()
    scene.init()
    scene.init((7, 0))
    scene.reload()
    assert scene.init((7, 0)) is ErrorCode.PRODUCER_FENCED
    assert scene.init((7, 1)) == (7, 2)


def test_a_fenced_producer_can_not_abort_its_successors_transaction() -> None:
    scene = Scene()
    zombie = scene.init()
    scene.init()
    successor = scene.init()
    scene.add(successor, "a-0")
    assert scene.init(zombie) is ErrorCode.PRODUCER_FENCED
    assert scene.state() is S.ONGOING


@pytest.mark.parametrize("transaction_version", [0, 1, 2])
def test_exhausted_epochs_bring_a_new_producer_id(transaction_version: int) -> None:
    scene = Scene(transaction_version=transaction_version)
    scene.topic_partition(S.EMPTY, (5, LAST))
    assert scene.init() == (7, 0)
    assert scene.init((5, LAST)) is ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize("transaction_version", [0, 1, 2])
def test_a_retry_over_a_new_producer_id_is_recognised(transaction_version: int) -> None:
    scene = Scene(transaction_version=transaction_version)
    scene.topic_partition(S.EMPTY, (5, LAST))
    assert scene.init((5, LAST)) == (7, 0)
    assert scene.init((5, LAST)) == (7, 0)
    assert scene.init((5, LAST - 1)) is ErrorCode.PRODUCER_FENCED


def test_the_retry_of_the_last_bump_gets_the_last_epoch() -> None:
    scene = Scene()
    scene.topic_partition(S.EMPTY, (5, LAST - 1))
    assert scene.init((5, LAST - 1)) == (5, LAST)
    assert scene.init((5, LAST - 1)) == (5, LAST)
    assert scene.init((5, 3)) is ErrorCode.PRODUCER_FENCED


def test_without_a_producer_id_at_hand_the_client_comes_again() -> None:
    scene = Scene()
    scene.has_producer_ids = False
    assert scene.init() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert ID not in scene.machine.shard.transactions
    scene.topic_partition(S.COMPLETE_COMMIT, (5, LAST), start_ms=1)
    assert scene.init() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    scene.topic_partition(S.ONGOING, (5, LAST), "a-0")
    assert scene.init() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert scene.state() is S.ONGOING


@pytest.mark.parametrize("timeout_ms", [0, -1, 900_001])
def test_a_timeout_beyond_the_maximum_is_refused(timeout_ms: int) -> None:
    scene = Scene()
    assert scene.init(transaction_timeout_ms=timeout_ms) is ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert scene.init(transaction_timeout_ms=900_000) == (7, 0)


@pytest.mark.parametrize(("name", "expected"), [("", (-1, -1)), (ID, (-1, 3)), (ID, (3, -1))])
def test_a_request_that_makes_no_sense_is_refused(name: str, expected: tuple[int, int]) -> None:
    assert Scene().init(expected, id=name) is ErrorCode.INVALID_REQUEST
