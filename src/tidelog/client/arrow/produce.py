"""Arrow tables to records: the columns' buffers go to the encoding kernel as they are, a batch at a time.

Rows keep their order within a partition. Where the partition is not given, it follows from a row's key, as it does for
single records, and rows without a key stick together. No Python object is made for a row: the partitions of all rows
come from one call of a kernel, and `take` puts the rows of a partition side by side.
"""

from array import array
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple, Protocol

from tidelog.client.arrow.columns import binary_column, record_columns
from tidelog.client.arrow.extra import require_pyarrow
from tidelog.client.client import Client
from tidelog.client.errors import ClientError
from tidelog.client.producer.batch import RECORD_OVERHEAD_BYTES, Compression, ProducerBatch, encode
from tidelog.client.producer.kernels_murmur2 import partitions_of_keys
from tidelog.client.producer.partition_line import PartitionLine
from tidelog.model.ids import TopicPartition
from tidelog.records.header import BATCH_OVERHEAD

KNOWN: Final = ("key", "value", "timestamp", "headers", "partition", "offset")


class RowProducer(Protocol):
    """The part of a Producer that rows need: partitions to choose from, and lines that take whole batches."""

    client: Client
    compression: Compression
    batch_bytes: int

    def partitions_count(self, topic: str) -> int: ...

    def choose(self, topic: str, key: bytes | None, size_bytes: int) -> int: ...

    def checked(self, topic: str, partition: int) -> int: ...

    def line(self, topic: str, partition: int) -> PartitionLine: ...

    def enqueue(self, line: PartitionLine, batch: ProducerBatch) -> None: ...


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


class PartitionedBatch(NamedTuple):
    """A batch, divided into shares of neighbouring rows, each of which goes to one partition."""

    batch: Any
    order: Any  # row numbers in the original batch, a pyarrow array; None: the order is unchanged
    shares: list[Share]


def produce_table(
    producer: RowProducer, topic: str, table: Any, partition: int | None, on_refused: OnRefused | None = None
) -> None:
    require_pyarrow()
    unknown = [name for name in table.schema.names if name not in KNOWN]
    if unknown or "value" not in table.schema.names:
        raise ValueError(f"columns {unknown or table.schema.names}: a table has value, and may have {', '.join(KNOWN)}")
    first = 0
    for batch in table.to_batches() if hasattr(table, "to_batches") else [table]:
        if batch.num_rows:
            _produce(producer, topic, _partition_rows(producer, topic, batch, partition), first, on_refused)
        first += batch.num_rows


def _partition_rows(producer: RowProducer, topic: str, batch: Any, partition: int | None) -> PartitionedBatch:
    if partition is not None:
        return PartitionedBatch(batch, None, [Share(partition, 0, batch.num_rows)])
    if "partition" in batch.schema.names:
        return _arranged(batch, _by_column(producer, topic, batch))
    partitions = producer.partitions_count(topic)
    if partitions == 1:
        return PartitionedBatch(batch, None, [Share(0, 0, batch.num_rows)])
    if "key" not in batch.schema.names or batch.column("key").null_count == batch.num_rows:
        return PartitionedBatch(batch, None, _sticking(producer, topic, batch))
    return _arranged(batch, _by_key(producer, topic, batch, partitions))


def _by_column(producer: RowProducer, topic: str, batch: Any) -> Any:
    """Return the column `partition`; rows that leave it open go by their key."""
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    chosen = batch.column("partition").cast(pa.int32())
    if not chosen.null_count:
        return chosen
    return pc.coalesce(chosen, _by_key(producer, topic, batch, producer.partitions_count(topic)))


def _by_key(producer: RowProducer, topic: str, batch: Any, partitions: int) -> Any:
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


def _sticking(producer: RowProducer, topic: str, batch: Any) -> list[Share]:
    """Deal out rows of which none has a key: runs of rows as they come, about a batch each."""
    rows_each, row_bytes = _rows_each(producer, batch), max(1, batch.nbytes // batch.num_rows)
    shares = []
    for start in range(0, batch.num_rows, rows_each):
        end = min(start + rows_each, batch.num_rows)
        shares.append(Share(producer.choose(topic, None, row_bytes * (end - start)), start, end))
    return shares


def _rows_each(producer: RowProducer, batch: Any) -> int:
    """Return how many rows fit into a batch of records, if all rows have one size: a row too many would go by itself,
    in a batch and a request of its own."""
    rows, size_bytes = int(batch.num_rows), int(batch.nbytes) + RECORD_OVERHEAD_BYTES * int(batch.num_rows)
    return max(1, producer.batch_bytes * rows // size_bytes)


def _arranged(batch: Any, partitions: Any) -> PartitionedBatch:
    """Put the rows of each partition side by side, in the order that they had."""
    import pyarrow.compute as pc

    counted = sorted((each["values"], each["counts"]) for each in pc.value_counts(partitions).to_pylist())
    if len(counted) == 1:
        return PartitionedBatch(batch, None, [Share(counted[0][0], 0, batch.num_rows)])
    order = pc.sort_indices(partitions)  # stable
    shares, start = [], 0
    for partition, count in counted:
        shares.append(Share(partition, start, start + count))
        start += count
    return PartitionedBatch(batch.take(order), order, shares)


def _produce(
    producer: RowProducer, topic: str, partitioned: PartitionedBatch, first: int, on_refused: OnRefused | None
) -> None:
    columns = record_columns(partitioned.batch, producer.client.world.clock.wall_ms())
    columns.check()
    limit_bytes = producer.batch_bytes - BATCH_OVERHEAD
    for share in partitioned.shares:
        report = _refusal_reporter(TopicPartition(topic, share.partition), partitioned, first, on_refused)
        try:
            line = producer.line(topic, producer.checked(topic, share.partition))
        except ClientError as error:
            report(share.start, share.end, error)
            raise
        row, columns.rows = share.start, share.end
        while row < share.end:
            made = encode(columns, row, limit_bytes, producer.compression, producer.client.now_ms(), limit_bytes)
            made.size_bytes = len(made.body)
            if on_refused is not None:
                made.on_refused = partial(report, row, row + made.records_count)
            producer.enqueue(line, made)
            row += made.records_count


def _refusal_reporter(
    topic_partition: TopicPartition, partitioned: PartitionedBatch, first: int, on_refused: OnRefused | None
) -> Callable[[int, int, ClientError], None]:
    """Return what tells `on_refused` of rows that were refused, by the numbers that these have in the table."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def report(start: int, end: int, error: ClientError) -> None:
        if on_refused is not None:
            rows = (
                pa.array(range(start, end), pa.int64()) if partitioned.order is None else partitioned.order[start:end]
            )
            on_refused(RefusedRows(topic_partition, pc.add(rows.cast(pa.int64()), first), error))

    return report
