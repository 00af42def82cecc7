"""The entries of an index file, as they lie there.

A broker preallocates the indexes of its active segment with zeros and cuts them when it closes. After a crash the
zeros are still there, and the first entry of zeros is where the index ends: the first batch of a segment gets no entry
of its own, so an offset index never points to position 0, and a time index of 1970 tells nobody anything.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from tidelog.ports.files import FileSystem, OpenMode
from tidelog.storage.errors import CorruptIndexError
from tidelog.storage.segment import offset_index, time_index, transaction_index
from tidelog.storage.segment.offset_index import OffsetPosition
from tidelog.storage.segment.time_index import TimestampOffset
from tidelog.storage.segment.transaction_index import AbortedTxn

CHUNK_ENTRIES: Final = 8192


class RawEntry(NamedTuple):
    position: int  # in the index file
    fields: tuple[int, ...]


def read_offset_index(fs: FileSystem, path: str, base_offset: int) -> Iterator[tuple[int, OffsetPosition]]:
    """Yield (position in the index, entry), up to where preallocated zeros begin."""
    for at, (relative, position) in _entries(fs, path, offset_index.ENTRY):
        if relative == 0 and position == 0:
            return
        yield at, OffsetPosition(base_offset + relative, position)


def read_time_index(fs: FileSystem, path: str, base_offset: int) -> Iterator[tuple[int, TimestampOffset]]:
    for at, (timestamp, relative) in _entries(fs, path, time_index.ENTRY):
        if relative == 0 and timestamp == 0:
            return
        yield at, TimestampOffset(timestamp, base_offset + relative)


def read_transaction_index(fs: FileSystem, path: str) -> Iterator[tuple[int, AbortedTxn]]:
    for at, (version, *fields) in _entries(fs, path, transaction_index.ENTRY):
        if version != transaction_index.VERSION:
            raise CorruptIndexError(path, f"at position {at}: an entry of version {version}")
        yield at, AbortedTxn(*fields)


def _entries(fs: FileSystem, path: str, entry: Struct) -> Iterator[RawEntry]:
    file = fs.open(path, OpenMode.READ)
    try:
        size = file.size()
        whole = size - size % entry.size
        for start in range(0, whole, CHUNK_ENTRIES * entry.size):
            chunk = file.read_at(start, min(CHUNK_ENTRIES * entry.size, whole - start))
            for number, fields in enumerate(entry.iter_unpack(chunk)):
                yield RawEntry(start + number * entry.size, fields)
        if size != whole:
            raise CorruptIndexError(path, f"at position {whole}: {size - whole} bytes are no entry of {entry.size}")
    finally:
        file.close()
