"""A closed segment from its first batch to its last, a buffer at a time. Every batch's checksum is verified: what the
cleaner writes gets a new one, and damage must not come out of it with a checksum that is right."""

from collections.abc import Iterator
from itertools import pairwise
from struct import Struct
from typing import Final, NamedTuple

from tidelog.ports.files import File, FileSystem, OpenMode
from tidelog.records.batch import RecordBatch
from tidelog.records.compression import CompressionType, Inflater
from tidelog.records.errors import RecordError
from tidelog.records.header import BATCH_OVERHEAD, LOG_OVERHEAD, read_header
from tidelog.records.kernels_compact import BatchBody, plain_body
from tidelog.records.kernels_walk import check_crc, walk
from tidelog.storage.errors import CorruptSegmentError

_LENGTH: Final = Struct(">i")
_LENGTH_POSITION: Final = 8


class SourceBatch(NamedTuple):
    batch: RecordBatch
    data: bytes  # the buffer that the batch is in
    start: int
    end: int
    file_start: int  # where it is in the file

    @property
    def file_end(self) -> int:
        return self.file_start + self.end - self.start

    def body(self, inflater: Inflater) -> BatchBody:
        codec = self.batch.compression
        if codec is CompressionType.NONE:
            return plain_body(self.data, self.start, self.end)
        packed = self.batch.view[BATCH_OVERHEAD:]
        records = inflater.inflate(codec, packed, self.batch.header.base_offset)
        return BatchBody(self.data, self.start, records, 0, len(records))


class SourceChunk(NamedTuple):
    size_bytes: int
    batches: list[SourceBatch]


def read_chunks(fs: FileSystem, path: str, size_bytes: int, buffer_bytes: int) -> Iterator[SourceChunk]:
    """Read the first `size_bytes` of the file, a chunk of whole batches at a time. Raises CorruptSegmentError where
    they are not whole, good batches."""
    file = fs.open(path, OpenMode.READ)
    try:
        position = 0
        while position < size_bytes:
            data = _read(file, position, size_bytes, buffer_bytes)
            chunk = _parse(path, position, data)
            yield chunk
            position += chunk.size_bytes
    finally:
        file.close()


def _read(file: File, position: int, size_bytes: int, buffer_bytes: int) -> bytes:
    """Read a buffer from `position` on, with one whole batch at least: a batch larger than the buffer is read by
    itself."""
    data = file.read_at(position, min(max(buffer_bytes, BATCH_OVERHEAD), size_bytes - position))
    if len(data) < BATCH_OVERHEAD:
        return data
    batch_bytes = LOG_OVERHEAD + int(_LENGTH.unpack_from(data, _LENGTH_POSITION)[0])
    if len(data) < batch_bytes <= size_bytes - position:
        return file.read_at(position, batch_bytes)
    return data


def _parse(path: str, position: int, data: bytes) -> SourceChunk:
    view, good, batches = memoryview(data), 0, []
    try:
        index = walk(data, 0, len(data))
        for start, end in pairwise([*index.positions, index.end]):
            check_crc(data, view, start, end)
            header = read_header(data, start)
            assert header is not None, "the index has whole batches only"
            batches.append(SourceBatch(RecordBatch(header, view[start:end]), data, start, end, position + start))
            good = end
    except RecordError as error:
        raise CorruptSegmentError(path, position + good, error.reason) from error
    if not batches:
        raise CorruptSegmentError(path, position, "the file ends within a batch")
    return SourceChunk(good, batches)
