"""Packages without import cycles, even when the imports inside functions and under `TYPE_CHECKING` are counted."""

from pathlib import Path

import pytest
from tests.support.import_graph import import_cycles, import_graph

# A package is added here as soon as it has no cycle, and none is ever removed.
WITHOUT_CYCLES = [
    "pyspark_tidelog",
    "tidelog.cli",
    "tidelog.client",
    "tidelog.config",
    "tidelog.controller",
    "tidelog.coordinator",
    "tidelog.io",
    "tidelog.metadata",
    "tidelog.model",
    "tidelog.ports",
    "tidelog.protocol",
    "tidelog.records",
    "tidelog.testing",
    "tidelog_pipelines",
]


@pytest.mark.parametrize("package", WITHOUT_CYCLES)
def test_the_package_has_no_cycle(package: str) -> None:
    graph = import_graph(package)
    assert len(graph) > 1
    assert import_cycles(graph) == []


def write_modules(source: Path, modules: dict[str, str]) -> None:
    for name, text in modules.items():
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.mark.parametrize(
    "returning",
    [
        "import book.log.segment",
        "import book.log.segment as segment",
        "from book.log import segment",
        "from book.log.segment import Segment",
        "from .log.segment import Segment",
        "from .log import segment",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from book.log.segment import Segment",
        "def read() -> None:\n    from book.log.segment import Segment",
    ],
)
def test_a_cycle_is_found_however_it_is_written(tmp_path: Path, returning: str) -> None:
    modules = {"book/__init__.py": "", "book/log/__init__.py": "", "book/names.py": returning + "\n"}
    write_modules(tmp_path, modules | {"book/log/segment.py": "from ..names import topic\n"})
    assert import_cycles(import_graph("book", tmp_path)) == [["book.log.segment", "book.names"]]


def test_modules_that_only_import_each_other_in_one_direction_are_no_cycle(tmp_path: Path) -> None:
    modules = {"book/__init__.py": "", "book/log.py": "from book import segment, names", "book/names.py": ""}
    write_modules(tmp_path, modules | {"book/segment.py": "import os\nfrom book.names import topic, partition\n"})
    graph = import_graph("book", tmp_path)
    assert graph["book.log"] == {"book.segment", "book.names"}
    assert graph["book.segment"] == {"book.names"}
    assert import_cycles(graph) == []


def test_each_cycle_is_told_once_with_all_modules_that_are_in_it(tmp_path: Path) -> None:
    modules = {"a": "from book import b", "b": "from book import c", "c": "from book import a, d", "d": ""}
    modules |= {"e": "from book import f", "f": "from book import e, a"}
    write_modules(tmp_path, {f"book/{name}.py": text for name, text in modules.items()})
    cycles = import_cycles(import_graph("book", tmp_path))
    assert cycles == [["book.a", "book.b", "book.c"], ["book.e", "book.f"]]


def test_the_init_of_a_package_is_in_a_cycle_only_if_it_is_imported_by_name(tmp_path: Path) -> None:
    modules = {"book/__init__.py": "from book.log import Log\n", "book/log.py": ""}
    write_modules(tmp_path, modules)
    assert import_cycles(import_graph("book", tmp_path)) == []
    write_modules(tmp_path, {"book/log.py": "from book import Log\n"})
    assert import_cycles(import_graph("book", tmp_path)) == [["book", "book.log"]]
