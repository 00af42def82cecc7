"""Small messages that together use every feature of a declaration."""

from tidelog.model.ids import ZERO_UUID
from tidelog.protocol.schema import (
    boolean,
    byte_string,
    field,
    float64,
    int8,
    int16,
    int32,
    int64,
    record,
    records,
    string,
    struct,
    uint16,
    uint32,
    uuid,
)

UUID = bytes(range(16))


@struct
class Point:
    """A struct of fixed size in every version."""

    x: int32 = 0
    y: int16 = 0


@struct
class Named:
    name: string
    points: list[Point] = field(default_factory=list)
    note: string | None = field("2+", nullable="2+", tag=0, default=None)


@record("data", versions="0-3", flexible="2+")
class AllTypes:
    """A message of every type. Versions 0 and 1 are in the old encoding, 2 and 3 in the flexible one."""

    flag: boolean
    tiny: int8
    short: int16
    port: uint16
    number: int32
    mask: uint32
    offset: int64
    ratio: float64
    id: uuid
    text: string
    maybe_text: string | None = field(nullable="0+")
    blob: byte_string
    maybe_blob: byte_string | None = field(nullable="0+")
    batches: records | None = field(nullable="0+")
    numbers: list[int32]
    maybe_numbers: list[int64] | None = field(nullable="0+")
    flags: list[boolean]
    ids: list[uuid]
    texts: list[string]
    blobs: list[byte_string]
    point: Point
    maybe_point: Point | None = field(nullable="0+")
    points: list[Point]
    named: list[Named]
    maybe_named: list[Named] | None = field(nullable="0+")


@record("data", versions="0-3", flexible="none")
class Gated:
    """A message whose fields come and go with the version."""

    always: int32
    added: int32 = field("1+", default=-1)
    removed: string = field("0-1", default="")
    harmless: int32 = field("2+", default=7, ignorable=True)
    items: list[int32] = field("2+", default_factory=list)
    point: Point = field("3+", default_factory=Point)
    blob: byte_string = field("3+", default=b"")
    nothing: string | None = field("1+", nullable="2+", default="", ignorable=False)


@record("data", versions="0-2", flexible="1+")
class Tagged:
    body: int32
    number: int32 = field("1+", tag=3, default=-1)
    text: string = field("1+", tag=0, default="")
    maybe_text: string | None = field("1+", tag=1, nullable="1+", default=None)
    filled_text: string | None = field("1+", tag=200, nullable="1+", default="full")
    point: Point = field("1+", tag=4, default_factory=Point)
    maybe_point: Point | None = field("1+", tag=5, nullable="1+", default=None)
    filled_point: Point | None = field("1+", tag=6, nullable="1+", default_factory=Point)
    numbers: list[int32] = field("1+", tag=7, default_factory=list)
    blob: byte_string = field("1+", tag=8, default=b"")
    id: uuid = field("1+", tag=9, default=ZERO_UUID)
    named: list[Named] = field("1+", tag=10, default_factory=list)
    late: int8 = field("2+", tag=11, default=0, ignorable=True)
    flag: boolean = field("1+", tag=12, default=True)


@record("data", versions="0-1", flexible="1+")
class OldStyle:
    """A message with one field that stays in the old encoding, as the client id of a request header does."""

    before: int8 = 0
    text: string | None = field(nullable="0+", flexible="none")
    after: string


@struct
class Nothing:
    """A struct without fields in version 0, so that an element takes no bytes at all."""

    added: int32 = field("1+", default=0)


@record("data", versions="0-1", flexible="none")
class Nothings:
    items: list[Nothing]


def all_types() -> AllTypes:
    return AllTypes(
        flag=True,
        tiny=-2,
        short=-300,
        port=65535,
        number=-70000,
        mask=4294967295,
        offset=-(2**40),
        ratio=0.5,
        id=UUID,  # type: ignore[arg-type]
        text="añb",
        maybe_text=None,
        blob=b"blob",
        maybe_blob=b"",
        batches=memoryview(b"records"),
        numbers=[1, -1],
        maybe_numbers=None,
        flags=[True, False],
        ids=[UUID, bytes(16)],  # type: ignore[list-item]
        texts=["", "x"],
        blobs=[b"y"],
        point=Point(x=1, y=2),
        maybe_point=None,
        points=[Point(x=3, y=4), Point(x=5, y=6)],
        named=[Named(name="n", points=[Point(x=7, y=8)])],
        maybe_named=[],
    )
