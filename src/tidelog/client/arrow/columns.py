"""The columns of an Arrow batch as the encoding kernel takes them: its buffers, and where to begin in them."""

from typing import Any

from tidelog.records.fetched import MILLISECONDS
from tidelog.records.kernels_encode import BinaryColumn, HeaderLists, RecordColumns
from tidelog.records.produced import NULLS


def record_columns(batch: Any, now_ms: int) -> RecordColumns:
    """Return the column `value` and, where the batch has them, `key`, `timestamp` and `headers` for the encoding
    kernel."""
    names = batch.schema.names
    return RecordColumns(
        batch.num_rows,
        _timestamps(batch, now_ms),
        binary_column(batch.column("key")) if "key" in names else NULLS,
        binary_column(batch.column("value")),
        _headers(batch.column("headers")) if "headers" in names else None,
        MILLISECONDS,
    )


def binary_column(values: Any) -> BinaryColumn:
    import pyarrow as pa  # type: ignore[import-untyped]

    if pa.types.is_null(values.type):
        return NULLS
    if not pa.types.is_binary(values.type) and not pa.types.is_string(values.type):
        values = values.cast(pa.binary())
    validity, offsets, data = values.buffers()
    return BinaryColumn(
        data.to_pybytes() if data else b"",
        offsets.to_pybytes() if offsets else b"",
        validity.to_pybytes() if validity else b"",
        values.offset,
    )


def _timestamps(batch: Any, now_ms: int) -> bytes:
    """Return a timestamp in milliseconds for each row; `now_ms` for rows that have none."""
    import pyarrow as pa
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    if "timestamp" not in batch.schema.names:
        return now_ms.to_bytes(8, "little", signed=True) * int(batch.num_rows)
    now = pa.scalar(now_ms, pa.int64())
    times = batch.column("timestamp")
    if pa.types.is_timestamp(times.type):
        times = times.cast(pa.timestamp("ms", times.type.tz), safe=False).cast(pa.int64())
    return _buffer(pc.fill_null(times.cast(pa.int64()), now))


def _buffer(values: Any) -> bytes:
    begin = 8 * values.offset
    found: bytes = values.buffers()[1].to_pybytes()[begin : begin + 8 * len(values)]
    return found


def _headers(lists: Any) -> HeaderLists:
    """Return the headers of each row. A row whose headers are null has none: Arrow gives it an empty list."""
    import pyarrow as pa

    element = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
    lists = lists.cast(pa.list_(element))
    structs = lists.values
    offsets = lists.buffers()[1].to_pybytes()
    return HeaderLists(
        offsets, lists.offset, binary_column(structs.field("key")), binary_column(structs.field("value"))
    )
