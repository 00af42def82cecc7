"""A batch that a worker prepared is what the log itself would have made of it; and the batches that are too heavy for a
turn."""

import pickle
from struct import Struct

import cramjam
import pytest
from tests.unit.config.files import config
from tests.unit.records.raw import content, field, record, varint
from tests.unit.storage.produce import HOUR, NOW, Outcome, produced, rules

from tidelog.model.errors import ErrorCode
from tidelog.records.compression import CompressionType, Inflater
from tidelog.records.errors import CorruptRecordCompressionError, DecompressedSizeError
from tidelog.records.header import LOG_APPEND_TIME_FLAG
from tidelog.records.kernels_check import NAMED_MAX
from tidelog.storage.append.outcome import Refused, TooHeavy, Validated
from tidelog.storage.append.preparation import Prepared, Unprepared, preparation_job, prepare, refusal
from tidelog.storage.append.rules import AppendRules, append_rules
from tidelog.storage.append.validation import place_prepared, validate_and_assign
from tidelog.storage.append.weight import INLINE_INFLATED_BYTES, INLINE_RECORDS, inline_compressed_bytes

CODECS = list(CompressionType)
KB, MB = 1 << 10, 1 << 20


def a_record(index: int, key: bytes | None = b"k", value: bytes = b"v") -> bytes:
    return record(content(varint(index), varint(0), field(key), field(value)))


def batch(*records: bytes, codec: CompressionType = CompressionType.NONE, flags: int = 0, time: int = NOW) -> bytes:
    count = len(records)
    return produced(
        b"".join(records),
        codec=codec,
        flags=flags,
        records_count=count,
        last_offset_delta=count - 1,
        base_timestamp=time,
        max_timestamp=time,
    )


def inline(sent: bytes, asked: AppendRules) -> Validated | Refused:
    buffer = memoryview(bytearray(sent))
    outcome = validate_and_assign(buffer, 0, len(buffer), 0, NOW, 0, asked, is_inline=True)
    assert not isinstance(outcome, TooHeavy) or bytes(buffer) == sent, "it is left as it was"
    return outcome


def prepared(sent: bytes, asked: AppendRules) -> Prepared | Unprepared:
    """Prepare the batch, with job and result pickled as between the processes."""
    job = pickle.loads(pickle.dumps(preparation_job(memoryview(sent), asked, NOW, allows_zstd=True)))
    found = pickle.loads(pickle.dumps(prepare(job)))
    assert isinstance(found, Prepared | Unprepared)
    return found


def placed(sent: bytes, asked: AppendRules) -> bytes:
    made = prepared(sent, asked)
    assert isinstance(made, Prepared)
    view = memoryview(bytearray(sent if made.stored is None else made.stored))
    outcome = place_prepared(view, made.max_timestamp, 70, NOW, 3, asked)
    assert isinstance(outcome, Validated)
    return b"".join(outcome.pieces)


@pytest.mark.parametrize("stamps", [False, True])
@pytest.mark.parametrize("target", [None, *CODECS])
@pytest.mark.parametrize("codec", CODECS)
def test_prepared_and_placed_is_as_validated_at_once(
    codec: CompressionType, target: CompressionType | None, stamps: bool
) -> None:
    asked = rules(compression=target, is_log_append_time=stamps)
    sent = produced(codec=codec, producer_id=7, producer_epoch=1, base_sequence=4)
    buffer = memoryview(bytearray(sent))
    at_once = validate_and_assign(buffer, 0, len(buffer), 70, NOW, 3, asked)
    assert isinstance(at_once, Validated)
    assert placed(sent, asked) == b"".join(at_once.pieces)


def test_a_batch_that_stays_as_it_is_does_not_travel_back() -> None:
    assert prepared(produced(), rules()) == Prepared(None, NOW + 1000)
    made = prepared(produced() + b"rest", rules())
    assert isinstance(made, Prepared)
    assert made.stored is not None, "what is behind it is left out"
    assert len(made.stored) == len(produced())


def test_a_refusal_travels_whole() -> None:
    asked = rules(needs_keys=True)
    found = prepared(batch(a_record(0, key=None)), asked)
    assert isinstance(found, Unprepared)
    assert refusal(found) == Outcome(batch(a_record(0, key=None)), asked).refused


# Batches that are too heavy for a turn


@pytest.mark.parametrize("codec", [each for each in CODECS if each])
def test_inflating_ends_at_what_a_turn_has_time_for(codec: CompressionType) -> None:
    most = INLINE_INFLATED_BYTES[codec]
    asked = rules(inflated_max=64 * MB, max_message_bytes=8 * MB)
    light, heavy = (batch(a_record(0, value=bytes(size)), codec=codec) for size in (most - KB, most + KB))
    assert isinstance(inline(light, asked), Validated)
    assert isinstance(inline(heavy, asked), TooHeavy)
    assert isinstance(prepared(heavy, asked), Prepared)


def test_an_inflater_that_has_grown_is_still_held_to_less() -> None:
    inflater, data = Inflater(), bytes(cramjam.zstd.compress(bytes(8 * MB)))
    assert len(inflater.inflate(CompressionType.ZSTD, data, 0)) == 8 * MB
    with pytest.raises(DecompressedSizeError, match=str(MB)):
        inflater.inflate(CompressionType.ZSTD, data, 0, MB)


@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.GZIP])
@pytest.mark.parametrize(("target", "level"), [(CompressionType.ZSTD, 19), (CompressionType.LZ4, 12)])
def test_compressing_goes_by_bytes_and_level(codec: CompressionType, target: CompressionType, level: int) -> None:
    settings = {"compression.type": target.name.lower(), f"compression.{target.name.lower()}.level": str(level)}
    asked = append_rules(config().topic_config(settings), Inflater())
    most = inline_compressed_bytes(target, level)
    light, heavy = (batch(a_record(0, value=bytes(size)), codec=codec) for size in (most - KB, most + KB))
    assert isinstance(inline(light, asked), Validated)
    assert isinstance(inline(heavy, asked), TooHeavy)


def test_what_may_be_compressed_falls_with_the_level() -> None:
    levels = [inline_compressed_bytes(CompressionType.ZSTD, level) for level in (-7, 3, 4, 12, 15, 22)]
    assert levels == sorted(levels, reverse=True)
    assert levels[0] > 512 * KB
    assert levels[-1] < 8 * KB
    assert inline_compressed_bytes(CompressionType.GZIP, None) == inline_compressed_bytes(CompressionType.GZIP, -1)
    assert inline_compressed_bytes(CompressionType.SNAPPY, None) > inline_compressed_bytes(CompressionType.LZ4, None)


def test_many_records_are_too_much() -> None:
    sent = batch(*[a_record(index) for index in range(INLINE_RECORDS + 1)])
    assert isinstance(inline(sent, rules(max_message_bytes=16 * MB)), TooHeavy)


def test_many_records_to_be_numbered_anew_are_too_much() -> None:
    sent = batch(*[a_record(2 * index) for index in range(3_000)])
    assert isinstance(inline(sent, rules()), TooHeavy)


def test_a_corrupt_batch_is_refused_before_it_is_weighed() -> None:
    sent = bytearray(batch(a_record(0, value=bytes(9 * MB)), codec=CompressionType.ZSTD))
    sent[-1] ^= 1
    outcome = inline(bytes(sent), rules())
    assert isinstance(outcome, Refused)
    assert outcome.code is ErrorCode.CORRUPT_MESSAGE


# Bombs, and frames that lie


def test_of_many_faults_the_first_are_named() -> None:
    count = NAMED_MAX + 10
    refused = Outcome(batch(*[a_record(n, key=None) for n in range(count)]), rules(needs_keys=True)).refused
    assert len(refused.record_errors) == NAMED_MAX
    assert refused.message.startswith(f"{count} records")
    records = [a_record(n) for n in range(count)]
    refused = Outcome(batch(*records, time=NOW + 2 * HOUR), rules()).refused
    assert (refused.code, len(refused.record_errors)) == (ErrorCode.INVALID_TIMESTAMP, NAMED_MAX)
    refused = Outcome(batch(*records, flags=LOG_APPEND_TIME_FLAG), rules()).refused
    assert len(refused.record_errors) == NAMED_MAX


def zstd_frame(window_log: int) -> bytes:
    """Return a frame that asks for a window of 2**window_log bytes and has one raw block of five bytes."""
    descriptor, window = b"\x00", bytes([(window_log - 10) << 3])
    return b"\x28\xb5\x2f\xfd" + descriptor + window + ((5 << 3) | 1).to_bytes(3, "little") + b"hello"


HOSTILE = {
    "gzip of a thousand members": (CompressionType.GZIP, bytes(cramjam.gzip.compress(bytes(MB))) * 100),
    "zstd of a thousand frames": (CompressionType.ZSTD, bytes(cramjam.zstd.compress(bytes(MB))) * 100),
    "lz4 of many frames": (CompressionType.LZ4, bytes(cramjam.lz4.compress(bytes(MB))) * 100),
    "snappy that claims 4 GB": (CompressionType.SNAPPY, b"\xff\xff\xff\xff\x0f" + bytes(100)),
    "xerial of many blocks": (
        CompressionType.SNAPPY,
        b"\x82SNAPPY\x00"
        + Struct(">ii").pack(1, 1)
        + 100 * (lambda block: Struct(">i").pack(len(block)) + block)(bytes(cramjam.snappy.compress_raw(bytes(MB)))),
    ),
    "xerial with a length beyond its end": (
        CompressionType.SNAPPY,
        b"\x82SNAPPY\x00" + Struct(">iii").pack(1, 1, 0x7FFFFFFF) + bytes(8),
    ),
    "zstd with a window of 2 GB": (CompressionType.ZSTD, zstd_frame(31)),
    "lz4 that claims 1 GB": (
        CompressionType.LZ4,
        b"\x04\x22\x4d\x18\x68\x40" + (1 << 30).to_bytes(8, "little") + b"\x00" + bytes(8),
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_frames_end_at_the_limit(name: str) -> None:
    codec, data = HOSTILE[name]
    with pytest.raises((DecompressedSizeError, CorruptRecordCompressionError)):
        Inflater(MB // 2).inflate(codec, data, 0)


def test_a_large_window_alone_is_no_reason_to_refuse() -> None:
    """Every consumer can read this window; Java's limit is 2**27."""
    assert Inflater().inflate(CompressionType.ZSTD, zstd_frame(27), 0) == b"hello"
