"""EndTxn under both protocols, from every state; and the markers that follow."""

from typing import Any

import pytest
from tests.unit.coordinator.transaction.scene import Scene, tp

from tidelog.coordinator.transaction.states import TransactionState as S
from tidelog.model.errors import ErrorCode

FENCED, INVALID = ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_TXN_STATE
AGAIN = (5, 10)  # the same answer again, without a new epoch
NEXT = (5, 11)  # an abort of an empty transaction spends an epoch


@pytest.mark.parametrize("commit", [True, False])
def test_version_2_raises_the_epoch_and_says_so_at_once(commit: bool) -> None:
    scene = Scene()
    producer = scene.init()
    scene.add(producer, "a-0", "b-1")
    assert scene.end(producer, commit=commit) == (7, 1)
    assert scene.state() is (S.PREPARE_COMMIT if commit else S.PREPARE_ABORT)
    (effect,) = scene.effects
    assert effect == ("orders", 7, 1, commit, 0, 2, (tp("a-0"), tp("b-1")), 1)
    scene.written()
    assert scene.state() is (S.COMPLETE_COMMIT if commit else S.COMPLETE_ABORT)
    assert (scene.epochs(), scene.of().partitions) == ((7, 1), {})
    assert scene.add((7, 1), "a-0") is ErrorCode.NONE


@pytest.mark.parametrize("commit", [True, False])
def test_the_old_protocol_keeps_the_epoch_and_tells_none(commit: bool) -> None:
    scene = Scene()
    producer = scene.init()
    scene.add_v3(producer, "a-0")
    assert scene.end(producer, commit=commit, version=4) == (-1, -1)
    (effect,) = scene.effects
    assert (effect.producer_epoch, effect.transaction_version, effect.committed) == (0, 0, commit)
    scene.written()
    assert scene.epochs() == (7, 0)
    assert scene.state() is (S.COMPLETE_COMMIT if commit else S.COMPLETE_ABORT)


@pytest.mark.parametrize(
    ("state", "abort_again", "abort", "commit_again", "commit"),
    [
        (S.EMPTY, FENCED, NEXT, FENCED, INVALID),
        (S.COMPLETE_ABORT, AGAIN, NEXT, INVALID, INVALID),
        (S.COMPLETE_COMMIT, INVALID, NEXT, AGAIN, INVALID),
        (S.ONGOING, FENCED, NEXT, FENCED, NEXT),
    ],
)
def test_the_table_of_version_2(state: S, abort_again: Any, abort: Any, commit_again: Any, commit: Any) -> None:
    def answer(epoch: int, *, commit: bool) -> Any:
        scene = Scene()
        scene.topic_partition(state, (5, 10), *(["a-0"] if state is S.ONGOING else []), start_ms=1)
        records = len(scene.log)
        given = scene.end((5, epoch), commit=commit)
        assert (len(scene.log) > records) == (given == NEXT)
        return given

    assert [answer(9, commit=False), answer(10, commit=False)] == [abort_again, abort]
    assert [answer(9, commit=True), answer(10, commit=True)] == [commit_again, commit]
    for epoch in (8, 11):
        assert [answer(epoch, commit=True), answer(epoch, commit=False)] == [FENCED, FENCED]


@pytest.mark.parametrize(
    ("state", "abort", "commit"),
    [
        (S.EMPTY, INVALID, INVALID),
        (S.COMPLETE_ABORT, (-1, -1), INVALID),
        (S.COMPLETE_COMMIT, INVALID, (-1, -1)),
    ],
)
def test_the_table_of_the_old_protocol(state: S, abort: Any, commit: Any) -> None:
    scene = Scene()
    scene.topic_partition(state, (5, 10), version=0, start_ms=1)
    assert [scene.end((5, 10), commit=each, version=4) for each in (False, True)] == [abort, commit]
    for epoch in (9, 11):
        assert scene.end((5, epoch), commit=True, version=4) is FENCED
        assert scene.end((5, epoch), commit=True, version=1) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert len(scene.log) == 1


@pytest.mark.parametrize("state", [S.PREPARE_COMMIT, S.PREPARE_ABORT])
@pytest.mark.parametrize("commit", [True, False])
def test_while_markers_are_on_their_way_the_client_waits(state: S, commit: bool) -> None:
    scene = Scene()
    scene.topic_partition(state, (5, 10), "a-0")
    assert scene.end((5, 9), commit=commit) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert scene.end((5, 10), commit=commit) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert scene.end((5, 10), commit=commit, version=4) is ErrorCode.CONCURRENT_TRANSACTIONS
    assert scene.end((5, 9), commit=commit, version=4) is FENCED


@pytest.mark.parametrize("version", [4, 5])
def test_strangers_are_refused(version: int) -> None:
    scene = Scene()
    producer = scene.init()
    assert scene.end(producer, commit=True, version=version, id="") is ErrorCode.INVALID_REQUEST
    assert scene.end(producer, commit=True, version=version, id="other") is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert scene.end((99, 0), commit=False, version=version) is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_an_abort_of_nothing_is_recorded_whole() -> None:
    """Both records are of one decision: there is no marker to wait for, and nothing can come in between."""
    scene = Scene()
    producer = scene.init()
    records = len(scene.log)
    assert scene.end(producer, commit=False) == (7, 1)
    assert (scene.state(), scene.effects, len(scene.log) - records) == (S.COMPLETE_ABORT, [], 2)
    assert scene.of().start_ms == scene.wall_ms
    assert scene.end(producer, commit=False) == (7, 1)  # a retry


def test_partitions_report_one_by_one_and_the_last_completes_it() -> None:
    scene = Scene()
    producer = scene.init()
    scene.add(producer, "a-0", "a-1", "a-2")
    scene.end(producer, commit=True)
    scene.written(None, ErrorCode.NONE, "a-1")
    scene.written(None, ErrorCode.NONE, "a-1")
    (found,) = scene.machine.open_transactions()
    assert (found.state, found.partitions) == ("PrepareCommit", (("a", 0), ("a", 2)))
    scene.written(None, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, "a-2")
    assert scene.state() is S.PREPARE_COMMIT
    scene.written(None, ErrorCode.NONE, "a-0")
    assert scene.state() is S.COMPLETE_COMMIT


@pytest.mark.parametrize("code", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED])
def test_a_partition_that_knows_better_leaves_it_prepared_for_the_next_coordinator(code: ErrorCode) -> None:
    scene = Scene()
    producer = scene.init()
    scene.add(producer, "a-0", "a-1")
    scene.end(producer, commit=True)
    scene.written(None, code, "a-0")
    scene.written(None, ErrorCode.NONE, "a-1")
    assert scene.state() is S.PREPARE_COMMIT
    assert scene.machine.counters["markers_refused"] == 1
    effect = scene.reload().effects[0]
    assert effect.partitions == (tp("a-0"), tp("a-1"))


def test_markers_of_another_time_complete_nothing() -> None:
    scene = Scene()
    producer = scene.init()
    scene.add(producer, "a-0")
    producer = scene.end(producer, commit=True)
    first = scene.effects[-1]
    scene.written(first)
    scene.written(first)
    scene.add(producer, "a-0")
    scene.end(producer, commit=False)
    scene.written(first)
    assert scene.state() is S.PREPARE_ABORT
    scene.written(first._replace(transactional_id="other"))
    last = scene.effects[-1]
    scene.reload()
    scene.written(last)  # the former coordinator asked for these markers
    assert scene.state() is S.PREPARE_ABORT
    scene.written()
    assert scene.state() is S.COMPLETE_ABORT


def test_markers_of_an_earlier_transaction_with_the_same_epoch_complete_nothing() -> None:
    """Under the old protocol, only the number of the decision tells the two transactions apart."""
    scene = Scene()
    producer = scene.init()
    scene.add_v3(producer, "a-0")
    scene.end(producer, commit=False, version=4)
    first = scene.effects[-1]
    scene.written(first)
    scene.add_v3(producer, "a-0")
    scene.end(producer, commit=True, version=4)
    scene.written(first)
    assert scene.state() is S.PREPARE_COMMIT
    scene.written()
    assert scene.state() is S.COMPLETE_COMMIT


def test_a_new_coordinator_carries_out_what_was_decided() -> None:
    scene = Scene()
    producer = scene.init()
    scene.add(producer, "a-0", "b-0")
    scene.end(producer, commit=True)
    sent = scene.effects[-1]
    assert scene.reload().effects == [sent._replace(coordinator_epoch=1)]
    scene.written()
    assert scene.state() is S.COMPLETE_COMMIT
    assert scene.reload().effects == []


def test_what_was_decided_over_no_partition_is_complete_when_it_is_loaded() -> None:
    """Other implementations write the two records one after the other, and may stop in between."""
    scene = Scene()
    scene.topic_partition(S.PREPARE_ABORT, (5, 3), start_ms=1)
    assert scene.reload().effects == []
    assert (scene.state(), scene.epochs()) == (S.COMPLETE_ABORT, (5, 3))


def test_counters() -> None:
    scene = Scene()
    producer = scene.init()
    for commit in (True, True, False):
        scene.add(producer, "a-0")
        producer = scene.end(producer, commit=commit)
        scene.written()
    counters = scene.machine.counters
    assert (counters["started"], counters["committed"], counters["aborted"]) == (3, 2, 1)
