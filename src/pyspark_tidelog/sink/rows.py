"""Rows on their way to topics: gathered to larger batches, split by topic, and named by task and row in an error.

All of it works on columns: no Python object is made for a row, unless it has to be named in an error.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark_tidelog.errors import SinkError, TidelogError

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

WRITTEN: Final = ("key", "value", "headers", "partition")
GATHER_BYTES: Final = 1 << 20  # enough to fill the batches of a few partitions; gathering more gains little
_LENGTHS: Final = ("key", "value")


class TopicRows(NamedTuple):
    """Rows of one topic. `numbers`: a pyarrow array with the number of each row in the task; None where they are
    numbered from `first` on."""

    topic: str
    batch: "pa.RecordBatch"
    first: int
    numbers: Any


def gathered(batches: Iterable["pa.RecordBatch"], limit_bytes: int = GATHER_BYTES) -> Iterator["pa.RecordBatch"]:
    """Join batches until they have `limit_bytes`: Spark limits a batch by rows, so its batches may be small."""
    waiting: list[Any] = []
    size_bytes = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            size_bytes += batch.nbytes
        if size_bytes >= limit_bytes:
            yield _one(waiting)
            waiting, size_bytes = [], 0
    if waiting:
        yield _one(waiting)


def _one(batches: list[Any]) -> "pa.RecordBatch":
    import pyarrow as pa

    if len(batches) == 1:
        return batches[0]
    return pa.Table.from_batches(batches).combine_chunks().to_batches()[0]


def by_topic(batch: "pa.RecordBatch", topic: str | None, task: int, first: int) -> Iterator[TopicRows]:
    """Split a batch by topic. `topic`: the option, which wins over the column. `first`: the number of the batch's first
    row in the task."""
    import pyarrow.compute as pc  # type: ignore[import-untyped]

    rows = batch.select([name for name in batch.schema.names if name in WRITTEN])
    if topic is not None:
        yield TopicRows(topic, rows, first, None)
        return
    topics = batch.column("topic")
    if topics.null_count:
        row = first + pc.index(pc.is_null(topics), True).as_py()
        step = "give every row a topic, or set the option topic"
        raise SinkError(f"the topic of row {row} is null", place(task, row), step)
    names = pc.unique(topics).to_pylist()
    for name in names:
        if len(names) == 1:
            yield TopicRows(name, rows, first, None)
        else:
            chosen = pc.indices_nonzero(pc.equal(topics, name))
            yield TopicRows(name, rows.take(chosen), first, pc.add(chosen.cast("int64"), first))


def place(task: int, row: int, topic: str | None = None) -> str:
    """Return the words that tell a user which row is meant."""
    return f"task {task}, row {row}" + ("" if topic is None else f", topic {topic}")


def number_of(rows: TopicRows, index: int) -> int:
    return rows.first + index if rows.numbers is None else int(rows.numbers[index].as_py())


def largest(rows: TopicRows, indexes: Any) -> tuple[int, int]:
    """Return the index of the largest of the rows with these indexes, and its size in bytes (without headers)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    sizes = pa.repeat(pa.scalar(0, pa.int64()), len(indexes))
    for name in _LENGTHS:
        if name in rows.batch.schema.names and not pa.types.is_null(rows.batch.schema.field(name).type):
            lengths = pc.binary_length(rows.batch.column(name).take(indexes).cast(pa.large_binary()))
            sizes = pc.add(sizes, pc.fill_null(lengths, 0))
    size_bytes = pc.max(sizes).as_py()
    return int(indexes[pc.index(sizes, size_bytes).as_py()].as_py()), int(size_bytes)


def refusal(rows: TopicRows, indexes: Any, said: str, step: str, *, is_too_large: bool, task: int) -> TidelogError:
    """Return the error about rows that were not written. `said`: what the broker says of them."""
    if is_too_large:
        index, size_bytes = largest(rows, indexes)
        number = number_of(rows, index)
        what = f"row {number} of task {task} ({size_bytes} bytes of key and value) is too large for topic {rows.topic}"
        return SinkError(f"{what}: {said}", place(task, number, rows.topic), step)
    first, last = number_of(rows, indexes[0].as_py()), number_of(rows, indexes[-1].as_py())
    named = f"row {first}" if first == last else f"{len(indexes)} rows from {first} to {last}"
    return SinkError(f"{named} of task {task} not written: {said}", place(task, first, rows.topic), step)
