"""AddPartitionsToTxn and AddOffsetsToTxn: what gets into a transaction, and which producers may add it."""

from collections.abc import Generator

import pytest
from tests.unit.coordinator.transaction.scene import ID, Scene, topics, tp

from tidelog.coordinator.requests import CoordinatorRequest
from tidelog.coordinator.transaction.add_partitions import PARTITIONS_A_SLICE
from tidelog.coordinator.transaction.states import TransactionState as S
from tidelog.model.errors import ErrorCode
from tidelog.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)


@pytest.mark.parametrize("state", [S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT])
def test_the_first_partition_begins_a_transaction(state: S) -> None:
    scene = Scene()
    scene.topic_partition(state, (5, 3), version=0, start_ms=1)
    scene.advance(50)
    assert scene.add((5, 3), "a-0") is ErrorCode.NONE
    found = scene.of()
    assert (found.state, list(found.partitions), found.start_ms) == (S.ONGOING, [tp("a-0")], scene.wall_ms)
    assert found.client_transaction_version == 2


def test_more_partitions_join_it_and_its_time_still_counts_from_the_first() -> None:
    scene = Scene()
    producer = scene.init()
    scene.add_v3(producer, "a-0")
    scene.advance(10)
    assert scene.add_v3(producer, "b-1", "a-0", "a-2") is ErrorCode.NONE
    assert list(scene.of().partitions) == [tp("a-0"), tp("a-2"), tp("b-1")]
    assert (scene.of().start_ms, scene.of().last_update_ms) == (scene.wall_ms - 10, scene.wall_ms)
    assert scene.of().client_transaction_version == 0


def test_partitions_that_are_in_it_already_cost_no_record() -> None:
    scene = Scene()
    producer = scene.init()
    scene.add(producer, "a-0", "a-1")
    before = len(scene.log)
    assert scene.add(producer, "a-1") is ErrorCode.NONE
    assert len(scene.log) == before


@pytest.mark.parametrize("state", [S.PREPARE_COMMIT, S.PREPARE_ABORT])
def test_while_the_last_one_is_completed_nothing_is_added(state: S) -> None:
    """This holds for both identities: the producer may already know its next id."""
    scene = Scene()
    scene.topic_partition(state, (5, 32767), "a-0", next_producer_id=6)
    assert scene.add((6, 0), "a-0") is ErrorCode.CONCURRENT_TRANSACTIONS
    assert scene.add_v3((5, 32767), "a-0") is ErrorCode.CONCURRENT_TRANSACTIONS


def test_strangers_are_refused() -> None:
    scene = Scene()
    producer = scene.init()
    assert scene.add(producer, "a-0", id="other") is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert scene.add((99, 0), "a-0") is ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert scene.add((7, 1), "a-0") is ErrorCode.PRODUCER_FENCED
    assert scene.add(producer, "a-0", id="") is ErrorCode.INVALID_REQUEST
    assert scene.state() is S.EMPTY


def test_old_clients_hear_of_an_invalid_epoch() -> None:
    scene = Scene()
    scene.init()
    assert scene.add_v3((7, 4), "a-0", version=1) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert scene.add_v3((7, 4), "a-0", version=2) is ErrorCode.PRODUCER_FENCED
    assert scene.add_offsets((7, 4), "group", version=1) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert scene.add_offsets((7, 4), "group", version=2) is ErrorCode.PRODUCER_FENCED


def test_offsets_are_added_as_the_partition_that_holds_them() -> None:
    scene = Scene()
    producer = scene.init()
    assert scene.add_offsets(producer, "group") is ErrorCode.NONE
    assert list(scene.of().partitions) == [tp("__consumer_offsets-5")]
    assert scene.of().client_transaction_version == 0


def test_verification_tells_what_is_in_the_transaction_and_changes_nothing() -> None:
    scene = Scene()
    producer = scene.init()
    scene.add(producer, "a-0")
    before = len(scene.log)
    codes = {"a-0": ErrorCode.NONE, "a-1": ErrorCode.TRANSACTION_ABORTABLE}
    assert scene.verify(producer, "a-0", "a-1") == codes
    assert len(scene.log) == before


def test_verification_of_strangers() -> None:
    scene = Scene()
    producer = scene.init()
    scene.add(producer, "a-0")
    assert scene.verify(producer, "a-0", id="other") == {"a-0": ErrorCode.INVALID_PRODUCER_ID_MAPPING}
    assert scene.verify((99, 0), "a-0") == {"a-0": ErrorCode.INVALID_PRODUCER_ID_MAPPING}
    assert scene.verify((7, 1), "a-0") == {"a-0": ErrorCode.PRODUCER_FENCED}
    assert scene.verify(producer, "a-0", id="") == {"a-0": ErrorCode.INVALID_REQUEST}


def test_verification_after_the_end() -> None:
    scene = Scene()
    producer = scene.init()
    scene.add_v3(producer, "a-0")
    scene.end(producer, commit=True, version=4)
    assert scene.verify(producer, "a-0") == {"a-0": ErrorCode.CONCURRENT_TRANSACTIONS}
    scene.written()
    assert scene.verify(producer, "a-0") == {"a-0": ErrorCode.TRANSACTION_ABORTABLE}


def transaction(name: str, producer: tuple[int, int], *partitions: str) -> AddPartitionsToTxnTransaction:
    return AddPartitionsToTxnTransaction(
        transactional_id=name, producer_id=producer[0], producer_epoch=producer[1], topics=topics(*partitions)
    )


def test_a_broker_asks_for_several_at_once_and_each_has_its_own_answer() -> None:
    scene = Scene()
    one, two = scene.init(id="one"), scene.init(id="two")
    asked = [
        transaction("one", one, "a-0"),
        transaction("none", one, "a-0"),
        transaction("two", two, "a-1", "b-0"),
        transaction("one", one, "a-5"),
    ]
    response = scene.ask(AddPartitionsToTxnRequest(transactions=asked), 5)
    codes = {
        each.transactional_id: [
            part.partition_error_code for topic in each.topic_results for part in topic.results_by_partition
        ]
        for each in response.results_by_transaction
    }
    assert codes == {"one": [0], "none": [ErrorCode.INVALID_PRODUCER_ID_MAPPING], "two": [0, 0]}
    assert list(scene.of("one").partitions) == [tp("a-0")]  # named twice: only the first counts
    assert list(scene.of("two").partitions) == [tp("a-1"), tp("b-0")]


def test_a_transaction_of_more_partitions_than_a_record_holds() -> None:
    """The size is checked before the decision, and every accepted transaction can also be ended."""
    scene = Scene(max_record_bytes=1_000)
    producer = scene.init()
    assert scene.add(producer, *(f"a-{number}" for number in range(1_000))) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert scene.state() is S.EMPTY
    number = 0
    while scene.add(producer, f"a-{number}") is ErrorCode.NONE:
        number += 1
    assert number > 100
    scene.end(producer, commit=True)
    assert all(len(value or b"") + len(key) < 1_000 for key, value in scene.log)


def test_it_is_known_who_was_heard_last() -> None:
    scene = Scene()
    scene.add(scene.init(), "a-0")
    (found,) = scene.machine.open_transactions()
    assert (found.transactional_id, found.client_id, found.client_host) == (ID, "someone", "/10.0.0.1")
    scene.reload()
    (found,) = scene.machine.open_transactions()
    assert (found.state, found.partitions, found.client_id) == ("Ongoing", (("a", 0),), "")


@pytest.mark.parametrize("version", [3, 4])
def test_many_partitions_are_one_decision_in_parts(version: int) -> None:
    scene = Scene()
    producer = scene.init()
    many = [AddPartitionsToTxnTopic(name="a", partitions=list(range(3 * PARTITIONS_A_SLICE)))]
    if version == 3:
        message = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=ID,
            v3_and_below_producer_id=producer[0],
            v3_and_below_producer_epoch=producer[1],
            v3_and_below_topics=many,
        )
    else:
        transaction = AddPartitionsToTxnTransaction(
            transactional_id=ID, producer_id=producer[0], producer_epoch=producer[1], verify_only=False, topics=many
        )
        message = AddPartitionsToTxnRequest(transactions=[transaction])
    work = scene.machine.handle(scene.now_ms, CoordinatorRequest(message, version, scene.wall_ms))
    assert isinstance(work, Generator)
    pauses = 0
    while True:
        try:
            next(work)
            pauses += 1
        except StopIteration as end:
            result = end.value
            break
    assert pauses == 6, "three times for the partitions, and for their answers"
    assert len(result.records) == 1
    assert len(result.records[0][0].value.transaction_partitions[0].partition_ids) == 3 * PARTITIONS_A_SLICE
