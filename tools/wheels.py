"""Build the wheels that are published, from one machine, with one command: Tidelog for Linux on x86-64 and on ARM, and
the pipelines, which are plain Python and run everywhere.

zig (a PyPI package) is a C compiler for any target and for any glibc, so both wheels are manylinux ones wherever they
are built. CPython's headers are the same on both machines; the module _sysconfigdata is not, hence the two variables
that override what setuptools would read from it.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

ROOT = Path(__file__).parent.parent
GLIBC = "2.17"
MACHINES = ("x86_64", "aarch64")


def environment(machine: str) -> dict[str, str]:
    compiler = f"{sys.executable} -m ziglang cc -target {machine}-linux-gnu.{GLIBC}"
    abi = f"cpython-{sys.version_info.major}{sys.version_info.minor}"
    return {
        **os.environ,
        "CC": compiler,
        "LDSHARED": f"{compiler} -shared",
        # zig instruments for undefined behaviour unless told not to; debug sections triple the wheel.
        "CFLAGS": "-O3 -g0 -fno-sanitize=undefined",
        "SETUPTOOLS_EXT_SUFFIX": f".{abi}-{machine}-linux-gnu.so",
        "_PYTHON_HOST_PLATFORM": f"linux-{machine}",
        "ZIG_GLOBAL_CACHE_DIR": str(ROOT / "build/zig"),
        "ZIG_LOCAL_CACHE_DIR": str(ROOT / "build/zig"),
    }


def build_tidelog(machine: str) -> None:
    platform = f"manylinux_{GLIBC.replace('.', '_')}_{machine}"
    source = copy_of(ROOT, f"wheel-{machine}")
    build(source, f"--config-settings=--build-option=--plat-name={platform}", environment=environment(machine))


def build_pipelines() -> None:
    build(copy_of(ROOT / "pipelines", "wheel-pipelines"))


def copy_of(distribution: Path, name: str) -> Path:
    """Copy what a distribution is built from into `build/` and return that directory. A build in place would leave what
    it makes, .so files of another machine among it, beside the sources."""
    copy = ROOT / "build" / name
    shutil.rmtree(copy, ignore_errors=True)
    leave_out = shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info")
    shutil.copytree(distribution / "src", copy / "src", ignore=leave_out)
    for each in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        if (distribution / each).exists():
            shutil.copy(distribution / each, copy)
    return copy


def build(source: Path, *options: str, environment: dict[str, str] | None = None) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", *options]
    subprocess.run([*command, "-w", str(ROOT / "dist"), str(source)], check=True, env=environment)


def main() -> int:
    console = Console()
    lock = str(ROOT / "requirements/wheel.txt")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--require-hashes", "-r", lock], check=True)
    with Progress(console=console) as progress:
        task = progress.add_task("wheels", total=len(MACHINES) + 1)
        for machine in MACHINES:
            progress.update(task, description=f"compiling for {machine}")
            build_tidelog(machine)
            progress.advance(task)
        progress.update(task, description="packing the pipelines")
        build_pipelines()
        progress.advance(task)
    for wheel in sorted((ROOT / "dist").glob("*.whl")):
        console.print(f"[green]{wheel.relative_to(ROOT)}[/] {wheel.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
