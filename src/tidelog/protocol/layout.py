"""What a declaration means at one version: which fields are there, in which form, and what the rest default to.

Both compilers start from a layout, so each rule of versions is applied in one place, and a declaration that makes no
sense is refused here, before any byte is read or written.
"""

import dataclasses
from struct import calcsize
from typing import Any

from tidelog.model.lazy_dataclass import dataclass
from tidelog.protocol.errors import SchemaError, UnsupportedVersion
from tidelog.protocol.schema import FieldSchema, MessageSchema, Wire, schema_of

# The letters of `struct` for the types of fixed size. All of Kafka's numbers are big endian.
FORMATS: dict[Wire, str] = {
    Wire.BOOL: "?",
    Wire.INT8: "b",
    Wire.INT16: "h",
    Wire.UINT16: "H",
    Wire.INT32: "i",
    Wire.UINT32: "I",
    Wire.INT64: "q",
    Wire.FLOAT64: "d",
    Wire.UUID: "16s",
}


@dataclass(slots=True, frozen=True)
class FieldLayout:
    name: str
    path: str  # for people: message and fields down to this one
    wire: Wire | None
    struct: "StructLayout | None"
    is_array: bool
    nullable: bool
    compact: bool
    schema: FieldSchema

    @property
    def is_fixed(self) -> bool:
        return not self.is_array and self.wire in FORMATS

    @property
    def has_records(self) -> bool:
        return self.wire is Wire.RECORDS or (self.struct is not None and self.struct.has_records)

    @property
    def element_bytes(self) -> int:
        """The least number of bytes that one element takes. Never 0: a count is believed only as far as bytes are there
        for it."""
        if self.struct is not None:
            return max(1, self.struct.minimum_bytes)
        return _primitive_bytes(self.wire, self.compact)

    @property
    def minimum_bytes(self) -> int:
        if self.is_array:
            return 1 if self.compact else 4
        if self.struct is not None:
            return 1 if self.nullable else self.struct.minimum_bytes
        return _primitive_bytes(self.wire, self.compact)


@dataclass(slots=True, frozen=True)
class StructLayout:
    cls: type
    path: str
    flexible: bool
    fields: tuple[FieldLayout, ...]  # in the order of the wire
    tagged: tuple[FieldLayout, ...]  # ascending by tag
    absent: tuple[FieldSchema, ...]

    @property
    def minimum_bytes(self) -> int:
        return sum(field.minimum_bytes for field in self.fields) + self.flexible

    @property
    def is_fixed(self) -> bool:
        """Tell whether all fields have a fixed size: in a flexible version up to the tagged fields, which are mostly
        none."""
        return bool(self.fields) and all(field.is_fixed for field in self.fields)

    @property
    def has_records(self) -> bool:
        return any(field.has_records for field in (*self.fields, *self.tagged))


def message_layout(cls: type, version: int) -> StructLayout:
    schema = schema_of(cls)
    if schema.kind == "struct":
        raise SchemaError(f"{schema.name} is a part of messages: its form depends on the message it stands in")
    if version not in schema.versions:
        raise UnsupportedVersion(schema.name, version, schema.versions)
    return _struct_layout(cls, schema, schema.name, version, version in schema.flexible)


def default_of(field: FieldSchema, path: str) -> Any:
    """Return the value that a reader sees where the field is not there."""
    if field.default is dataclasses.MISSING:
        raise SchemaError(f"{path}: needs a default, because not every version has it in the body")
    return field.default() if field.default_is_factory else field.default


def _primitive_bytes(wire: Wire | None, compact: bool) -> int:
    if wire in FORMATS:
        return calcsize(">" + FORMATS[wire])
    if compact:
        return 1
    return 2 if wire is Wire.STRING else 4


def _struct_layout(cls: type, schema: MessageSchema, path: str, version: int, flexible: bool) -> StructLayout:
    present = [field for field in schema.fields if version in field.versions]
    absent = tuple(field for field in schema.fields if version not in field.versions)
    tagged = sorted((field for field in present if version in field.tagged), key=lambda field: field.tag or 0)
    for field in (*tagged, *absent):
        default_of(field, f"{path}.{field.name}")
    layouts = {field.name: _field_layout(field, path, version, flexible) for field in present}
    layout = StructLayout(
        cls=cls,
        path=path,
        flexible=flexible,
        fields=tuple(layouts[field.name] for field in present if version not in field.tagged),
        tagged=tuple(layouts[field.name] for field in tagged),
        absent=absent,
    )
    _check_tags(layout)
    return layout


def _field_layout(field: FieldSchema, parent: str, version: int, flexible: bool) -> FieldLayout:
    path = f"{parent}.{field.name}"
    nested = None
    if field.struct is not None:
        nested = _struct_layout(field.struct, schema_of(field.struct), path, version, flexible)
    nullable = version in field.nullable
    if nullable and field.wire in FORMATS and not field.is_array:
        raise SchemaError(f"{path}: a value of fixed size cannot be null")
    if field.wire is Wire.RECORDS and field.is_array:
        raise SchemaError(f"{path}: records cannot be elements of an array")
    return FieldLayout(
        name=field.name,
        path=path,
        wire=field.wire,
        struct=nested,
        is_array=field.is_array,
        nullable=nullable,
        compact=flexible if field.flexible is None else version in field.flexible,
        schema=field,
    )


def _check_tags(layout: StructLayout) -> None:
    tags = [field.schema.tag for field in layout.tagged]
    if tags and not layout.flexible:
        raise SchemaError(f"{layout.path}: has tagged fields in a version that is not flexible")
    if any(field.has_records for field in layout.tagged):
        raise SchemaError(f"{layout.path}: records cannot be tagged")
    if len(set(tags)) != len(tags):
        raise SchemaError(f"{layout.path}: a tag is used twice")
