"""Why a batch is refused: the rules on its frame, on what it says of itself, and on its records. Each is looked at in
Kafka's order, the first that is broken is the answer, and the texts name the numbers that were compared.
"""

from tidelog.model.errors import ErrorCode
from tidelog.records.compression import CompressionType
from tidelog.records.crc import crc32c
from tidelog.records.errors import CorruptRecordError, UnsupportedMagicError
from tidelog.records.header import (
    ATTRIBUTES_POSITION,
    BATCH_OVERHEAD,
    HEADER,
    BatchHeader,
    TimestampType,
    check_frame,
    read_header,
)
from tidelog.records.kernels_check import NAMED_MAX, RecordsCheck
from tidelog.storage.append.outcome import AppendOrigin, RecordError, Refused
from tidelog.storage.append.rules import AppendRules


def refuse_batch(view: memoryview, rules: AppendRules, origin: AppendOrigin, allows_zstd: bool) -> Refused | int:
    """Return the size of the one batch that `view` begins with, or why it is refused."""
    try:
        header = _only_batch(view)
    except UnsupportedMagicError as error:
        return Refused(ErrorCode.INVALID_RECORD, error.reason)
    except CorruptRecordError as error:
        return Refused(ErrorCode.CORRUPT_MESSAGE, error.reason)
    if isinstance(header, Refused):
        return header
    refused = _refuse_frame(view, header, rules, origin) or _refuse_header(header, origin, allows_zstd)
    return header.size_bytes if refused is None else refused


def _only_batch(view: memoryview) -> BatchHeader | Refused:
    """Return the header of the one batch in `view`. A produce request has one batch a partition: more is refused."""
    header = _read_frame(view)
    if header is None:
        return Refused(ErrorCode.INVALID_RECORD, f"no whole batch in {len(view)} bytes")
    if _read_frame(view[header.size_bytes :]) is not None:
        return Refused(ErrorCode.INVALID_RECORD, "more than one batch for a partition")
    return header


def _read_frame(view: memoryview) -> BatchHeader | None:
    """Return the header of the whole batch that `view` begins with, or None. `read_header` is not used, because it
    looks at more than the frame, and the rest of a header may be judged only after the checksum."""
    if len(view) < BATCH_OVERHEAD:
        return read_header(view)  # None, or an error where these few bytes show damage already
    header = BatchHeader(*HEADER.unpack_from(view))
    check_frame(header.base_offset, header.batch_length, header.magic)
    return header if header.size_bytes <= len(view) else None


def _refuse_frame(view: memoryview, header: BatchHeader, rules: AppendRules, origin: AppendOrigin) -> Refused | None:
    """Check the base offset and the size, which lie outside the checksum, and then the checksum, without which nothing
    else in the batch is believed."""
    if header.base_offset != 0 and origin is AppendOrigin.CLIENT:
        return Refused(ErrorCode.INVALID_RECORD, f"the base offset of a produced batch is 0, not {header.base_offset}")
    if header.size_bytes > rules.max_message_bytes:
        return too_large(header.size_bytes, rules)
    crc = crc32c(view[ATTRIBUTES_POSITION : header.size_bytes])
    if crc != header.crc:
        reason = f"the checksum is {crc:#010x}, the batch says {header.crc:#010x}"
        return Refused(ErrorCode.CORRUPT_MESSAGE, reason)
    return None


def _refuse_header(header: BatchHeader, origin: AppendOrigin, allows_zstd: bool) -> Refused | None:
    count, codec = header.records_count, header.compression_id
    if count <= 0 or count != header.last_offset_delta + 1:
        reason = f"{count} records and a last offset delta of {header.last_offset_delta}"
        return Refused(ErrorCode.INVALID_RECORD, reason)
    if header.is_control and origin is AppendOrigin.CLIENT:
        return Refused(ErrorCode.INVALID_RECORD, "control records are not for clients to write")
    if header.has_producer_id and header.base_sequence < 0 and origin is AppendOrigin.CLIENT:
        reason = f"sequence {header.base_sequence} from producer {header.producer_id}"
        return Refused(ErrorCode.INVALID_RECORD, reason)
    if codec > CompressionType.ZSTD:
        return Refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"no codec has the number {codec}")
    if codec == CompressionType.ZSTD and not allows_zstd:
        return Refused(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs a newer version of the produce request")
    return None


def too_large(size_bytes: int, rules: AppendRules) -> Refused:
    reason = f"a batch of {size_bytes} bytes, max.message.bytes is {rules.max_message_bytes}"
    return Refused(ErrorCode.MESSAGE_TOO_LARGE, reason)


def wider_than_segment(size_bytes: int, rules: AppendRules) -> Refused:
    reason = f"{size_bytes} bytes do not fit into a segment of {rules.segment_bytes_max}"
    return Refused(ErrorCode.RECORD_LIST_TOO_LARGE, reason)


def refuse_records(batch: bytes, check: RecordsCheck, oldest: int, newest: int) -> Refused:
    """Return the refusal for what the walk over the records has noted: how many records are at fault, and of the first
    NAMED_MAX of each kind which ones, in order, with one fault each."""
    header = BatchHeader(*HEADER.unpack_from(batch))
    keyless = dict.fromkeys(check.keyless, "a compacted topic needs a key")
    faults = _untimely(header, check, oldest, newest) | keyless
    errors = [RecordError(index, faults[index]) for index in sorted(faults)]
    count = header.records_count if header.timestamp_type is TimestampType.LOG_APPEND_TIME else check.faults
    if len(keyless) < len(faults):
        return Refused(ErrorCode.INVALID_TIMESTAMP, f"{count} records refused, some for their time", errors)
    return Refused(ErrorCode.INVALID_RECORD, f"{count} records without a key on a compacted topic", errors)


def _untimely(header: BatchHeader, check: RecordsCheck, oldest: int, newest: int) -> dict[int, str]:
    if header.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return dict.fromkeys(range(min(header.records_count, NAMED_MAX)), "LogAppendTime is not for a producer to set")
    return {
        index: f"timestamp {timestamp} is outside {oldest} to {newest}"
        for index, timestamp in zip(check.untimely, check.untimely_timestamps, strict=True)
    }
