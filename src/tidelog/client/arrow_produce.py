"""Arrow tables to records: the columns' buffers go to the encoding kernel as they are, a batch at a time.

Rows keep their order within a partition. Where the partition is not given, a table's rows are dealt out by key as
single records are, and those without a key stick together.
"""

from typing import TYPE_CHECKING, Any, Final

from tidelog.client.arrow_extra import require_pyarrow
from tidelog.client.producer_batch import encode
from tidelog.records.header import BATCH_OVERHEAD
from tidelog.records.kernels_encode import BinaryColumn, HeaderLists, RecordColumns
from tidelog.records.produced import NULLS

if TYPE_CHECKING:
    from tidelog.client.producer import Producer

MILLISECONDS: Final = 1
KNOWN: Final = ("key", "value", "timestamp", "headers", "partition", "offset")


def produce_table(producer: "Producer", topic: str, table: Any, partition: int | None) -> None:
    require_pyarrow()
    unknown = [name for name in table.schema.names if name not in KNOWN]
    if unknown or "value" not in table.schema.names:
        raise ValueError(f"columns {unknown or table.schema.names}: a table has value, and may have {', '.join(KNOWN)}")
    batches = table.to_batches() if hasattr(table, "to_batches") else [table]
    for batch in batches:
        for index, rows in _by_partition(producer, topic, batch, partition):
            _produce(producer, topic, index, rows)


def _by_partition(producer: "Producer", topic: str, batch: Any, partition: int | None) -> list[tuple[int, Any]]:
    import pyarrow as pa  # type: ignore[import-untyped]

    if partition is not None:
        return [(partition, batch)]
    if "partition" in batch.schema.names:
        chosen = batch.column("partition").to_pylist()
    else:
        size = max(1, batch.nbytes // max(1, batch.num_rows))
        keys = batch.column("key").cast(pa.binary()).to_pylist() if "key" in batch.schema.names else [None] * len(batch)
        chosen = [producer.choose(topic, key, size) for key in keys]
    rows: dict[int, list[int]] = {}
    for row, index in enumerate(chosen):
        rows.setdefault(index, []).append(row)
    if len(rows) == 1:
        return [(chosen[0], batch)]
    return [(index, batch.take(pa.array(listed, pa.int64()))) for index, listed in rows.items()]


def _produce(producer: "Producer", topic: str, partition: int, batch: Any) -> None:
    columns = _columns(producer, batch)
    columns.check()
    line = producer.line(topic, producer.checked(topic, partition))
    row, limit_bytes = 0, producer.batch_bytes - BATCH_OVERHEAD
    while row < batch.num_rows:
        made = encode(columns, row, limit_bytes, producer.compression, producer.client.now_ms(), limit_bytes)
        made.size_bytes = len(made.body)
        producer.enqueue(line, made)
        row += made.records_count


def _columns(producer: "Producer", batch: Any) -> RecordColumns:
    names = batch.schema.names
    return RecordColumns(
        batch.num_rows,
        _timestamps(producer, batch),
        _binary(batch.column("key")) if "key" in names else NULLS,
        _binary(batch.column("value")),
        _headers(batch.column("headers")) if "headers" in names else None,
        MILLISECONDS,
    )


def _timestamps(producer: "Producer", batch: Any) -> bytes:
    """Milliseconds; now for rows that have none."""
    import pyarrow as pa
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    now = pa.scalar(producer.client.world.clock.wall_ms(), pa.int64())
    if "timestamp" not in batch.schema.names:
        return _buffer(pa.repeat(now, batch.num_rows))
    times = batch.column("timestamp")
    if pa.types.is_timestamp(times.type):
        times = times.cast(pa.timestamp("ms", times.type.tz), safe=False).cast(pa.int64())
    return _buffer(pc.fill_null(times.cast(pa.int64()), now))


def _buffer(values: Any) -> bytes:
    begin = 8 * values.offset
    found: bytes = values.buffers()[1].to_pybytes()[begin : begin + 8 * len(values)]
    return found


def _binary(values: Any) -> BinaryColumn:
    import pyarrow as pa

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


def _headers(lists: Any) -> HeaderLists:
    import pyarrow as pa

    element = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
    lists = lists.cast(pa.list_(element))
    structs = lists.values
    offsets = lists.buffers()[1].to_pybytes()
    return HeaderLists(offsets, lists.offset, _binary(structs.field("key")), _binary(structs.field("value")))
