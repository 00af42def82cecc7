"""Names in backticks, and what they may stand for where they stand: a reader who looks one up has to find it.

A name in a docstring or a comment resolves to

- an identifier or a word of a string of the same file;
- a definition of a module that the file imports, of a module in the same package, or of a module below it, where the
  file is a package's `__init__`;
- a module or a file, by its path from the root of the tree, from `src`, or from the package of the file or one above;
- an attribute of such a thing (`Logs.create`), or of an instance (`broker.turn` of the class Broker);
- a setting, a field or a name of Kafka's protocol;
- Python itself, its standard library, and the words below.

That a word occurs somewhere in the tree is not enough: what was renamed or moved is still talked of elsewhere.
"""

import ast
import builtins
import importlib
import keyword
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Final, NamedTuple

from pyspark_tidelog.lake.catalogue import LAKE_OPTIONS
from pyspark_tidelog.sink.options import SINK_OPTIONS
from pyspark_tidelog.source.catalogue import SOURCE_OPTIONS
from tidelog.cli.commands import NAMES
from tidelog.config.catalogue import SECTIONS

ROOT: Final = Path(__file__).parent.parent
TREES: Final = ("src", "pipelines/src", "tests", "tools", "benchmarks", "examples")
SOURCES: Final = sorted(path for tree in TREES for path in (ROOT / tree).rglob("*.py"))
MESSAGES: Final = ROOT / "src/tidelog/protocol/messages"
# Directories from which a dotted path may be read, besides the packages around the file.
IMPORT_ROOTS: Final = (ROOT / "src", ROOT / "pipelines/src", ROOT, ROOT / "src/tidelog")

# Words of others, which need no definition here, by who defines them.
KNOWN_WORDS: Final = {
    "Kafka: its own topics": "__cluster_metadata __consumer_offsets __share_group_state __transaction_state",
    "Kafka: files that it gives a name": "bootstrap.checkpoint meta.properties partition.metadata server.properties",
    "Kafka: settings of its clients": "batch.size bootstrap.servers default.api.timeout.ms linger.ms "
    "max.poll.interval.ms request.timeout.ms sasl.jaas.config transaction.timeout.ms",
    "Kafka: features": "eligible.leader.replicas.version group.version kraft.version metadata.version share.version "
    "streams.version transaction.version",
    "Kafka: values of settings": "CreateTime LogAppendTime compact delete earliest latest",
    "Kafka: kinds of entities and replicas": "client-id ip user future",
    "Spark: its functions and methods": "awaitTermination dropDuplicatesWithinWatermark foreachBatch limit mapInArrow "
    "pushFilters rpad show take",
    "programs": "du head java javac kio mvn protoc python3 rich tidelog timeout",
    "Protobuf: its keywords": "optional",
}

# Things of others, whose attributes are theirs, too.
KNOWN_OWNERS: Final = {
    "Spark": "DataStreamWriter Trigger event frame pyspark query spark",
}

_BACKTICKED: Final = re.compile(r"`([^`\n]+)`")
_NAME: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(\(\))?")
_WORD: Final = re.compile(r"\w+")
_DOTTED_WORD: Final = re.compile(r"[\w.\-]+")
_ROOM_DEPTH: Final = 2  # directories within `src`: src/tidelog/storage
_FILE: Final = re.compile(r"[\w./-]+\.(py|md|toml|txt|c|java|yml|yaml|sh)")


class Docstring(NamedTuple):
    of: str  # the name of the function or class; "" for a module
    is_class: bool
    line: int
    text: str


class Module:
    """The definitions of one file, the words of its code, and its prose. The tree itself is not kept: it is large."""

    def __init__(self, path: Path) -> None:
        tree = ast.parse(path.read_text())
        self.members: dict[str, set[str]] = {}  # by class
        self.bases: dict[str, list[str]] = {}  # by class
        self.top_level: set[str] = set()
        self.imported: list[str] = []  # dotted: modules, and names of modules
        self.words: set[str] = set()  # the identifiers, and the words of strings
        self.bound: list[tuple[int, str]] = []  # the lines and names of definitions, arguments and assignments
        self.docstrings: list[Docstring] = []
        for statement in tree.body:
            self._define(statement)
        self._read(tree)

    def _define(self, node: ast.stmt) -> None:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                self.top_level.add(name)
            case ast.ClassDef(name=name):
                self.top_level.add(name)
                self.members[name] = set(_members(node))
                self.bases[name] = [each.id for each in node.bases if isinstance(each, ast.Name)]
            case ast.Assign() | ast.AnnAssign():
                self.top_level.update(_assigned(node))
            case ast.If() | ast.Try():
                for each in ast.iter_child_nodes(node):
                    if isinstance(each, ast.stmt):
                        self._define(each)
            case ast.Import() | ast.ImportFrom():
                self.top_level |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
            case _:
                pass

    def _read(self, tree: ast.Module) -> None:
        """Walk the tree once; a docstring comes after what it belongs to, and is not among the words."""
        docstrings: set[int] = set()
        for node in ast.walk(tree):
            match node:
                case ast.Module() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    self._read_definition(node, docstrings)
                case ast.Name(id=name):
                    self.words.add(name)
                    if isinstance(node.ctx, ast.Store):
                        self.bound.append((node.lineno, name))
                case ast.Attribute(attr=name):
                    self.words.add(name)
                    if isinstance(node.ctx, ast.Store):
                        self.bound.append((node.lineno, name))
                case ast.arg(arg=name):
                    self.words.add(name)
                    self.bound.append((node.lineno, name))
                case ast.Constant(value=str(text)) if id(node) not in docstrings:
                    self.words.update(_WORD.findall(text), _DOTTED_WORD.findall(text))
                case ast.Constant(value=bytes(data)):
                    self.words.update(_DOTTED_WORD.findall(data.decode("latin-1")))
                case ast.keyword(arg=str(name)):
                    self.words.add(name)
                case ast.alias(name=name, asname=also):
                    self.words.update([*name.split("."), also or name])
                case ast.Import(names=names):
                    self.imported += [alias.name for alias in names]
                case ast.ImportFrom(module=str(dotted), names=names, level=0):
                    self.imported += [dotted, *(f"{dotted}.{alias.name}" for alias in names)]
                case _:
                    pass

    def _read_definition(
        self, node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, docstrings: set[int]
    ) -> None:
        name = "" if isinstance(node, ast.Module) else node.name
        if not isinstance(node, ast.Module):
            self.words.add(name)
            self.bound.append((node.lineno, name))
        match node.body:
            case [ast.Expr(value=ast.Constant(value=str(text)) as constant), *_]:
                docstrings.add(id(constant))
                self.docstrings.append(Docstring(name, isinstance(node, ast.ClassDef), constant.lineno, text))
            case _:
                pass

    @cached_property
    def definitions(self) -> set[str]:
        return self.top_level.union(*self.members.values())


def _assigned(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _members(cls: ast.ClassDef) -> Iterator[str]:
    """Yield the methods and fields of a class, those among them that only its methods set."""
    for node in ast.walk(cls):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                yield name
            case ast.Constant(value=str(name)) if name.isidentifier():
                yield name  # a slot
            case _:
                pass


@cache
def module(path: Path) -> Module:
    return Module(path)


@cache
def find_module(dotted: str) -> Path | None:
    """Return the file of a module of this tree, or the `__init__` of a package."""
    relative = Path(*dotted.split("."))
    for root in IMPORT_ROOTS:
        for path in ((root / relative).with_suffix(".py"), root / relative / "__init__.py"):
            if path.exists():
                return path
        if (root / relative).is_dir() and root != ROOT:
            return root / relative
    return None


class Names:
    """The names in backticks of one file, and everything that they may stand for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.module = module(path)

    def unresolved(self) -> Iterator[tuple[int, str]]:
        """Yield each name that stands for nothing, with its line."""
        for line, text in self._prose():
            for match in _BACKTICKED.finditer(text):
                if not self._resolves(match[1]):
                    yield line + text.count("\n", 0, match.start()), match[1]

    def _prose(self) -> Iterator[tuple[int, str]]:
        yield from ((each.line, each.text) for each in self.module.docstrings)
        lines = self.path.read_text().splitlines()
        if any("`" in line.partition("#")[2] for line in lines):
            for token in tokenize.generate_tokens(iter([f"{line}\n" for line in lines]).__next__):
                if token.type == tokenize.COMMENT:
                    yield token.start[0], token.string

    def _resolves(self, written: str) -> bool:
        if _FILE.fullmatch(written):
            return self._is_file(written) or self._is_word(written)
        if not _NAME.fullmatch(written):
            return True  # a command, a formula, a piece of code
        name = written.removesuffix("()")
        parts = name.split(".")
        if self._is_word(name) or any(parts[0] in owners.split() for owners in KNOWN_OWNERS.values()):
            return True
        if len(parts) > 1:
            return self._is_attribute(parts)
        return (
            name in _visible(self.path)
            or (name[0].isupper() and name in _classes())
            or name in _modules_below(self._room)
            or (ROOT / "src/tidelog" / name).is_dir()
            or any(_is_of_python([each, name]) for each in self.module.imported if each in sys.stdlib_module_names)
        )

    def _is_word(self, name: str) -> bool:
        return any(name in words for words in (self.module.words, _known_words(), _kafkas_words(), _pythons_words()))

    @property
    def _room(self) -> Path:
        """The largest package around the file within which a module may be called by its last name."""
        relative = self.path.relative_to(ROOT).parent.parts
        start = 2 if relative[0] == "pipelines" else 1 if relative[0] == "src" else 0
        return ROOT.joinpath(*relative[: start + _ROOM_DEPTH])

    def _is_file(self, written: str) -> bool:
        around = [each for each in self.path.parents if each.is_relative_to(ROOT)]
        return any((directory / written).exists() for directory in (*around, *IMPORT_ROOTS))

    def _is_attribute(self, parts: list[str]) -> bool:
        """Tell whether a dotted name is a module, an attribute of one, a member of a class or of an instance."""
        first, *rest = parts
        if first == "kafka" and self._is_word(".".join(rest)):
            return True  # an option of Spark, which hands it on to a client
        counts = range(len(parts), 0, -1)
        modules = [(found, parts[count:]) for count in counts for found in self._modules(parts[:count])]
        if modules and any(_has(found, left) for found, left in modules):
            return True
        if first in sys.stdlib_module_names:
            return _is_of_python(parts)
        if first in _classes():
            return rest[0] in _classes()[first]
        if first in _visible(self.path) or first in self.module.words:
            return rest[-1] in self.module.words or any(rest[0] in members for members in _classes().values())
        return any(rest[0] in members for cls, members in _classes().items() if _snake(cls).endswith(first))

    def _modules(self, parts: list[str]) -> Iterator[Path]:
        """Yield the files that a path may mean: from a root, from a package around this file, or as it is imported."""
        directories = [*IMPORT_ROOTS, *(each for each in self.path.parents if each.is_relative_to(ROOT))]
        for imported in self.module.imported:
            if imported.rpartition(".")[2] == parts[0]:
                above = imported.rpartition(".")[0].split(".")
                directories += [root.joinpath(*above) for root in IMPORT_ROOTS]
        for directory in directories:
            found = directory.joinpath(*parts)
            if found.with_suffix(".py").exists():
                yield found.with_suffix(".py")
            elif found.is_dir() and directory != ROOT:
                yield found / "__init__.py"


def _has(found: Path, rest: list[str]) -> bool:
    if not rest:
        return True
    if not found.exists() or rest[0] not in module(found).definitions:
        return False
    members = module(found).members
    return len(rest) == 1 or rest[0] not in members or rest[1] in members[rest[0]]


@cache
def _visible(path: Path) -> set[str]:
    """Return the definitions of the modules that a file imports, and of those in its package; of all below a package,
    for its `__init__`."""
    found: set[str] = set()
    of_package = path.parent.rglob("*.py") if path.name == "__init__.py" else path.parent.glob("*.py")
    for each in of_package:
        found |= module(each).top_level | {each.stem}
    for dotted in module(path).imported:
        target = find_module(dotted)
        if target is not None and target.is_file():
            found |= module(target).top_level
    return found


@cache
def _classes() -> dict[str, set[str]]:
    """Return the members of each class of the tree, inherited ones included. Classes of one name are taken together."""
    own: dict[str, set[str]] = {}
    bases: dict[str, set[str]] = {}
    for path in SOURCES:
        for name, members in module(path).members.items():
            own.setdefault(name, set()).update(members)
            bases.setdefault(name, set()).update(module(path).bases[name])

    def with_bases(name: str, seen: frozenset[str]) -> set[str]:
        inherited = (with_bases(each, seen | {name}) for each in bases[name] if each in own and each not in seen)
        return own[name].union(*inherited)

    return {name: with_bases(name, frozenset()) for name in own}


@cache
def _modules_below(package: Path) -> frozenset[str]:
    """Return the modules and packages below a package, by their last names."""
    return frozenset(each.stem for each in package.rglob("*") if each.suffix == ".py" or each.is_dir())


@cache
def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().lstrip("_")


@cache
def _kafkas_words() -> frozenset[str]:
    """Return the names of settings, and those of messages and their fields."""
    found = {setting.name for section in SECTIONS for setting in section.settings}
    for path in MESSAGES.glob("*.py"):
        found |= module(path).definitions
    return frozenset(found)


@cache
def _known_words() -> frozenset[str]:
    """Return the words above, the commands of the program, and the options of our Spark source and sink."""
    found = {*NAMES, *(word for words in KNOWN_WORDS.values() for word in words.split())}
    for options in (SOURCE_OPTIONS, SINK_OPTIONS, LAKE_OPTIONS):
        found |= {option.name for option in options.values()}
    return frozenset(found)


@cache
def _pythons_words() -> frozenset[str]:
    return frozenset([*dir(builtins), *keyword.kwlist, *keyword.softkwlist, *sys.stdlib_module_names])


def _is_of_python(parts: Iterable[str]) -> bool:
    name, *rest = parts
    found: object = importlib.import_module(name)
    for each in rest:
        if not hasattr(found, each):
            return False
        found = getattr(found, each)
    return True
