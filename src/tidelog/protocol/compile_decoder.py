"""From a layout to a function that reads it.

One function a message and version, nested structs and loops written out in line, because calls are what costs. What
has a fixed size and stands together is read by one `Struct`, together with the length of what follows it, or with the
count of tagged fields (in flexible versions the single byte form; a longer one is read again by `read_varint`).

Why nothing but MalformedMessage can come out, and nothing is allocated on the word of a length:
- a length or count is compared with the bytes that are left before anything is sliced, looped over or built;
- a fixed read past the end of the buffer raises by itself (struct.error, IndexError), caught once a message;
- in a larger buffer, a read past `end` (but inside the buffer) leaves the position beyond `end`, which no later check
  lets pass: positions only grow.

In the source: `b` buffer, `v` a view of it (only with records), `p` position, `e` end, `q` end of the current value.
"""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import repeat
from struct import Struct
from struct import error as StructError
from typing import Any, NoReturn

from tidelog.protocol.errors import MalformedMessage
from tidelog.protocol.layout import FORMATS, FieldLayout, StructLayout, default_of
from tidelog.protocol.primitive_arrays import UNPACKERS, unpack_uuids
from tidelog.protocol.schema import FieldSchema, Wire, schema_of
from tidelog.protocol.source import Source
from tidelog.protocol.varint import read_string_length, read_varint, skip_tagged_fields

# Up to this many structs of fixed size, the plain loop is faster than setting up the pass over all of them.
LOOPED = 3

Decoder = Callable[[Any, int, int], tuple[Any, int]]


def compile_decoder(layout: StructLayout, version: int, *, over_view: bool) -> Decoder:
    """Compile the decoder of a layout. `over_view` is for a memoryview, whose slices have no `decode` of their own."""
    compiler = DecoderCompiler(layout, version, over_view)
    decode: Decoder = compiler.compile()
    return decode


def _bad_length(path: str, length: int, position: int, end: int) -> NoReturn:
    if length == -1:
        raise MalformedMessage(f"{path}: null, which this version does not allow", position)
    if length < 0:
        raise MalformedMessage(f"{path}: a length of {length}", position)
    raise MalformedMessage(f"{path}: a length of {length}, with {end - position} bytes left", position)


def _bad_tag_size(path: str, size: int, position: int) -> NoReturn:
    raise MalformedMessage(f"{path}: not the {size} bytes that the tagged field announces", position)


def _malformed(title: str, position: int, error: Exception) -> MalformedMessage:
    if isinstance(error, UnicodeDecodeError):
        return MalformedMessage(f"{title}: a string that is not UTF-8", position)
    return MalformedMessage(f"{title}: ends too early", position)


class DecoderCompiler:
    # `compile_sliced_decoder` has text here, because its readers are generators, and share the count of elements.
    call = ""
    shared = ""

    def __init__(self, layout: StructLayout, version: int, over_view: bool) -> None:
        self.layout = layout
        self.title = f"{layout.path} v{version}"
        self.over_view = over_view
        self.end = "e"
        self.run: list[tuple[str, str]] = []  # (format, target): what the next Struct will read
        self.source = Source(
            {
                "new": object.__new__,
                "repeat": repeat,
                "read_varint": read_varint,
                "read_string_length": read_string_length,
                "skip_tagged_fields": skip_tagged_fields,
                "unpack_uuids": unpack_uuids,
                "bad_length": _bad_length,
                "bad_tag_size": _bad_tag_size,
                "malformed": _malformed,
                "StructError": StructError,
            }
        )

    def compile(self) -> Any:
        source = self.source
        with source.function(f"def decode(b, p, e{self.shared}):"):
            self.begin_reader()
            if self.layout.has_records:
                source.line("v = b" if self.over_view else "v = memoryview(b)")
            with source.block("try:"):
                self.struct(self.layout, "o")
                self.flush()
            with source.block("except (IndexError, StructError, UnicodeDecodeError) as error:"):
                source.line(f"raise malformed({self.title!r}, p, error) from None")
            with source.block("if p > e:"):
                source.line(f"raise malformed({self.title!r}, e, IndexError())")
            source.line("return o, p")
        return source.compile(f"decoder of {self.title}")["decode"]

    # Structs and fields

    def struct(self, layout: StructLayout, target: str) -> None:
        self.source.line(f"{target} = new({self.source.constant('C', layout.cls)})")
        self.fill(layout, target)

    def fill(self, layout: StructLayout, target: str) -> None:
        self.defaults(layout, target)
        for field in layout.fields:
            self.field(field, target)
        if layout.flexible:
            self.tagged_fields(layout, target)

    def defaults(self, layout: StructLayout, target: str) -> None:
        for field in (*layout.absent, *(tagged.schema for tagged in layout.tagged)):
            self.source.line(f"{target}.{field.name} = {self.default(field, layout.path)}")

    def default(self, field: FieldSchema, path: str) -> str:
        value = default_of(field, f"{path}.{field.name}")
        if not field.default_is_factory:
            return repr(value) if isinstance(value, (int, str, type(None))) else self.source.constant("D", value)
        if field.default is list:
            return "[]"
        if field.struct is not None and field.default is field.struct:
            return self.default_struct(field.struct, path)
        return f"{self.source.constant('F', field.default)}()"

    def default_struct(self, cls: type, path: str) -> str:
        """Write the code that makes a struct with its defaults, without its `__init__`; return the variable that holds
        it."""
        target = self.source.name("o")
        self.source.line(f"{target} = new({self.source.constant('C', cls)})")
        for field in schema_of(cls).fields:
            self.source.line(f"{target}.{field.name} = {self.default(field, f'{path}.{cls.__name__}')}")
        return target

    def field(self, field: FieldLayout, target: str) -> None:
        destination = f"{target}.{field.name}"
        if field.is_array:
            self.array(field, destination)
        elif field.struct is not None:
            self.struct_field(field, field.struct, destination)
        elif field.wire in FORMATS:
            self.run.append((FORMATS[field.wire], destination))
        else:
            self.text_or_bytes(field, destination)

    def struct_field(self, field: FieldLayout, layout: StructLayout, destination: str) -> None:
        target = self.source.name("o")
        if not field.nullable:
            self.struct(layout, target)
            self.source.line(f"{destination} = {target}")
            return
        present = self.source.name("n")
        self.run.append(("b", present))
        self.flush()
        with self.source.block(f"if {present} < 0:"):
            self.source.line(f"{destination} = None")
        with self.source.block("else:"):
            self.struct(layout, target)
            self.flush()
            self.source.line(f"{destination} = {target}")

    def text_or_bytes(self, field: FieldLayout, destination: str) -> None:
        source = self.source
        slow = "read_string_length" if field.wire is Wire.STRING else "read_varint"
        narrow = "h" if field.wire is Wire.STRING else "i"
        with self.sized(field, narrow, slow, destination) as length:
            source.line(f"q = p + {length}")
            with source.block(f"if not p <= q <= {self.end}:"):
                source.line(f"bad_length({field.path!r}, {length}, p, {self.end})")
            source.line(f"{destination} = {self.value_of_slice(field.wire)}")
            source.line("p = q")

    def value_of_slice(self, wire: Wire | None) -> str:
        if wire is Wire.RECORDS:
            return "v[p:q]"
        if wire is Wire.BYTES:
            return "bytes(b[p:q])"
        return "str(b[p:q], 'utf-8')" if self.over_view else "b[p:q].decode()"

    @contextmanager
    def sized(self, field: FieldLayout, narrow: str, slow: str, destination: str) -> Iterator[str]:
        """Write the code that reads a length or count and deals with null; yield its name where the code for the value
        is to be written."""
        source, length = self.source, self.source.name("n")
        self.run.append(("B" if field.compact else narrow, length))
        self.flush()
        if field.compact:
            with source.block(f"if {length} > 127:"):
                source.line(f"{length}, p = {slow}(b, p - 1)")
            source.line(f"{length} -= 1")
        if not field.nullable:
            yield length
            return
        with source.block(f"if {length} == -1:"):
            source.line(f"{destination} = None")
        with source.block("else:"):
            yield length

    # Arrays

    def array(self, field: FieldLayout, destination: str) -> None:
        source = self.source
        with self.sized(field, "i", "read_varint", destination) as count:
            source.line(f"q = p + {count} * {field.element_bytes}")  # the least that the elements take
            with source.block(f"if not p <= q <= {self.end}:"):
                source.line(f"bad_length({field.path!r}, {count}, p, {self.end})")
            self.count_elements(count)
            if field.struct is not None:
                self.struct_array(field.struct, count, destination)
            elif field.wire in FORMATS:
                self.primitive_array(field, count, destination)
            else:
                self.text_array(field, count, destination)

    def count_elements(self, count: str) -> None:
        """Do nothing here; `compile_sliced_decoder` counts the elements."""

    def end_element(self) -> None:
        """Do nothing between two elements here; see `compile_sliced_decoder`."""

    def primitive_array(self, field: FieldLayout, count: str, destination: str) -> None:
        assert field.wire is not None
        if field.wire is Wire.UUID:
            self.source.line(f"{destination} = unpack_uuids(b[p:q])")
        else:
            unpackers = self.source.constant("U", UNPACKERS[FORMATS[field.wire]])
            self.source.line(f"{destination} = [*{unpackers}[{count}](b, p)] if {count} else []")
        self.source.line("p = q")

    def text_array(self, field: FieldLayout, count: str, destination: str) -> None:
        items, item = self.source.name("l"), self.source.name("x")
        self.source.line(f"{items} = []")
        with self.source.block(f"for _ in range({count}):"):
            self.text_or_bytes(dataclasses.replace(field, is_array=False, nullable=False), item)
            self.source.line(f"{items}.append({item})")
            self.end_element()
        self.source.line(f"{destination} = {items}")

    def struct_array(self, layout: StructLayout, count: str, destination: str) -> None:
        """Write the code that makes the objects first, all at once, and then fills them: `count` is known to be backed
        by bytes. Arrays of one are so common (a produce request is two of them) that they have a shorter way."""
        source, items, target = self.source, self.source.name("l"), self.source.name("o")
        cls = source.constant("C", layout.cls)
        source.line(f"{items} = [new({cls})] if {count} == 1 else [*map(new, repeat({cls}, {count}))]")
        if layout.is_fixed:
            self.fixed_structs(layout, count, items, target)
        else:
            self.struct_loop(layout, items, target)
        source.line(f"{destination} = {items}")

    def struct_loop(self, layout: StructLayout, items: str, target: str) -> None:
        with self.source.block(f"for {target} in {items}:"):
            self.fill(layout, target)
            self.flush()

    def fixed_structs(self, layout: StructLayout, count: str, items: str, target: str) -> None:
        """Write the code that reads more than a few structs in one pass, if (in a flexible version) none has tagged
        fields."""
        forms = "".join(FORMATS[field.wire] for field in layout.fields if field.wire is not None)
        reader = Struct(">" + forms + "x" * layout.flexible)
        condition = f"{count} > {LOOPED}"
        if layout.flexible:
            condition += f" and bytes(b[p + {reader.size - 1}:q:{reader.size}]).count(0) == {count}"
        with self.source.block(f"if {condition}:"):
            self.fixed_rows(layout, reader, items, target)
        with self.source.block("else:"):
            self.struct_loop(layout, items, target)

    def fixed_rows(self, layout: StructLayout, reader: Struct, items: str, target: str) -> None:
        slots = ", ".join(f"{target}.{field.name}" for field in layout.fields)
        rows = f"{self.source.constant('S', reader.iter_unpack)}(b[p:q])"
        with self.source.block(f"for {target}, ({slots},) in zip({items}, {rows}):"):
            self.defaults(layout, target)
        self.source.line("p = q")

    # Tagged fields

    def tagged_fields(self, layout: StructLayout, target: str) -> None:
        self.run.append(("B", "t"))
        self.flush()
        with self.source.block("if t:"):
            if layout.tagged:
                read, arguments = self.tagged_reader(layout), f"b, p - 1, {self.end}, {target}"
            else:
                read, arguments = "skip_tagged_fields", f"b, p - 1, {self.end}"
            self.source.line(f"p = {self.call}{read}({arguments}{self.shared})")

    def tagged_reader(self, layout: StructLayout) -> str:
        """Write a function of its own for tagged fields, because mostly there is none to read. As in Kafka, any order
        is read and the last one of a tag counts; a tag that this version does not know is dropped."""
        source, function = self.source, self.source.name("read_tags_")
        outer_end, self.end = self.end, "z"
        with source.function(f"def {function}(b, p, e, o{self.shared}):"):
            self.begin_reader()
            source.line("n, p = read_varint(b, p)")
            self.count_elements("n")
            with source.block("for _ in range(n):"):
                source.line("t, p = read_varint(b, p)")
                source.line("s, p = read_varint(b, p)")
                source.line("z = p + s")
                with source.block("if z > e:"):
                    source.line(f"bad_length({layout.path!r}, s, p, e)")
                for index, field in enumerate(layout.tagged):
                    with source.block(f"{'el' if index else ''}if t == {field.schema.tag}:"):
                        self.tagged_field(field)
                with source.block("else:"):
                    source.line("p = z")
                self.end_element()
            source.line("return p")
        self.end = outer_end
        return function

    def begin_reader(self) -> None:
        """Set nothing up here; see `compile_sliced_decoder`."""

    def tagged_field(self, field: FieldLayout) -> None:
        source = self.source
        if field.struct is not None and field.nullable and not field.is_array:
            source.line("n, p = read_varint(b, p)")
            with source.block("if n == 0:"):
                source.line(f"o.{field.name} = None")
            with source.block("else:"):
                self.field(dataclasses.replace(field, nullable=False), "o")
                self.flush()
        else:
            self.field(field, "o")
            self.flush()
        with source.block("if p != z:"):
            source.line(f"bad_tag_size({field.path!r}, s, p)")

    # Runs of fixed size

    def flush(self) -> None:
        run, self.run = self.run, []
        if not run:
            return
        targets = ", ".join(target for _, target in run)
        if [form for form, _ in run] == ["B"]:
            self.source.line(f"{targets} = b[p]")
            self.source.line("p += 1")
            return
        reader = Struct(">" + "".join(form for form, _ in run))
        self.source.line(f"{targets}, = {self.source.constant('S', reader.unpack_from)}(b, p)")
        self.source.line(f"p += {reader.size}")
