"""The log that the cleaners compact: records of 100 bytes in the producer's default batches of 16 KiB, ten for each
key, in closed segments with their indexes, and an empty active segment behind them."""

import os
import random
import shutil
from array import array
from dataclasses import dataclass
from pathlib import Path

from tidelog.io.files import PosixFileSystem
from tidelog.records.builder import BatchOptions
from tidelog.records.compression import CompressionType
from tidelog.records.kernels_encode import BinaryColumn, RecordColumns
from tidelog.records.kernels_walk import walk
from tidelog.records.produced import encode_batches
from tidelog.storage.append.outcome import AppendedBatch
from tidelog.storage.names import LOG_SUFFIX
from tidelog.storage.segment.descriptors import Descriptors
from tidelog.storage.segment.segment import Segment

SEGMENT_ROWS = 1_000_000
RECORDS_A_KEY = 10
VALUE_BYTES = 75  # with a key of 16 bytes, lengths and deltas: records of 100 bytes
BATCH_BYTES = 16_384
NOW_MS = 1_700_000_000_000


@dataclass(slots=True)
class WrittenLog:
    directory: Path
    base_offsets: list[int]  # of the closed segments
    end_offset: int
    size_bytes: int

    @property
    def keys(self) -> int:
        return self.end_offset // RECORDS_A_KEY


def fixed_column(values: list[bytes]) -> BinaryColumn:
    size = len(values[0])
    return BinaryColumn(b"".join(values), array("i", range(0, size * len(values) + 1, size)).tobytes(), b"", 0)


def write_log(directory: Path, rows: int, codec: CompressionType) -> WrittenLog:
    directory.mkdir()
    chance = random.Random(7)
    segment_rows = min(SEGMENT_ROWS, rows // 8)
    names = [b"key-%012d" % key for key in range(rows // RECORDS_A_KEY)]
    text = b" ".join(b"%d" % chance.randrange(10**9) for _ in range(100_000))
    # What the values are makes no difference to a cleaner, so that each segment may have the same ones.
    values = fixed_column(
        [text[at * 7 : at * 7 + VALUE_BYTES] for at in range(100_000)] * (segment_rows // 100_000 + 1)
    )
    descriptors = Descriptors(PosixFileSystem())
    log = WrittenLog(directory, [], rows, 0)
    for first in range(0, rows, segment_rows):
        count = min(segment_rows, rows - first)
        times = array("q", range(NOW_MS + first, NOW_MS + first + count)).tobytes()
        columns = RecordColumns(count, times, fixed_column(chance.choices(names, k=count)), values)
        log.size_bytes += _write_segment(descriptors, directory, first, columns, codec)
        log.base_offsets.append(first)
    Segment.create(descriptors, str(directory), rows).seal()
    descriptors.close()
    return log


def _write_segment(
    descriptors: Descriptors, directory: Path, first: int, columns: RecordColumns, codec: CompressionType
) -> int:
    segment = Segment.create(descriptors, str(directory), first)
    for batch in encode_batches(columns, BatchOptions(codec), limit_bytes=BATCH_BYTES, base_offset=first):
        index = walk(batch, 0, len(batch))
        last_offset, timestamp = index.last_offsets[0], index.max_timestamps[0]
        segment.append([batch], [AppendedBatch(index.base_offsets[0], last_offset, timestamp, len(batch))])
    segment.seal()
    segment.flush()
    return segment.size_bytes


def linked_copy(log: WrittenLog, directory: Path) -> WrittenLog:
    """Copy the log by links, because a cleaner replaces segments and each pass needs a log of its own. Segments are
    only read and renamed, which is why links will do; indexes are mapped and may be resized."""
    directory.mkdir()
    for path in log.directory.iterdir():
        if path.suffix == LOG_SUFFIX:
            os.link(path, directory / path.name)
        else:
            shutil.copy(path, directory / path.name)
    return WrittenLog(directory, log.base_offsets, log.end_offset, log.size_bytes)
