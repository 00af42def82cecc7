"""Writes record batches to one Parquet file. While a row group is encoded and compressed, in a thread of its own and
outside the interpreter's lock, the caller fetches the next one; never more than two are in memory.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark_tidelog.lake.parquet_settings import ParquetSettings

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]


@dataclass(slots=True)
class Written:
    """The number of rows in a file, and the earliest and latest timestamp of its records; None where that column is not
    archived."""

    rows: int = 0
    min_timestamp_ms: int | None = None
    max_timestamp_ms: int | None = None

    def add(self, table: "pa.Table") -> None:
        self.rows += table.num_rows
        if "timestamp" not in table.column_names or not _is_time(table.schema.field("timestamp")):
            return
        first, last = _span_ms(table.column("timestamp"))
        if first is not None and last is not None:
            self.min_timestamp_ms = first if self.min_timestamp_ms is None else min(self.min_timestamp_ms, first)
            self.max_timestamp_ms = last if self.max_timestamp_ms is None else max(self.max_timestamp_ms, last)


def _is_time(field: "pa.Field") -> bool:
    import pyarrow as pa

    return bool(pa.types.is_timestamp(field.type))  # rows of a DataFrame may have anything under this name


def _span_ms(column: "pa.ChunkedArray") -> tuple[int | None, int | None]:
    import pyarrow as pa
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    span = pc.min_max(column.cast(pa.int64()))
    first, last = span["min"].as_py(), span["max"].as_py()
    return None if first is None else first // 1000, None if last is None else last // 1000


def write_parquet(
    path: Path, batches: Iterable["pa.RecordBatch"], settings: ParquetSettings, metadata: dict[str, str]
) -> Written:
    """Write the file and close it, but do not sync it; where there are no records, no file is made. `metadata` goes
    into its footer."""
    written = Written()
    writer: Any = None
    pending: Future[None] | None = None
    with ThreadPoolExecutor(1, "tidelog-lake") as thread:
        try:
            for group in row_groups(batches, settings):
                writer = writer or _open(path, group[0].schema, settings, metadata)
                if pending is not None:
                    pending.result()
                pending = thread.submit(_write, writer, group, written)
            if pending is not None:
                pending.result()
        finally:
            # Wait for the thread: the file must not be closed while it writes.
            thread.shutdown()
            if writer is not None:
                writer.close()
    return written


def _open(path: Path, schema: "pa.Schema", settings: ParquetSettings, metadata: dict[str, str]) -> Any:
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    writer = pq.ParquetWriter(str(path), schema, **settings.writer_arguments(schema.names))
    writer.add_key_value_metadata(metadata)
    return writer


def _write(writer: Any, group: list["pa.RecordBatch"], written: Written) -> None:
    import pyarrow as pa

    table = pa.Table.from_batches(group)
    writer.write_table(table, row_group_size=table.num_rows)
    written.add(table)


def row_groups(batches: Iterable["pa.RecordBatch"], settings: ParquetSettings) -> Iterator[list["pa.RecordBatch"]]:
    """Group the batches so that each group has enough rows or bytes for a row group; empty batches are left out."""
    group: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        group.append(batch)
        rows += batch.num_rows
        size += batch.nbytes
        if rows >= settings.rows_max or size >= settings.bytes_max:
            yield group
            group, rows, size = [], 0, 0
    if group:
        yield group
