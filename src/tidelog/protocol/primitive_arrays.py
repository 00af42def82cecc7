"""Arrays of fixed-size primitives, the replica lists above all: one `Struct` a length, made when first needed.

The tables are bounded (`REMEMBERED`), because lengths come from peers: beyond it a Struct is made for the one use.
"""

from collections.abc import Callable, Sequence
from struct import Struct
from struct import error as StructError
from typing import Any

REMEMBERED = 256

_UUID = Struct(">16s")


class Unpackers(dict[int, Callable[..., tuple[Any, ...]]]):
    """The functions that unpack arrays of one type: from the number of values to `unpack_from`."""

    def __init__(self, form: str) -> None:
        self.form = form

    def __missing__(self, count: int) -> Callable[..., tuple[Any, ...]]:
        unpack = Struct(f">{count}{self.form}").unpack_from
        if count <= REMEMBERED:
            self[count] = unpack
        return unpack


class Packers(dict[int, Callable[..., bytes]]):
    """The functions that pack arrays of one type: from the number of values to `pack`."""

    def __init__(self, form: str) -> None:
        self.form = form

    def __missing__(self, count: int) -> Callable[..., bytes]:
        pack = Struct(f">{count}{self.form}").pack
        if count <= REMEMBERED:
            self[count] = pack
        return pack


UNPACKERS = {form: Unpackers(form) for form in "?bhHiIqd"}
PACKERS = {form: Packers(form) for form in "?bhHiIqd"}


def unpack_uuids(run: bytes) -> list[bytes]:
    return [uuid for (uuid,) in _UUID.iter_unpack(run)]


def pack_uuids(uuids: Sequence[bytes]) -> bytes:
    if any(len(uuid) != 16 for uuid in uuids):
        raise StructError("a UUID has 16 bytes")
    return b"".join(uuids)
