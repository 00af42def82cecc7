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

A node imports hundreds of messages at its start and uses a dozen of them, so a declaration is only remembered there.
What takes time, `__init__` and the schema, is made when a message is first built, read or written (`_finish`).
"""

import dataclasses
from collections.abc import Callable, Mapping
from enum import Enum
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from tidelog.model.ids import Uuid
from tidelog.model.lazy_dataclass import DataclassFields, dataclass, late_init
from tidelog.protocol.versions import ALL_VERSIONS, NO_VERSIONS, Versions, parse_versions

T = TypeVar("T")
Buffer = bytes | bytearray | memoryview


class Wire(Enum):
    """A primitive type of the protocol."""

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
    # None: the message's. The client id of a request header stays in the old encoding in a flexible header.
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


class _Declared(NamedTuple):
    """The arguments that `field` was given."""

    versions: str
    default: Any
    default_factory: Any
    nullable: str
    tag: int | None
    tagged: str | None
    ignorable: bool
    flexible: str | None

    def as_dataclass_field(self) -> Any:
        metadata = {
            "versions": parse_versions(self.versions),
            "nullable": parse_versions(self.nullable),
            "tag": self.tag,
            "tagged": parse_versions(self.tagged or self.versions) if self.tag is not None else NO_VERSIONS,
            "ignorable": self.ignorable,
            "flexible": None if self.flexible is None else parse_versions(self.flexible),
        }
        if self.default_factory is not dataclasses.MISSING:
            return dataclasses.field(default_factory=self.default_factory, metadata=metadata)
        return dataclasses.field(default=self.default, metadata=metadata)


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
    """Declare a field that is not plainly in every version. `tagged` defaults to the versions of the field."""
    return _Declared(versions, default, default_factory, nullable, tag, tagged, ignorable, flexible)


def schema_of(cls: type) -> MessageSchema:
    schema: MessageSchema = cls.__schema__  # type: ignore[attr-defined]
    return schema


_PLAIN: dict[str, Any] = {
    "versions": ALL_VERSIONS,
    "nullable": NO_VERSIONS,
    "tag": None,
    "tagged": NO_VERSIONS,
    "ignorable": False,
    "flexible": None,
}


def _field_schema(name: str, annotation: Any, declared: Any) -> FieldSchema:
    """Return the schema of a field. `declared` is a field of the standard library's, or a default, or MISSING."""
    wire, struct_type, is_array = _resolve(annotation)
    has_factory = False
    metadata: Mapping[Any, Any] = {}
    if isinstance(declared, dataclasses.Field):
        has_factory = declared.default_factory is not dataclasses.MISSING
        metadata = declared.metadata
        declared = declared.default_factory if has_factory else declared.default
    return FieldSchema(
        name=name,
        wire=wire,
        struct=struct_type,
        is_array=is_array,
        default=declared,
        default_is_factory=has_factory,
        **{**_PLAIN, **metadata},
    )


def _resolve(annotation: Any) -> tuple[Wire | None, type | None, bool]:
    """Return (primitive or None, struct or None, is array) for an annotation, None arms of a union left out."""
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


class _Declaration(NamedTuple):
    """The arguments that a decorator was given, and the defaults of the class's fields."""

    kind: MessageKind
    versions: str
    flexible: str
    api_key: int
    latest_version_unstable: bool
    defaults: dict[str, Any]


class _Unfinished:
    """An attribute of a message's class that is not there before `_finish`. Reading it finishes the class."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, message: object, cls: type) -> Any:
        _finish(cls)
        return getattr(cls, self._name)


_UNFINISHED = {name: _Unfinished(name) for name in ("__schema__", "__dataclass_fields__")}


def _first_init(message: object, /, **values: Any) -> None:
    """Finish the class whose first instance is being made, and call its real `__init__`."""
    _finish(type(message))
    type(message).__init__(message, **values)


def _declare(
    cls: type[T],
    kind: MessageKind,
    versions: str = "0+",
    flexible: str = "none",
    api_key: int = -1,
    latest_version_unstable: bool = False,
) -> type[T]:
    """Return the class with slots, for which it has to be made anew; the rest is left to `_finish`."""
    names = tuple(cls.__annotations__)
    defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
    body = {name: value for name, value in cls.__dict__.items() if name not in (*names, "__dict__", "__weakref__")}
    made: Any = type(
        cls.__name__,
        cls.__bases__,
        {
            **body,
            **_UNFINISHED,
            "__doc__": cls.__doc__ or cls.__name__,
            "__slots__": names,
            "__init__": _first_init,
            "__eq__": _equals,
            "__hash__": None,
            "__repr__": _shown,
            "__declaration__": _Declaration(kind, versions, flexible, api_key, latest_version_unstable, defaults),
        },
    )
    return made  # type: ignore[no-any-return]


def _finish(cls: Any) -> None:
    """Make what `_declare` has left. Two threads may do so at once: both make the same."""
    declaration: _Declaration = cls.__declaration__
    hints = get_type_hints(cls, include_extras=True)
    fields = {
        name: value.as_dataclass_field() if isinstance(value, _Declared) else value
        for name, value in declaration.defaults.items()
    }
    cls.__dataclass_fields__ = DataclassFields(cls.__annotations__, fields)
    cls.__init__ = late_init(cls, fields, is_by_name=True)
    cls.__schema__ = MessageSchema(
        name=cls.__name__,
        kind=declaration.kind,
        api_key=declaration.api_key,
        versions=parse_versions(declaration.versions),
        flexible=parse_versions(declaration.flexible),
        latest_version_unstable=declaration.latest_version_unstable,
        fields=tuple(
            _field_schema(name, hints[name], fields.get(name, dataclasses.MISSING)) for name in cls.__annotations__
        ),
    )


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def struct(cls: type[T]) -> type[T]:
    """Declare a part of messages. Its versions are those of the message that it stands in."""
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
    """Declare a message that is stored rather than sent: metadata, coordinator and control records. Headers too."""

    def decorate(cls: type[T]) -> type[T]:
        return _declare(cls, kind, versions, flexible, api_key)

    return decorate
