"""From a layout to a function that reads it in slices: for requests that are too large for one turn of a loop.

The same source as `compile_decoder` writes, as a generator: after every `SLICE` elements it yields, and whoever drives
it goes on when there is time. The message and the position after it are what it returns.

Every array is counted before its first element is built, and so are tagged fields: `k` holds how many elements the
message may still have. Beyond that TooManyElements is raised, so a peer can not make the reader build more objects
than the limit, however small it makes the elements.
"""

from collections.abc import Callable, Generator
from typing import Any, NoReturn

from tidelog.protocol.compile_decoder import DecoderCompiler
from tidelog.protocol.errors import MalformedMessage, TooManyElements
from tidelog.protocol.layout import StructLayout
from tidelog.protocol.varint import read_varint

# Elements between two yields: some ten microseconds, so that the driver's look at its clock costs little.
SLICE = 64

# (buffer, position, end, [elements that are still allowed]) -> (message, position after it)
SlicedDecoder = Callable[[Any, int, int, list[int]], Generator[None, None, tuple[Any, int]]]


def compile_sliced_decoder(layout: StructLayout, version: int) -> SlicedDecoder:
    """Compile a decoder over bytes or a bytearray, which must stay as they are until the last slice was read."""
    decode: SlicedDecoder = _SlicedDecoderCompiler(layout, version, over_view=False).compile()
    return decode


def skip_tagged_fields_in_slices(
    buffer: bytes, position: int, end: int, allowed: list[int]
) -> Generator[None, None, int]:
    """Return the position after tagged fields of which none is known; each counts as an element."""
    count, position = read_varint(buffer, position)
    allowed[0] -= count
    if allowed[0] < 0:
        _too_many(position)
    for index in range(count):
        _, position = read_varint(buffer, position)
        size, position = read_varint(buffer, position)
        position += size
        if position > end:
            raise MalformedMessage(f"a tagged field of {size} bytes that ends after the message", position)
        if not index % SLICE:
            yield
    return position


def _too_many(position: int) -> NoReturn:
    raise TooManyElements(position)


class _SlicedDecoderCompiler(DecoderCompiler):
    call = "yield from "
    shared = ", k"

    def __init__(self, layout: StructLayout, version: int, over_view: bool) -> None:
        super().__init__(layout, version, over_view)
        self.source.namespace["skip_tagged_fields"] = skip_tagged_fields_in_slices
        self.source.namespace["too_many"] = _too_many

    def begin_reader(self) -> None:
        self.source.line(f"s = {SLICE}")
        with self.source.block("if k is None:"):  # never true: the `yield` makes a reader without arrays a generator
            self.source.line("yield")

    def count_elements(self, count: str) -> None:
        self.source.line(f"k[0] -= {count}")
        with self.source.block("if k[0] < 0:"):
            self.source.line("too_many(p)")

    def end_element(self) -> None:
        self.source.line("s -= 1")
        with self.source.block("if s <= 0:"):
            self.source.line(f"s = {SLICE}")
            self.source.line("yield")

    def struct_array(self, layout: StructLayout, count: str, destination: str) -> None:
        """Write the code that reads one element after the other: nothing is made ahead of its slice."""
        source, items, target = self.source, self.source.name("l"), self.source.name("o")
        source.line(f"{items} = []")
        with source.block(f"for _ in range({count}):"):
            self.struct(layout, target)
            self.flush()
            source.line(f"{items}.append({target})")
            self.end_element()
        source.line(f"{destination} = {items}")
