"""The column functions. Each takes a column of bytes and gives a struct; see the package for how they are used."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from pyspark_tidelog.decoding.rows import OnError, decode_rows
from pyspark_tidelog.errors import OptionError

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import StructType

    from pyspark_tidelog.decoding.registry import Registry

PLACE: Final = ("topic", "partition", "offset")
MALFORMED: Final = "_malformed"


def from_json_value(value: "Column | str", schema: "StructType | str", *, malformed: str = MALFORMED) -> "Column":
    """Return a struct with the fields of `schema`, parsed from JSON. A value that is not JSON, not an object, or that
    has a field of another type, is kept as text in the field named `malformed`, which is null otherwise. A null value
    is null, and so is a missing field."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import StringType, StructField, StructType

    wanted = schema if isinstance(schema, StructType) else StructType.fromDDL(schema)
    if not isinstance(wanted, StructType):
        raise OptionError("schema", f"{schema} is not a list of fields", "write, for example, id bigint, name string")
    if malformed in wanted.names:
        raise OptionError("malformed", f"the schema has a field {malformed} already", "choose another name for it")
    text = (f.col(value) if isinstance(value, str) else value).cast("string")
    whole = StructType([*wanted.fields, StructField(malformed, StringType())])
    parsed = f.from_json(text, whole, {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": malformed})
    # from_json makes null of text that holds no JSON object (empty, blanks, `null`), which would hide that text.
    empty = f.struct(
        *(f.lit(None).cast(each.dataType).alias(each.name) for each in wanted.fields), text.alias(malformed)
    )
    return f.when(text.isNotNull() & parsed.isNull(), empty).otherwise(parsed)


def from_avro(
    value: "Column | str",
    schema: str,
    registry: "Registry",
    *,
    on_error: OnError = "fail",
    place: "Sequence[Column | str] | None" = None,
) -> "Column":
    """Decode Avro values as a registry's serializers frame them. `schema`: the reader's, an Avro record as JSON; values
    written with other schemas are resolved to it. `on_error` "null": a value that cannot be decoded is null. `place`:
    the columns that locate a row in an error (topic, partition and offset by default; `()` for none)."""
    from pyspark_tidelog.decoding.avro import AvroDecoder, reader_schema

    reader_schema(schema)
    return _decoded(AvroDecoder(schema, registry), value, on_error, place)


def from_protobuf(
    value: "Column | str",
    message: str,
    descriptor_set: bytes,
    registry: "Registry | None" = None,
    *,
    on_error: OnError = "fail",
    place: "Sequence[Column | str] | None" = None,
) -> "Column":
    """Decode Protobuf values as a registry's serializers frame them. `message`: the full name of a message in
    `descriptor_set` (the output of `protoc --include_imports --descriptor_set_out`). With a registry, a value that is
    another message is an error; without, every value is taken for this message. `on_error`, `place`: as of
    `from_avro`."""
    from pyspark_tidelog.decoding.protobuf import ProtobufDecoder

    return _decoded(ProtobufDecoder(message, descriptor_set, registry), value, on_error, place)


class _Decoder(Protocol):
    @property
    def arrow_type(self) -> Any: ...

    def decode(self, value: bytes) -> Any: ...


def _decoded(
    decoder: _Decoder, value: "Column | str", on_error: OnError, place: "Sequence[Column | str] | None"
) -> "Column":
    import pyarrow as pa  # type: ignore[import-untyped]
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]
    from pyspark.sql.pandas.types import from_arrow_type

    if on_error not in ("fail", "null"):
        raise OptionError("on_error", f"{on_error!r} is not possible", "choose fail or null")
    kind = decoder.arrow_type
    if place is None:
        place = PLACE if on_error == "fail" else ()

    def decode(*columns: pa.Array) -> pa.Array:
        return decode_rows(columns[0], decoder.decode, kind, on_error, columns[1:])

    decoded: Column = arrow_udf(decode, from_arrow_type(kind, prefer_timestamp_ntz=True))(value, *place)
    return decoded
