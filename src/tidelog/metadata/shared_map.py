"""A dictionary that many versions of the metadata share: a new version costs what changed, not the size of the cluster.

The entries lie in buckets (plain dicts). A version of the map owns those buckets that it has copied; the others it
shares with the versions before it and copies before it first writes to them. Who may write is decided by a token: a
draft writes to maps that carry its token and takes a new token when it freezes, so freezing copies nothing at all and
what was frozen can never change again. Buckets grow one at a time (linear hashing): no single write pays for moving a
million entries.

The bucket of a key comes from a number that is the same in every process. Python's own hash of strings is not, and
with it a simulation would not repeat from its seed.
"""

from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar, overload
from zlib import crc32

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")

# How many entries the first write to a bucket copies: about a microsecond's worth.
ENTRIES_A_BUCKET = 256


class Named(Protocol):
    @property
    def name(self) -> str: ...


def number_of_text(key: str) -> int:
    return crc32(key.encode())


def number_of_named(key: Named) -> int:
    return crc32(key.name.encode())


def number_of_int(key: int) -> int:
    return key


class SharedMap(Generic[K, V]):
    """A map that reads like a dict, and iterates in an order that depends only on what was written to it."""

    __slots__ = ("_buckets", "_count", "_mask", "_number_of", "_owned", "_owner")

    def __init__(self, number_of: Callable[[K], int]) -> None:
        """A new map has no entries and no owner: to fill it, take `owned_by`."""
        self._number_of = number_of
        self._buckets: list[dict[K, V]] = [{}]
        self._mask = 0
        self._count = 0
        self._owner: object = None
        self._owned: bytearray | None = None  # one byte a bucket; a lone bucket needs none

    def __getitem__(self, key: K) -> V:
        buckets = self._buckets
        mask = self._mask
        if not mask:
            return buckets[0][key]
        index = self._number_of(key) & mask  # `_index` written out, because every request comes through here
        return buckets[index if index < len(buckets) else index & (mask >> 1)][key]

    @overload
    def get(self, key: K) -> V | None: ...

    @overload
    def get(self, key: K, default: D) -> V | D: ...

    def get(self, key: K, default: D | None = None) -> V | D | None:
        buckets = self._buckets
        mask = self._mask
        if not mask:
            return buckets[0].get(key, default)
        index = self._number_of(key) & mask
        return buckets[index if index < len(buckets) else index & (mask >> 1)].get(key, default)

    def __contains__(self, key: K) -> bool:
        return key in self._buckets[self._index(key) if self._mask else 0]

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[K]:
        for bucket in self._buckets:
            yield from bucket

    def keys(self) -> Iterator[K]:
        return iter(self)

    def values(self) -> Iterator[V]:
        for bucket in self._buckets:
            yield from bucket.values()

    def items(self) -> Iterator[tuple[K, V]]:
        for bucket in self._buckets:
            yield from bucket.items()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SharedMap):
            return NotImplemented
        missing = object()
        return self._count == other._count and all(other.get(key, missing) == value for key, value in self.items())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"SharedMap({dict(self.items())!r})"

    def owned_by(self, owner: object) -> "SharedMap[K, V]":
        """Return a map that `owner` may write to: this one if it is already the owner's, or else one that starts
        equal."""
        if self._owner is owner:
            return self
        copy: SharedMap[K, V] = SharedMap(self._number_of)
        copy._mask = self._mask
        copy._count = self._count
        copy._owner = owner
        if self._mask:
            copy._buckets = self._buckets.copy()
            copy._owned = bytearray(len(self._buckets))
        else:
            copy._buckets = [self._buckets[0].copy()]
        return copy

    def put(self, key: K, value: V) -> None:
        """Set the value of a key. Allowed only on a map that `owned_by` returned."""
        bucket = self._own_bucket(key)
        before = len(bucket)
        bucket[key] = value
        if len(bucket) != before:
            self._count += 1
            if self._count > ENTRIES_A_BUCKET * len(self._buckets):
                self._split()

    def remove(self, key: K) -> V | None:
        """Remove a key and return its value, None when it was not there. Allowed only on a map that `owned_by`
        returned."""
        value = self._own_bucket(key).pop(key, None)
        self._count -= value is not None
        return value

    def _index(self, key: K) -> int:
        index = self._number_of(key) & self._mask
        return index if index < len(self._buckets) else index & (self._mask >> 1)

    def _own_bucket(self, key: K) -> dict[K, V]:
        owned = self._owned
        if owned is None:
            return self._buckets[0]
        index = self._index(key)
        if not owned[index]:
            self._buckets[index] = self._buckets[index].copy()
            owned[index] = 1
        return self._buckets[index]

    def _split(self) -> None:
        """Add one bucket, which takes its part of the bucket that held its keys so far."""
        new = len(self._buckets)
        self._mask = (1 << new.bit_length()) - 1
        source = new & (self._mask >> 1)
        kept: dict[K, V] = {}
        moved: dict[K, V] = {}
        for key, value in self._buckets[source].items():
            (moved if self._number_of(key) & self._mask == new else kept)[key] = value
        self._buckets[source] = kept
        self._buckets.append(moved)
        if self._owned is None:
            self._owned = bytearray(b"\1")
        self._owned[source] = 1
        self._owned.append(1)
