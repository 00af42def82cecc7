"""Style that a machine can hold us to (docs/adr and CONTRIBUTING say why)."""

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SOURCES = sorted(path for tree in ("src", "pipelines/src") for path in (ROOT / tree).rglob("*.py"))
PURE = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][1]["source_modules"]
FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
BANNED_NAMES = ("utils", "helpers", "manager", "impl")


def identify(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", SOURCES, ids=identify)
def test_source_file(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "a file opens with what it is and why it is so"
    assert text.count("\n") <= FILE_LINES_MAX, "past 400 lines a file has two subjects"
    assert not any(word in path.stem.lower() for word in BANNED_NAMES)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= FUNCTION_LINES_MAX or is_kernel(path), f"{node.name} has {length} lines: two subjects"
        if isinstance(node, ast.ClassDef):
            assert not node.name.lower().endswith(("manager", "impl", "helper"))


def is_kernel(path: Path) -> bool:
    """Tell whether the file is a compiled kernel: one loop with everything inlined, since a call in it would cost more
    than its work."""
    return path.stem.startswith("kernels")


@pytest.mark.parametrize("path", SOURCES, ids=identify)
def test_files_are_opened_only_behind_the_port(path: Path) -> None:
    package = ".".join(path.relative_to(ROOT).parts[1:3])
    if package not in PURE:
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id != "open", f"line {node.lineno}: use the FileSystem port"
