"""Writes the rows of a batch as Parquet files, each row once: for `foreachBatch`, beside `write_exactly_once`.

    def write(batch, batch_id):
        write_exactly_once({"orders": orders(batch)}, batch_id, options)
        write_batch(batch, "/lake/orders", batch_id, name="orders")

The tasks that compute the rows write the files, and the driver commits them as it does an archive's (committing.py): a
batch that is tried again is found by its number, and not written again. So both calls write every row once, in either
order, and wherever the batch was cut off.

    <name>-<batch>-<part>.parquet      rows of a task; never changed again
    _tidelog/...                       as in an archive

All files lie in the directory itself, so that any reader of Parquet takes it for a table.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from pyspark_tidelog.errors import OptionError
from pyspark_tidelog.lake.committing import Committer
from pyspark_tidelog.lake.errors import LakeError
from pyspark_tidelog.lake.files import LocalFiles, local_path
from pyspark_tidelog.lake.layout import WrittenPart, is_archive_name
from pyspark_tidelog.lake.manifest import Manifest
from pyspark_tidelog.lake.parquet_settings import ParquetSettings
from pyspark_tidelog.lake.staging import ArchiveSettings, stage
from pyspark_tidelog.spark.batches import RunningBatch, compute, running_batch, unknown_query
from pyspark_tidelog.spark.process import keep_what_is_imported, message_first

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql import DataFrame, Row

# The run and batch of the last call for a directory and a name. All calls of a run are made in one process, this one.
_LAST_CALLS: Final[dict[tuple[str, str], tuple[str, int]]] = {}
# The schema of the one row in which a task describes its staged file to the driver.
STAGED: Final = "task int, rows long, bytes long, path string"


def write_batch(
    frame: "DataFrame",
    directory: str,
    batch_id: int,
    *,
    name: str,
    query_id: str | None = None,
    checkpoint: str | None = None,
) -> Manifest:
    """Write the rows as Parquet, exactly once. `name`: who writes. Several calls for one batch and directory need a
    name each; a second call with the same name is refused. `query_id`, `checkpoint`: as of `write_exactly_once`. A
    batch of the same name and number from another query or checkpoint is refused."""
    settings = _settings(frame.columns, directory, name)
    running = running_batch(frame.sparkSession, batch_id, checkpoint)
    query, origin = query_id or running.query_id, running.found.origin
    if query is None:
        raise unknown_query("write_batch")
    _refuse_second(settings.directory, name, batch_id, running)
    committer = Committer(LocalFiles(settings.directory), name)
    done = committer.done_by(query, batch_id, origin)
    if done is not None:
        compute(frame)
        return done
    staged = frame.mapInArrow(partial(staged_rows, settings, batch_id), STAGED).collect()
    return committer.commit_rows(query, batch_id, _parts(staged, name, batch_id), origin)


def _refuse_second(directory: str, name: str, batch_id: int, running: RunningBatch) -> None:
    """Refuse a second call with the same name in one batch: it would look like a replay of the first, and its rows
    would not be written. A true replay belongs to another run. A caller without a query of Spark's has no runs, and is
    not checked."""
    if running.query_id is None:
        return
    call = running.run_id, batch_id
    if _LAST_CALLS.get((directory, name)) == call:
        what = f"batch {batch_id} of {name} is written by another call of this batch already"
        raise LakeError(what, directory, "give each call of write_batch a name of its own; after an error let it fail")
    _LAST_CALLS[directory, name] = call


def staged_rows(
    settings: ArchiveSettings, batch_id: int, batches: Iterable["pa.RecordBatch"]
) -> Iterator["pa.RecordBatch"]:
    """Write the rows of a task to a staged file; yield the one row (STAGED) that describes it. Runs in a worker."""
    import pyarrow as pa
    from pyspark import TaskContext

    keep_what_is_imported()
    context = TaskContext.get()
    task = 0 if context is None else context.partitionId()
    with message_first(f"write task {task} of batch {batch_id} to {settings.directory}"):
        done = stage(settings, batches, {"tidelog.name": settings.name, "tidelog.batch": str(batch_id)})
    columns = {
        "task": pa.array([task], pa.int32()),
        "rows": pa.array([done.written.rows], pa.int64()),
        "bytes": pa.array([done.bytes], pa.int64()),
        "path": pa.array([done.path], pa.string()),
    }
    yield pa.record_batch(columns)


def _parts(staged: Iterable["Row"], name: str, batch_id: int) -> list[WrittenPart]:
    """Return the files of a batch as parts, numbered without gaps, so that a batch always begins with part 0."""
    with_rows = sorted((row for row in staged if row["path"] is not None), key=lambda row: int(row["task"]))
    return [
        WrittenPart(name, batch_id, part, row["rows"], row["bytes"], row["path"]) for part, row in enumerate(with_rows)
    ]


def _settings(columns: Iterable[str], directory: str, name: str) -> ArchiveSettings:
    if not is_archive_name(name) or name.startswith("_"):
        problem = f"{name!r} can not begin the name of a file that readers see"
        raise OptionError("name", problem, "use letters, digits, '-', '_' and '.', and begin with a letter or digit")
    counts = Counter(column.lower() for column in columns)
    twice = [column for column, count in counts.items() if count > 1]
    if twice or not counts:
        what = f"there are two columns `{twice[0]}`" if twice else "there are no columns"
        raise LakeError(what, "Spark could not read such a file", "give each column of the DataFrame a name of its own")
    # Anything may be in these columns: dictionaries and statistics pay, as in Spark's own files.
    return ArchiveSettings(local_path(directory, "directory"), name, ParquetSettings(encoding="spark"))
