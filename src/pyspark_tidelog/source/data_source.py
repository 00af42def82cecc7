"""The data source `tidelog`, as Spark sees it. Spark imports it in many short-lived processes, so each part is imported
where it is needed.

Options are passed on as Spark's own mapping: `dict(self.options)` would have lower-cased their names.
"""

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from pyspark_tidelog.errors import TidelogError
from pyspark_tidelog.source.options import asked_columns, source_options
from pyspark_tidelog.source.schema import columns_of, spark_schema
from pyspark_tidelog.spark.process import message_first

if TYPE_CHECKING:
    from pyspark.sql.datasource import (
        DataSourceArrowWriter,
        DataSourceReader,
        DataSourceStreamArrowWriter,
        DataSourceStreamReader,
    )


class DefaultSource(DataSource):
    """The data source `tidelog`. Spark looks for a class of this name in every module `pyspark_*`."""

    @classmethod
    def name(cls) -> str:
        return "tidelog"

    def schema(self) -> StructType:
        with message_first("read the options"):
            return spark_schema(asked_columns(self.options))

    def reader(self, schema: StructType) -> "DataSourceReader":
        from pyspark_tidelog.source.batch_reader import batch_reader

        with message_first("read the options"):
            return batch_reader(source_options(self.options, is_streaming=False, schema_names=columns_of(schema)))

    def streamReader(self, schema: StructType) -> "DataSourceStreamReader":
        from pyspark_tidelog.source.stream_reader import RefusedStreamReader, stream_reader

        try:
            return stream_reader(source_options(self.options, is_streaming=True, schema_names=columns_of(schema)))
        except TidelogError as refusal:
            return RefusedStreamReader(refusal)

    def writer(self, schema: StructType, overwrite: bool) -> "DataSourceArrowWriter":
        from pyspark_tidelog.sink.writers import batch_writer

        with message_first("read the options"):
            return batch_writer(self.options, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> "DataSourceStreamArrowWriter":
        from pyspark_tidelog.sink.writers import stream_writer

        with message_first("read the options"):
            return stream_writer(self.options, schema, overwrite)


# The name for `spark.dataSource.register(TidelogDataSource)`, which clients of Spark Connect need: there Spark looks
# through no modules.
TidelogDataSource = DefaultSource
