"""The imports between the modules of a package, read from its sources, and the cycles among them.

Every import statement counts: those of a module, those inside a function, and those under `TYPE_CHECKING`. The
interpreter tolerates a cycle that is hidden in one of the latter two; a reader does not, who has to understand all
modules of a cycle in order to understand one. That importing a module runs the `__init__` of the packages around it
does not count, since otherwise no package could name what it contains.
"""

import ast
from collections.abc import Iterator, Set
from pathlib import Path

ROOT = Path(__file__).parents[2]

ImportGraph = dict[str, frozenset[str]]


def import_graph(package: str, source: Path | None = None) -> ImportGraph:
    """Return the imports of each module of `package` (a dotted name), the package's `__init__` included, as far as they
    stay inside the package. `source` is the directory of the package; without it, the one that this repository has
    it in."""
    source = source or ROOT / ("pipelines/src" if package.startswith("tidelog_pipelines") else "src")
    paths = {_module_name(path, source): path for path in source.joinpath(*package.split(".")).rglob("*.py")}
    return {name: frozenset(_imports(path, name, paths.keys())) - {name} for name, path in sorted(paths.items())}


def import_cycles(graph: ImportGraph) -> list[list[str]]:
    """Return the largest sets of modules that all import one another, directly or through others of the set; each set
    is sorted, and so is the list. It is empty where the imports have no cycle."""
    reached = {name: _reachable(graph, name) for name in graph}
    cycles = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in graph
        if name in reached[name]
    }
    return [list(cycle) for cycle in sorted(cycles)]


def _reachable(graph: ImportGraph, start: str) -> set[str]:
    """Return the modules that `start` imports, directly or through others; `start` is one of them only if it is in a
    cycle."""
    reached: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += graph[name]
    return reached


def _module_name(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(path: Path, name: str, modules: Set[str]) -> Iterator[str]:
    """Yield each of `modules` that the module `name`, whose source is at `path`, imports."""
    package = name if path.stem == "__init__" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            ancestor = package.rsplit(".", node.level - 1)[0] if node.level else ""
            origin = ".".join(part for part in (ancestor, node.module) if part)
            for alias in node.names:
                imported = (
                    f"{origin}.{alias.name}"  # a module of the package `origin`, or a name in the module `origin`
                )
                if imported in modules or origin in modules:
                    yield imported if imported in modules else origin
