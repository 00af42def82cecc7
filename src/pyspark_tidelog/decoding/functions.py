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
    """The fields of `schema`, and the text of the value in a field named `malformed` where it is not such JSON (else
    null): not JSON at all, not an object, or with a field of another type. A null value is null; a field that is not
    there is null."""
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
    # Text that holds no JSON value at all (empty, blanks, `null`) is null to from_json, which would hide it.
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
    """Avro as a registry's serializers frame it. `schema`: the reader's, an Avro record as JSON; values that were
    written with others are resolved to it. `on_error` "null": what cannot be decoded is null. `place`: the columns
    that name a row in an error (topic, partition, offset unless said otherwise; `()` for none)."""
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
    """Protobuf as a registry's serializers frame it. `message`: its full name, in `descriptor_set` (the output of
    `protoc --include_imports --descriptor_set_out`). With a registry, a value that is another message is an error;
    without, it is taken for this one. `on_error` and `place` as in `from_avro`."""
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
