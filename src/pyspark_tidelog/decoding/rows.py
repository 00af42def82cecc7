"""A column of bytes to a column of values, row by row: null stays null, and what cannot be decoded fails with its place
or becomes null."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

from pyspark_tidelog.decoding.errors import BadValue, UndecodableValue

OnError: TypeAlias = Literal["fail", "null"]
Decode: TypeAlias = Callable[[bytes], Any]


def decode_rows(values: Any, decode: Decode, kind: Any, on_error: OnError, place: Sequence[Any] = ()) -> Any:
    """`values`: a pyarrow Array of bytes; `place`: arrays of topic, partition and offset, or none. `kind` is the Arrow
    type of the result."""
    import pyarrow as pa  # type: ignore[import-untyped]

    found = []
    for index, value in enumerate(values.to_pylist()):
        try:
            found.append(None if value is None else decode(value))
        except BadValue as error:
            if on_error == "fail":
                raise undecodable(str(error), index, place) from None
            found.append(None)
    return pa.array(found, kind)


def undecodable(reason: str, index: int, place: Sequence[Any]) -> UndecodableValue:
    step = 'write it elsewhere first, or set on_error="null"'
    if len(place) == 3:
        topic, partition, offset = (array[index].as_py() for array in place)
        return UndecodableValue(
            f"{topic}-{partition}, offset {offset}: the value cannot be decoded: {reason}", "", step
        )
    return UndecodableValue(f"row {index} of a batch: the value cannot be decoded: {reason}", "", step)
