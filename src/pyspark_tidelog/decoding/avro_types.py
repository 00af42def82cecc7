"""Avro schemas as Arrow types, so that the type of a column is known before the first value is seen.

Logical types that Spark has a type for are kept: dates, timestamps, decimals. The others (times of day, uuids,
durations) become the plain type that they annotate, as in Spark's own Avro reader.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from pyspark_tidelog.errors import OptionError

Schema: TypeAlias = Any  # parsed JSON: a name, a list (union) or an object
_KEPT: Final = (
    "date",
    "decimal",
    "timestamp-millis",
    "timestamp-micros",
    "local-timestamp-millis",
    "local-timestamp-micros",
)
DECIMAL_DIGITS_MAX: Final = 38


def without_strange_logical_types(schema: Schema) -> Schema:
    """Return the schema without the logical types that Spark has no type for, so that a reader gives the plain numbers
    and text below them."""
    if isinstance(schema, list):
        return [without_strange_logical_types(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {name: value for name, value in schema.items() if name != "logicalType" or value in _KEPT}
    for name in ("type", "items", "values"):
        if name in kept:
            kept[name] = without_strange_logical_types(kept[name])
    if "fields" in kept:
        kept["fields"] = [without_strange_logical_types(field) for field in kept["fields"]]
    return kept


def arrow_type(schema: Schema) -> Any:
    """Return the Arrow type of an Avro schema; OptionError where Spark has no type for it."""
    return _Types().of(schema, "")


class _Types:
    def __init__(self) -> None:
        self._named: dict[str, tuple[Schema, str]] = {}  # full name: the type, and the namespace inside of it
        self._open: list[str] = []  # full names of the records around the current type

    def of(self, schema: Schema, namespace: str) -> Any:
        if isinstance(schema, list):
            return self._union(schema, namespace)
        if isinstance(schema, str):
            return self._by_name(schema, namespace)
        kind = schema.get("type")
        if "logicalType" in schema and (found := _logical(schema)) is not None:
            return found
        if kind in ("record", "enum", "fixed", "error"):
            return self._declared(schema, namespace)
        return self._nested(kind, schema, namespace)

    def _nested(self, kind: Schema, schema: Mapping[str, Any], namespace: str) -> Any:
        import pyarrow as pa  # type: ignore[import-untyped]

        if kind == "array":
            return pa.list_(self.of(schema["items"], namespace))
        if kind == "map":
            return pa.map_(pa.string(), self.of(schema["values"], namespace))
        return self.of(kind, namespace)

    def _by_name(self, name: str, namespace: str) -> Any:
        plain = _plain(name)
        if plain is not None:
            return plain
        for full in (name, f"{namespace}.{name}"):
            if full in self._open:
                raise OptionError("schema", f"{name} contains itself, and a column cannot", "leave that field out")
            if full in self._named:
                return self.of(*self._named[full])
        raise OptionError("schema", f"Avro has no type {name}")

    def _declared(self, schema: Mapping[str, Any], namespace: str) -> Any:
        import pyarrow as pa

        name = schema.get("name", "")
        if "." in name:
            full = name
        else:
            inside = schema.get("namespace", namespace)
            full = f"{inside}.{name}" if inside else name
        within = full.rpartition(".")[0]
        self._named[full] = (dict(schema, name=full), within)
        if schema["type"] == "enum":
            return pa.string()
        if schema["type"] == "fixed":
            return pa.binary()
        self._open.append(full)
        fields = [pa.field(field["name"], self.of(field["type"], within)) for field in schema["fields"]]
        self._open.pop()
        return pa.struct(fields)

    def _union(self, schema: list[Schema], namespace: str) -> Any:
        others = [each for each in schema if each != "null"]
        if len(others) != 1:
            text = " or ".join(
                str(each.get("name", each["type"]) if isinstance(each, dict) else each) for each in others
            )
            raise OptionError(
                "schema", f"a value that is {text or 'only null'} has no type in Spark", "use one of them"
            )
        return self.of(others[0], namespace)


def _plain(name: str) -> Any:
    import pyarrow as pa

    types = {
        "boolean": pa.bool_(),
        "int": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "bytes": pa.binary(),
        "string": pa.string(),
        "null": pa.null(),
    }
    return types.get(name)


def _logical(schema: Mapping[str, Any]) -> Any:
    import pyarrow as pa

    match schema["logicalType"]:
        case "date":
            return pa.date32()
        case "timestamp-millis" | "timestamp-micros":
            return pa.timestamp("us", "UTC")
        case "local-timestamp-millis" | "local-timestamp-micros":
            return pa.timestamp("us")
        case "decimal" if schema["precision"] <= DECIMAL_DIGITS_MAX:
            return pa.decimal128(schema["precision"], schema.get("scale", 0))
        case "decimal":
            digits = f"{schema['precision']} digits, and Spark has {DECIMAL_DIGITS_MAX}"
            raise OptionError("schema", f"a decimal of {digits}")
    return None
