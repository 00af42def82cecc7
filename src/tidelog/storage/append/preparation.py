"""A produced batch that takes too long for a turn, checked and converted beside the loop, and appended when it is back.

    append_as_leader -> TooHeavy -> PreparationJob -> a worker: `prepare` -> Prepared -> `prepared_append`
                                                                          -> or Unprepared: why it is refused

The worker does what `validate_and_assign` does, whole. What depends on the log is left for `prepared_append`: the
offset and the epoch, which lie before the checksum, the time under LogAppendTime, and the producer's sequence. So
whatever happened to the log meanwhile, the batch meets the log as it is when it comes back.

Jobs and outcomes are plain values, because they go from process to process. A batch that is stored as it was sent does
not travel back: the broker has it.
"""

from typing import NamedTuple

from tidelog.model.errors import ErrorCode
from tidelog.records.compression import CompressionType, Inflater
from tidelog.storage.append.outcome import AppendOrigin, RecordError, Refused
from tidelog.storage.append.rules import AppendRules
from tidelog.storage.append.validation import validate_and_assign


class PreparationRules(NamedTuple):
    """The fields of AppendRules that can be sent to another process."""

    max_message_bytes: int
    segment_bytes_max: int
    needs_keys: bool
    is_log_append_time: bool
    timestamp_before_max_ms: int
    timestamp_after_max_ms: int
    compression: int | None
    compression_level: int | None


class PreparationJob(NamedTuple):
    batch: bytes
    rules: PreparationRules
    now_ms: int
    allows_zstd: bool


class Prepared(NamedTuple):
    stored: bytes | None  # None: the batch is stored as it was sent, but for its time
    max_timestamp: int


class Unprepared(NamedTuple):
    """A `Refused` in plain values, which can be sent from process to process."""

    code: int
    message: str
    record_errors: tuple[tuple[int, str], ...]


def preparation_job(batch: memoryview, rules: AppendRules, now_ms: int, *, allows_zstd: bool) -> PreparationJob:
    plain = PreparationRules(
        rules.max_message_bytes,
        rules.segment_bytes_max,
        rules.needs_keys,
        rules.is_log_append_time,
        rules.timestamp_before_max_ms,
        rules.timestamp_after_max_ms,
        None if rules.compression is None else int(rules.compression),
        rules.compression_level,
    )
    return PreparationJob(bytes(batch), plain, now_ms, allows_zstd)


def prepare(job: PreparationJob) -> Prepared | Unprepared:
    """Check and, where needed, convert one batch. A worker runs this. Its inflater is new for each batch, so that the
    memory of a large one is given back with it."""
    buffer = memoryview(bytearray(job.batch))
    rules = _append_rules(job.rules)
    outcome = validate_and_assign(
        buffer, 0, len(buffer), 0, job.now_ms, 0, rules, AppendOrigin.CLIENT, allows_zstd=job.allows_zstd
    )
    if isinstance(outcome, Refused):
        errors = tuple((each.index, each.message) for each in outcome.record_errors)
        return Unprepared(int(outcome.code), outcome.message, errors)
    piece = outcome.pieces[0]
    is_as_sent = isinstance(piece, memoryview) and len(piece) == len(buffer)
    return Prepared(None if is_as_sent else bytes(piece), outcome.max_timestamp)


def _append_rules(plain: PreparationRules) -> AppendRules:
    return AppendRules(
        max_message_bytes=plain.max_message_bytes,
        segment_bytes_max=plain.segment_bytes_max,
        needs_keys=plain.needs_keys,
        is_log_append_time=plain.is_log_append_time,
        timestamp_before_max_ms=plain.timestamp_before_max_ms,
        timestamp_after_max_ms=plain.timestamp_after_max_ms,
        compression=None if plain.compression is None else CompressionType(plain.compression),
        compression_level=plain.compression_level,
        inflater=Inflater(),
    )


def refusal(unprepared: Unprepared) -> Refused:
    errors = [RecordError(index, message) for index, message in unprepared.record_errors]
    return Refused(ErrorCode(unprepared.code), unprepared.message, errors)
