"""A batch as it lies in a buffer: the header parsed once, the records read when asked for.

`batches` walks a buffer and stops before a batch that the buffer cuts short. Nothing is copied but the keys and values
of records that are iterated over (and a compressed body, which has to be inflated whole).
"""

from collections.abc import Iterator
from typing import Final

from tidelog.model.lazy_dataclass import dataclass
from tidelog.records.compression import (
    DEFAULT_LIMIT_BYTES,
    CompressionType,
    compression_type,
    decompress,
)
from tidelog.records.crc import crc32c
from tidelog.records.errors import CorruptRecordCrcError
from tidelog.records.header import (
    ATTRIBUTES_POSITION,
    BATCH_OVERHEAD,
    BatchHeader,
    BytesLike,
    read_header,
)
from tidelog.records.record import Record, read_records

_RECORDS: Final = slice(BATCH_OVERHEAD, None)


@dataclass(slots=True)
class RecordBatch:
    header: BatchHeader
    view: memoryview  # the whole batch and nothing else

    @property
    def compression(self) -> CompressionType:
        return compression_type(self.header.compression_id, self.header.base_offset)

    def check_crc(self) -> None:
        """Raise CorruptRecordCrcError unless the checksum is right. Whoever takes a batch from a peer calls this first:
        the checks of the records are only about sense, not about flipped bits."""
        computed = crc32c(self.view[ATTRIBUTES_POSITION:])
        if computed != self.header.crc:
            reason = f"the checksum is {computed:#010x}, the batch says {self.header.crc:#010x}"
            raise CorruptRecordCrcError(self.header.base_offset, reason)

    def records(self, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> Iterator[Record]:
        """Read the records lazily; what is corrupt further on is noticed there. A compressed body may inflate to
        `limit_bytes`."""
        body = self.view[_RECORDS]
        if self.compression is CompressionType.NONE:
            return read_records(body, self.header)
        return read_records(decompress(self.compression, body, self.header.base_offset, limit_bytes), self.header)

    def validate(self, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        """Check the checksum and every record; raises a RecordError."""
        self.check_crc()
        for _ in self.records(limit_bytes):
            pass


def read_batch(buffer: BytesLike, position: int = 0) -> RecordBatch | None:
    """Return the batch at `position`; None where the buffer ends before it does."""
    header = read_header(buffer, position)
    if header is None:
        return None
    return RecordBatch(header, memoryview(buffer)[position : position + header.size_bytes])


def batches(buffer: BytesLike, position: int = 0) -> Iterator[RecordBatch]:
    """Yield every whole batch from `position` on."""
    view = memoryview(buffer)
    while (batch := read_batch(view, position)) is not None:
        yield batch
        position += batch.header.size_bytes
