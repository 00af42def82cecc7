"""Batches that are stored otherwise than they were sent: with another codec or other offsets, but the same records."""

import pytest
from tests.unit.config.files import config
from tests.unit.storage.produce import EPOCH, NOW, OFFSET, Outcome, a_record, body_of, produced, rules

from tidelog.model.errors import ErrorCode
from tidelog.records.batch import read_batch
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.records.compression import CompressionType, Inflater
from tidelog.records.control import EndTransactionMarker
from tidelog.records.header import DELETE_HORIZON_FLAG, MAX_INT64, TRANSACTIONAL_FLAG, TimestampType
from tidelog.records.record import Record
from tidelog.storage.append.conversion import renumber
from tidelog.storage.append.outcome import AppendOrigin
from tidelog.storage.append.rules import append_rules

CODECS = list(CompressionType)


def records_of(sent: bytes) -> list[Record]:
    batch = read_batch(sent)
    assert batch is not None
    return list(batch.records())


@pytest.mark.parametrize("target", CODECS)
@pytest.mark.parametrize("source", CODECS)
def test_every_codec_into_every_codec(source: CompressionType, target: CompressionType) -> None:
    sent = produced(codec=source, flags=TRANSACTIONAL_FLAG, producer_id=7, producer_epoch=3, base_sequence=11)
    outcome = Outcome(sent, rules(compression=target))
    stored = outcome.stored
    assert outcome.is_as_sent is (source is target)
    assert stored.compression is target
    assert (stored.header.base_offset, stored.header.partition_leader_epoch) == (OFFSET, EPOCH)
    assert (stored.header.producer_id, stored.header.producer_epoch, stored.header.base_sequence) == (7, 3, 11)
    assert stored.header.is_transactional
    assert stored.header.max_timestamp == NOW + 1000
    moved = [(record.offset - OFFSET, record.timestamp, record.key, record.value) for record in stored.records()]
    assert moved == [(record.offset, record.timestamp, record.key, record.value) for record in records_of(sent)]
    (batch,) = outcome.validated.batches
    assert (batch.size_bytes, batch.last_offset) == (stored.header.size_bytes, OFFSET + 1)


def test_conversion_stamps_log_append_time() -> None:
    outcome = Outcome(produced(), rules(compression=CompressionType.ZSTD, is_log_append_time=True))
    assert outcome.stored.header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert (outcome.stored.header.max_timestamp, outcome.validated.log_append_time) == (NOW, NOW)


def test_conversion_puts_the_max_timestamp_right() -> None:
    assert Outcome(produced(max_timestamp=3), rules(compression=CompressionType.LZ4)).stored.header.max_timestamp == (
        NOW + 1000
    )


def test_a_delete_horizon_is_not_taken_over() -> None:
    stored = Outcome(produced(flags=DELETE_HORIZON_FLAG), rules(compression=CompressionType.LZ4)).stored
    assert stored.header.delete_horizon_ms is None
    assert [record.timestamp for record in stored.records()] == [NOW + 1000, NOW]


def test_the_level_is_the_topics() -> None:
    body = b"".join(a_record(index, key=b"%d" % (index * index)) for index in range(500))
    sent = produced(body, records_count=500, last_offset_delta=499)
    sizes = [
        Outcome(sent, rules(compression=CompressionType.GZIP, level=level)).stored.header.size_bytes for level in (1, 9)
    ]
    assert sizes[1] < sizes[0]


def test_what_grows_beyond_the_limit_by_conversion_is_refused() -> None:
    body = a_record(0, key=bytes(1000))
    sent = produced(body, codec=CompressionType.ZSTD, records_count=1, last_offset_delta=0)
    plain = CompressionType.NONE
    assert Outcome(sent, rules(max_message_bytes=500)).is_as_sent
    code = Outcome(sent, rules(max_message_bytes=500, compression=plain)).refused.code
    assert code is ErrorCode.MESSAGE_TOO_LARGE
    code = Outcome(sent, rules(segment_bytes_max=500, compression=plain)).refused.code
    assert code is ErrorCode.RECORD_LIST_TOO_LARGE


def test_control_batches_are_not_compressed() -> None:
    options = BatchOptions(producer_id=7, producer_epoch=1, is_transactional=True, is_control=True)
    builder = BatchBuilder(options=options)
    builder.append_marker(NOW, EndTransactionMarker(True, 4))
    assert Outcome(builder.build(), rules(compression=CompressionType.ZSTD), AppendOrigin.COORDINATOR).is_as_sent


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("offsets", [(0, 2), (5, 6), (0, 0), (300, 7), (-1, -2)])
def test_holes_are_closed(codec: CompressionType, offsets: tuple[int, int]) -> None:
    body = b"".join(a_record(offset, 1000 * index, b"k%d" % index) for index, offset in enumerate(offsets))
    outcome = Outcome(produced(body, codec=codec))
    assert not outcome.is_as_sent
    assert outcome.stored.compression is codec
    assert [(record.offset, record.timestamp, record.key) for record in outcome.stored.records()] == [
        (OFFSET, NOW, b"k0"),
        (OFFSET + 1, NOW + 1000, b"k1"),
    ]


def test_renumbering_numbers_right_offsets_as_they_are() -> None:
    body = body_of(*range(200))
    assert renumber(body) == body


@pytest.mark.parametrize(
    ("name", "codec", "level"),
    [
        ("producer", None, None),
        ("uncompressed", CompressionType.NONE, None),
        ("snappy", CompressionType.SNAPPY, None),
        ("gzip", CompressionType.GZIP, 4),
        ("lz4", CompressionType.LZ4, 5),
        ("zstd", CompressionType.ZSTD, 6),
    ],
)
def test_the_rules_of_a_topic(name: str, codec: CompressionType | None, level: int | None) -> None:
    topic = config().topic_config(
        {
            "compression.type": name,
            "compression.gzip.level": "4",
            "compression.lz4.level": "5",
            "compression.zstd.level": "6",
            "max.message.bytes": "77",
            "cleanup.policy": "compact,delete",
            "message.timestamp.before.max.ms": "10",
            "message.timestamp.after.max.ms": "20",
        }
    )
    asked = append_rules(topic, Inflater())
    assert (asked.compression, asked.compression_level) == (codec, level)
    assert (asked.max_message_bytes, asked.segment_bytes_max, asked.needs_keys) == (77, topic.segment_bytes_max, True)
    assert (asked.is_log_append_time, asked.timestamp_before_max_ms, asked.timestamp_after_max_ms) == (False, 10, 20)


def test_under_log_append_time_no_time_is_out_of_bounds() -> None:
    topic = config().topic_config({"message.timestamp.type": "LogAppendTime", "message.timestamp.after.max.ms": "1"})
    asked = append_rules(topic, Inflater())
    assert asked.is_log_append_time
    assert (asked.timestamp_before_max_ms, asked.timestamp_after_max_ms) == (MAX_INT64, MAX_INT64)
