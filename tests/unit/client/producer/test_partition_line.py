"""The queue of one partition's batches: which batch may be sent when, and with which sequence."""

import pytest

from tidelog.client.backoff import FIRST_MS, LAST_MS, Backoff
from tidelog.client.errors import ClientError
from tidelog.client.producer.batch import Compression, OpenBatch, ProducerBatch
from tidelog.client.producer.partition_line import IN_FLIGHT_IDEMPOTENT, MAX_PRODUCER_EPOCH, PartitionLine
from tidelog.client.producer_id_and_epoch import ProducerIdAndEpoch
from tidelog.model.errors import ErrorCode
from tidelog.model.ids import TopicPartition
from tidelog.records.batch import read_batch
from tidelog.sim.entropy import SimEntropy

LONG_AFTER_MS = 1_000_000
LEADER = 1


def line_of(batches: int, *, is_idempotent: bool = True, records: int = 2, epoch: int = 0) -> PartitionLine:
    line = PartitionLine(TopicPartition("t", 0), Backoff(SimEntropy(1)), is_idempotent=is_idempotent)
    line.identity = ProducerIdAndEpoch(7, epoch) if is_idempotent else None
    for number in range(batches):
        line.open = OpenBatch(created_ms=number)
        for _ in range(records):
            line.open.append(None, b"v", 0, (), 10, None)
        line.close(Compression())
    return line


def take_all(line: PartitionLine) -> list[ProducerBatch]:
    taken = []
    while line.may_send(LONG_AFTER_MS):
        taken.append(line.begin_sending(LEADER))
    return taken


def error(code: ErrorCode) -> ClientError:
    return ClientError(code, "produce", "a broker")


def fail(line: PartitionLine, batch: ProducerBatch, code: ErrorCode = ErrorCode.NETWORK_EXCEPTION) -> None:
    line.failed(batch, error(code), 0)


def identities(batches: list[ProducerBatch]) -> list[tuple[int, int, int]]:
    return [(batch.producer_id, batch.producer_epoch, batch.sequence) for batch in batches]


def test_five_are_in_flight_with_sequences_that_count_records() -> None:
    taken = take_all(line_of(7, records=3))
    assert len(taken) == IN_FLIGHT_IDEMPOTENT
    assert identities(taken) == [(7, 0, 0), (7, 0, 3), (7, 0, 6), (7, 0, 9), (7, 0, 12)]


def test_without_idempotence_one_is_in_flight_and_nothing_has_a_sequence() -> None:
    assert identities(take_all(line_of(3, is_idempotent=False))) == [(-1, -1, -1)]


def test_what_failed_goes_again_as_it_was_once_all_answers_are_in() -> None:
    line = line_of(6)
    first, second, third, fourth, fifth = take_all(line)
    fail(line, first)
    line.acknowledged(second)  # a duplicate of an earlier try, say
    fail(line, third, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    fail(line, fourth)
    assert not line.may_send(LONG_AFTER_MS), "the fifth is still in flight"
    fail(line, fifth)
    again = take_all(line)
    assert again[:4] == [first, third, fourth, fifth]
    assert identities(again) == [(7, 0, 0), (7, 0, 4), (7, 0, 6), (7, 0, 8), (7, 0, 10)]


def test_a_gap_with_nothing_left_before_it_begins_a_new_epoch_at_0() -> None:
    line = line_of(4)
    first, second, third, fourth = take_all(line)
    line.refused(first)
    for batch in (second, third, fourth):
        fail(line, batch, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert take_all(line) == [second, third, fourth]
    assert identities([second, third, fourth]) == [(7, 1, 0), (7, 1, 2), (7, 1, 4)]


def test_the_batch_after_one_that_was_given_up_keeps_its_sequence_until_the_gap_is_certain() -> None:
    line = line_of(2)
    first, second = take_all(line)
    fail(line, first)
    fail(line, second)
    assert line.expired(before_ms=1) == [first]
    assert take_all(line) == [second]
    assert identities([second]) == [(7, 0, 2)], "the first may have been written after all"
    line.acknowledged(second)
    assert line.is_idle


def test_a_new_epoch_after_the_last_takes_a_new_producer_id() -> None:
    line = line_of(1, epoch=MAX_PRODUCER_EPOCH)
    (batch,) = take_all(line)
    fail(line, batch, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert (line.identity, line.used_up_id) == (None, 7)


def test_sequences_wrap_to_0() -> None:
    line = line_of(2)
    line._next_sequence = 0x7FFFFFFE
    assert [batch.sequence for batch in take_all(line)] == [0x7FFFFFFE, 0]


def test_batches_in_flight_elsewhere_are_not_overtaken() -> None:
    line = line_of(2)
    batch = line.begin_sending(LEADER)
    assert line.may_send_to(LEADER)
    assert not line.may_send_to(2)
    fail(line, batch)
    assert line.may_send_to(2)


def test_a_failure_is_followed_by_a_pause_that_grows_and_success_ends_it() -> None:
    line = line_of(1)
    waits = []
    for _ in range(8):
        fail(line, take_all(line)[0])
        waits.append(line.retry_at_ms)
        assert not line.may_send(line.retry_at_ms - 1)
    assert FIRST_MS * 0.8 <= waits[0] <= FIRST_MS * 1.2
    assert LAST_MS * 0.8 <= waits[-1] <= LAST_MS * 1.2
    line.acknowledged(take_all(line)[0])
    line.waiting.extend(line_of(1).waiting)
    fail(line, take_all(line)[0])
    assert line.retry_at_ms <= FIRST_MS * 1.2


def test_nothing_expires_behind_a_batch_in_flight() -> None:
    line = line_of(2)
    batch = line.begin_sending(LEADER)
    assert line.expired(before_ms=100) == []
    line.acknowledged(batch)
    assert len(line.expired(before_ms=100)) == 1


def test_the_bytes_of_a_batch_say_whose_it_is() -> None:
    line = line_of(1, records=3)
    (batch,) = take_all(line)
    read = read_batch(batch.seal())
    assert read is not None
    read.validate()
    header = read.header
    assert (header.producer_id, header.producer_epoch, header.base_sequence, header.records_count) == (7, 0, 0, 3)


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 20])
def test_nulls_in_any_place(rows: int) -> None:
    open_batch = OpenBatch(0)
    wanted = [(None if row % 3 == 0 else b"k%d" % row, None if row % 4 == 1 else b"v" * row) for row in range(rows)]
    for key, value in wanted:
        open_batch.append(key, value, 5, (), 0, None)
    read = read_batch(open_batch.close(Compression()).seal())
    assert read is not None
    assert [(record.key, record.value) for record in read.records()] == wanted
