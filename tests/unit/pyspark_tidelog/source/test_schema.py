"""The columns: equal to the connector's, and in Arrow equal to what Spark will compare the first batch with."""

import inspect
from typing import Any

import pytest

from pyspark_tidelog.errors import OptionError
from pyspark_tidelog.source.schema import COLUMNS, DEFAULT_COLUMNS, arrow_schema, columns_of, spark_schema

types = pytest.importorskip("pyspark.sql.types")
pytest.importorskip("pyarrow")

HEADER = types.StructType(
    [types.StructField("key", types.StringType()), types.StructField("value", types.BinaryType())]
)


@pytest.mark.parametrize("columns", [tuple(COLUMNS), DEFAULT_COLUMNS, ("value",), ("headers", "value_size"), ()])
def test_the_arrow_schema_is_what_spark_converts_to(columns: tuple[str, ...]) -> None:
    from pyspark.sql.pandas.types import to_arrow_schema

    named = "timezone" in inspect.signature(to_arrow_schema).parameters  # PySpark 4.1 knows no other
    settings: dict[str, Any] = {"timezone": "UTC"} if named else {}
    converted = to_arrow_schema(spark_schema(columns), **settings)
    assert arrow_schema(columns).equals(converted, check_metadata=True)


def test_names_types_and_nullability_are_the_connectors() -> None:
    found = spark_schema((*DEFAULT_COLUMNS, "headers"))
    assert found.simpleString() == (
        "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,timestamp:timestamp,"
        "timestampType:int,headers:array<struct<key:string,value:binary>>>"
    )
    assert all(field.nullable for field in found.fields)
    headers = found["headers"].dataType
    assert isinstance(headers, types.ArrayType)
    assert headers.containsNull
    assert all(field.nullable for field in headers.elementType.fields)


def test_the_declared_types_are_those_of_the_schema() -> None:
    fields = spark_schema(tuple(COLUMNS)).fields
    assert {field.name: field.dataType.simpleString() for field in fields} == {
        name: column.type for name, column in COLUMNS.items()
    }


def test_a_users_own_schema() -> None:
    wanted = types.StructType([types.StructField("value", types.BinaryType())])
    assert columns_of(wanted) == ("value",)
    assert columns_of(spark_schema(tuple(COLUMNS))) == tuple(COLUMNS)


@pytest.mark.parametrize(
    ("name", "kind", "text"),
    [
        ("payload", "BinaryType", "schema: there is no column payload; choose from key, value"),
        ("value", "StringType", "schema: value is binary, not string; cast it after the read"),
    ],
)
def test_a_schema_that_records_have_not(name: str, kind: str, text: str) -> None:
    with pytest.raises(OptionError) as caught:
        columns_of(types.StructType([types.StructField(name, getattr(types, kind)())]))
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize(
    "field",
    [
        types.StructField("value", types.BinaryType(), nullable=False),
        types.StructField("headers", types.ArrayType(HEADER, containsNull=False)),
    ],
)
def test_a_schema_that_rules_nulls_out(field: Any) -> None:
    with pytest.raises(OptionError, match=f"schema: {field.name} may be null"):
        columns_of(types.StructType([field]))
