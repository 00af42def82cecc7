"""The code in the guide to Spark is that of its programs, which tests/spark runs, with their imports."""

import ast
import re
from pathlib import Path
from textwrap import dedent, indent

import pytest

import pyspark_tidelog

ROOT = Path(__file__).parent.parent.parent.parent
PAGES = ("docs/spark.md", "README.md")
BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
IMPORT = re.compile(r"(import|from) ")
PROGRAMS = [path.read_text() for path in sorted((ROOT / "examples" / "spark").glob("*.py"))]
# A `return` of a program's function is a plain expression on the page.
SHOWN = [text.replace(" return ", " ") for text in PROGRAMS]


def blocks_of(page: str) -> list[str]:
    found = [dedent(match[2]) for match in BLOCK.finditer((ROOT / page).read_text())]
    return found if page == "docs/spark.md" else [block for block in found if '"tidelog"' in block]


def body_of(block: str) -> str:
    """Return the block without its imports, which a program has at its top."""
    return "".join(line for line in block.splitlines(keepends=True) if not IMPORT.match(line)).lstrip("\n")


def is_in(block: str, program: str) -> bool:
    return any(indent(body_of(block), " " * depth) in program for depth in (0, 4, 8))


def imported(code: str) -> dict[str, str]:
    """Return the qualified name of each imported name."""
    found: dict[str, str] = {}
    for node in ast.parse(code).body:
        if isinstance(node, ast.Import):
            found |= {each.name: each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {each.name: f"{node.module}.{each.name}" for each in node.names}
    return found


def used(code: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}


@pytest.mark.parametrize("page", PAGES)
def test_a_piece_of_code_is_one_that_is_run(page: str) -> None:
    blocks = blocks_of(page)
    assert blocks
    for block in blocks:
        compile(block, page, "exec")
        assert any(is_in(block, text) for text in SHOWN), block


@pytest.mark.parametrize("page", PAGES)
def test_a_piece_of_code_has_its_imports(page: str) -> None:
    for block in blocks_of(page):
        (program, *_) = [text for text, shown in zip(PROGRAMS, SHOWN, strict=True) if is_in(block, shown)]
        needed = {name: source for name, source in imported(program).items() if name in used(body_of(block))}
        assert imported(block) == needed, block


@pytest.mark.parametrize("page", PAGES)
def test_what_users_call_is_at_the_top_of_the_package(page: str) -> None:
    for block in blocks_of(page):
        ours = [source for source in imported(block).values() if source.startswith("pyspark_tidelog.")]
        assert all(source.removeprefix("pyspark_tidelog.") in pyspark_tidelog.__all__ for source in ours), block


def test_every_program_has_its_place_in_the_guide() -> None:
    pieces = blocks_of("docs/spark.md")
    for text in SHOWN:
        assert any(is_in(piece, text) for piece in pieces)


@pytest.mark.parametrize("page", ["README.md", "docs/spark.md", "docs/pipelines.md", "docs/installing.md"])
def test_pages_install_from_a_clone_or_from_wheels_and_from_nowhere_else(page: str) -> None:
    """Tidelog is not on PyPI: an install from there finds nothing, or another package of that name."""
    for command in re.findall(r"^(?:.*&& )?(?:\S*/)?pip install .*", (ROOT / page).read_text(), re.MULTILINE):
        assert re.search(r"pip install (\.|'\.\[|--find-links )", command), command
