"""Compiled or interpreted: the choice is made once, at import, and is never silently the wrong one."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tidelog import _compiled

PROBE = """
import tidelog.records.kernels_decode as kernels
from tidelog import _compiled
print(kernels.__file__.rsplit(".", 1)[1], _compiled.mode())
"""


def run_probe(package_parent: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if name != "TIDELOG_PURE"}
    return subprocess.run(
        [sys.executable, "-c", PROBE],
        env={**inherited, "PYTHONPATH": str(package_parent), **environment},
        cwd=package_parent,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a copy of the installed package, compiled files included, that a test may damage."""
    shutil.copytree(_compiled.PACKAGE, tmp_path / "tidelog", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path


needs_compiled = pytest.mark.skipif(
    not _compiled.compiled_modules(_compiled.read_manifest()), reason="nothing was compiled: no C compiler here"
)


@needs_compiled
def test_compiled_modules_are_used(package: Path) -> None:
    assert run_probe(package).stdout == "so compiled\n"


def test_pure_runs_the_source_although_a_compiled_file_lies_beside_it(package: Path) -> None:
    outcome = run_probe(package, TIDELOG_PURE="1")
    assert outcome.stdout.startswith("py pure"), outcome


@needs_compiled
def test_a_changed_source_is_noticed_and_run_instead(package: Path) -> None:
    with (package / "tidelog/records/kernels_decode.py").open("a") as source:
        source.write("\n# changed after it was compiled\n")
    outcome = run_probe(package)
    assert outcome.stdout.startswith("py pure (tidelog.records.kernels_decode changed"), outcome
    assert "StaleCompiledModule" in outcome.stderr
    assert "make install" in outcome.stderr


@needs_compiled
def test_a_build_whose_compiler_failed_is_pure_and_says_so(package: Path) -> None:
    for compiled in package.rglob("*.so"):
        compiled.unlink()
    outcome = run_probe(package)
    assert (outcome.stdout, outcome.stderr) == ("py pure\n", "")


def test_without_a_manifest_nothing_counts_as_compiled(tmp_path: Path) -> None:
    assert _compiled.read_manifest(str(tmp_path / "absent.json")) == {}


def test_stale_compares_the_digest_of_the_source() -> None:
    assert _compiled.stale_modules({"tidelog.records.kernels_decode": "0" * 8}) == ["tidelog.records.kernels_decode"]


def test_a_module_without_a_source_is_not_stale() -> None:
    assert _compiled.stale_modules({"tidelog.records.kernels_that_only_ships_compiled": "0" * 8}) == []


def test_a_digest_tells_an_edit_that_keeps_the_size_and_one_that_keeps_the_checksum() -> None:
    source = b"def size(batch):\n    return 61\n"
    assert _compiled.digest_of(source) != _compiled.digest_of(source.replace(b"61", b"62"))
    # Four bytes whose CRC-32 is 0, as that of no bytes is: the size tells them apart.
    assert _compiled.digest_of(b"") != _compiled.digest_of(bytes.fromhex("9d0ad96d"))


def test_the_manifest_of_this_build_matches_its_sources() -> None:
    manifest = _compiled.read_manifest()
    assert _compiled.stale_modules(manifest) == []
    for module, digest in manifest.items():
        assert digest == _compiled.digest_of(Path(_compiled.source_path(module)).read_bytes())


def test_a_broken_manifest_is_an_error_not_a_guess(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    with pytest.raises(json.JSONDecodeError):
        _compiled.read_manifest(str(broken))


def test_an_isolated_build_has_what_the_compiler_reads() -> None:
    """`pip install .` compiles with nothing but the build requirements at hand, and mypyc reads all types."""
    declared = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    typed = [each for each in declared["project"]["dependencies"] if not each.startswith("rich")]
    assert [each for each in typed if each not in declared["build-system"]["requires"]] == []
