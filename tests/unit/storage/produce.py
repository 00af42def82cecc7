"""Batches as a producer sends them and the rules of a topic, with one thing changed at a time."""

from tests.unit.records.raw import content, field, record, varint

from tidelog.records.batch import RecordBatch, read_batch
from tidelog.records.builder import seal_batch
from tidelog.records.compression import CompressionType, Inflater, compress
from tidelog.records.header import MAX_INT64, BatchHeader
from tidelog.storage.append.outcome import AppendOrigin, Refused, Validated
from tidelog.storage.append.rules import AppendRules
from tidelog.storage.append.validation import validate_and_assign

NOW = 1_700_000_000_000
HOUR = 3_600_000
OFFSET = 500
EPOCH = 9


def a_record(index: int, time: int = 0, key: bytes | None = b"k") -> bytes:
    return record(content(varint(index), varint(time), field(key)))


def body_of(*times: int) -> bytes:
    return b"".join(a_record(index, time) for index, time in enumerate(times))


def produced(
    body: bytes | None = None, *, codec: CompressionType = CompressionType.NONE, flags: int = 0, **changes: int
) -> bytes:
    """Return a batch of one record a second after NOW and one at NOW, unless told otherwise; the checksum is right."""
    header = BatchHeader(
        attributes=codec | flags, last_offset_delta=1, base_timestamp=NOW, max_timestamp=NOW + 1000, records_count=2
    )
    for name, value in changes.items():
        setattr(header, name, value)
    return seal_batch(header, compress(codec, body_of(1000, 0) if body is None else body))


def rules(
    *,
    max_message_bytes: int = 1 << 20,
    segment_bytes_max: int = 1 << 30,
    needs_keys: bool = False,
    is_log_append_time: bool = False,
    before: int = MAX_INT64,
    after: int = HOUR,
    compression: CompressionType | None = None,
    level: int | None = None,
    inflated_max: int = 1 << 20,
) -> AppendRules:
    return AppendRules(
        max_message_bytes=max_message_bytes,
        segment_bytes_max=segment_bytes_max,
        needs_keys=needs_keys,
        is_log_append_time=is_log_append_time,
        timestamp_before_max_ms=before,
        timestamp_after_max_ms=after,
        compression=compression,
        compression_level=level,
        inflater=Inflater(inflated_max),
    )


class Outcome:
    """The validation of one batch, in the middle of a receive buffer whose other bytes must stay as they are."""

    def __init__(
        self,
        sent: bytes,
        asked: AppendRules | None = None,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        allows_zstd: bool = True,
    ) -> None:
        buffer = bytearray(b"before" + sent + b"after")
        result = validate_and_assign(
            memoryview(buffer),
            6,
            6 + len(sent),
            OFFSET,
            NOW,
            EPOCH,
            asked or rules(),
            origin,
            allows_zstd=allows_zstd,
        )
        assert bytes(buffer[:6] + buffer[-5:]) == b"beforeafter"
        self.result = result
        self.is_as_sent = isinstance(result, Validated) and isinstance(result.pieces[0], memoryview)
        if isinstance(result, Refused):
            assert buffer[6:-5] == sent, "a refused batch is left alone"

    @property
    def refused(self) -> Refused:
        assert isinstance(self.result, Refused), self.result
        return self.result

    @property
    def validated(self) -> Validated:
        assert isinstance(self.result, Validated), self.result
        return self.result

    @property
    def stored(self) -> RecordBatch:
        """Return the batch that would be written, read back and checked in full."""
        pieces = b"".join(self.validated.pieces)
        assert self.validated.size_bytes == len(pieces)
        batch = read_batch(pieces)
        assert batch is not None
        assert batch.header.size_bytes == len(pieces)
        batch.validate()
        return batch
