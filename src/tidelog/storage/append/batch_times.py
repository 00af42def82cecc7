"""At which of its records a stored batch reaches a time: the last step of a search by timestamp.

The batch has to be inflated and walked for that, and a kilobyte may inflate to the limit. What would take longer than a
turn may is not begun (HeavyLookup): a worker finds the answer (`look_up`), it is remembered for a while (`remember`),
and the search is asked again. An answer depends on nothing but the bytes of the batch and the question, so to remember
it can not be wrong; that the checksum stands for the bytes is what a log relies on anyway.
"""

from typing import Final, NamedTuple

from tidelog.records.batch import RecordBatch, read_batch
from tidelog.records.compression import CompressionType, Inflater
from tidelog.records.errors import DecompressedSizeError
from tidelog.records.header import BATCH_OVERHEAD, MAX_INT64, NO_TIMESTAMP, TimestampType
from tidelog.records.kernels_check import search_times
from tidelog.storage.append.weight import INLINE_INFLATED_BYTES, INLINE_RECORDS, INLINE_SENT_BYTES

NO_LIMIT: Final = 0
REMEMBERED_MAX: Final = 128


class TimeQuestion(NamedTuple):
    """The search for the first record of a batch at `from_offset` or later that is not before `timestamp`. With the
    largest timestamp there is, the question is for the latest time in the batch."""

    base_offset: int
    size_bytes: int
    crc: int
    timestamp: int
    from_offset: int


class TimeAnswer(NamedTuple):
    offset: int  # -1: no record is that late
    timestamp: int
    latest: int  # the latest timestamp of the records before it


class LookupJob(NamedTuple):
    batch: bytes
    question: TimeQuestion


class HeavyLookup(Exception):
    """The answer takes longer than a turn may; a worker has to find it."""

    def __init__(self, batch: bytes, question: TimeQuestion) -> None:
        super().__init__(f"a batch of {len(batch)} bytes at offset {question.base_offset} is too much for a turn")
        self.job = LookupJob(batch, question)


_remembered: dict[TimeQuestion, TimeAnswer] = {}


def remember(question: TimeQuestion, answer: TimeAnswer) -> None:
    while len(_remembered) >= REMEMBERED_MAX:
        del _remembered[next(iter(_remembered))]
    _remembered[question] = answer


def ask_batch(batch: RecordBatch, timestamp: int, from_offset: int) -> TimeAnswer:
    """Return the answer for `batch`, remembered or found now. Raises HeavyLookup where finding it takes longer than a
    turn may, and RecordError where the batch is damaged."""
    header = batch.header
    question = TimeQuestion(header.base_offset, header.size_bytes, header.crc, timestamp, from_offset)
    known = _remembered.get(question)
    if known is not None:
        return known
    codec = batch.compression
    if header.records_count > INLINE_RECORDS or header.size_bytes > INLINE_SENT_BYTES[codec]:
        raise HeavyLookup(bytes(batch.view), question)
    try:
        return _search(batch, question, INLINE_INFLATED_BYTES[codec])
    except DecompressedSizeError:
        raise HeavyLookup(bytes(batch.view), question) from None


def look_up(job: LookupJob) -> TimeAnswer:
    """Return the answer to a question that was too heavy for a turn. A worker runs this."""
    batch = read_batch(job.batch)
    assert batch is not None, "it was whole when it was sent"
    return _search(batch, job.question, NO_LIMIT)


def _search(batch: RecordBatch, question: TimeQuestion, limit_bytes: int) -> TimeAnswer:
    header, codec = batch.header, batch.compression
    body = bytes(batch.view[BATCH_OVERHEAD:])
    if codec is not CompressionType.NONE:
        body = Inflater().inflate(codec, body, header.base_offset, limit_bytes)
    stamped = header.timestamp_type is TimestampType.LOG_APPEND_TIME
    if stamped and header.max_timestamp < question.timestamp:
        return TimeAnswer(-1, NO_TIMESTAMP, header.max_timestamp)
    found = search_times(
        body,
        0,
        len(body),
        header.records_count,
        header.base_timestamp,
        -MAX_INT64 if stamped else question.timestamp,
        question.from_offset - header.base_offset,
    )
    if found.offset_delta < 0:
        return TimeAnswer(-1, NO_TIMESTAMP, found.latest)
    timestamp = header.max_timestamp if stamped else found.timestamp
    return TimeAnswer(header.base_offset + found.offset_delta, timestamp, found.latest)
