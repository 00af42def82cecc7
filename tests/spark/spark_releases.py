"""The releases of PySpark that `tidelog[spark]` allows, one of each minor version, and how to get at them.

The suite's own is in its environment: the newest for which Spark's Kafka connector can be had, with which we compare.
Each other one is installed once into the cache, by the pins of `requirements`, and put before it on PYTHONPATH. PySpark
needs nothing but py4j, and what our extra asks for beside it is the same for all of them.
"""

import os
import re
import subprocess
import sys
import tempfile
import tomllib
from importlib import metadata
from pathlib import Path

from tests.interop.apache.jars import exclusive
from tests.spark.connector_jars import cache_directory

ROOT = Path(__file__).parent.parent.parent
INSTALL_S_MAX = 900
PIN = re.compile(r"^(pyspark|py4j)==(\S+)(?:.*\\\n)(?:[ ]+--hash=\S+(?: \\)?\n)+", re.MULTILINE)


def allowed_minors() -> list[str]:
    """What the extra says, oldest first."""
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["spark"]
    (text,) = [each for each in extra if each.startswith("pyspark")]
    bounds = re.fullmatch(r"pyspark>=(\d+)\.(\d+),<(\d+)\.(\d+)", text)
    assert bounds is not None, f"{text}: nobody can tell which minor versions these are"
    major, first, last_major, end = map(int, bounds.groups())
    assert major == last_major, f"{text}: nobody can tell which minor versions these are"
    return [f"{major}.{minor}" for minor in range(first, end)]


def pins(lock: Path) -> dict[str, str]:
    """Of PySpark and what it needs, each as the lines of a requirements file."""
    return {match[1]: match[0] for match in PIN.finditer(lock.read_text())}


def release_of(lock: Path) -> str:
    found = re.search(r"^pyspark(?:\[\S+\])?==(\S+)", lock.read_text(), re.MULTILINE)
    assert found is not None, f"{lock} pins no PySpark"
    return found[1]


def locks() -> dict[str, Path]:
    """By minor version, the file that pins its release."""
    files = [*(ROOT / "requirements").glob("spark*.txt"), ROOT / "requirements" / "dev.txt"]
    return {release_of(file).rpartition(".")[0]: file for file in files}


def installed(lock: Path) -> Path:
    """A directory with the PySpark that the file pins, and py4j. Takes half a minute the first time."""
    directory = cache_directory() / f"pyspark-{release_of(lock)}"
    with exclusive(directory.with_name(f"{directory.name}.lock")):
        if not directory.exists():
            with tempfile.TemporaryDirectory(dir=directory.parent) as scratch:
                pinned = Path(scratch) / "requirements.txt"
                pinned.write_text("".join(pins(lock).values()))
                options = ["-q", "--no-deps", "--no-compile", "--disable-pip-version-check", "--require-hashes"]
                place = ["--target", f"{scratch}/packages", "-r", str(pinned)]
                command = [sys.executable, "-m", "pip", "install", *options, *place]
                subprocess.run(command, check=True, timeout=INSTALL_S_MAX)
                Path(scratch, "packages").rename(directory)
    return directory


def environment_with(lock: Path) -> dict[str, str]:
    """To run the suite, or anything else in its environment, with the PySpark that the file pins."""
    if release_of(lock) == metadata.version("pyspark"):
        return dict(os.environ)
    path = [str(installed(lock)), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}
