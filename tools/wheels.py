"""Build the wheels that are published: Linux on x86-64 and on ARM, from one machine, with one command.

zig (a PyPI package) is a C compiler for any target and for any glibc, so both wheels are manylinux ones wherever they
are built. CPython's headers are the same on both machines; `_sysconfigdata` is not, hence the two variables that
override what setuptools would read from it.
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


def build(machine: str) -> None:
    platform = f"manylinux_{GLIBC.replace('.', '_')}_{machine}"
    # Built from a copy: an in-place build would leave .so files of another machine beside the sources.
    source = ROOT / "build" / f"wheel-{machine}"
    shutil.rmtree(source, ignore_errors=True)
    leave_out = shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", source / "src", ignore=leave_out)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    command += [
        f"--config-settings=--build-option=--plat-name={platform}",
        "-w",
        str(ROOT / "dist"),
        str(source),
    ]
    subprocess.run(command, check=True, env=environment(machine))


def main() -> int:
    console = Console()
    lock = str(ROOT / "requirements/wheel.txt")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--require-hashes", "-r", lock], check=True)
    with Progress(console=console) as progress:
        task = progress.add_task("wheels", total=len(MACHINES))
        for machine in MACHINES:
            progress.update(task, description=f"compiling for {machine}")
            build(machine)
            progress.advance(task)
    for wheel in sorted((ROOT / "dist").glob("*.whl")):
        console.print(f"[green]{wheel.relative_to(ROOT)}[/] {wheel.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
