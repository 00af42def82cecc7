"""Makes the writers of the data source. Options and schema are checked here, before anything runs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark_tidelog.errors import OptionError
from pyspark_tidelog.sink.options import check_schema, sink_options

if TYPE_CHECKING:
    from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter
    from pyspark.sql.types import StructType


def batch_writer(options: Mapping[str, str], schema: "StructType", overwrite: bool) -> "DataSourceArrowWriter":
    from pyspark_tidelog.sink.batch_writer import BatchWriter

    if overwrite:
        raise OptionError("mode", "a topic is not overwritten", "write with mode append, or delete the topic first")
    found = sink_options(options)
    check_schema(schema, found.topic)
    return BatchWriter(found)


def stream_writer(options: Mapping[str, str], schema: "StructType", _overwrite: bool) -> "DataSourceStreamArrowWriter":
    """Return the writer of a stream. `_overwrite` stands for output mode complete: every batch has all rows, and the
    last value of a key counts."""
    from pyspark_tidelog.sink.stream_writer import StreamWriter

    found = sink_options(options)
    check_schema(schema, found.topic)
    return StreamWriter(found)
