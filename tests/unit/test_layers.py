"""The layers hold, and a violation of each kind really fails: a linter that checks nothing is worse than none."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONTRACTS = {contract["id"]: contract for contract in PYPROJECT["tool"]["importlinter"]["contracts"]}


def lint(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-cache", "--no-logo"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root / "src"), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a small package in the shape of the real one, under the real contracts."""
    for package in (path for path in (ROOT / "src/tidelog").iterdir() if (path / "__init__.py").exists()):
        (tmp_path / "src/tidelog" / package.name).mkdir(parents=True)
        (tmp_path / "src/tidelog" / package.name / "__init__.py").touch()
    shutil.copy(ROOT / "src/tidelog/_compiled.py", tmp_path / "src/tidelog")
    (tmp_path / "src/tidelog/__init__.py").touch()
    (tmp_path / "src/tidelog/__main__.py").touch()
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_an_innocent_tree_passes(tree: Path) -> None:
    outcome = lint(tree)
    assert outcome.returncode == 0, outcome.stdout


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("model/ids.py", "from tidelog import config", "Layers of the node"),
        ("protocol/codec.py", "import tidelog.records", "Layers of the node"),
        ("sim/disk.py", "import tidelog.io", "Layers of the node"),
        ("records/batch.py", "import time", "No world below io and sim"),
        ("metadata/image.py", "import random", "No world below io and sim"),
        ("protocol/framing.py", "import socket", "No world below io and sim"),
        ("config/parse.py", "from pathlib import Path", "No world below io and sim"),
    ],
)
def test_a_violation_fails(tree: Path, module: str, line: str, broken: str) -> None:
    (tree / "src/tidelog" / module).write_text(line + "\n")
    outcome = lint(tree)
    assert outcome.returncode == 1
    assert f"{broken} BROKEN" in outcome.stdout


def test_a_package_that_no_layer_names_fails(tree: Path) -> None:
    (tree / "src/tidelog/helpers").mkdir()
    (tree / "src/tidelog/helpers/__init__.py").touch()
    outcome = lint(tree)
    assert outcome.returncode == 1
    assert "helpers" in outcome.stdout


def test_every_package_below_io_is_held_to_purity() -> None:
    layers = CONTRACTS["layers"]["layers"]
    below = layers[layers.index("io | sim") + 1 :]
    names = [name.strip().strip("()") for layer in below for name in layer.split("|")]
    built = {f"tidelog.{name}" for name in names if (ROOT / "src/tidelog" / name / "__init__.py").exists()}
    assert set(CONTRACTS["pure"]["source_modules"]) == built
