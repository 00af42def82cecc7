"""The leader's validation of a produced batch: it gets its offset, or is refused with the code that Kafka's clients
expect."""

from dataclasses import astuple

import pytest
from tests.unit.storage.produce import EPOCH, HOUR, NOW, OFFSET, Outcome, a_record, body_of, produced, rules

from tidelog.model.errors import ErrorCode
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.records.compression import CompressionType
from tidelog.records.control import ControlRecordType, EndTransactionMarker
from tidelog.records.header import (
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    LOG_APPEND_TIME_FLAG,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    TimestampType,
)
from tidelog.storage.append.outcome import AppendedBatch, AppendOrigin, RecordError
from tidelog.storage.append.validation import is_intact, is_usual

CODECS = list(CompressionType)


@pytest.mark.parametrize("codec", CODECS)
def test_a_batch_is_stored_as_sent_but_for_offset_and_epoch(codec: CompressionType) -> None:
    sent = produced(codec=codec, flags=TRANSACTIONAL_FLAG, producer_id=7, producer_epoch=3, base_sequence=11)
    outcome = Outcome(sent)
    stored = outcome.stored
    assert outcome.is_as_sent
    assert bytes(stored.view[8:12]) + bytes(stored.view[16:]) == sent[8:12] + sent[16:]
    assert (stored.header.base_offset, stored.header.partition_leader_epoch) == (OFFSET, EPOCH)
    assert outcome.validated.log_append_time == NO_TIMESTAMP
    assert outcome.validated.batches == [
        AppendedBatch(
            base_offset=OFFSET,
            last_offset=OFFSET + 1,
            max_timestamp=NOW + 1000,
            size_bytes=len(sent),
            records_count=2,
            first_timestamp=NOW,
            leader_epoch=EPOCH,
            producer_id=7,
            producer_epoch=3,
            base_sequence=11,
            is_transactional=True,
        )
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_what_producers_send_takes_the_shortcut(codec: CompressionType) -> None:
    for sent in (
        produced(codec=codec),
        produced(codec=codec, flags=TRANSACTIONAL_FLAG, producer_id=7, base_sequence=0),
    ):
        assert is_usual(sent, len(sent), True)
        assert is_intact(sent, memoryview(sent))


@pytest.mark.parametrize("codec", CODECS)
def test_a_wrong_max_timestamp_is_put_right(codec: CompressionType) -> None:
    outcome = Outcome(produced(codec=codec, max_timestamp=5))
    assert outcome.is_as_sent
    assert (outcome.stored.header.max_timestamp, outcome.validated.max_timestamp) == (NOW + 1000, NOW + 1000)


def test_log_append_time_is_stamped_and_the_producers_times_do_not_matter() -> None:
    outcome = Outcome(produced(body_of(-99 * HOUR, 99 * HOUR)), rules(is_log_append_time=True, after=2**63 - 1))
    assert outcome.stored.header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert [record.timestamp for record in outcome.stored.records()] == [NOW, NOW]
    assert (outcome.validated.log_append_time, outcome.validated.max_timestamp) == (NOW, NOW)


@pytest.mark.parametrize("tail", [b"\0", b"\0" * 16, produced()[:-1], produced()[:20]])
def test_bytes_that_are_no_second_batch_are_left_out(tail: bytes) -> None:
    sent = produced()
    assert Outcome(sent + tail).stored.header.size_bytes == len(sent)


def damaged(position: int, sent: bytes | None = None) -> bytes:
    batch = bytearray(produced() if sent is None else sent)
    batch[position] ^= 1
    return bytes(batch)


REFUSED = [
    (b"", ErrorCode.INVALID_RECORD, "no whole batch"),
    (produced()[:-1], ErrorCode.INVALID_RECORD, "no whole batch"),
    (produced() + produced(), ErrorCode.INVALID_RECORD, "more than one"),
    (produced(base_offset=1), ErrorCode.INVALID_RECORD, "base offset"),
    (produced()[:16] + b"\x01" + produced()[17:], ErrorCode.INVALID_RECORD, "format 1"),
    (produced()[:16] + b"\x03" + produced()[17:], ErrorCode.CORRUPT_MESSAGE, "format 3"),
    (produced()[:8] + bytes(4) + produced()[12:], ErrorCode.CORRUPT_MESSAGE, "length 0"),
    (produced() + produced()[:16] + b"\x09\0\0\0\0", ErrorCode.CORRUPT_MESSAGE, "format 9"),
    (damaged(20), ErrorCode.CORRUPT_MESSAGE, "checksum"),
    (damaged(70), ErrorCode.CORRUPT_MESSAGE, "checksum"),
    (damaged(26), ErrorCode.CORRUPT_MESSAGE, "checksum"),  # the last offset delta: a retry may still be right
    (damaged(60), ErrorCode.CORRUPT_MESSAGE, "checksum"),  # the count
    (damaged(22), ErrorCode.CORRUPT_MESSAGE, "checksum"),  # the codec
    (produced(records_count=0), ErrorCode.INVALID_RECORD, "0 records"),
    (produced(records_count=-1), ErrorCode.INVALID_RECORD, "-1 records"),
    (produced(records_count=3), ErrorCode.INVALID_RECORD, "3 records"),
    (produced(last_offset_delta=2), ErrorCode.INVALID_RECORD, "delta of 2"),
    (produced(last_offset_delta=-1), ErrorCode.INVALID_RECORD, "delta of -1"),
    (produced(records_count=3, last_offset_delta=2), ErrorCode.INVALID_RECORD, "3 records in"),
    (produced(records_count=1, last_offset_delta=0), ErrorCode.INVALID_RECORD, "after the last record"),
    (produced(producer_id=7), ErrorCode.INVALID_RECORD, "sequence -1"),
    (produced(flags=CONTROL_FLAG), ErrorCode.INVALID_RECORD, "not for clients"),
    (produced(flags=5), ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "5"),
    (produced(flags=CompressionType.GZIP), ErrorCode.INVALID_RECORD, "gzip"),  # says so, but is not
    (produced(flags=CompressionType.LZ4), ErrorCode.INVALID_RECORD, "lz4"),
]


@pytest.mark.parametrize(("sent", "code", "text"), REFUSED, ids=[text for _, _, text in REFUSED])
def test_refused(sent: bytes, code: ErrorCode, text: str) -> None:
    refused = Outcome(sent).refused
    assert (refused.code, refused.record_errors) == (code, [])
    assert text in refused.message


def test_a_producer_id_of_0_needs_a_sequence_too() -> None:
    assert Outcome(produced(producer_id=0, base_sequence=0)).validated
    assert Outcome(produced(producer_id=0)).refused.code is ErrorCode.INVALID_RECORD


def test_the_size_limit_is_the_largest_size_that_passes() -> None:
    sent = produced()
    assert Outcome(sent, rules(max_message_bytes=len(sent))).is_as_sent
    refused = Outcome(sent, rules(max_message_bytes=len(sent) - 1)).refused
    assert refused.code is ErrorCode.MESSAGE_TOO_LARGE
    assert str(len(sent) - 1) in refused.message


def test_too_large_is_said_before_the_checksum_is_computed() -> None:
    assert Outcome(damaged(70), rules(max_message_bytes=70)).refused.code is ErrorCode.MESSAGE_TOO_LARGE


def test_a_batch_must_fit_into_a_segment() -> None:
    sent = produced()
    assert Outcome(sent, rules(segment_bytes_max=len(sent))).is_as_sent
    assert Outcome(sent, rules(segment_bytes_max=len(sent) - 1)).refused.code is ErrorCode.RECORD_LIST_TOO_LARGE


def test_a_batch_that_inflates_beyond_the_limit_is_too_large() -> None:
    bomb = produced(a_record(0, key=bytes(1 << 16)), codec=CompressionType.ZSTD, records_count=1, last_offset_delta=0)
    assert len(bomb) < 1000
    assert Outcome(bomb, rules(inflated_max=1 << 17)).is_as_sent
    assert Outcome(bomb, rules(inflated_max=1 << 12)).refused.code is ErrorCode.MESSAGE_TOO_LARGE


def test_zstd_is_refused_where_the_request_is_older_than_the_codec() -> None:
    for codec in CODECS:
        result = Outcome(produced(codec=codec), allows_zstd=False)
        assert result.is_as_sent is (codec is not CompressionType.ZSTD)
    refused = Outcome(produced(codec=CompressionType.ZSTD), allows_zstd=False).refused
    assert refused.code is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.LZ4])
def test_every_record_out_of_time_is_named(codec: CompressionType) -> None:
    body = body_of(-2000, 1000, 2001, 2000)
    sent = produced(body, codec=codec, records_count=4, last_offset_delta=3)
    refused = Outcome(sent, rules(before=1999, after=2000)).refused
    assert refused.code is ErrorCode.INVALID_TIMESTAMP
    limits = f"is outside {NOW - 1999} to {NOW + 2000}"
    assert [astuple(error) for error in refused.record_errors] == [
        (0, f"timestamp {NOW - 2000} {limits}"),
        (2, f"timestamp {NOW + 2001} {limits}"),
    ]


def test_no_timestamp_is_not_out_of_time() -> None:
    sent = produced(body_of(0, 0), base_timestamp=-1, max_timestamp=-1)
    assert Outcome(sent, rules(before=10, after=10)).stored.header.max_timestamp == NO_TIMESTAMP


def test_the_largest_bound_is_no_bound() -> None:
    ancient = produced(body_of(0, 0), base_timestamp=-(2**63), max_timestamp=NO_TIMESTAMP)
    assert Outcome(ancient).is_as_sent
    far = produced(body_of(0, 0), base_timestamp=2**63 - 1, max_timestamp=2**63 - 1)
    assert Outcome(far, rules(after=2**63 - 1)).is_as_sent
    assert Outcome(far).refused.code is ErrorCode.INVALID_TIMESTAMP


def test_a_compacted_topic_needs_keys() -> None:
    body = a_record(0, key=None) + a_record(1, key=b"") + a_record(2, key=None)
    sent = produced(body, records_count=3, last_offset_delta=2, max_timestamp=NOW)
    assert Outcome(sent).is_as_sent
    refused = Outcome(sent, rules(needs_keys=True)).refused
    assert refused.code is ErrorCode.INVALID_RECORD
    assert [error.index for error in refused.record_errors] == [0, 2]


def test_one_fault_a_record_and_the_time_decides_the_code() -> None:
    body = a_record(0, 2 * HOUR, key=None) + a_record(1, 2 * HOUR)
    refused = Outcome(produced(body), rules(needs_keys=True)).refused
    assert refused.code is ErrorCode.INVALID_TIMESTAMP
    assert refused.record_errors == [
        RecordError(0, "a compacted topic needs a key"),
        RecordError(1, f"timestamp {NOW + 2 * HOUR} is outside {-(2**63)} to {NOW + HOUR}"),
    ]


@pytest.mark.parametrize("stamps", [False, True])
def test_log_append_time_is_not_for_producers(stamps: bool) -> None:
    refused = Outcome(produced(flags=LOG_APPEND_TIME_FLAG), rules(is_log_append_time=stamps)).refused
    assert refused.code is ErrorCode.INVALID_TIMESTAMP
    assert [error.index for error in refused.record_errors] == [0, 1]


def test_attributes_nobody_uses_do_not_matter() -> None:
    assert Outcome(produced(flags=DELETE_HORIZON_FLAG | 0x100)).is_as_sent


def marker(kind: ControlRecordType) -> bytes:
    options = BatchOptions(producer_id=7, producer_epoch=1, is_transactional=True, is_control=True)
    builder = BatchBuilder(options=options)
    builder.append_marker(NOW, EndTransactionMarker(kind is ControlRecordType.COMMIT, 4))
    return builder.build()


def test_the_coordinator_writes_markers_and_they_are_read_on_the_way() -> None:
    for committed, kind in ((True, ControlRecordType.COMMIT), (False, ControlRecordType.ABORT)):
        (batch,) = Outcome(marker(kind), origin=AppendOrigin.COORDINATOR).validated.batches
        assert (batch.marker, batch.is_control) == (EndTransactionMarker(committed, 4), True)
        assert Outcome(marker(kind)).refused.code is ErrorCode.INVALID_RECORD


def test_a_control_record_that_ends_no_transaction_has_no_marker() -> None:
    builder = BatchBuilder(options=BatchOptions(is_control=True))
    builder.append_control(NOW, ControlRecordType.LEADER_CHANGE, b"")
    (batch,) = Outcome(builder.build(), origin=AppendOrigin.COORDINATOR).validated.batches
    assert (batch.marker, batch.is_control) == (None, True)
    assert Outcome(builder.build()).refused.code is ErrorCode.INVALID_RECORD


def test_a_broken_marker_is_refused() -> None:
    sent = produced(flags=CONTROL_FLAG)  # its keys are no control keys
    assert Outcome(sent, origin=AppendOrigin.COORDINATOR).refused.code is ErrorCode.INVALID_RECORD


def test_the_coordinators_batches_may_carry_an_offset() -> None:
    sent = produced(base_offset=33)
    assert Outcome(sent, origin=AppendOrigin.COORDINATOR).stored.header.base_offset == OFFSET
