"""A batch on its way: gathered record by record, closed into bytes, sealed when it is sent.

Records are kept as lists until the batch is closed, and encoded in one go by the compiled kernel. Producer id, epoch
and sequence are not known before a batch is sent, and stay the same however often it is sent again: that is what lets
the broker recognise it.
"""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from typing import Final

from tidelog.client.errors import ClientError
from tidelog.client.record import Headers
from tidelog.model.ids import NO_PRODUCER_ID
from tidelog.records.compression import CompressionType, compress
from tidelog.records.header import (
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_SEQUENCE,
    TRANSACTIONAL_FLAG,
)
from tidelog.records.kernels_encode import BinaryColumn, HeaderLists, RecordColumns, encode_body, seal
from tidelog.records.produced import NULLS

# Bytes for the lengths, deltas and attributes of a record; an estimate, as batch_bytes is.
RECORD_OVERHEAD_BYTES: Final = 16
NO_SIZE_LIMIT: Final = 0x7FFFFFFF

# Called with the offset of a record, or why there is none.
OnDelivery = Callable[[int | ClientError], None]
# Called with why a batch, or a part of it, was given up.
OnRefusal = Callable[[ClientError], None]


@dataclass(slots=True)
class Compression:
    codec: CompressionType = CompressionType.NONE
    level: int | None = None


@dataclass(slots=True)
class ProducerBatch:
    """A closed batch. `number` is its place in the order of sending within its partition."""

    body: bytes  # compressed
    records_count: int
    base_timestamp: int
    max_timestamp: int
    codec: CompressionType
    size_bytes: int  # taken of the producer's buffer until the batch's fate is known
    created_ms: int
    on_delivery: list[tuple[int, OnDelivery]] = field(default_factory=list)  # by the record's index
    on_refused: OnRefusal | None = None
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH
    sequence: int = NO_SEQUENCE
    is_transactional: bool = False
    number: int = -1
    last_error: ClientError | None = None

    def seal(self) -> bytes:
        return self.sealed(self.body, self.codec)

    def sealed(self, body: bytes, codec: CompressionType) -> bytes:
        return seal(
            body,
            0,
            NO_PARTITION_LEADER_EPOCH,
            codec | TRANSACTIONAL_FLAG if self.is_transactional else codec,
            self.records_count - 1,
            self.base_timestamp,
            self.max_timestamp,
            self.producer_id,
            self.producer_epoch,
            self.sequence,
            self.records_count,
        )

    def tell(self, outcome: int | ClientError) -> None:
        """Call everybody who asked about a record; `outcome` is the base offset (-1: not known) or the error."""
        for index, on_delivery in self.on_delivery:
            on_delivery(outcome if isinstance(outcome, ClientError) or outcome < 0 else outcome + index)
        if self.on_refused is not None and isinstance(outcome, ClientError):
            self.on_refused(outcome)


class OpenBatch:
    """The records gathered for one partition, not closed yet."""

    __slots__ = ("_headers", "_keys", "_on_delivery", "_timestamps", "_values", "created_ms", "size_bytes")

    def __init__(self, created_ms: int) -> None:
        self.created_ms = created_ms
        self.size_bytes = 0
        self._keys: list[bytes | None] = []
        self._values: list[bytes | None] = []
        self._timestamps = array("q")
        self._headers: dict[int, Headers] = {}  # few records have any
        self._on_delivery: list[tuple[int, OnDelivery]] = []

    def append(
        self,
        key: bytes | None,
        value: bytes | None,
        timestamp: int,
        headers: Headers,
        size_bytes: int,
        on_delivery: OnDelivery | None,
    ) -> None:
        if headers:
            self._headers[len(self._values)] = headers
        if on_delivery is not None:
            self._on_delivery.append((len(self._values), on_delivery))
        self._keys.append(key)
        self._values.append(value)
        self._timestamps.append(timestamp)
        self.size_bytes += size_bytes

    def close(self, compression: Compression) -> ProducerBatch:
        columns = RecordColumns(
            len(self._values),
            self._timestamps.tobytes(),
            binary_column(self._keys),
            binary_column(self._values),
            self._header_lists() if self._headers else None,
        )
        columns.check()
        batch = encode(columns, 0, NO_SIZE_LIMIT, compression, self.created_ms, self.size_bytes)
        assert batch.records_count == len(self._values), "timestamps were checked to fit one batch"
        batch.on_delivery = self._on_delivery
        return batch

    def _header_lists(self) -> HeaderLists:
        lists = [self._headers.get(row, ()) for row in range(len(self._values))]
        flat = list(chain.from_iterable(lists))
        keys, values = [header.key_bytes() for header in flat], [header.value for header in flat]
        return HeaderLists(_offsets(lists), 0, binary_column(keys), binary_column(values))


def encode(
    columns: RecordColumns, row: int, limit_bytes: int, compression: Compression, created_ms: int, size_bytes: int
) -> ProducerBatch:
    """Return a batch of the rows from `row` on that fit. The columns were checked before."""
    body = encode_body(columns, row, limit_bytes)
    records = body.records
    if compression.codec:
        records = compress(compression.codec, records, compression.level)
    return ProducerBatch(
        records, body.rows, body.base_timestamp, body.max_timestamp, compression.codec, size_bytes, created_ms
    )


def binary_column(values: Sequence[bytes | None]) -> BinaryColumn:
    """Return values, some of them null, in Arrow's layout."""
    nulls = values.count(None)
    if nulls and nulls == len(values):
        return NULLS
    filled = [value or b"" for value in values]
    return BinaryColumn(b"".join(filled), _offsets(filled), _validity(values) if nulls else b"", 0)


def _validity(values: Sequence[bytes | None]) -> bytes:
    bits = bytearray((len(values) + 7) // 8)
    for row, value in enumerate(values):
        if value is not None:
            bits[row >> 3] |= 1 << (row & 7)
    return bytes(bits)


def _offsets(values: Sequence[Sequence[object]]) -> bytes:
    return array("i", accumulate(map(len, values), initial=0)).tobytes()
