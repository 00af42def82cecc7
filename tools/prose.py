"""Rules of names and prose that a machine can check: `python -m tools.prose [PATH ...]` lists what breaks them.

- A docstring of a function opens with a verb or a subject, one of a class says what an instance is: no fragments.
- A name in backticks resolves to a module, a file, an identifier, a setting or a word that the program itself writes.
- Kafka's vocabulary: the synonyms below are not used as names, and classes are nouns.

`tests/unit/test_tidy.py` holds the whole tree to it.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parent.parent
TREES: Final = ("src", "tests", "tools", "benchmarks", "examples")

# First words of sentences without a verb: the reader has to find out what "Of one query." is about.
FRAGMENT_OPENERS: Final = frozenset(
    [
        "After",
        "Also",
        "And",
        "As",
        "Asked",
        "At",
        "Before",
        "Behind",
        "Below",
        "Between",
        "But",
        "By",
        "Durable",
        "Empty",
        "Fewer",
        "For",
        "From",
        "In",
        "None",
        "Not",
        "Of",
        "On",
        "Once",
        "Only",
        "Or",
        "Since",
        "So",
        "That",
        "Though",
        "Told",
        "To",
        "Until",
        "While",
        "With",
        "Within",
        "Without",
    ]
)
# Clauses that say what a value is, and not what the function does. A class may be described by one.
CLAUSE_OPENERS: Final = frozenset(
    ["How", "Those", "What", "When", "Where", "Whether", "Which", "Who", "Whom", "Whose", "Why"]
)

# Names that stand for something that Kafka, or the rest of the tree, calls otherwise.
BANNED_NAMES: Final = {
    "place": "topic_partition (or position, offset, directory)",
    "places": "topic_partitions",
    "by_place": "by_topic_partition",
}
BANNED_CLASSES: Final = frozenset(["Asked", "Begun", "Given", "Kept", "Made", "Making", "Said", "Told", "Wanted"])

_BACKTICKED: Final = re.compile(r"`([^`\n]+)`")
_NAME: Final = re.compile(r"[A-Za-z_][\w]*(\.[A-Za-z_][\w]*)*(\(\))?")


class Finding(NamedTuple):
    path: Path
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.text}"


def findings(paths: Iterable[Path]) -> Iterator[Finding]:
    for path in paths:
        source = path.read_text()
        tree = ast.parse(source)
        yield from _fragments(path, tree)
        yield from _banned(path, tree)
        yield from _unresolved(path, source)


def _fragments(path: Path, tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        text = ast.get_docstring(node)
        if not text:
            continue
        first = text.split()[0].rstrip(":,.;")
        is_clause = first in CLAUSE_OPENERS and not isinstance(node, ast.ClassDef)
        if first in FRAGMENT_OPENERS or is_clause:
            yield Finding(path, node.body[0].lineno, f"{node.name}: fragment: {text.splitlines()[0]}")


def _banned(path: Path, tree: ast.Module) -> Iterator[Finding]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name in BANNED_CLASSES:
            yield Finding(path, node.lineno, f"class {node.name}: a class is a noun")
        for name in _bound_names(node):
            if name in BANNED_NAMES:
                yield Finding(path, getattr(node, "lineno", 0), f"{name}: say {BANNED_NAMES[name]}")


def _bound_names(node: ast.AST) -> list[str]:
    match node:
        case ast.arg(arg=name) | ast.FunctionDef(name=name):
            return [name]
        case ast.Name(id=name, ctx=ast.Store()):
            return [name]
        case ast.Attribute(attr=name, ctx=ast.Store()):
            return [name]
        case _:
            return []


def _unresolved(path: Path, source: str) -> Iterator[Finding]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        is_docstring = token.type == tokenize.STRING and token.string.startswith('"""')
        if not is_docstring and token.type != tokenize.COMMENT:
            continue
        for match in _BACKTICKED.finditer(token.string):
            name = match[1]
            line = token.start[0] + token.string.count("\n", 0, match.start())
            if _NAME.fullmatch(name) and not _resolves(name.removesuffix("()")):
                yield Finding(path, line, f"`{name}` resolves to nothing")


def _resolves(name: str) -> bool:
    known = _known_words()
    return name in known or all(part in known for part in name.split("."))


@cache
def _known_words() -> frozenset[str]:
    """Return every identifier, every word of a string that is no docstring, and every part of a path, in the whole
    tree."""
    found: set[str] = set()
    for path in sources():
        found.update(path.relative_to(ROOT).with_suffix("").parts)
        for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
            if token.type == tokenize.NAME:
                found.add(token.string)
            elif token.type == tokenize.STRING and not token.string.startswith('"""'):
                found.update(re.findall(r"[\w.\-]+", token.string))
                found.update(re.findall(r"\w+", token.string))
    return frozenset(found)


def sources(roots: Iterable[str] = TREES) -> list[Path]:
    return sorted(path for root in roots for path in (ROOT / root).rglob("*.py"))


def main(arguments: list[str]) -> int:
    asked = [Path(each).resolve() for each in arguments]
    paths = [path for path in sources() if not asked or any(path.is_relative_to(each) for each in asked)]
    found = list(findings(paths))
    for each in found:
        print(each)
    print(f"{len(found)} findings in {len(paths)} files", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
