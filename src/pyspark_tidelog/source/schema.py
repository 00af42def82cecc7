"""The columns of a read: those of Spark's Kafka connector, all of them nullable as there, and one that is computed.

The Arrow schema is written out rather than converted, because workers build it for every task and would have to import
pyspark's converter for it. It must equal what the converter makes (time zone UTC), or Spark refuses the first batch;
the tests compare the two.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark_tidelog.errors import OptionError

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class Column(NamedTuple):
    name: str
    type: str  # Spark's, as DDL
    doc: str


COLUMNS: Final = {
    column.name: column
    for column in (
        Column("key", "binary", "the record's key, or null"),
        Column("value", "binary", "the record's value, or null"),
        Column("topic", "string", "the topic"),
        Column("partition", "int", "the partition"),
        Column("offset", "bigint", "the record's offset in the partition"),
        Column("timestamp", "timestamp", "the record's time, to the millisecond"),
        Column(
            "timestampType", "int", "what the time is: 0 CreateTime (the producer's), 1 LogAppendTime (the broker's)"
        ),
        Column(
            "headers",
            "array<struct<key:string,value:binary>>",
            "the record's headers in their order, or null where there are none",
        ),
        Column("value_size", "int", "the size of the value in bytes, or null; computed where the record is read"),
    )
}

# The columns of a read unless the user names others; `includeHeaders` adds `headers`.
DEFAULT_COLUMNS: Final = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
HEADERS: Final = "headers"


def spark_schema(columns: Sequence[str]) -> "StructType":
    from pyspark.sql.types import (
        ArrayType,
        BinaryType,
        DataType,
        IntegerType,
        LongType,
        StringType,
        StructField,
        StructType,
        TimestampType,
    )

    header = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
    types: dict[str, DataType] = {
        "binary": BinaryType(),
        "string": StringType(),
        "int": IntegerType(),
        "bigint": LongType(),
        "timestamp": TimestampType(),
        COLUMNS[HEADERS].type: ArrayType(header),
    }
    return StructType([StructField(name, types[COLUMNS[name].type]) for name in columns])


def arrow_schema(columns: Sequence[str]) -> Any:
    import pyarrow as pa  # type: ignore[import-untyped]

    header = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
    types = {
        "binary": pa.binary(),
        "string": pa.string(),
        "int": pa.int32(),
        "bigint": pa.int64(),
        "timestamp": pa.timestamp("us", "UTC"),
        COLUMNS[HEADERS].type: pa.list_(pa.field("element", header)),
    }
    return pa.schema([pa.field(name, types[COLUMNS[name].type]) for name in columns])


def columns_of(schema: "StructType") -> tuple[str, ...]:
    """Return the columns that a user's own schema (`.schema("value binary")`) asks for; OptionError where it asks for a
    column or a type that a record does not have."""
    for field in schema.fields:
        known = COLUMNS.get(field.name)
        if known is None:
            raise OptionError("schema", f"there is no column {field.name}", f"choose from {', '.join(COLUMNS)}")
        if field.dataType.simpleString() != known.type:
            problem = f"{field.name} is {known.type}, not {field.dataType.simpleString()}"
            raise OptionError("schema", problem, "cast it after the read")
        if field != spark_schema((field.name,)).fields[0]:  # Spark would refuse our batches, with a less clear message
            raise OptionError("schema", f"{field.name} may be null, also within", "leave NOT NULL out")
    return tuple(field.name for field in schema.fields)
