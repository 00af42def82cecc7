"""Dataclasses whose `__init__` is made when a class turns out to have instances.

The standard library writes the methods of a dataclass as source and compiles it while the module is imported: up to
0.7 ms a class, and a node declares more than a hundred before it answers its first client. Here a declaration costs a
twentieth of that. The first few instances are made by an `__init__` that serves all classes, because of most classes
that a start needs it makes one instance; from then on `__init__` is compiled, so that instances are made as fast as
ever. The other methods are written once, for all classes.

    from tidelog.model.lazy_dataclass import dataclass, field

    @dataclass(slots=True)
    class Session:
        broker_epoch: int
        directories: list[Uuid] = field(default_factory=list)

To the type checker these are the names of the standard library, and `replace`, `fields` and `asdict` work. What is not
needed here is not there: a base with fields of its own, `init=False`, `kw_only=True`, `order=True`. Modules that mypyc
compiles use the standard library, which mypyc knows.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar

__all__ = ["dataclass", "field", "late_init"]

T = TypeVar("T")

_NEW: Final = object()  # the default of an argument whose value is made anew for each instance
_FEW: Final = 3  # up to this many instances of a class, compiling its `__init__` costs more than it saves
_SLOTTED_ALREADY: Final = ("__dict__", "__weakref__")


def lazy_dataclass(*, slots: bool, frozen: bool = False, eq: bool = True) -> Callable[[type[T]], type[T]]:
    if not slots:
        raise TypeError("this one has slots; for a dataclass without them use the standard library")
    return lambda cls: _declare(cls, is_frozen=frozen, has_eq=eq)


def _declare(cls: type[T], *, is_frozen: bool, has_eq: bool) -> type[T]:
    """Return the class with slots, for which it has to be made anew."""
    names = tuple(cls.__annotations__)
    defaults = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
    body = {name: value for name, value in cls.__dict__.items() if name not in (*names, *_SLOTTED_ALREADY)}
    methods: dict[str, Any] = {"__repr__": _shown}
    if has_eq:
        methods |= {"__eq__": _equals, "__hash__": _hashed if is_frozen else None}
    if is_frozen:
        methods |= _FROZEN

    metaclass: Any = type(cls)
    made: Any = metaclass(
        cls.__name__,
        cls.__bases__,
        {
            **methods,
            **body,
            "__slots__": names,
            "__match_args__": names,
            "__values_of__": attrgetter(*names) if names else _nothing,
            "__dataclass_fields__": DataclassFields(cls.__annotations__, defaults),
        },
    )
    made.__qualname__ = cls.__qualname__
    made.__init__ = late_init(made, defaults, is_frozen=is_frozen)
    return made  # type: ignore[no-any-return]


class DataclassFields:
    """The attribute by which the standard library's functions know a dataclass. It is made when one of them asks."""

    __slots__ = ("_annotations", "_defaults", "_fields")

    def __init__(self, annotations: Mapping[str, Any], defaults: Mapping[str, Any]) -> None:
        self._annotations = annotations
        self._defaults = defaults
        self._fields: dict[str, Any] = {}

    def __get__(self, value: object, owner: type) -> dict[str, Any]:
        if not self._fields:
            body = {"__doc__": "a dataclass", "__annotations__": self._annotations, **self._defaults}
            plain: Any = type(owner.__name__, (), body)
            dataclasses.dataclass(init=False, eq=False, repr=False, match_args=False)(plain)
            self._fields = plain.__dataclass_fields__
        return self._fields


def late_init(
    cls: Any, defaults: Mapping[str, Any], *, is_frozen: bool = False, is_by_name: bool = False
) -> Callable[..., None]:
    """Return an `__init__` that takes the class's slots in their order (`is_by_name`: by name only), and that compiles
    its own successor after a few instances. A default is a value or what the standard library's `field` returned."""
    instances = 0

    def first_init(value: Any, /, *arguments: Any, **named: Any) -> None:
        nonlocal instances
        instances += 1
        if instances <= _FEW and not (is_by_name and arguments):
            values = _values_given(cls.__slots__, defaults, arguments, named)
            if values is not None:
                for name, each in zip(cls.__slots__, values, strict=True):
                    object.__setattr__(value, name, each)
                if hasattr(cls, "__post_init__"):
                    value.__post_init__()
                return
        cls.__init__ = init = _compile_init(cls, defaults, is_frozen=is_frozen, is_by_name=is_by_name)
        init(value, *arguments, **named)

    return first_init


def _values_given(
    names: Sequence[str], defaults: Mapping[str, Any], arguments: Sequence[Any], named: Mapping[str, Any]
) -> list[Any] | None:
    """Return the value of each field in turn; None where one is missing, unknown or given twice, of which the compiled
    `__init__` complains in Python's own words."""
    given = {**dict(zip(names, arguments, strict=False)), **named}
    if len(given) != len(arguments) + len(named):
        return None
    values = []
    for name in names:
        default = defaults.get(name, dataclasses.MISSING)
        if name in given:
            values.append(given.pop(name))
        elif not isinstance(default, dataclasses.Field):
            values.append(default)
        elif default.default_factory is not dataclasses.MISSING:
            values.append(default.default_factory())
        else:
            values.append(default.default)
        if values[-1] is dataclasses.MISSING:
            return None
    return None if given else values


def _compile_init(cls: Any, defaults: Mapping[str, Any], *, is_frozen: bool, is_by_name: bool) -> Callable[..., None]:
    names: Sequence[str] = cls.__slots__
    namespace: dict[str, Any] = {"_new": _NEW}
    parameters, lines = ["self"], []
    if is_by_name and names:
        parameters.append("*")
    for name in names:
        default, value = defaults.get(name, dataclasses.MISSING), name
        if isinstance(default, dataclasses.Field):
            if default.default_factory is not dataclasses.MISSING:
                namespace[f"_make_{name}"] = default.default_factory
                value = f"_make_{name}() if {name} is _new else {name}"
                default = _NEW
            else:
                default = default.default
        if default is dataclasses.MISSING:
            parameters.append(name)
        else:
            namespace[f"_default_{name}"] = default
            parameters.append(f"{name}=_default_{name}")
        if is_frozen:
            namespace[f"_set_{name}"] = cls.__dict__[name].__set__
            lines.append(f"    _set_{name}(self, {value})")
        else:
            lines.append(f"    self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("    self.__post_init__()")
    source = "\n".join([f"def __init__({', '.join(parameters)}):", *lines, "    return None"])
    exec(compile(source, f"<{cls.__qualname__}.__init__>", "exec"), namespace)
    init: Callable[..., None] = namespace["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _nothing(_value: object) -> tuple[()]:
    return ()


def _equals(value: Any, other: Any) -> Any:
    cls: Any = type(value)
    return cls.__values_of__(value) == cls.__values_of__(other) if type(other) is cls else NotImplemented


def _hashed(value: Any) -> int:
    return hash(type(value).__values_of__(value))


def _shown(value: Any) -> str:
    fields = ", ".join(f"{name}={getattr(value, name)!r}" for name in value.__slots__)
    return f"{type(value).__qualname__}({fields})"


def _refuse_to_set(_value: object, name: str, _to: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_value: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(value: Any) -> list[Any]:
    return [getattr(value, name) for name in value.__slots__]


def _restore(value: Any, state: Sequence[Any]) -> None:
    """Set the fields as `pickle` and `copy` would, past the refusal to set a field."""
    for name, each in zip(value.__slots__, state, strict=True):
        object.__setattr__(value, name, each)


_FROZEN: Final = {
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    "__getstate__": _state,
    "__setstate__": _restore,
}

if TYPE_CHECKING:
    from dataclasses import dataclass, field
else:
    dataclass, field = lazy_dataclass, dataclasses.field
