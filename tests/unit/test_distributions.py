"""The two distributions of this repository: Tidelog, whose wheel carries no shop, and the pipelines."""

import tomllib
from pathlib import Path
from typing import Any

from setuptools import find_packages

ROOT = Path(__file__).parent.parent.parent


def declared(distribution: Path) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((distribution / "pyproject.toml").read_text())["project"]
    return project


TIDELOG = declared(ROOT)
PIPELINES = declared(ROOT / "pipelines")


def packages_of(distribution: Path) -> set[str]:
    return {each.partition(".")[0] for each in find_packages(str(distribution / "src"))}


def test_a_brokers_wheel_carries_no_shop() -> None:
    assert packages_of(ROOT) == {"tidelog", "pyspark_tidelog"}
    assert packages_of(ROOT / "pipelines") == {"tidelog_pipelines"}


def test_the_pipelines_are_of_the_release_that_they_want() -> None:
    version = TIDELOG["version"]
    assert PIPELINES["version"] == version
    assert PIPELINES["dependencies"] == [f"tidelog=={version}"]
    assert PIPELINES["optional-dependencies"] == {"spark": [f"tidelog[spark]=={version}"]}


def test_the_distributions_agree_on_what_they_need_of_python_and_on_the_licence() -> None:
    for fact in ("requires-python", "license", "license-files"):
        assert PIPELINES[fact] == TIDELOG[fact]
    assert (ROOT / "pipelines/LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
