"""Makes Arrow columns of decoded positions: only the columns that were asked for, and each copied once.

The decoding kernels leave the positions `[k0, k1, v0, v1]*`, which is a valid Arrow offsets buffer over the fetched
bytes: element 4i is the key of row i and 4i + 2 its value. A `take` of every fourth element makes a column that stands
on its own. Columns that are the same in every row, and the indexes to take, are made once a process and sliced.

A record batch holds about 2 MB of keys and values: batches larger than a socket's buffer make Spark and the reader take
turns instead of working at the same time.
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import Any, Final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from pyspark_tidelog.source.schema import arrow_schema
from tidelog.records.kernels_decode import Columns, decode_headers

BATCH_BYTES: Final = 2 << 20
BATCH_ROWS: Final = 1 << 16  # the limit where records are tiny; the constants and indexes below are this long
_KEY: Final = 0
_VALUE: Final = 2


class ArrowColumns:
    """The builder of the record batches of one partition."""

    def __init__(self, topic: str, partition: int, columns: tuple[str, ...]) -> None:
        self.schema = arrow_schema(columns)
        self._topic = topic
        self._partition = partition
        self._build: list[Callable[[Rows], Any]] = [self._builder(name) for name in columns]

    def record_batches(self, columns: Columns) -> Iterator[Any]:
        rows = Rows(columns)
        for first, count in _slices(columns):
            rows.first, rows.count = first, count
            yield pa.RecordBatch.from_arrays([build(rows) for build in self._build], schema=self.schema)

    def _builder(self, name: str) -> "Callable[[Rows], Any]":
        match name:
            case "topic":
                topics = _constant(self._topic, pa.string())
                return lambda rows: topics.slice(0, rows.count)
            case "partition":
                partitions = _constant(self._partition, pa.int32())
                return lambda rows: partitions.slice(0, rows.count)
            case _:
                return _BUILDERS[name]


class Rows:
    """Decoded rows, and the slice of them (`first`, `count`) that the next record batch has. Arrays that all slices
    share are made once."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns
        self.first = 0
        self.count = 0
        self._plain: Any = None  # a view of the fetched bytes as an array without nulls
        self._nullable: Any = None  # the same with nulls
        self._headers: Any = None

    def keys(self) -> Any:
        return self._field(_KEY, int(self.columns.null_keys))

    def values(self) -> Any:
        return self._field(_VALUE, int(self.columns.null_values))

    def value_sizes(self) -> Any:
        if self.columns.null_values == len(self.columns):
            return _nulls(pa.int32()).slice(0, self.count)
        raw = self._raw(bool(self.columns.null_values)).slice(4 * self.first, 4 * self.count)
        return pc.take(pc.binary_length(raw), _every_fourth(_VALUE).slice(0, self.count), boundscheck=False)

    def offsets(self) -> Any:
        return self._numbers(pa.int64(), self.columns.offsets)

    def timestamps(self) -> Any:
        return self._numbers(_TIMESTAMP, self.columns.timestamps)

    def timestamp_types(self) -> Any:
        """Return the timestamp type of each record, which is its batch's. Nearly always all are the same."""
        types = bytes(memoryview(self.columns.timestamp_types)[self.first : self.first + self.count])
        for kind in (0, 1):
            if types.find(1 - kind) < 0:
                return _constant(kind, pa.int32()).slice(0, self.count)
        return pa.Array.from_buffers(pa.uint8(), self.count, [None, pa.py_buffer(types)]).cast(pa.int32())

    def headers(self) -> Any:
        """Return the headers of each record; null where a record has none, as in Spark's own connector."""
        if not self.columns.headers_count:
            return _nulls(_HEADERS).slice(0, self.count)
        if self._headers is None:
            self._headers = _header_lists(self.columns)
        return self._headers.slice(self.first, self.count)

    def _field(self, which: int, nulls: int) -> Any:
        if nulls == len(self.columns):
            return _nulls(pa.binary()).slice(0, self.count)
        raw = self._raw(nulls > 0).slice(4 * self.first, 4 * self.count)
        return pc.take(raw, _every_fourth(which).slice(0, self.count), boundscheck=False)

    def _raw(self, has_nulls: bool) -> Any:
        columns = self.columns
        if has_nulls:
            if self._nullable is None:
                self._nullable = _fields(columns.data, columns.positions, columns.validity, 4 * len(columns))
            return self._nullable
        if self._plain is None:
            self._plain = _fields(columns.data, columns.positions, None, 4 * len(columns))
        return self._plain

    def _numbers(self, kind: Any, numbers: Any) -> Any:
        return pa.Array.from_buffers(kind, self.count, [None, pa.py_buffer(numbers)], 0, self.first)


def _slices(columns: Columns) -> Iterator[tuple[int, int]]:
    """Yield (first row, number of rows) of each record batch: up to BATCH_BYTES and BATCH_ROWS, and at least one
    row."""
    starts = memoryview(columns.positions)[::4]  # the start of every row, and the end of the last
    first, rows = 0, len(columns)
    while first < rows:
        limit = min(rows, first + BATCH_ROWS)
        last = bisect_left(starts, starts[first] + BATCH_BYTES, first + 1, limit)
        yield first, last - first
        first = last


def _fields(data: bytes, positions: object, validity: object, count: int) -> Any:
    """Return a binary array over bytes that are not copied."""
    bitmap = None if validity is None else pa.py_buffer(validity)
    nulls = 0 if validity is None else -1
    return pa.Array.from_buffers(pa.binary(), count, [bitmap, pa.py_buffer(positions), pa.py_buffer(data)], nulls)


def _header_lists(columns: Columns) -> Any:
    found, count = decode_headers(columns), int(columns.headers_count)
    raw = _fields(columns.data, found.positions, found.validity, 4 * count)
    first = pa.array(range(0, 4 * count, 4), pa.int32())
    keys, values = raw.take(first), raw.take(pc.add(first, pa.scalar(_VALUE, pa.int32())))
    element = _HEADERS.value_type
    structs = pa.StructArray.from_arrays([_texts(keys), values], fields=[element.field(0), element.field(1)])
    ends = pa.Array.from_buffers(pa.int32(), len(columns) + 1, [None, pa.py_buffer(found.list_offsets)])
    is_without = pc.equal(ends[1:], ends[:-1])
    return pa.ListArray.from_arrays(ends, structs, type=_HEADERS, mask=is_without)


def _texts(keys: Any) -> Any:
    """Return keys as strings. Bytes that are not UTF-8 are replaced, as Java does when it makes a string of them."""
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([key.decode("utf-8", "replace") for key in keys.to_pylist()], pa.string())


@cache
def _every_fourth(which: int) -> Any:
    return _int32s(range(which, 4 * BATCH_ROWS, 4))


def _int32s(numbers: range) -> Any:
    return pa.Array.from_buffers(pa.int32(), len(numbers), [None, pa.py_buffer(array("i", numbers))])


@lru_cache(maxsize=16)  # a worker may read thousands of partitions in its life
def _constant(value: object, kind: Any) -> Any:
    return pa.repeat(pa.scalar(value, kind), BATCH_ROWS)


@cache
def _nulls(kind: Any) -> Any:
    return pa.nulls(BATCH_ROWS, kind)


_HEADERS: Final = arrow_schema(["headers"]).field("headers").type
_TIMESTAMP: Final = arrow_schema(["timestamp"]).field("timestamp").type
_BUILDERS: Final[dict[str, Callable[[Rows], Any]]] = {
    "key": Rows.keys,
    "value": Rows.values,
    "offset": Rows.offsets,
    "timestamp": Rows.timestamps,
    "timestampType": Rows.timestamp_types,
    "headers": Rows.headers,
    "value_size": Rows.value_sizes,
}
