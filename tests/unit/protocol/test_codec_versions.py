"""The fields that each version carries, and what happens to the others."""

from typing import Any

import pytest
from tests.unit.protocol.toys import AllTypes, Gated, Point

from tidelog.protocol.codec import decode_exact, decoder, encode, encoder, view_decoder
from tidelog.protocol.errors import EncodeError, SchemaError, UnsupportedField, UnsupportedVersion
from tidelog.protocol.schema import field, int32, record, records, string, struct

V0 = b"\x00\x00\x00\x05\x00\x01r"


def test_a_field_that_the_version_lacks_is_its_default() -> None:
    assert decode_exact(Gated, V0, 0) == Gated(always=5, removed="r")
    assert decode_exact(Gated, V0, 0).harmless == 7


def test_defaults_are_fresh_for_each_message() -> None:
    one, other = decode_exact(Gated, V0, 0), decode_exact(Gated, V0, 0)
    one.items.append(1)
    one.point.x = 1
    assert other == Gated(always=5, removed="r")


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (0, V0[:4] + b"\x00\x00"),
        (1, V0[:4] + b"\xff\xff\xff\xff" + b"\x00\x00" + b"\x00\x00"),
        (2, V0[:4] + b"\xff\xff\xff\xff" + b"\x00\x00\x00\x07" + b"\x00\x00\x00\x00" + b"\x00\x00"),
        (
            3,
            V0[:4] + b"\xff\xff\xff\xff" + b"\x00\x00\x00\x07" + b"\x00\x00\x00\x00"
            + b"\x00\x00\x00\x00\x00\x00" + b"\x00\x00\x00\x00" + b"\x00\x00",
        ),
    ],
)  # fmt: skip
def test_each_version_writes_its_own_fields(version: int, expected: bytes) -> None:
    assert encode(Gated(always=5), version) == expected


@pytest.mark.parametrize(
    ("changed", "version", "field_name"),
    [
        ({"added": 1}, 0, "added"),
        ({"removed": "x"}, 2, "removed"),
        ({"items": [1]}, 1, "items"),
        ({"point": Point(y=1)}, 2, "point"),
        ({"point": None}, 2, "point"),
        ({"blob": b"x"}, 2, "blob"),
        ({"blob": None}, 2, "blob"),
        ({"nothing": None}, 0, "nothing"),
        ({"nothing": "x"}, 0, "nothing"),
    ],
)
def test_a_value_that_the_version_cannot_carry_is_refused(
    changed: dict[str, Any], version: int, field_name: str
) -> None:
    with pytest.raises(UnsupportedField, match=f"Gated.{field_name}") as refused:
        encode(Gated(always=5, **changed), version)
    assert isinstance(refused.value, EncodeError)


def test_an_ignorable_one_is_left_out() -> None:
    assert encode(Gated(always=5, harmless=8), 1) == encode(Gated(always=5), 1)


def test_a_default_struct_in_another_object_is_still_the_default() -> None:
    assert encode(Gated(always=5, point=Point(x=0, y=0)), 2) == encode(Gated(always=5), 2)


def test_null_is_allowed_by_version() -> None:
    assert encode(Gated(always=5, nothing=None), 2).endswith(b"\xff\xff")
    with pytest.raises(EncodeError, match=r"Gated\.nothing: null"):
        encode(Gated(always=5, nothing=None), 1)


@pytest.mark.parametrize("version", [-1, 4, 32768])
def test_a_version_that_does_not_exist(version: int) -> None:
    with pytest.raises(UnsupportedVersion, match=f"AllTypes has no version {version}, it has 0-3"):
        decode_exact(AllTypes, b"", version)
    with pytest.raises(UnsupportedVersion):
        encode(Gated(always=1), version)


def test_a_codec_is_compiled_once() -> None:
    for compiled in (decoder, view_decoder, encoder):
        assert compiled(Gated, 1) is compiled(Gated, 1)
        assert compiled(Gated, 1) is not compiled(Gated, 2)


@struct
class Part:
    value: int32 = field("1+")


@record("data", versions="0", flexible="none")
class NoDefaultInsideAPart:
    parts: list[Part]


@record("data", versions="0-1", flexible="none")
class NoDefault:
    value: int32 = field("1+")


@record("data", versions="0", flexible="none")
class TaggedButNotFlexible:
    value: int32 = field(tag=0, default=0)


@record("data", versions="0", flexible="0+")
class SameTagTwice:
    one: int32 = field(tag=0, default=0)
    two: int32 = field(tag=0, default=0)


@record("data", versions="0", flexible="0+")
class TaggedWithoutDefault:
    value: string = field(tag=0)


@record("data", versions="0", flexible="0+")
class NullNumber:
    value: int32 | None = field(nullable="0+")


@record("data", versions="0", flexible="0+")
class ArrayOfRecords:
    value: list[records]


@record("data", versions="0", flexible="0+")
class TaggedRecords:
    value: records | None = field(tag=0, nullable="0+", default=None)


@struct
class Carrier:
    batches: records | None = field(nullable="0+", default=None)


@record("data", versions="0", flexible="0+")
class TaggedCarriers:
    value: list[Carrier] = field(tag=0, default_factory=list)


@pytest.mark.parametrize(
    ("cls", "complaint"),
    [
        (Part, "part of messages"),
        (NoDefaultInsideAPart, "NoDefaultInsideAPart.parts.value: needs a default"),
        (NoDefault, "NoDefault.value: needs a default"),
        (TaggedButNotFlexible, "not flexible"),
        (SameTagTwice, "used twice"),
        (TaggedWithoutDefault, "needs a default"),
        (NullNumber, "cannot be null"),
        (ArrayOfRecords, "records cannot be elements"),
        (TaggedRecords, "records cannot be tagged"),
        (TaggedCarriers, "records cannot be tagged"),
    ],
)
def test_a_declaration_that_makes_no_sense_is_refused(cls: type, complaint: str) -> None:
    for compile_it in (decoder, encoder):
        with pytest.raises(SchemaError, match=complaint):
            compile_it(cls, 0)
