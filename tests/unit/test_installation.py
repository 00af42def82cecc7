"""The packages that `make` installs, for development and for the demo, and its output meanwhile."""

import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from tools import lock, step

ROOT = Path(__file__).parent.parent.parent
PIN = re.compile(r"^([a-z0-9-]+)==(\S+)(?: ; (.*?))? \\$", re.MULTILINE)


def pins(path: str) -> set[tuple[str, str, str]]:
    return set(PIN.findall((ROOT / path).read_text()))


def test_the_demo_and_development_share_an_environment() -> None:
    """Whichever is installed first, the other changes no version of it."""
    demo = pins("requirements/demo.txt")
    assert demo <= pins("requirements/dev.txt")
    assert {"pyspark", "pyarrow", "rich", "setuptools"} <= {name for name, _, _ in demo}
    assert not {"mypy", "pytest", "ruff"} & {name for name, _, _ in demo}


@pytest.mark.parametrize("path", lock.LOCKS)
def test_every_lock_is_there_and_has_hashes(path: str) -> None:
    text = (ROOT / path).read_text()
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}", text)) >= len(pins(path)) > 0


def test_the_constraint_is_locked_before_what_it_constrains() -> None:
    names = list(lock.LOCKS)
    for name, sources in lock.LOCKS.items():
        for constraint in (each for before, each in pairwise(sources) if before == "-c"):
            assert names.index(constraint) < names.index(name)


def ran(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, step.__file__, *command], capture_output=True, text=True)


def test_a_step_says_what_begins_and_how_long_it_took() -> None:
    outcome = ran("making it", sys.executable, "-c", "pass")
    assert re.fullmatch(r"making it \.\.\.\n  done in \d+ s\n", outcome.stdout)
    assert (outcome.stderr, outcome.returncode) == ("", 0)


def test_a_step_that_fails_has_the_last_word() -> None:
    outcome = ran("making it", sys.executable, "-c", "print('no room'); raise SystemExit(3)")
    assert re.fullmatch(r"making it \.\.\.\n  failed after \d+ s\n", outcome.stdout)
    assert (outcome.stderr, outcome.returncode) == ("no room\n", 3)
    outcome = ran("making it", "/nowhere/python")
    assert "/nowhere/python: No such file or directory" in outcome.stderr
    assert outcome.returncode == 1


@pytest.mark.parametrize(("is_terminal", "shown"), [(True, "\r\033[Kx ... 16 s"), (False, "  16 s\n")])
def test_a_long_step_says_that_it_goes_on(
    is_terminal: bool, shown: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal, raising=False)
    line = step.StepLine("x")
    line.show(16.0)
    assert capsys.readouterr().out.endswith(shown)
    line.show(16.4)
    assert capsys.readouterr().out == (shown if is_terminal else "")
    line.end(17.0, has_failed=False)
    assert capsys.readouterr().out.endswith("done in 17 s\n")


def test_make_demo_installs_only_what_it_needs_unless_the_rest_is_there(tmp_path: Path) -> None:
    # Without the variables that `make test` hands to its children.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}

    def commands() -> str:
        made = subprocess.run(
            ["make", "-n", "demo", f"VENV={tmp_path}/venv", f"PYTHON={sys.executable}"],
            cwd=ROOT, env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return made.stdout

    on_a_fresh_clone = commands()
    assert "requirements/demo.txt" in on_a_fresh_clone
    assert "requirements/dev.txt" not in on_a_fresh_clone
    assert "TIDELOG_PURE=1" in on_a_fresh_clone
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv/.locked").touch()
    (tmp_path / "venv/.installed").touch()
    assert commands().strip().splitlines() == [f"{tmp_path}/venv/bin/python -m examples.demo --rate 2000"]
