"""From a layout to a function that writes it in slices: for responses that are too large for one turn of a loop.

The same source as `compile_encoder` writes, as a generator: after every `SLICE` elements it yields, and after every
`PART` elements the pieces so far are joined, so that small pieces never pile up. The parts are what it returns: as
`codec.encode_parts` gives them, but cut at more places.
"""

from collections.abc import Callable, Generator
from typing import Any

from tidelog.protocol.compile_encoder import EncoderCompiler, split_at_records
from tidelog.protocol.errors import MessageTooLarge
from tidelog.protocol.layout import StructLayout

SLICE = 64
PART = 2_048

# (message, bytes that it may take) -> parts
SlicedEncoder = Callable[[Any, int], Generator[None, None, list[Any]]]


def compile_sliced_encoder(layout: StructLayout, version: int) -> SlicedEncoder:
    encode: SlicedEncoder = _SlicedEncoderCompiler(layout, version).compile()
    return encode


def _drain(parts: list[Any], pieces: list[Any], marks: list[int], left: list[int]) -> None:
    """Join what was written since the last time, after its size was counted: a byte string that is in the message many
    times is in memory once until it is joined. Ranges of files take no memory, and are not counted."""
    left[0] -= sum(len(piece) for piece in pieces if isinstance(piece, bytes))
    if left[0] < 0:
        raise MessageTooLarge(f"more than the {left[1]} bytes that it may take")
    parts += split_at_records(pieces, marks)
    pieces.clear()
    marks.clear()


class _SlicedEncoderCompiler(EncoderCompiler):
    arguments = "m, limit"

    def __init__(self, layout: StructLayout, version: int) -> None:
        super().__init__(layout, version)
        self.source.namespace["drain"] = _drain
        self.is_in_tags = False

    def begin_writer(self) -> None:
        self.source.line("parts = []")
        self.source.line("left = [limit, limit]")
        self.source.line("s = t = 0")
        with self.source.block("if m is None:"):  # never true: the `yield` makes a writer without arrays a generator
            self.source.line("yield")

    def end_writer(self) -> None:
        self.source.line("drain(parts, out, marks, left)")
        self.source.line("return parts")

    def end_element(self) -> None:
        if self.is_in_tags:
            return
        self.source.line("s += 1")
        with self.source.block(f"if s >= {SLICE}:"):
            self.source.line("t += s")
            self.source.line("s = 0")
            with self.source.block(f"if t >= {PART}:"):
                self.source.line("t = 0")
                self.source.line("drain(parts, out, marks, left)")
            self.source.line("yield")

    def is_one_pack(self, layout: StructLayout) -> bool:
        return self.is_in_tags and super().is_one_pack(layout)

    def tagged_writer(self, layout: StructLayout) -> str:
        """Write tagged fields in one go: none of them is a long array."""
        outer, self.is_in_tags = self.is_in_tags, True
        function = super().tagged_writer(layout)
        self.is_in_tags = outer
        return function
