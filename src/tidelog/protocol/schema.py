"""How a message is declared.

A message is one class for all its versions. The annotation says what a field is on the wire, `field` in which versions
it is there:

    @request(api_key=1, versions="4-18", flexible="12+")
    class FetchRequest:
        replica_id: int32 = field("0-14", default=-1)
        max_wait_ms: int32
        cluster_id: string | None = field("12+", nullable="12+", tag=0, default=None, ignorable=True)
        topics: list[FetchTopic]

A field that every version has and that Kafka gives no default must be named when the message is built; any other has
the default that a reader of a version without it sees. The classes are plain dataclasses with slots, and to the type
checker `int32` is `int`: handlers never see a version. `tidelog.protocol.codec` compiles the declarations.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, TypeVar, dataclass_transform, get_args, get_origin, get_type_hints

from tidelog.model.ids import Uuid
from tidelog.protocol.versions import ALL_VERSIONS, NO_VERSIONS, Versions, parse_versions

T = TypeVar("T")
Buffer = bytes | bytearray | memoryview


class Wire(Enum):
    """The primitive types of the protocol."""

    BOOL = "bool"
    INT8 = "int8"
    INT16 = "int16"
    UINT16 = "uint16"
    INT32 = "int32"
    UINT32 = "uint32"
    INT64 = "int64"
    FLOAT64 = "float64"
    UUID = "uuid"
    STRING = "string"
    BYTES = "bytes"
    RECORDS = "records"


boolean = Annotated[bool, Wire.BOOL]
int8 = Annotated[int, Wire.INT8]
int16 = Annotated[int, Wire.INT16]
uint16 = Annotated[int, Wire.UINT16]
int32 = Annotated[int, Wire.INT32]
uint32 = Annotated[int, Wire.UINT32]
int64 = Annotated[int, Wire.INT64]
float64 = Annotated[float, Wire.FLOAT64]
uuid = Annotated[Uuid, Wire.UUID]
string = Annotated[str, Wire.STRING]
byte_string = Annotated[Buffer, Wire.BYTES]
# Record batches: decoded as a view of the input, encoded as a part of its own so that a fetch can name a range of a
# file instead (anything with a length will do, see `codec.encode_parts`).
records = Annotated[Any, Wire.RECORDS]

MessageKind = Literal[
    "request", "response", "header", "metadata", "coordinator-key", "coordinator-value", "data", "struct"
]


@dataclass(slots=True, frozen=True)
class FieldSchema:
    name: str
    wire: Wire | None  # None: a struct
    struct: type | None
    is_array: bool
    versions: Versions
    nullable: Versions
    tag: int | None
    tagged: Versions
    ignorable: bool
    # None: as the message. The client id of a request header stays in the old encoding in a flexible header.
    flexible: Versions | None
    default: Any  # MISSING: has to be given. A factory where `default_is_factory`.
    default_is_factory: bool


@dataclass(slots=True, frozen=True)
class MessageSchema:
    name: str
    kind: MessageKind
    api_key: int  # the record type for metadata and coordinator records, -1 where there is none
    versions: Versions
    flexible: Versions
    latest_version_unstable: bool
    fields: tuple[FieldSchema, ...]


def field(
    versions: str = "0+",
    *,
    default: Any = dataclasses.MISSING,
    default_factory: Any = dataclasses.MISSING,
    nullable: str = "none",
    tag: int | None = None,
    tagged: str | None = None,
    ignorable: bool = False,
    flexible: str | None = None,
) -> Any:
    """A field that is not plainly in every version. `tagged` defaults to the versions of the field."""
    declaration = {
        "versions": parse_versions(versions),
        "nullable": parse_versions(nullable),
        "tag": tag,
        "tagged": parse_versions(tagged or versions) if tag is not None else NO_VERSIONS,
        "ignorable": ignorable,
        "flexible": None if flexible is None else parse_versions(flexible),
    }
    if default_factory is not dataclasses.MISSING:
        return dataclasses.field(default_factory=default_factory, metadata=declaration)
    return dataclasses.field(default=default, metadata=declaration)


def schema_of(cls: type) -> MessageSchema:
    schema: MessageSchema = cls.__dict__["__schema__"]
    return schema


_PLAIN: dict[str, Any] = {
    "versions": ALL_VERSIONS,
    "nullable": NO_VERSIONS,
    "tag": None,
    "tagged": NO_VERSIONS,
    "ignorable": False,
    "flexible": None,
}


def _field_schema(annotation: Any, declared: dataclasses.Field[Any]) -> FieldSchema:
    wire, struct_type, is_array = _resolve(annotation)
    has_factory = declared.default_factory is not dataclasses.MISSING
    return FieldSchema(
        name=declared.name,
        wire=wire,
        struct=struct_type,
        is_array=is_array,
        default=declared.default_factory if has_factory else declared.default,
        default_is_factory=has_factory,
        **{**_PLAIN, **declared.metadata},
    )


def _resolve(annotation: Any) -> tuple[Wire | None, type | None, bool]:
    """(primitive or None, struct or None, is array) of an annotation, None arms of a union left out."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return annotation.__metadata__[0], None, False
    if origin is list:
        wire, struct_type, _ = _resolve(get_args(annotation)[0])
        return wire, struct_type, True
    if isinstance(annotation, type):
        return None, annotation, False
    arms = [arm for arm in get_args(annotation) if arm is not type(None)]
    if len(arms) == 1:
        return _resolve(arms[0])
    raise TypeError(f"not a wire type: {annotation!r}")


def _values(message: Any) -> list[Any]:
    return [getattr(message, name) for name in message.__slots__]


def _equals(message: object, other: object) -> object:
    if type(other) is not type(message):
        return NotImplemented
    return _values(message) == _values(other)


def _shown(message: Any) -> str:
    fields = ", ".join(f"{name}={getattr(message, name)!r}" for name in message.__slots__)
    return f"{type(message).__qualname__}({fields})"


def _declare(
    cls: type[T],
    kind: MessageKind,
    versions: str = "0+",
    flexible: str = "none",
    api_key: int = -1,
    latest_version_unstable: bool = False,
) -> type[T]:
    # There are hundreds of messages, and what `dataclass` writes for each is compiled at every start: so only the
    # `__init__` is, and the rest is shared. (For a class without a text it would spell out the signature.)
    cls.__doc__ = cls.__doc__ or cls.__name__
    cls.__eq__, cls.__hash__, cls.__repr__ = _equals, None, _shown  # type: ignore[assignment, method-assign]
    made = dataclass(slots=True, kw_only=True, eq=False, repr=False)(cls)
    hints = get_type_hints(made, include_extras=True)
    schema = MessageSchema(
        name=made.__name__,
        kind=kind,
        api_key=api_key,
        versions=parse_versions(versions),
        flexible=parse_versions(flexible),
        latest_version_unstable=latest_version_unstable,
        fields=tuple(_field_schema(hints[declared.name], declared) for declared in dataclasses.fields(made)),  # type: ignore[arg-type]
    )
    made.__schema__ = schema  # type: ignore[attr-defined]
    return made


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def struct(cls: type[T]) -> type[T]:
    """A part of messages. Its versions are those of the message that it stands in."""
    return _declare(cls, "struct")


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def request(
    *, api_key: int, versions: str, flexible: str, latest_version_unstable: bool = False
) -> Callable[[type[T]], type[T]]:
    def decorate(cls: type[T]) -> type[T]:
        return _declare(cls, "request", versions, flexible, api_key, latest_version_unstable)

    return decorate


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def response(*, api_key: int, versions: str, flexible: str) -> Callable[[type[T]], type[T]]:
    def decorate(cls: type[T]) -> type[T]:
        return _declare(cls, "response", versions, flexible, api_key)

    return decorate


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def record(kind: MessageKind, *, api_key: int = -1, versions: str, flexible: str) -> Callable[[type[T]], type[T]]:
    """A message that is stored rather than sent: metadata, coordinator and control records. Headers too."""

    def decorate(cls: type[T]) -> type[T]:
        return _declare(cls, kind, versions, flexible, api_key)

    return decorate
