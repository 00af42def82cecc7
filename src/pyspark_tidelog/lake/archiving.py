"""The archive as a user starts it: a batch, or a query that goes on. Spark plans, runs and retries, the tasks write,
and here, on the driver, their files are committed.

A query's name in the archive comes from the place of its checkpoint, because the two belong together: a query that
is started again from its checkpoint goes on with its batches, and one with a new checkpoint is another query.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from pyspark_tidelog.lake.committing import Committer
from pyspark_tidelog.lake.files import LocalFiles
from pyspark_tidelog.lake.layout import ArchivedRange
from pyspark_tidelog.lake.manifest import FIELDS, Manifest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

BY_HAND: Final = "by-hand"


def archive(spark: "SparkSession", directory: str, options: Mapping[str, str], *, name: str = BY_HAND) -> Manifest:
    """What is in the topics now, or between `startingOffsets` and `endingOffsets`; `options` are those of the `tidelog`
    source and of lake.source. Offsets that are archived already are refused, not archived twice."""
    committer = Committer(LocalFiles(directory), name)
    committer.recover()
    reader = spark.read.format(_register(spark)).options(**_options(options, directory, name))
    return committer.commit(committer.next_batch_id(), _ranges(reader.load().collect()))


def start_archive(
    spark: "SparkSession",
    directory: str,
    checkpoint: str,
    options: Mapping[str, str],
    *,
    name: str | None = None,
    trigger: Mapping[str, Any] | None = None,
    query_name: str | None = None,
) -> "StreamingQuery":
    """A query that archives what arrives. `trigger` as of `DataStreamWriter.trigger`: {"processingTime": "1 minute"}
    makes a file a partition and minute; {"availableNow": True} ends when all is archived."""
    name = archive_name(checkpoint) if name is None else name
    Committer(LocalFiles(directory), name).recover()
    reader = spark.readStream.format(_register(spark)).options(**_options(options, directory, name))
    writer = reader.load().writeStream.foreachBatch(commit_batches(directory, name))
    writer = writer.option("checkpointLocation", checkpoint)
    if query_name is not None:
        writer = writer.queryName(query_name)
    return writer.trigger(**trigger).start() if trigger else writer.start()


def commit_batches(directory: str, name: str) -> Callable[["DataFrame", int], None]:
    """For `foreachBatch`, where a job has a stream of `tidelog-lake` of its own. The rows are taken once: a second look
    at the batch would write its files a second time."""
    committer = Committer(LocalFiles(directory), name)

    def commit(rows: "DataFrame", batch_id: int) -> None:
        committer.commit(batch_id, _ranges(rows.collect()))

    return commit


def archive_name(checkpoint: str) -> str:
    """The same for every way to write the same place."""
    path = "/" + checkpoint.removeprefix("file:").strip("/") if checkpoint.startswith(("file:", "/")) else checkpoint
    last = "".join(each if each.isalnum() and each.isascii() else "-" for each in path.rstrip("/").rpartition("/")[2])
    return f"{last[:40]}-{hashlib.sha256(path.rstrip('/').encode()).hexdigest()[:12]}"


def _register(spark: "SparkSession") -> str:
    from pyspark_tidelog.lake.source import FORMAT, LakeDataSource

    spark.dataSource.register(LakeDataSource)
    return FORMAT


def _options(options: Mapping[str, str], directory: str, name: str) -> dict[str, str]:
    return {**options, "archiveTo": directory, "archiveName": name}


def _ranges(rows: Iterable["Row"]) -> list[ArchivedRange]:
    return [ArchivedRange(**{name: row[name] for name in FIELDS}) for row in rows]
