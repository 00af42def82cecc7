"""A virtual environment with PySpark and `tidelog[arrow]`, and nothing else: what a cluster that brings its own PySpark
has when its users have done as the guide says. Made of links into the environment of the tests, in a moment."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from tests.spark.spark_releases import ROOT

NAME = re.compile(r"[A-Za-z0-9._-]+")


def bare_environment(directory: Path, pyspark: Path) -> Path:
    """Its Python. `pyspark`: a directory with PySpark and py4j."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory)], check=True)
    (packages,) = directory.glob("lib/python3*/site-packages")
    for name in ("pyspark", "py4j"):
        (packages / name).symlink_to(pyspark / name)
    link(packages, declared("arrow"))
    (packages / "tidelog.pth").write_text(f"{ROOT / 'src'}\n")
    return directory / "bin" / "python"


def link(packages: Path, requirements: Iterable[str]) -> None:
    """Give a directory of packages what is required, with all that it requires in turn."""
    for distribution in closure(requirements):
        for name in top_level(distribution):
            (packages / name).symlink_to(str(distribution.locate_file(name)))


def declared(extra: str) -> list[str]:
    """What tidelog with this extra asks for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return [*project["dependencies"], *project["optional-dependencies"][extra]]


def closure(requirements: Iterable[str]) -> Iterator[metadata.Distribution]:
    """Each distribution once; extras of theirs are left out."""
    seen: set[str] = set()
    waiting = list(requirements)
    while waiting:
        text = waiting.pop()
        match = NAME.match(text)
        assert match is not None, text
        name = match[0].lower()
        if name in seen or "extra ==" in text:
            continue
        seen.add(name)
        distribution = metadata.distribution(name)
        waiting += distribution.requires or []
        yield distribution


def top_level(distribution: metadata.Distribution) -> set[str]:
    return {file.parts[0] for file in distribution.files or [] if file.parts[0] not in ("..", "__pycache__")}
