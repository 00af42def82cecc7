"""A leader's append: batches of 1 KB records out of a receive buffer, every record walked and validated, to a file.

    Log              `append_as_leader` and `commit` of a whole log: validation, producer, offsets, indexes, write
    validate, write  validation alone, and the same write
    checksum, write  a bare loop that checks the checksums and writes the same bytes with the same calls
    library's frame  the codec's library inflates the records into a buffer that is there already, and nothing else is
                     done: what compressed batches are held against, since to validate them they have to be inflated
    inflate          the same by our own `Inflater`, which is faster for lz4 than the library's decoder for frames

All write a turn's batches with one `pwritev`, as a turn of the loop does; single batches a turn are shown beside. The
file grows from nothing each time, as a log does, and the batches are put into the receive buffer anew, uncounted.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import partial

import cramjam
from crc32c import crc32c

from benchmarks.harness import asked_for, console, measure, show_cost
from benchmarks.storage_batches import BATCHES, NOW, ReceivedBatches, received
from tidelog._compiled import mode
from tidelog.config.layers import Layers
from tidelog.config.topic_config import resolve_topic_config
from tidelog.io.files import PosixFileSystem
from tidelog.model.ids import TopicPartition
from tidelog.records.compression import CompressionType, Inflater
from tidelog.records.header import BytesLike
from tidelog.storage.append.outcome import Refused, Validated
from tidelog.storage.append.rules import AppendRules, append_rules
from tidelog.storage.append.validation import validate_and_assign
from tidelog.storage.log.loader import LogContext, create_log
from tidelog.storage.log.log import Log
from tidelog.storage.segment.descriptors import Descriptors

TURN = 16
PRODUCER_ID = 7
LOG, LOG_IDEMPOTENT, VALIDATE = "Log", "Log, idempotent", "validate, write"
BARE, LIBRARY, INFLATE = "checksum, write", "library's frame", "inflate"
PLAIN_BAR, COMPRESSED_BAR = 1.6, 1.3
# A compacted topic: keys are looked for.
CONFIG = resolve_topic_config({"cleanup.policy": "compact"}, Layers())


def bare(batches: ReceivedBatches, turn: int, descriptor: int) -> None:
    position = 0
    view = batches.view
    for spans in batches.turns(turn):
        pieces: list[BytesLike] = []
        for start, end in spans:
            piece = view[start:end]
            crc32c(piece[21:])
            pieces.append(piece)
        position += os.pwritev(descriptor, pieces, position)


def validate(batches: ReceivedBatches, turn: int, descriptor: int, rules: AppendRules) -> None:
    position = 0
    view = batches.view
    for spans in batches.turns(turn):
        pieces: list[BytesLike] = []
        for start, end in spans:
            result = validate_and_assign(view, start, end, 0, NOW, 5, rules)
            assert isinstance(result, Validated), result
            pieces += result.pieces
        position += os.pwritev(descriptor, pieces, position)


def append(batches: ReceivedBatches, turn: int, logs: "EmptyLogs") -> None:
    view, log = batches.view, logs.log
    for spans in batches.turns(turn):
        for start, end in spans:
            result = log.append_as_leader(view, start, end, 5, NOW)
            assert not isinstance(result, Refused), result
        assert log.commit(NOW) is None


def library(batches: ReceivedBatches, decompress_into: Callable[[memoryview, bytearray], object]) -> None:
    view, inflated = batches.view, bytearray(1 << 16)
    for start, end in batches.spans:
        decompress_into(view[start + 61 : end], inflated)


def inflate(batches: ReceivedBatches, codec: CompressionType, inflater: Inflater) -> None:
    view = batches.view
    for start, end in batches.spans:
        inflater.inflate(codec, view[start + 61 : end], 0)


class EmptyLogs:
    """A log that begins anew whenever it is asked to."""

    def __init__(self, directory: str) -> None:
        self._directory = f"{directory}/t-0"
        self._fs = PosixFileSystem()
        self._descriptors = Descriptors(self._fs)
        self.log = self._create()

    def _create(self) -> Log:
        self._descriptors = Descriptors(self._fs)
        context = LogContext(self._descriptors)
        return create_log(context, self._directory, TopicPartition("t", 0), None, CONFIG, NOW)

    def start_over(self) -> None:
        self._descriptors.close()
        shutil.rmtree(self._directory)
        self.log = self._create()

    def close(self) -> None:
        self._descriptors.close()
        self._fs.close()


def compare(codec: CompressionType, turn: int) -> bool:
    plain, numbered = received(codec), received(codec, PRODUCER_ID)
    with tempfile.TemporaryDirectory(prefix="tidelog-bench-") as directory, tempfile.TemporaryFile() as file:
        descriptor, logs = file.fileno(), EmptyLogs(directory)

        def start_over() -> None:
            plain.receive()
            numbered.receive()
            os.ftruncate(descriptor, 0)
            logs.start_over()

        contenders: dict[str, Callable[[], object]] = {
            LOG: partial(append, plain, turn, logs),
            LOG_IDEMPOTENT: partial(append, numbered, turn, logs),
            VALIDATE: partial(validate, plain, turn, descriptor, append_rules(CONFIG, Inflater())),
            BARE: partial(bare, plain, turn, descriptor),
        }
        if codec is not CompressionType.NONE:
            contenders[INFLATE] = partial(inflate, plain, codec, Inflater())
            contenders[LIBRARY] = partial(library, plain, decompressor(codec))
        rounds = 5 if asked_for("--quick") else 15
        results = measure(contenders, operations=BATCHES, rounds=rounds, before=start_over)
        logs.close()
    size = len(plain.sent) // BATCHES
    title = f"Append, {codec.name.lower()}, {size:,} bytes a batch, {turn} {'batches' if turn > 1 else 'batch'} a turn"
    is_plain = codec is CompressionType.NONE
    base, bar = (BARE, PLAIN_BAR) if is_plain else (LIBRARY, COMPRESSED_BAR)
    return show_cost(title, "batch", results, ours=(LOG, LOG_IDEMPOTENT, VALIDATE), base=base, bar=bar)


def decompressor(codec: CompressionType) -> Callable[[memoryview, bytearray], object]:
    return cramjam.lz4.decompress_into if codec is CompressionType.LZ4 else cramjam.zstd.decompress_into


def main() -> int:
    """Run the comparison; return how many tables missed a bar."""
    console.print(f"kernels are {mode()}\n")
    codecs = (CompressionType.NONE, CompressionType.LZ4, CompressionType.ZSTD)
    return sum(not compare(codec, turn) for codec in codecs for turn in (TURN, 1))


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
