"""A leader's append: batches of 1 KB records out of a receive buffer, every record walked and validated, to a file.

The peers do what cannot be left out. Plain batches: a bare loop that checks the checksums and writes the same bytes
with the same calls. Compressed ones: inflating alone, to bytes of their own; and, to see what is ours, inflating and
the bare loop together.

All write a turn's batches with one `pwritev`, as a turn of the loop does; single batches a call are shown beside. The
file grows from nothing each time, as a log does. The batches are placed at offset 0 each time, so that what a round
leaves in the receive buffer can be sent again.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from crc32c import crc32c

from benchmarks.harness import console, measure, show
from tidelog._compiled import mode
from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.records.compression import CompressionType, Inflater
from tidelog.records.header import MAX_INT64, BytesLike
from tidelog.storage.append_rules import AppendRules
from tidelog.storage.appended import Validated
from tidelog.storage.validation import validate_and_assign

NOW = 1_700_000_000_000
BATCH_BYTES = 16_384
BATCHES = 256
TURN = 16  # batches a write
OURS = "tidelog"
BARE = "checksum, write"
INFLATE = "inflate"
FLOOR = "inflate, checksum, write"
PLAIN_BAR, COMPRESSED_BAR = 1 / 1.6, 1 / 1.3
WORDS = b"tide log high water mark epoch offset record batch voter fenced purgatory isr leader follower".split()


@dataclass(slots=True)
class Received:
    """Batches one behind the other in a receive buffer."""

    view: memoryview
    spans: list[tuple[int, int]]


def value(row: int) -> bytes:
    """1,000 bytes of text that compresses about as well as JSON does."""
    words = [b"%s=%d" % (WORDS[(row * 7 + at * at) % len(WORDS)], row * 31 + at * 17) for at in range(100)]
    return b",".join(words)[:1000]


def received(codec: CompressionType) -> Received:
    buffer, spans, row = bytearray(), [], 0
    for _ in range(BATCHES):
        builder = BatchBuilder(limit_bytes=BATCH_BYTES, options=BatchOptions(codec))
        while builder.uncompressed_size_bytes < BATCH_BYTES - 1024:
            builder.append(NOW + row, b"key-%012d" % row, value(row))
            row += 1
        start = len(buffer)
        buffer += builder.build()
        spans.append((start, len(buffer)))
    return Received(memoryview(buffer), spans)


def turns(batches: Received, size: int) -> list[list[tuple[int, int]]]:
    return [batches.spans[at : at + size] for at in range(0, len(batches.spans), size)]


def bare(batches: Received, turn: int, descriptor: int) -> None:
    position = 0
    os.ftruncate(descriptor, 0)
    for spans in turns(batches, turn):
        pieces: list[BytesLike] = []
        for start, end in spans:
            piece = batches.view[start:end]
            crc32c(piece[21:])
            pieces.append(piece)
        position += os.pwritev(descriptor, pieces, position)


def append(batches: Received, turn: int, descriptor: int, rules: AppendRules) -> None:
    position = 0
    os.ftruncate(descriptor, 0)
    for spans in turns(batches, turn):
        pieces: list[BytesLike] = []
        for start, end in spans:
            result = validate_and_assign(batches.view, start, end, 0, NOW, 5, rules)
            assert isinstance(result, Validated), result
            pieces += result.pieces
        position += os.pwritev(descriptor, pieces, position)


def inflate(batches: Received, codec: CompressionType, inflater: Inflater) -> None:
    for start, end in batches.spans:
        inflater.inflate(codec, batches.view[start + 61 : end], 0)


def inflate_and_write(batches: Received, codec: CompressionType, inflater: Inflater, descriptor: int) -> None:
    inflate(batches, codec, inflater)
    bare(batches, TURN, descriptor)


def rules() -> AppendRules:
    """The default settings of a topic, compacted: keys are looked for."""
    return AppendRules(1_048_588, 1 << 30, True, False, MAX_INT64, 3_600_000, None, None, Inflater())


def plain(descriptor: int, turn: int) -> bool:
    batches = received(CompressionType.NONE)
    contenders: dict[str, Callable[[], object]] = {
        OURS: partial(append, batches, turn, descriptor, rules()),
        BARE: partial(bare, batches, turn, descriptor),
    }
    title = f"Append batches of 16 KB, records of 1 KB, {turn} batches a write"
    results = measure(contenders, operations=BATCHES, rounds=15)
    return show(title, "batch", results, ours=OURS, bar={BARE: PLAIN_BAR})


def compressed(descriptor: int, codec: CompressionType) -> bool:
    batches, inflater = received(codec), Inflater()
    contenders: dict[str, Callable[[], object]] = {
        OURS: partial(append, batches, TURN, descriptor, rules()),
        INFLATE: partial(inflate, batches, codec, inflater),
        FLOOR: partial(inflate_and_write, batches, codec, inflater, descriptor),
    }
    size = len(batches.view) // BATCHES
    title = f"The same, {codec.name.lower()}, {size:,} bytes a batch as sent and stored"
    results = measure(contenders, operations=BATCHES, rounds=15)
    return show(title, "batch", results, ours=OURS, bar={INFLATE: COMPRESSED_BAR})


def main() -> int:
    console.print(f"storage_append: kernels are {mode()}\n")
    with tempfile.TemporaryFile() as file:
        met = [plain(file.fileno(), TURN), plain(file.fileno(), 1)]
        met += [compressed(file.fileno(), codec) for codec in (CompressionType.LZ4, CompressionType.ZSTD)]
    return sum(not table for table in met)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
