"""From a layout to a function that writes it.

The mirror of `compile_decoder`: nested structs and loops in line, adjacent fixed fields packed by one `Struct`
together with the length of what follows. The pieces go to a list that is joined at the end; where records stand in
the list is returned beside it, so that they can leave as a part of their own (a range of a file never becomes bytes).

What the wire cannot carry is not checked in advance: packing it raises, and `explain` then goes through the message
for the culprit. Only what would pass in silence is checked: UUIDs of another length than 16 (`16s` pads and cuts), and
fields that the version leaves out.

In the source: `m` the message, `out` the pieces, `w` appends one, `marks` the indexes of records.
"""

import dataclasses
from collections.abc import Callable
from struct import Struct
from struct import error as StructError
from typing import Any, NoReturn

from tidelog.protocol.errors import UnsupportedField
from tidelog.protocol.explain import explain
from tidelog.protocol.layout import FORMATS, FieldLayout, StructLayout, default_of
from tidelog.protocol.primitive_arrays import PACKERS, pack_uuids
from tidelog.protocol.schema import FieldSchema, Wire, schema_of
from tidelog.protocol.source import Source
from tidelog.protocol.varint import MAX_STRING_BYTES, SMALL, string_varint, varint

# The text of an error may quote a name as long as a string can be, or have a line for each of thousands of settings. It
# is cut to what fits whatever its characters are: a client that gets the beginning knows more than one that is cut off.
MESSAGE_CHARACTERS_MAX = MAX_STRING_BYTES // 4

# The pieces in order, and the indexes of those that are records.
Pieces = tuple[list[Any], list[int]]
Encoder = Callable[[Any], Pieces]


def compile_encoder(layout: StructLayout, version: int) -> Encoder:
    encode: Encoder = EncoderCompiler(layout, version).compile()
    return encode


def split_at_records(pieces: list[Any], marks: list[int]) -> list[Any]:
    """Return the pieces between records joined, and the records as they are."""
    parts: list[Any] = []
    start = 0
    for mark in marks:
        parts.append(b"".join(pieces[start:mark]))
        parts.append(pieces[mark])
        start = mark + 1
    if start < len(pieces):
        parts.append(b"".join(pieces[start:]))
    return parts


def _not_a_uuid() -> NoReturn:
    raise StructError("a UUID has 16 bytes")


class EncoderCompiler:
    arguments = "m"

    def __init__(self, layout: StructLayout, version: int) -> None:
        self.layout = layout
        self.version = version
        self.run: list[tuple[str, str]] = []  # (format, expression): what the next Struct will write
        self.source = Source(
            {
                "SMALL": SMALL,
                "varint": varint,
                "string_varint": string_varint,
                "pack_uuids": pack_uuids,
                "not_a_uuid": _not_a_uuid,
                "explain": explain,
                "layout": layout,
                "UnsupportedField": UnsupportedField,
                "StructError": StructError,
            }
        )

    def compile(self) -> Any:
        source, title = self.source, f"encoder of {self.layout.path} v{self.version}"
        with source.function(f"def encode({self.arguments}):"):
            source.line("out = []")
            source.line("marks = []")
            source.line("w = out.append")
            self.begin_writer()
            with source.block("try:"):
                self.struct(self.layout, "m")
                self.flush()
            with source.block("except (StructError, AttributeError, TypeError, ValueError) as error:"):
                source.line("raise explain(layout, m, error) from error")
            self.end_writer()
        return source.compile(title)["encode"]

    def begin_writer(self) -> None:
        """Set nothing else up here; see `compile_sliced_encoder`."""

    def end_writer(self) -> None:
        self.source.line("return out, marks")

    # Structs and fields

    def struct(self, layout: StructLayout, target: str) -> None:
        self.refuse_absent(layout, target)
        for field in layout.fields:
            self.field(field, f"{target}.{field.name}")
        if layout.tagged:
            self.tagged_fields(layout, target)
        elif layout.flexible:
            self.run.append(("x", ""))  # no tagged fields: a zero byte

    def refuse_absent(self, layout: StructLayout, target: str) -> None:
        for field in layout.absent:
            if not field.ignorable:
                path = f"{layout.path}.{field.name}"
                with self.source.block(f"if {self.differs(field, f'{target}.{field.name}', path)}:"):
                    self.source.line(f"raise UnsupportedField({path!r}, {self.version})")

    def field(self, field: FieldLayout, value: str) -> None:
        if field.is_array:
            self.array(field, value)
        elif field.struct is not None:
            self.struct_field(field, field.struct, value)
        elif field.wire in FORMATS:
            self.fixed(field, value)
        else:
            self.text_or_bytes(field, value)

    def fixed(self, field: FieldLayout, value: str) -> None:
        assert field.wire is not None
        if field.wire is Wire.UUID:
            with self.source.block(f"if len({value}) != 16:"):
                self.source.line("not_a_uuid()")
        self.run.append((FORMATS[field.wire], value))

    def struct_field(self, field: FieldLayout, layout: StructLayout, value: str) -> None:
        source, target = self.source, self.source.name("o")
        source.line(f"{target} = {value}")
        if not field.nullable:
            self.struct(layout, target)
            return
        self.flush()
        with source.block(f"if {target} is None:"):
            source.line("w(b'\\xff')")
        with source.block("else:"):
            self.run.append(("b", "1"))
            self.struct(layout, target)
            self.flush()

    def text_or_bytes(self, field: FieldLayout, value: str) -> None:
        source = self.source
        piece, length = source.name("s"), source.name("n")
        plus_one = " + 1" * field.compact
        encode = ".encode()" * (field.wire is Wire.STRING)
        if encode and field.name.endswith("error_message"):
            encode = f"[:{MESSAGE_CHARACTERS_MAX}].encode()"
        if field.nullable:
            source.line(f"{piece} = {value}")
            with source.block(f"if {piece} is None:"):
                source.line(f"{piece} = b''")
                source.line(f"{length} = {0 if field.compact else -1}")
            with source.block("else:"):
                if encode:
                    source.line(f"{piece} = {piece}{encode}")
                source.line(f"{length} = len({piece}){plus_one}")
        else:
            source.line(f"{piece} = {value}{encode}")
            source.line(f"{length} = len({piece}){plus_one}")
        self.length(length, "h" if field.wire is Wire.STRING else "i", field)
        if field.wire is Wire.RECORDS:
            with source.block(f"if {length} > {int(field.compact)}:"):
                source.line("marks.append(len(out))")
                source.line(f"w({piece})")
        else:
            source.line(f"w({piece})")

    def length(self, length: str, narrow: str, field: FieldLayout) -> None:
        """Write the code for what is pending and for the length or count after it."""
        if not field.compact:
            self.run.append((narrow, length))
            self.flush()
            return
        slow = "string_varint" if field.wire is Wire.STRING and not field.is_array else "varint"
        if not self.run:
            self.source.line(f"w(SMALL[{length}] if {length} < 128 else {slow}({length}))")
            return
        pending = [*self.run]
        with self.source.block(f"if {length} < 128:"):
            self.run.append(("B", length))
            self.flush()
        with self.source.block("else:"):
            self.run = pending
            self.flush()
            self.source.line(f"w({slow}({length}))")

    # Arrays

    def array(self, field: FieldLayout, value: str) -> None:
        source = self.source
        items, count = source.name("l"), source.name("n")
        source.line(f"{items} = {value}")
        plus_one = " + 1" * field.compact
        if field.nullable:
            with source.block(f"if {items} is None:"):
                source.line(f"{items} = ()")
                source.line(f"{count} = {0 if field.compact else -1}")
            with source.block("else:"):
                source.line(f"{count} = len({items}){plus_one}")
        else:
            source.line(f"{count} = len({items}){plus_one}")
        self.length(count, "i", field)
        if field.struct is not None:
            self.struct_array(field.struct, items)
        elif field.wire in FORMATS:
            self.primitive_array(field, items)
        else:
            self.text_array(field, items)

    def primitive_array(self, field: FieldLayout, items: str) -> None:
        assert field.wire is not None
        if field.wire is Wire.UUID:
            self.source.line(f"w(pack_uuids({items}))")
            return
        packers = self.source.constant("P", PACKERS[FORMATS[field.wire]])
        with self.source.block(f"if {items}:"):
            self.source.line(f"w({packers}[len({items})](*{items}))")

    def text_array(self, field: FieldLayout, items: str) -> None:
        item = self.source.name("x")
        with self.source.block(f"for {item} in {items}:"):
            self.text_or_bytes(dataclasses.replace(field, is_array=False, nullable=False), item)
            self.end_element()

    def end_element(self) -> None:
        """Do nothing between two elements here; see `compile_sliced_encoder`."""

    def struct_array(self, layout: StructLayout, items: str) -> None:
        target = self.source.name("o")
        if self.is_one_pack(layout):
            forms = "".join(FORMATS[field.wire] for field in layout.fields if field.wire is not None)
            pack = self.source.constant("S", Struct(">" + forms + "x" * layout.flexible).pack)
            values = ", ".join(f"{target}.{field.name}" for field in layout.fields)
            self.source.line(f"out += [{pack}({values}) for {target} in {items}]")
            return
        with self.source.block(f"for {target} in {items}:"):
            self.struct(layout, target)
            self.flush()
            self.end_element()

    def is_one_pack(self, layout: StructLayout) -> bool:
        """Tell whether nothing has to be looked at before or after the fixed fields of an element."""
        return (
            layout.is_fixed
            and not layout.tagged
            and all(field.ignorable for field in layout.absent)
            and all(field.wire is not Wire.UUID for field in layout.fields)
        )

    # Tagged fields

    def tagged_fields(self, layout: StructLayout, target: str) -> None:
        source, pending = self.source, [*self.run]
        conditions = [self.differs(field.schema, f"{target}.{field.name}", field.path) for field in layout.tagged]
        with source.block(f"if {' or '.join(conditions)}:"):
            self.flush()
            source.line(f"w({self.tagged_writer(layout)}({target}))")
        with source.block("else:"):
            self.run = [*pending, ("x", "")]
            self.flush()

    def tagged_writer(self, layout: StructLayout) -> str:
        """Write a function of its own for tagged fields, because mostly there is none to write. Only what is not the
        default is written."""
        source, function = self.source, self.source.name("write_tags_")
        with source.function(f"def {function}(o):"):
            source.line("fields = []")
            for field in layout.tagged:
                with source.block(f"if {self.differs(field.schema, f'o.{field.name}', field.path)}:"):
                    source.line("out = []")
                    source.line("w = out.append")
                    self.tagged_field(field)
                    source.line("value = b''.join(out)")
                    source.line(f"fields.append({varint(field.schema.tag or 0)!r} + varint(len(value)) + value)")
            source.line("return varint(len(fields)) + b''.join(fields)")
        return function

    def tagged_field(self, field: FieldLayout) -> None:
        if field.struct is None or field.is_array or not field.nullable:
            self.field(field, f"o.{field.name}")
            self.flush()
            return
        with self.source.block(f"if o.{field.name} is None:"):
            self.source.line("w(b'\\x00')")
        with self.source.block("else:"):
            self.source.line("w(b'\\x01')")
            self.field(dataclasses.replace(field, nullable=False), f"o.{field.name}")
            self.flush()

    # What differs from its default

    def differs(self, field: FieldSchema, value: str, path: str) -> str:
        return self.differs_from(field, value, default_of(field, path))

    def differs_from(self, field: FieldSchema, value: str, default: Any) -> str:
        """Return an expression that is true where the value is not the default. Null where the default is not null
        differs, whether the version allows null or not."""
        if default is None:
            return f"{value} is not None"
        if field.is_array or field.wire in (Wire.BYTES, Wire.RECORDS):
            return f"({value} is None or len({value}))"
        if field.struct is not None:
            parts = [
                self.differs_from(part, f"{value}.{part.name}", getattr(default, part.name))
                for part in schema_of(field.struct).fields
            ]
            return f"({' or '.join([f'{value} is None', *parts])})"
        spelled = repr(default) if isinstance(default, (int, str)) else self.source.constant("D", default)
        return f"{value} != {spelled}"

    # Runs of fixed size

    def flush(self) -> None:
        run, self.run = self.run, []
        if not run:
            return
        if all(form == "x" for form, _ in run):
            self.source.line(f"w({bytes(len(run))!r})")
            return
        pack = self.source.constant("S", Struct(">" + "".join(form for form, _ in run)).pack)
        self.source.line(f"w({pack}({', '.join(value for form, value in run if form != 'x')}))")
