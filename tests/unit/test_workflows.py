"""The workflows of CI and the hooks of git: what they name is there, and they run nothing that a developer does not."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
PINNED = re.compile(r"[\w-]+/[\w-]+@(v\d+|[0-9a-f]{40})")


def loaded(path: Path) -> dict[Any, Any]:
    content: dict[Any, Any] = yaml.safe_load(path.read_text())
    return content


JOBS = [(path, name, job) for path in WORKFLOWS for name, job in loaded(path)["jobs"].items()]
OF_JOBS = [f"{path.stem}-{name}" for path, name, _ in JOBS]


def commands(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


def test_there_are_workflows() -> None:
    run = {command.split()[1] for _, _, job in JOBS for command in commands(job)}
    assert {"check", "test", "lint", "coverage"} <= run


@pytest.mark.parametrize(("path", "name", "job"), JOBS, ids=OF_JOBS)
def test_a_job_runs_make_targets_that_exist(path: Path, name: str, job: dict[str, Any]) -> None:
    for command in commands(job):
        program, target, *variables = command.split()
        assert program == "make", command
        assert target in TARGETS, command
        assert all(re.fullmatch(r"[A-Z_]+=\S+", each) for each in variables), command


@pytest.mark.parametrize(("path", "name", "job"), JOBS, ids=OF_JOBS)
def test_a_job_ends_and_uses_pinned_actions(path: Path, name: str, job: dict[str, Any]) -> None:
    assert job["timeout-minutes"] <= 90
    for step in job["steps"]:
        assert ("run" in step) != ("uses" in step)
        if "uses" in step:
            assert PINNED.fullmatch(step["uses"]), step["uses"]
    needed = job.get("needs", [])
    names = loaded(path)["jobs"]
    assert all(each in names for each in ([needed] if isinstance(needed, str) else needed))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_only_read(path: Path) -> None:
    assert loaded(path)["permissions"] == {"contents": "read"}


def test_every_python_that_is_promised_is_checked_and_tested() -> None:
    classifiers = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["classifiers"]
    promised = [each.rpartition(" ")[2] for each in classifiers if re.search(r":: 3\.\d+$", each)]
    jobs = loaded(ROOT / ".github/workflows/checks.yml")["jobs"]
    for name in ("check", "test"):
        assert jobs[name]["strategy"]["matrix"]["python"] == promised
        assert jobs[name]["runs-on"].startswith("ubuntu")


def test_macos_is_linted_and_not_claimed_as_tested() -> None:
    on_macos = [job for _, _, job in JOBS if job["runs-on"].startswith("macos")]
    assert [commands(job) for job in on_macos] == [["make lint PYTHON=python"]]
    assert all("not tested" in job["name"] for job in on_macos)


def test_the_hooks_of_git_run_programs_that_are_there() -> None:
    (repository,) = loaded(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    for hook in repository["hooks"]:
        program, *arguments = hook["entry"].split()
        assert program in (".venv/bin/ruff", ".venv/bin/python")
        if arguments[0] == "-m":
            assert (ROOT / arguments[1].replace(".", "/")).with_suffix(".py").exists()
        elif program.endswith("python"):
            assert (ROOT / arguments[0]).exists()
