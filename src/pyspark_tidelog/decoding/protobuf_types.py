"""Protobuf messages as Arrow types, and as the Python values that Arrow makes such columns of.

Unsigned numbers get the next larger signed type (uint64 a decimal of 20 digits), enums their names, and
google.protobuf.Timestamp is a timestamp. A field whose presence Protobuf tracks is null when unset; any other (proto3
without `optional`) has its default then, as everywhere in Protobuf.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from pyspark_tidelog.errors import OptionError

TIMESTAMP: Final = "google.protobuf.Timestamp"
Read = Callable[[Any], Any]


def arrow_type(descriptor: Any) -> Any:
    """Return the Arrow type of a message; OptionError where Spark has no type for it."""
    return _message_type(descriptor, ())


def reader(descriptor: Any) -> Read:
    """Return a function that converts a message to a Python value of the type that `arrow_type` returns."""
    if descriptor.full_name == TIMESTAMP:
        return lambda message: message.ToDatetime(tzinfo=_utc())
    fields = [(field.name, field.has_presence, _field_reader(field)) for field in descriptor.fields]

    def read(message: Any) -> dict[str, Any]:
        return {
            name: None if has_presence and not message.HasField(name) else read_field(getattr(message, name))
            for name, has_presence, read_field in fields
        }

    return read


def _field_reader(field: Any) -> Read:
    if _is_map(field):
        read_value = _single_reader(field.message_type.fields_by_name["value"])
        return lambda found: [(key, read_value(value)) for key, value in found.items()]
    read = _single_reader(field)
    if field.is_repeated:
        return lambda found: [read(each) for each in found]
    return read


def _single_reader(field: Any) -> Read:
    if field.message_type is not None:
        return reader(field.message_type)
    if field.enum_type is not None:
        names = {value.number: value.name for value in field.enum_type.values}
        return lambda number: names.get(number, str(number))
    if field.type in (field.TYPE_UINT64, field.TYPE_FIXED64):
        return Decimal
    return lambda value: value


def _message_type(descriptor: Any, within: tuple[str, ...]) -> Any:
    import pyarrow as pa  # type: ignore[import-untyped]

    name = descriptor.full_name
    if name == TIMESTAMP:
        return pa.timestamp("us", "UTC")
    if name in within:
        raise OptionError("message", f"{name} contains itself, and a column cannot", "leave that field out")
    if not descriptor.fields:
        raise OptionError("message", f"{name} has no fields, and a column needs one")
    fields = [pa.field(field.name, _field_type(field, (*within, name))) for field in descriptor.fields]
    return pa.struct(fields)


def _field_type(field: Any, within: tuple[str, ...]) -> Any:
    import pyarrow as pa

    if _is_map(field):
        key, value = (field.message_type.fields_by_name[name] for name in ("key", "value"))
        return pa.map_(_single_type(key, within), _single_type(value, within))
    kind = _single_type(field, within)
    return pa.list_(kind) if field.is_repeated else kind


def _single_type(field: Any, within: tuple[str, ...]) -> Any:
    import pyarrow as pa

    if field.message_type is not None:
        return _message_type(field.message_type, within)
    match field.type:
        case field.TYPE_DOUBLE:
            return pa.float64()
        case field.TYPE_FLOAT:
            return pa.float32()
        case field.TYPE_INT32 | field.TYPE_SINT32 | field.TYPE_SFIXED32:
            return pa.int32()
        case field.TYPE_INT64 | field.TYPE_SINT64 | field.TYPE_SFIXED64 | field.TYPE_UINT32 | field.TYPE_FIXED32:
            return pa.int64()
        case field.TYPE_UINT64 | field.TYPE_FIXED64:
            return pa.decimal128(20, 0)
        case field.TYPE_BOOL:
            return pa.bool_()
        case field.TYPE_BYTES:
            return pa.binary()
        case _:
            return pa.string()


def _is_map(field: Any) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _utc() -> Any:
    from datetime import UTC

    return UTC
