"""Record batches: the kernels beside aiokafka's Cython, and beside themselves interpreted.

A record is 200 bytes in its batch (16 bytes of key, 174 of value), batches are the producer's default of 16 KiB. All
contenders verify the checksum, or none does; the title of each table says which. aiokafka makes one object a record,
the kernels make columns: that is the difference that is measured.
"""

import importlib.util
import sys
from array import array
from collections.abc import Callable
from functools import partial
from types import ModuleType

import pyarrow as pa  # type: ignore[import-untyped]
from aiokafka.record import default_records
from aiokafka.record.memory_records import MemoryRecords

from benchmarks.harness import Result, console, measure, show
from tidelog._compiled import mode, source_path
from tidelog.records import kernels_decode, kernels_encode, kernels_walk
from tidelog.records.builder import BatchOptions
from tidelog.records.compression import CompressionType
from tidelog.records.fetched import decode_fetched
from tidelog.records.kernels_encode import BinaryColumn, RecordColumns
from tidelog.records.produced import encode_batches

ROWS = 20_000
PURE_ROWS = 1_000
BATCH_BYTES = 16_384
EVERYTHING = (0, 2**63 - 1)
OURS = "tidelog, compiled"
PURE = "tidelog, interpreted"
AIOKAFKA = "aiokafka (Cython)"
MAX_DECODE_NS = 100
MAX_ENCODE_NS = 250

KEYS = [b"key-%012d" % row for row in range(ROWS)]
VALUES = [(b"%d " % row * 60)[:174] for row in range(ROWS)]
TIMES = [1_700_000_000_000 + 3 * row for row in range(ROWS)]


def interpreted(module: ModuleType) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"interpreted_{module.__name__}", source_path(module.__name__))
    assert spec is not None
    assert spec.loader is not None
    twin = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(twin)
    return twin


def column(values: list[bytes]) -> tuple[bytes, bytes, bytes, int]:
    size = len(values[0])
    return b"".join(values), array("i", range(0, size * len(values) + 1, size)).tobytes(), b"", 0


def columns(rows: int) -> RecordColumns:
    keys, values = BinaryColumn(*column(KEYS[:rows])), BinaryColumn(*column(VALUES[:rows]))
    return RecordColumns(rows, array("q", TIMES[:rows]).tobytes(), keys, values)


def encoded(rows: int, compression: CompressionType = CompressionType.NONE) -> bytes:
    return b"".join(encode_batches(columns(rows), BatchOptions(compression), limit_bytes=BATCH_BYTES))


def read_with_aiokafka(buffer: bytes, verify_crc: bool) -> int:
    batches = MemoryRecords(buffer)
    rows = 0
    while batches.has_next():
        batch = batches.next_batch()
        if verify_crc and not batch.validate_crc():
            raise ValueError("checksum")
        for record in batch:
            rows += record.offset >= 0 and record.timestamp >= 0 and record.key is not None and record.value is not None
    return rows


def write_with_aiokafka() -> int:
    size = row = 0
    while row < ROWS:
        builder = default_records.DefaultRecordBatchBuilder(
            magic=2,
            compression_type=0,
            is_transactional=False,
            producer_id=-1,
            producer_epoch=-1,
            base_sequence=-1,
            batch_size=BATCH_BYTES,
        )
        first = row
        while row < ROWS and builder.append(row - first, TIMES[row], KEYS[row], VALUES[row], []):
            row += 1
        size += len(builder.build())
    return size


def take(decoded: kernels_decode.Columns, which: pa.Array) -> pa.Array:
    buffers = [None, pa.py_buffer(decoded.positions), pa.py_buffer(decoded.data)]
    return pa.Array.from_buffers(pa.binary(), 4 * len(decoded), buffers).take(which)


def with_pure(results: list[Result], pure: Callable[[], object]) -> list[Result]:
    return [*results, *measure({PURE: pure}, operations=PURE_ROWS, rounds=3)]


def within(results: list[Result], limit_ns: float) -> bool:
    cost = next(result.cpu_ns for result in results if result.name == OURS)
    verdict = "[green]ok" if cost <= limit_ns else "[red]MISSED"
    console.print(f"  {OURS}: {cost:,.1f} ns, at most {limit_ns:g}: {verdict}\n")
    return cost <= limit_ns


def decoding(verify_crc: bool) -> bool:
    buffer, little = encoded(ROWS), encoded(PURE_ROWS)
    twin = interpreted(kernels_decode)
    keys = pa.array(range(0, 4 * ROWS, 4), pa.int32())
    values = pa.array(range(2, 4 * ROWS, 4), pa.int32())

    def decode() -> kernels_decode.Columns:
        return kernels_decode.decode(buffer, 0, len(buffer), *EVERYTHING, 1, verify_crc)

    def decode_and_take() -> object:
        found = decode()
        return take(found, keys), take(found, values)

    contenders = {
        OURS: decode,
        "the same, and keys and values copied by pyarrow's take": decode_and_take,
        AIOKAFKA: lambda: read_with_aiokafka(buffer, verify_crc),
    }
    results = with_pure(
        measure(contenders, operations=ROWS),
        lambda: twin.decode(little, 0, len(little), *EVERYTHING, 1, verify_crc),
    )
    title = f"Decode to columns, checksum {'verified' if verify_crc else 'not verified'} (by all)"
    met = show(title, "200-byte record", results, ours=OURS, bar={AIOKAFKA: 4})
    return within(results, MAX_DECODE_NS) and met


def encoding() -> bool:
    rows, little = columns(ROWS), PURE_ROWS
    twin = interpreted(kernels_encode)
    keys, values = twin.BinaryColumn(*column(KEYS[:little])), twin.BinaryColumn(*column(VALUES[:little]))
    pure = twin.RecordColumns(little, array("q", TIMES[:little]).tobytes(), keys, values)

    def encode_pure() -> None:
        row = 0
        while row < little:
            row += twin.encode_body(pure, row, BATCH_BYTES - 61).rows

    contenders: dict[str, Callable[[], object]] = {
        OURS: lambda: sum(map(len, encode_batches(rows, BatchOptions(), limit_bytes=BATCH_BYTES))),
        AIOKAFKA: write_with_aiokafka,
    }
    results = with_pure(measure(contenders, operations=ROWS), encode_pure)
    title = "Encode to whole batches, checksum computed (by all; interpreted: records only)"
    met = show(title, "200-byte record", results, ours=OURS, bar={AIOKAFKA: 4})
    return within(results, MAX_ENCODE_NS) and met


def headers() -> None:
    buffer = encoded(ROWS)
    count = len(kernels_walk.walk(buffer, 0, len(buffer)))
    walked = measure({OURS: lambda: kernels_walk.walk(buffer, 0, len(buffer))}, operations=count)
    show("Walk batch headers, checksum not verified", "batch", walked, ours=OURS)


def codecs() -> None:
    for codec in CompressionType:
        buffer = encoded(ROWS, codec)
        contenders: dict[str, Callable[[], object]] = {
            OURS: partial(decode_fetched, buffer),
            AIOKAFKA: partial(read_with_aiokafka, buffer, True),
        }
        title = f"Inflate and decode, {codec.name.lower()}, checksum verified (by all)"
        show(title, "record", measure(contenders, operations=ROWS, rounds=3), ours=OURS)


def main() -> int:
    console.print(f"records: kernels are {mode()}\n")
    met = [decoding(verify_crc=False), decoding(verify_crc=True), encoding()]
    headers()
    codecs()
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
