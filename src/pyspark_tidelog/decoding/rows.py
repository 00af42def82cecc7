"""Decodes a column of bytes row by row: null stays null, and a value that cannot be decoded becomes null, or fails the
query with its topic, partition and offset."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

from pyspark_tidelog.decoding.errors import BadValue, UndecodableValue

OnError: TypeAlias = Literal["fail", "null"]
Decode: TypeAlias = Callable[[bytes], Any]


def decode_rows(values: Any, decode: Decode, kind: Any, on_error: OnError, place: Sequence[Any] = ()) -> Any:
    """Return a pyarrow Array of type `kind` with the decoded `values`, a pyarrow Array of bytes. `place`: arrays of
    topic, partition and offset for the error of a row, or ()."""
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
