"""A segment whose offsets reach too far from its base is split, before its log is loaded.

An index entry has 32 bits for the distance from the base. Kafka before 1.1.1 could write segments beyond that, when its
cleaner put several into one (KAFKA-6264), and such files are still carried from broker to broker. The records in them
are whole; nobody can index them.

    1. the old segment's indexes go                       they are wrong, and rebuilt anyway
    2. the parts are written as <base>.log.cleaned        bytes and names durable
    3. all but the first part -> .swap                    durable
    4. the first part -> .swap                            durable: committed
    5. complete_swap: the names without suffix, the first over the old segment's

The suffixes are Kafka's, and so is what a start makes of them (`cleaner.swap`): with a `.cleaned` left, it and every
`.swap` from there on go, and the old segment is as it was. The first part has the old segment's own name and is
renamed by itself: were it among the others, a power loss might keep its rename alone, and the rest would be taken for
forgotten.

Only what is known to be no torn write is split: a segment with another one behind it, or below the recovery point.
The last segment of a log is none that a cleaner has made. The indexes of the parts come out of the recovery scan,
which a segment without index asks for.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from tidelog.ports.durable import write_fully
from tidelog.ports.files import FileSystem, OpenMode
from tidelog.ports.paths import join
from tidelog.storage.cleaner.reading import SourceBatch, read_chunks
from tidelog.storage.cleaner.swap import complete_swap
from tidelog.storage.errors import CorruptSegmentError
from tidelog.storage.log.segments import LogSegments
from tidelog.storage.names import (
    CLEANED_SUFFIX,
    LOG_SUFFIX,
    MAX_INT32,
    SEGMENT_KINDS,
    SWAP_SUFFIX,
    segment_name,
)
from tidelog.storage.segment.descriptors import Descriptors
from tidelog.storage.segment.segment import Segment

_BUFFER_BYTES: Final = 1 << 20


class Part(NamedTuple):
    base_offset: int
    start: int  # in the old file
    end: int


class Split(NamedTuple):
    path: str
    base_offsets: list[int]

    def __str__(self) -> str:
        return f"{self.path}: offsets too far from its base; split in {len(self.base_offsets)}"


def split_overflowed(descriptors: Descriptors, directory: str, segments: LogSegments, whole_to: int) -> list[Split]:
    """Split the segments that overflowed, and return the splits; when there are any, the segments have to be opened
    anew. Costs nothing where the base offsets alone show that nothing can have overflowed."""
    splits = []
    for segment, end_offset in zip(segments, [*segments.base_offsets[1:], whole_to], strict=False):
        if end_offset - 1 - segment.base_offset > MAX_INT32 or segment.size_bytes > MAX_INT32:
            parts = _parts(descriptors.fs, segment, end_offset)
            if len(parts) > 1:
                segment.close()
                _split(descriptors, directory, segment.path, parts)
                splits.append(Split(segment.path, [part.base_offset for part in parts]))
    return splits


def _parts(fs: FileSystem, segment: Segment, end_offset: int) -> list[Part]:
    """Return the parts to split the segment into; none when not every batch is good, in order, and known to belong
    there: then recovery has to look at it."""
    parts = [Part(segment.base_offset, 0, 0)]
    next_offset = segment.base_offset
    try:
        for chunk in read_chunks(fs, segment.path, segment.size_bytes, _BUFFER_BYTES):
            for source in chunk.batches:
                header = source.batch.header
                if header.base_offset < next_offset or header.last_offset >= end_offset:
                    return []
                _place(parts, source, next_offset)
                next_offset = header.last_offset + 1
    except CorruptSegmentError:
        return []
    return parts


def _place(parts: list[Part], source: SourceBatch, next_offset: int) -> None:
    """Add the batch to the last part, or to a new one. That begins where the last one ends, as after a roll, unless the
    batch is too far from there."""
    last, header = parts[-1], source.batch.header
    is_near = header.last_offset - last.base_offset <= MAX_INT32
    if is_near and source.file_end - last.start <= MAX_INT32:
        parts[-1] = last._replace(end=source.file_end)
        return
    base_offset = next_offset if header.last_offset - next_offset <= MAX_INT32 else header.base_offset
    parts.append(Part(base_offset, source.file_start, source.file_end))


def _split(descriptors: Descriptors, directory: str, path: str, parts: Sequence[Part]) -> None:
    fs = descriptors.fs
    for kind in SEGMENT_KINDS[1:]:
        descriptors.remove(join(directory, segment_name(parts[0].base_offset, kind)))
    fs.sync_directory(directory)
    for part in parts:
        _write(descriptors, directory, path, part)
    fs.sync_directory(directory)
    for group in (parts[1:], parts[:1]):
        for part in group:
            source, target = (
                join(directory, segment_name(part.base_offset, LOG_SUFFIX, state))
                for state in (CLEANED_SUFFIX, SWAP_SUFFIX)
            )
            descriptors.rename(source, target)
        fs.sync_directory(directory)
    complete_swap(descriptors, directory)


def _write(descriptors: Descriptors, directory: str, path: str, part: Part) -> None:
    """Write one part, byte for byte: every batch is as good as it was."""
    target = descriptors.fs.open(
        join(directory, segment_name(part.base_offset, LOG_SUFFIX, CLEANED_SUFFIX)), OpenMode.CREATE
    )
    source = descriptors.fs.open(path, OpenMode.READ)
    try:
        target.truncate(0)
        for position in range(part.start, part.end, _BUFFER_BYTES):
            size = min(_BUFFER_BYTES, part.end - position)
            write_fully(target, position - part.start, [source.read_at(position, size)])
        target.sync()
    finally:
        source.close()
        target.close()
