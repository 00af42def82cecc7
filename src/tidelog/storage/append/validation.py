"""The leader's gate: a produced batch is checked, given its place in the log, and stored as sent where it can be.

    the frame -> size, checksum -> what the batch says of itself -> every record
        -> stored as sent: offset and epoch are patched into the receive buffer, the time where it must be
        -> stored anew: another codec is asked for, or offsets are not 0, 1, 2, ... (see `conversion`)

The order is Kafka's, and it matters to clients: CORRUPT_MESSAGE is worth a retry and INVALID_RECORD is not, so nothing
that a flipped bit could fake is said before the checksum was found right. As in Kafka, bytes behind the batch that do
not make up another one are left out.

Departures, all towards logs that every consumer can read. A batch that claims LogAppendTime is always refused (Kafka
lets some into CreateTime topics, where their header then contradicts their records). Batches whose offsets have holes
are numbered anew (Kafka stores plain ones as they are, and stumbles over compressed ones). What is inside a compressed
batch is held to the same format as what is inside a plain one. Where Kafka answers UNKNOWN_SERVER_ERROR (an unknown
codec, data that its codec refuses) the answer is one that a client can act on. And no batch inflates without limit.

Compiled by mypyc: this runs once a batch, and interpreted it took longer than checksum and walk together. For the same
reason nearly every batch passes `is_usual`, a few comparisons; only the others are held against the rules one by one
in `refusals`, which says what was broken, if anything was.
"""

from struct import Struct
from typing import Final

from librt.strings import read_i16_be, read_i32_be, read_i64_be
from mypy_extensions import i64

from tidelog.model.errors import ErrorCode
from tidelog.records.compression import CompressionType
from tidelog.records.crc import crc32c
from tidelog.records.errors import CorruptRecordError, DecompressedSizeError
from tidelog.records.header import TimestampType
from tidelog.records.kernels_check import check_records
from tidelog.records.patch import assign_timestamp
from tidelog.storage.append.conversion import convert
from tidelog.storage.append.outcome import AppendedBatch, AppendOrigin, Refused, TooHeavy, Validated
from tidelog.storage.append.refusals import refuse_batch, refuse_records, too_large, wider_than_segment
from tidelog.storage.append.rules import AppendRules
from tidelog.storage.append.weight import (
    INLINE_INFLATED_BYTES,
    INLINE_RECORDS,
    INLINE_RENUMBERED,
    INLINE_SENT_BYTES,
)
from tidelog.storage.producers.markers import marker_of

# As in `records.header`; here they are constants to the compiler.
OVERHEAD: Final = 61
LOG_OVERHEAD: Final = 12
CODEC: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
NO_TIMESTAMP: Final = -1
MASK_32: Final = 0xFFFFFFFF
MAX_I64: Final = 0x7FFFFFFFFFFFFFFF
MIN_I64: Final = -0x7FFFFFFFFFFFFFFF - 1

_CODECS: Final = tuple(CompressionType)
_ZSTD: Final = 4
_PLACE: Final = Struct(">qii")  # base offset, batch length (which stays), leader epoch: all before the checksum


def validate_and_assign(
    buffer: memoryview,
    start: int,
    end: int,
    first_offset: int,
    now_ms: int,
    leader_epoch: int,
    rules: AppendRules,
    origin: AppendOrigin = AppendOrigin.CLIENT,
    *,
    allows_zstd: bool = True,
    is_inline: bool = False,
) -> Validated | Refused:
    """Check the one batch in `buffer[start:end]` and place it at `first_offset`. `allows_zstd` is False for produce
    requests older than that codec. With `is_inline` nothing is begun that takes longer than a turn may (TooHeavy).
    Where the batch is refused the buffer is left unchanged."""
    view = buffer[start:end]
    # The one copy: compiled code reads `bytes` without building an object a byte, and nothing else. The checksum then
    # finds the batch in the processor's cache, so that the copy adds no more than a quarter of the checksum's time.
    b = bytes(view)
    if not is_usual(b, rules.max_message_bytes, allows_zstd) or not is_intact(b, view):
        size_bytes = refuse_batch(view, rules, origin, allows_zstd)
        if isinstance(size_bytes, Refused):
            return size_bytes
        view, b = view[:size_bytes], b[:size_bytes]
    try:
        return admit(view, b, first_offset, now_ms, leader_epoch, rules, is_inline)
    except DecompressedSizeError as error:
        if is_inline:
            return too_heavy()
        return Refused(ErrorCode.MESSAGE_TOO_LARGE, error.reason)
    except CorruptRecordError as error:
        return Refused(ErrorCode.INVALID_RECORD, error.reason)


def is_usual(b: bytes, max_message_bytes: i64, allows_zstd: bool) -> bool:
    """Tell whether `b` is one batch that no rule about headers can refuse, whoever sent it. False is no verdict: the
    batch may be good or not."""
    size_bytes: i64 = len(b)
    if size_bytes < OVERHEAD or size_bytes > max_message_bytes or b[16] != 2:
        return False
    if read_i64_be(b, 0) != 0 or i64(read_i32_be(b, 8)) != size_bytes - LOG_OVERHEAD:
        return False
    attributes: i64 = i64(read_i16_be(b, 21))
    codec: i64 = attributes & CODEC
    if attributes & ~(CODEC | TRANSACTIONAL) or codec > _ZSTD or (codec == _ZSTD and not allows_zstd):
        return False
    count: i64 = i64(read_i32_be(b, 57))
    if count <= 0 or count != i64(read_i32_be(b, 23)) + 1:
        return False
    return read_i64_be(b, 43) < 0 or read_i32_be(b, 53) >= 0


def is_intact(b: bytes, view: memoryview) -> bool:
    stored: i64 = i64(read_i32_be(b, 17)) & MASK_32
    computed: i64 = crc32c(view[21:])
    return stored == computed


def admit(
    view: memoryview,
    b: bytes,
    first_offset: i64,
    now_ms: i64,
    leader_epoch: int,
    rules: AppendRules,
    is_inline: bool,
) -> Validated | Refused:
    """Check the records of a batch whose header is in order, and store it; `b` is a copy of `view`."""
    attributes: i64 = i64(read_i16_be(b, 21))
    codec = _CODECS[attributes & CODEC]
    count: i64 = i64(read_i32_be(b, 57))
    # Control batches stay as they are: there is nothing in them that is worth compressing.
    target = codec if rules.compression is None or attributes & CONTROL else rules.compression
    if is_inline:
        is_long = len(b) > INLINE_SENT_BYTES[codec] or (target is not codec and len(b) > rules.inline_compressed_bytes)
        if is_long or count > INLINE_RECORDS:
            return too_heavy()
    body, position = b, i64(OVERHEAD)
    if codec:
        limit_bytes = INLINE_INFLATED_BYTES[codec] if is_inline else 0
        body, position = rules.inflater.inflate(codec, view[OVERHEAD:], 0, limit_bytes), 0
    oldest: i64 = oldest_ms(now_ms, rules.timestamp_before_max_ms)
    newest: i64 = newest_ms(now_ms, rules.timestamp_after_max_ms)
    base_timestamp: i64 = read_i64_be(b, 27)
    check = check_records(body, position, len(body), count, 0, base_timestamp, oldest, newest, rules.needs_keys)
    if check.faults or attributes & LOG_APPEND_TIME:
        return refuse_records(b, check, oldest, newest)
    batch = place(b, first_offset, leader_epoch, now_ms if rules.is_log_append_time else check.max_timestamp)
    if attributes & CONTROL:
        batch.marker = marker_of(b)
    if target is not codec or not check.is_dense:
        if is_inline and is_heavy_to_convert(len(body), count, check.is_dense, rules):
            return too_heavy()
        stored = convert(b, batch, body[position:], check.is_dense, target, rules)
        return store_anew(stored, batch, rules)
    return store_as_sent(view, b, batch, rules)


def is_heavy_to_convert(size_bytes: i64, count: i64, is_dense: bool, rules: AppendRules) -> bool:
    return size_bytes > rules.inline_compressed_bytes or (not is_dense and count > INLINE_RENUMBERED)


def too_heavy() -> Refused:
    return TooHeavy(ErrorCode.UNKNOWN_SERVER_ERROR, "a batch that has to be prepared before it is appended")


def place_prepared(
    view: memoryview, max_timestamp: int, first_offset: int, now_ms: int, leader_epoch: int, rules: AppendRules
) -> Validated | Refused:
    """Place a batch that was checked and, where it had to be, converted by these very rules (`preparation`)."""
    b = bytes(view)
    batch = place(b, first_offset, leader_epoch, now_ms if rules.is_log_append_time else max_timestamp)
    return store_as_sent(view, b, batch, rules)


def oldest_ms(now_ms: i64, before_max_ms: i64) -> i64:
    """Return the earliest timestamp that is allowed. The largest setting there is means no bound, and not a bound that
    many milliseconds ago."""
    return MIN_I64 if before_max_ms == MAX_I64 else now_ms - before_max_ms


def newest_ms(now_ms: i64, after_max_ms: i64) -> i64:
    return MAX_I64 if after_max_ms > MAX_I64 - now_ms else now_ms + after_max_ms


def place(b: bytes, base_offset: i64, leader_epoch: int, max_timestamp: i64) -> AppendedBatch:
    """Describe the batch `b` at `base_offset`. All of it but offset, epoch and time is taken from its header."""
    attributes: i64 = i64(read_i16_be(b, 21))
    return AppendedBatch(
        base_offset,
        base_offset + i64(read_i32_be(b, 23)),
        max_timestamp,
        len(b),
        i64(read_i32_be(b, 57)),
        read_i64_be(b, 27),
        leader_epoch,
        read_i64_be(b, 43),
        i64(read_i16_be(b, 51)),
        i64(read_i32_be(b, 53)),
        attributes & TRANSACTIONAL != 0,
        attributes & CONTROL != 0,
    )


def store_as_sent(view: memoryview, b: bytes, batch: AppendedBatch, rules: AppendRules) -> Validated | Refused:
    """Write offset and epoch, and where it must change the time, into the batch as it was sent.

    Offset and epoch cost a store. The time is under the checksum, which is then computed anew: always under
    LogAppendTime, and otherwise only where a producer is wrong about its own records.
    """
    size_bytes = len(b)
    if size_bytes > rules.segment_bytes_max:
        return wider_than_segment(size_bytes, rules)
    log_append_time = NO_TIMESTAMP
    if rules.is_log_append_time:
        log_append_time = batch.max_timestamp
        assign_timestamp(view, TimestampType.LOG_APPEND_TIME, log_append_time)
    elif batch.max_timestamp != read_i64_be(b, 35):
        assign_timestamp(view, TimestampType.CREATE_TIME, batch.max_timestamp)
    _PLACE.pack_into(view, 0, batch.base_offset, size_bytes - LOG_OVERHEAD, batch.leader_epoch)
    return Validated([batch], [view], size_bytes, log_append_time)


def store_anew(stored: bytes, batch: AppendedBatch, rules: AppendRules) -> Validated | Refused:
    """Return the converted batch, unless the conversion has made it larger than a batch may be."""
    size_bytes = batch.size_bytes = len(stored)
    if size_bytes > rules.max_message_bytes:
        return too_large(size_bytes, rules)
    if size_bytes > rules.segment_bytes_max:
        return wider_than_segment(size_bytes, rules)
    return Validated([batch], [stored], size_bytes, batch.max_timestamp if rules.is_log_append_time else NO_TIMESTAMP)
