"""A task of an archive: fetch one range of offsets, write one staged file, make it durable, tell the driver in one row.
Attempts do not meet: each has a file name of its own, and only a file that is named in a row is ever committed.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from pyspark_tidelog.lake.layout import ArchivedRange
from pyspark_tidelog.lake.staging import ArchiveSettings, stage
from pyspark_tidelog.source.fetch_task import FetchTask
from pyspark_tidelog.source.record_batches import record_batches
from tidelog.model.ids import format_uuid

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]

    Fetch = Callable[[FetchTask], Iterable[pa.RecordBatch]]

# Topic and partition are in the path, where readers find them as columns. Headers are archived: a column that is left
# out here is lost when the topic's retention has passed.
COLUMNS: Final = ("key", "value", "offset", "timestamp", "timestampType", "headers")


def archived(
    task: FetchTask, settings: ArchiveSettings, fetch: "Fetch" = record_batches
) -> Iterator[tuple[object, ...]]:
    """Archive the range of a task; yield the one row of its `read()`, which describes the staged file."""
    done = archive_range(task, settings, fetch(task))
    yield tuple(getattr(done, name) for name in ArchivedRange.__slots__)


def archive_range(task: FetchTask, settings: ArchiveSettings, batches: Iterable["pa.RecordBatch"]) -> ArchivedRange:
    staged = stage(settings, batches, _footer(task))
    return ArchivedRange(
        topic=task.topic,
        topic_id=None if task.topic_id is None else format_uuid(task.topic_id),
        partition=task.partition,
        from_offset=task.start,
        until_offset=task.end,
        rows=staged.written.rows,
        bytes=staged.bytes,
        path=staged.path,
        min_timestamp_ms=staged.written.min_timestamp_ms,
        max_timestamp_ms=staged.written.max_timestamp_ms,
    )


def _footer(task: FetchTask) -> dict[str, str]:
    """Return the metadata of the file's footer: a file outside of its directory still says which offsets it holds."""
    return {
        "tidelog.topic": task.topic,
        "tidelog.partition": str(task.partition),
        "tidelog.from_offset": str(task.start),
        "tidelog.until_offset": str(task.end),
    }
