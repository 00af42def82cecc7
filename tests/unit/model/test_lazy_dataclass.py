"""Dataclasses whose `__init__` is made late behave like those of the standard library."""

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest

from tidelog.model import lazy_dataclass
from tidelog.model.lazy_dataclass import dataclass, field

COMPILED = (Path(__file__).parents[3] / "setup.py").read_text()
V = TypeVar("V")


@dataclass(slots=True)
class Batch:
    base_offset: int
    value: str  # a name that the mechanism itself might use
    sizes: list[int] = field(default_factory=list)
    epoch: int = 7

    @property
    def size(self) -> int:
        return sum(self.sizes)


@dataclass(slots=True, frozen=True)
class Place:
    topic: str
    partition: int = field(default=3)


@dataclass(slots=True, frozen=True)
class Kind(Generic[V]):
    read: Callable[[str], V]


@dataclass(slots=True, eq=False)
class Waiter:
    name: str


@dataclass(slots=True)
class Checked:
    count: int
    doubled: int = 0

    def __post_init__(self) -> None:
        self.doubled = 2 * self.count


@dataclass(slots=True, frozen=True)
class Tick:
    pass


def twin(cls: Any) -> Any:
    """Return the same declaration, made by the standard library."""
    defaults = {each.name: each for each in dataclasses.fields(cls)}
    body = {"__annotations__": cls.__annotations__, "__qualname__": cls.__qualname__}
    for name, each in defaults.items():
        if each.default_factory is not dataclasses.MISSING:
            body[name] = dataclasses.field(default_factory=each.default_factory)
        elif each.default is not dataclasses.MISSING:
            body[name] = each.default
    return dataclasses.dataclass(slots=True)(type(cls.__name__, (), body))


@pytest.mark.parametrize(
    ("cls", "arguments", "named"),
    [
        (Batch, (1, "a"), {}),
        (Batch, (1,), {"value": "a", "sizes": [5]}),
        (Batch, (), {"epoch": 1, "value": "a", "base_offset": 4}),
        (Place, ("t",), {}),
        (Place, ("t", 1), {}),
        (Tick, (), {}),
    ],
)
def test_instances_are_those_of_the_standard_library(cls: Any, arguments: Any, named: Any) -> None:
    ours, theirs = cls(*arguments, **named), twin(cls)(*arguments, **named)
    assert repr(ours) == repr(theirs)
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert cls.__match_args__ == type(theirs).__match_args__
    assert ours == cls(*arguments, **named)
    assert ours != theirs


@pytest.mark.parametrize(("arguments", "named"), [((), {}), ((1,), {}), ((1, "a", [], 7, 8), {}), ((1, "a"), {"b": 2})])
def test_what_is_missing_or_too_much_is_refused_as_usual(arguments: Any, named: Any) -> None:
    with pytest.raises(TypeError) as theirs:
        twin(Batch)(*arguments, **named)
    with pytest.raises(TypeError) as ours:
        Batch(*arguments, **named)
    assert str(ours.value).partition("__init__")[2] == str(theirs.value).partition("__init__")[2]


def fresh(*, is_frozen: bool) -> Any:
    """Return a class that has no instance yet."""

    class Segment:
        base_offset: int
        sizes: list[int] = field(default_factory=list)
        epoch: int = field(default=7)
        name: str = "a"

        def __post_init__(self) -> None:
            self.sizes.append(self.base_offset)

    return dataclass(slots=True, frozen=is_frozen)(Segment)


@pytest.mark.parametrize("is_frozen", [False, True])
def test_every_instance_is_like_the_first(is_frozen: bool) -> None:
    cls = fresh(is_frozen=is_frozen)
    first = cls(1, epoch=2)
    for _ in range(10):
        assert repr(cls(1, epoch=2)) == repr(first) == repr(cls(epoch=2, base_offset=1))
    assert (first.base_offset, first.sizes, first.epoch, first.name) == (1, [1], 2, "a")


@pytest.mark.parametrize("before", [0, 10])
@pytest.mark.parametrize(
    ("arguments", "named"), [((), {}), ((1,), {"base_offset": 2}), ((1, [], 3, "b", 5), {}), ((1,), {"other": 2})]
)
def test_the_first_instance_is_refused_in_the_same_words_as_the_eleventh(
    before: int, arguments: Any, named: Any
) -> None:
    cls = fresh(is_frozen=False)
    for _ in range(before):
        cls(1)
    with pytest.raises(TypeError, match=r"Segment\.__init__\(\) (missing|got|takes)"):
        cls(*arguments, **named)
    assert cls(1).sizes == [1]


def test_only_a_class_with_more_than_a_few_instances_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling takes longer than making the one instance that a start needs of most classes."""
    compiled: list[type] = []
    compile_init = lazy_dataclass._compile_init

    def count(cls: Any, *arguments: Any, **named: Any) -> Any:
        compiled.append(cls)
        return compile_init(cls, *arguments, **named)

    monkeypatch.setattr(lazy_dataclass, "_compile_init", count)
    cls = fresh(is_frozen=False)
    cls(1), cls(2)
    assert compiled == []
    for _ in range(10):
        cls(1)
    assert compiled == [cls]


def test_values_made_anew_are_not_shared() -> None:
    first, second = Batch(1, "a"), Batch(1, "a")
    first.sizes.append(1)
    assert (first.size, second.size) == (1, 0)
    assert first != second


def test_there_is_no_room_for_other_attributes() -> None:
    with pytest.raises(AttributeError):
        Batch(1, "a").other = 1  # type: ignore[attr-defined]


def test_a_frozen_one_stays_as_it_is_and_is_a_key() -> None:
    place = Place("t", 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        place.partition = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del place.partition
    assert {place: 1}[Place("t", 1)] == 1
    assert Place("t", 2) not in {place: 1, Place("u"): 1}


def test_one_that_changes_is_no_key_and_one_without_equality_is_itself() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Batch(1, "a"))
    waiter = Waiter("a")
    assert waiter != Waiter("a")
    assert {waiter: 1}[waiter] == 1


def test_the_functions_of_the_standard_library_work() -> None:
    assert dataclasses.is_dataclass(Kind)
    assert dataclasses.replace(Batch(1, "a", [2]), base_offset=5) == Batch(5, "a", [2])
    assert dataclasses.replace(Place("t", 1), topic="u") == Place("u", 1)
    assert [each.name for each in dataclasses.fields(Batch)] == ["base_offset", "value", "sizes", "epoch"]


@pytest.mark.parametrize("value", [Batch(1, "a", [2]), Place("t", 1), Checked(2), Tick()])
def test_copies_and_pickles_are_equal(value: Any) -> None:
    assert copy.copy(value) == value
    assert pickle.loads(pickle.dumps(value)) == value


def test_post_init_is_called_and_generics_and_patterns_work() -> None:
    assert Checked(4).doubled == 8
    assert Kind[int](int).read("3") == 3
    match Place("t", 1):
        case Place(topic, 1):
            assert topic == "t"
        case _:
            pytest.fail("a pattern with positions does not match")


def test_a_node_starts_without_making_dataclasses_of_the_standard_library() -> None:
    """Each of those costs half a millisecond of the start. Modules that mypyc compiles need them."""
    script = """if True:
        import dataclasses
        made, make = [], dataclasses._process_class
        def process_class(cls, *options):
            made.append(cls.__module__)
            return make(cls, *options)
        dataclasses._process_class = process_class
        import tidelog.cli.node.running, tidelog.cli.node.server_properties, tidelog.io.development
        print(*made)
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    made = {module for module in done.stdout.split() if module.startswith("tidelog.")}
    assert made
    assert [each for each in sorted(made) if f"src/{each.replace('.', '/')}.py" not in COMPILED] == []
