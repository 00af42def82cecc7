"""Batches as they lie in a receive buffer: 16 KB of 1 KB records each, plain or compressed as producers do it."""

from dataclasses import dataclass

import cramjam
from crc32c import crc32c

from tidelog.records.builder import BatchBuilder, BatchOptions
from tidelog.records.compression import CompressionType
from tidelog.records.lz4_frame import USUAL_HEAD

NOW = 1_700_000_000_000
BATCH_BYTES = 16_384
BATCHES = 256
WORDS = b"tide log high water mark epoch offset record batch voter fenced purgatory isr leader follower".split()


@dataclass(slots=True)
class ReceivedBatches:
    """A receive buffer with batches one behind the other."""

    buffer: bytearray
    spans: list[tuple[int, int]]
    sent: bytes

    @property
    def view(self) -> memoryview:
        return memoryview(self.buffer)

    def receive(self) -> None:
        """Fill the same buffer once more: an append leaves offsets in it."""
        self.buffer[:] = self.sent

    def turns(self, size: int) -> list[list[tuple[int, int]]]:
        return [self.spans[at : at + size] for at in range(0, len(self.spans), size)]


def value(row: int) -> bytes:
    """Return 1,000 bytes of text that compresses about as well as JSON does."""
    words = [b"%s=%d" % (WORDS[(row * 7 + at * at) % len(WORDS)], row * 31 + at * 17) for at in range(100)]
    return b",".join(words)[:1000]


def received(codec: CompressionType, producer_id: int = -1) -> ReceivedBatches:
    """Return a receive buffer; with a producer id, the batches of one idempotent producer in sequence."""
    buffer, spans, row = bytearray(), [], 0
    for _ in range(BATCHES):
        batch, row = _batch(codec, producer_id, row)
        spans.append((len(buffer), len(buffer) + len(batch)))
        buffer += batch
    return ReceivedBatches(buffer, spans, bytes(buffer))


def _batch(codec: CompressionType, producer_id: int, first_row: int) -> tuple[bytes, int]:
    """Return a batch that begins with a row, and the row after it."""
    row = first_row
    options = BatchOptions(codec)
    if producer_id >= 0:
        options = BatchOptions(codec, producer_id=producer_id, producer_epoch=0, base_sequence=first_row)
    builder = BatchBuilder(limit_bytes=BATCH_BYTES, options=options)
    while builder.uncompressed_size_bytes < BATCH_BYTES - 1024:
        builder.append(NOW + row, b"key-%012d" % row, value(row))
        row += 1
    batch = builder.build()
    return (_with_usual_frame(batch) if codec is CompressionType.LZ4 else batch), row


def _with_usual_frame(batch: bytes) -> bytes:
    """Return a batch in the lz4 frame of Java's producer and librdkafka: ours has checksums of its blocks, which cost a
    reader."""
    block = bytes(cramjam.lz4.compress_block(cramjam.lz4.decompress(batch[61:]), store_size=False))
    checked = batch[21:61] + USUAL_HEAD + len(block).to_bytes(4, "little") + block + bytes(4)
    head = batch[:8] + (len(checked) + 9).to_bytes(4, "big") + batch[12:17]
    return head + crc32c(checked).to_bytes(4, "big") + checked
