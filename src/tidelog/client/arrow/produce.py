"""Arrow tables to records: the columns' buffers go to the encoding kernel as they are, a batch at a time.

Rows keep their order within a partition. Where the partition is not given, a table's rows are dealt out by key as
single records are, and those without a key stick together. No Python object is made for a row: the partitions of all
rows come from one call of a kernel, and `take` puts the rows of a partition side by side.
"""

from array import array
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tidelog.client.arrow.columns import binary_column, record_columns
from tidelog.client.arrow.extra import require_pyarrow
from tidelog.client.errors import ClientError
from tidelog.client.producer.batch import RECORD_OVERHEAD, encode
from tidelog.client.producer.kernels_murmur2 import partitions_of_keys
from tidelog.model.ids import TopicPartition
from tidelog.records.header import BATCH_OVERHEAD

if TYPE_CHECKING:
    from tidelog.client.producer.producer import Producer

KNOWN: Final = ("key", "value", "timestamp", "headers", "partition", "offset")


class RefusedRows(NamedTuple):
    """Rows of the table that were to become one batch, by their numbers (a pyarrow array), and why they did not."""

    topic_partition: TopicPartition
    rows: Any
    error: ClientError


OnRefused = Callable[[RefusedRows], None]


class Share(NamedTuple):
    """The rows `start` to `end` (exclusive), which belong to one partition."""

    partition: int
    start: int
    end: int


class Dealt(NamedTuple):
    """A batch, cut into shares of neighbouring rows, each of which goes to one partition."""

    batch: Any
    order: Any  # row numbers in the original batch, a pyarrow array; None: the order is unchanged
    shares: list[Share]


def produce_table(
    producer: "Producer", topic: str, table: Any, partition: int | None, on_refused: OnRefused | None = None
) -> None:
    require_pyarrow()
    unknown = [name for name in table.schema.names if name not in KNOWN]
    if unknown or "value" not in table.schema.names:
        raise ValueError(f"columns {unknown or table.schema.names}: a table has value, and may have {', '.join(KNOWN)}")
    first = 0
    for batch in table.to_batches() if hasattr(table, "to_batches") else [table]:
        if batch.num_rows:
            _produce(producer, topic, _deal(producer, topic, batch, partition), first, on_refused)
        first += batch.num_rows


def _deal(producer: "Producer", topic: str, batch: Any, partition: int | None) -> Dealt:
    if partition is not None:
        return Dealt(batch, None, [Share(partition, 0, batch.num_rows)])
    if "partition" in batch.schema.names:
        return _arranged(batch, _as_told(producer, topic, batch))
    partitions = producer.partitions_count(topic)
    if partitions == 1:
        return Dealt(batch, None, [Share(0, 0, batch.num_rows)])
    if "key" not in batch.schema.names or batch.column("key").null_count == batch.num_rows:
        return Dealt(batch, None, _sticking(producer, topic, batch))
    return _arranged(batch, _by_key(producer, topic, batch, partitions))


def _as_told(producer: "Producer", topic: str, batch: Any) -> Any:
    """Return the column `partition`; rows that leave it open go by their key."""
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    told = batch.column("partition").cast(pa.int32())
    if not told.null_count:
        return told
    return pc.coalesce(told, _by_key(producer, topic, batch, producer.partitions_count(topic)))


def _by_key(producer: "Producer", topic: str, batch: Any, partitions: int) -> Any:
    import pyarrow as pa

    has_keys = "key" in batch.schema.names
    keys = batch.column("key") if has_keys else pa.nulls(batch.num_rows)
    rows_each = _rows_each(producer, batch)
    shares = range(0, max(1, keys.null_count), rows_each)
    row_bytes = max(1, batch.nbytes // batch.num_rows)
    sticky = array("i")
    if keys.null_count:
        left = keys.null_count
        sticky.extend(producer.choose(topic, None, row_bytes * min(rows_each, left - at)) for at in shares)
    found = partitions_of_keys(binary_column(keys), batch.num_rows, partitions, sticky.tobytes(), rows_each)
    return pa.Array.from_buffers(pa.int32(), batch.num_rows, [None, pa.py_buffer(found)])


def _sticking(producer: "Producer", topic: str, batch: Any) -> list[Share]:
    """Deal out rows of which none has a key: runs of rows as they come, about a batch each."""
    rows_each, row_bytes = _rows_each(producer, batch), max(1, batch.nbytes // batch.num_rows)
    shares = []
    for start in range(0, batch.num_rows, rows_each):
        end = min(start + rows_each, batch.num_rows)
        shares.append(Share(producer.choose(topic, None, row_bytes * (end - start)), start, end))
    return shares


def _rows_each(producer: "Producer", batch: Any) -> int:
    """Return how many rows fit into a batch of records, if all rows have one size: a row too many would go by itself,
    in a batch and a request of its own."""
    rows, size_bytes = int(batch.num_rows), int(batch.nbytes) + RECORD_OVERHEAD * int(batch.num_rows)
    return max(1, producer.batch_bytes * rows // size_bytes)


def _arranged(batch: Any, partitions: Any) -> Dealt:
    """Put the rows of each partition side by side, in the order that they had."""
    import pyarrow.compute as pc

    counted = sorted((each["values"], each["counts"]) for each in pc.value_counts(partitions).to_pylist())
    if len(counted) == 1:
        return Dealt(batch, None, [Share(counted[0][0], 0, batch.num_rows)])
    order = pc.sort_indices(partitions)  # stable
    shares, start = [], 0
    for partition, count in counted:
        shares.append(Share(partition, start, start + count))
        start += count
    return Dealt(batch.take(order), order, shares)


def _produce(producer: "Producer", topic: str, dealt: Dealt, first: int, on_refused: OnRefused | None) -> None:
    columns = record_columns(dealt.batch, producer.client.world.clock.wall_ms())
    columns.check()
    limit_bytes = producer.batch_bytes - BATCH_OVERHEAD
    for share in dealt.shares:
        tell = _teller(TopicPartition(topic, share.partition), dealt, first, on_refused)
        try:
            line = producer.line(topic, producer.checked(topic, share.partition))
        except ClientError as error:
            tell(share.start, share.end, error)
            raise
        row, columns.rows = share.start, share.end
        while row < share.end:
            made = encode(columns, row, limit_bytes, producer.compression, producer.client.now_ms(), limit_bytes)
            made.size_bytes = len(made.body)
            if on_refused is not None:
                made.on_refused = partial(tell, row, row + made.records_count)
            producer.enqueue(line, made)
            row += made.records_count


def _teller(
    topic_partition: TopicPartition, dealt: Dealt, first: int, on_refused: OnRefused | None
) -> Callable[[int, int, ClientError], None]:
    """Return what tells `on_refused` of rows that were refused, by the numbers that these have in the table."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def tell(start: int, end: int, error: ClientError) -> None:
        if on_refused is not None:
            rows = pa.array(range(start, end), pa.int64()) if dealt.order is None else dealt.order[start:end]
            on_refused(RefusedRows(topic_partition, pc.add(rows.cast(pa.int64()), first), error))

    return tell
