"""`tidelog-lake`: the source of `tidelog` in all but its rows. Offsets, planning and options are that source's; a task
writes its range to a staged Parquet file instead of handing the records to Spark, and returns one row about the file.

Spark registers one source for a package by itself, and that is `tidelog`. This one makes sense only together with the
commit on the driver, so `archive` and `start_archive` register it in the session where they use it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pyspark.sql.datasource import CaseInsensitiveDict, DataSource, InputPartition
from pyspark.sql.types import StructType

from pyspark_tidelog.errors import OptionError
from pyspark_tidelog.lake.archive_task import COLUMNS, archived
from pyspark_tidelog.lake.catalogue import LAKE_OPTIONS
from pyspark_tidelog.lake.files import local_path
from pyspark_tidelog.lake.layout import ROW_SCHEMA, is_archive_name
from pyspark_tidelog.lake.parquet_settings import parquet_settings
from pyspark_tidelog.lake.staging import ArchiveSettings
from pyspark_tidelog.source.batch_reader import BatchReader
from pyspark_tidelog.source.fetch_task import FetchTask
from pyspark_tidelog.source.options import SourceOptions, source_options
from pyspark_tidelog.source.stream_reader import (
    LimitingStreamReader,
    StreamReader,
    UnlimitedStreamReader,
    stream_reader,
)
from pyspark_tidelog.spark.process import keep_what_is_imported, message_first

FORMAT: Final = "tidelog-lake"


class Archiving:
    """A mixin that writes a task's records to a file instead of returning them. It comes before a reader of records in
    the order of inheritance."""

    settings: ArchiveSettings

    def read(self, partition: InputPartition | None) -> Iterator[Any]:
        """Archive the range of a task; yield the row about its file. Where there is nothing to read, Spark makes up a
        partition with the value None (PySpark 4.1: the partition is None)."""
        task: FetchTask | None = None if partition is None else partition.value
        if task is not None:
            keep_what_is_imported()
            with message_first(f"archive {task.topic_partition}"):
                yield from archived(task, self.settings)


class LakeReader(Archiving, BatchReader):
    pass


class LimitingLakeReader(Archiving, LimitingStreamReader):
    pass


class UnlimitedLakeReader(Archiving, UnlimitedStreamReader):
    pass


STREAM_READERS: Final[dict[type[StreamReader], type[Any]]] = {
    LimitingStreamReader: LimitingLakeReader,
    UnlimitedStreamReader: UnlimitedLakeReader,
}


class LakeDataSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return ROW_SCHEMA

    def reader(self, schema: StructType) -> LakeReader:  # noqa: ARG002
        with message_first("read the options"):
            reader = LakeReader(record_options(self.options, is_streaming=False))
            reader.settings = archive_settings(self.options)
            return reader

    def streamReader(self, schema: StructType) -> StreamReader:  # noqa: ARG002
        with message_first("read the options"):
            options = record_options(self.options, is_streaming=True)
            reader: Any = STREAM_READERS[type(stream_reader(options))](options)
            reader.settings = archive_settings(self.options)
            return reader  # type: ignore[no-any-return]


def archive_settings(options: Mapping[str, str]) -> ArchiveSettings:
    for name in ("archiveTo", "archiveName"):
        if not options.get(name):
            raise OptionError(name, "is missing", "use pyspark_tidelog.lake.start_archive, which sets it")
    name = options["archiveName"]
    if not is_archive_name(name):
        raise OptionError("archiveName", f"{name!r} can not stand in a path", "use letters, digits, '-', '_' and '.'")
    return ArchiveSettings(local_path(options["archiveTo"]), name, parquet_settings(options))


def record_options(options: Mapping[str, str], *, is_streaming: bool) -> SourceOptions:
    """Return the options of the `tidelog` source, with the columns of an archive where the user names none."""
    given = CaseInsensitiveDict({name: text for name, text in options.items() if name.lower() not in LAKE_OPTIONS})
    given.setdefault("columns", ",".join(COLUMNS))
    return source_options(given, is_streaming=is_streaming)
