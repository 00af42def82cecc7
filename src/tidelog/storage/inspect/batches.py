"""The batches of a file one after another, by their frames, in bounded memory.

A frame that makes no sense ends it: behind it nothing can be told from noise. A checksum that is wrong does not: the
caller sees the batch and judges.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from tidelog.ports.files import File, FileSystem, OpenMode
from tidelog.records.batch import RecordBatch
from tidelog.records.errors import CorruptRecordLengthError, RecordError
from tidelog.records.header import BATCH_OVERHEAD, HEADER, LOG_OVERHEAD, check_frame, read_header
from tidelog.storage.errors import CorruptSegmentError

CHUNK_BYTES: Final = 4 << 20


class FoundBatch(NamedTuple):
    position: int
    batch: RecordBatch


def read_batches(fs: FileSystem, path: str, chunk_bytes: int = CHUNK_BYTES) -> Iterator[FoundBatch]:
    """Yield the batches of the file. Raises CorruptSegmentError behind the last batch that can be framed, unless the
    file ends with that batch."""
    file = fs.open(path, OpenMode.READ)
    try:
        yield from _batches(file, chunk_bytes)
    finally:
        file.close()


def _batches(file: File, chunk_bytes: int) -> Iterator[FoundBatch]:
    size, position, next_offset = file.size(), 0, -1
    while position < size:
        try:
            for found in _whole_batches(_read_chunk(file, position, size - position, chunk_bytes), position):
                next_offset = found.batch.header.last_offset + 1
                yield found
                position = found.position + found.batch.header.size_bytes
        except RecordError as error:
            reason = _zeros(file, position) or error.reason
            raise CorruptSegmentError(file.path, position, reason, next_offset) from error


def _whole_batches(chunk: bytes, start: int) -> Iterator[FoundBatch]:
    at = 0
    view = memoryview(chunk)
    while (header := read_header(view, at)) is not None:
        yield FoundBatch(start + at, RecordBatch(header, view[at : at + header.size_bytes]))
        at += header.size_bytes


def _read_chunk(file: File, position: int, left: int, chunk_bytes: int) -> bytes:
    """Return a chunk, or as much as the batch at `position` takes; a batch that the file does not hold is damage."""
    head = file.read_at(position, BATCH_OVERHEAD)
    if len(head) < BATCH_OVERHEAD:
        raise CorruptRecordLengthError(-1, f"the last {left} bytes are not a whole batch")
    base_offset, length, _, magic, *_ = HEADER.unpack(head)
    check_frame(base_offset, length, magic)
    if length + LOG_OVERHEAD > left:
        reason = f"a batch of {length + LOG_OVERHEAD} bytes, where the file has {left} left"
        raise CorruptRecordLengthError(base_offset, reason)
    wanted = min(left, max(chunk_bytes, length + LOG_OVERHEAD))
    chunk = file.read_at(position, wanted)
    if len(chunk) < wanted:  # a live broker cut the file; without a whole batch the loop would never end
        raise CorruptRecordLengthError(base_offset, "the file shrank while it was read")
    return chunk


def _zeros(file: File, position: int) -> str | None:
    """Describe the zeros from `position` on, if there are any: they are what a power loss or a preallocation leaves,
    and as a batch they would read as an ancient format."""
    if any(file.read_at(position, BATCH_OVERHEAD)):
        return None
    return f"zeros from here on, {file.size() - position} bytes to the end of the file"
