"""The functions that archive topics: one batch, or a query that goes on. Spark plans, runs and retries, the tasks write
files, and the driver commits the files here.

A query's name in the archive comes from the path of its checkpoint, because the two belong together: a query that
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
    """Archive the records that the topics have now, or those between `startingOffsets` and `endingOffsets`. `options`
    are those of the `tidelog` source and of lake.catalogue. Offsets that are archived already are refused, not archived
    twice."""
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
    """Start a query that archives records as they arrive. `trigger`: as of `DataStreamWriter.trigger`.
    {"processingTime": "1 minute"} makes one file per partition and minute; {"availableNow": True} ends when all is
    archived."""
    name = archive_name(checkpoint) if name is None else name
    Committer(LocalFiles(directory), name).recover()
    reader = spark.readStream.format(_register(spark)).options(**_options(options, directory, name))
    writer = reader.load().writeStream.foreachBatch(commit_batches(directory, name))
    writer = writer.option("checkpointLocation", checkpoint)
    if query_name is not None:
        writer = writer.queryName(query_name)
    return writer.trigger(**trigger).start() if trigger else writer.start()


def commit_batches(directory: str, name: str) -> Callable[["DataFrame", int], None]:
    """Return a function for `foreachBatch` that commits a batch, for a job that starts its own stream of
    `tidelog-lake`. The function collects the rows once: to compute the batch again would write its files again."""
    committer = Committer(LocalFiles(directory), name)

    def commit(rows: "DataFrame", batch_id: int) -> None:
        committer.commit(batch_id, _ranges(rows.collect()))

    return commit


def archive_name(checkpoint: str) -> str:
    """Return the name of the query with this checkpoint: the same name for every way to write the same path."""
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
