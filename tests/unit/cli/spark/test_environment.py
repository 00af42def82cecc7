"""The commands that `tidelog spark-shell` and `tidelog spark-submit` would run, and their messages when they can
not."""

import json
import os
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

from tidelog.cli.main import main
from tidelog.cli.spark import environment as spark

UNCHECKED = "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"
PUSHDOWN = "spark.sql.python.filterPushdown.enabled=true"


class Became(BaseException):
    """The exec that a command would have done."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a PySpark as pip would install it, as far as the commands look at it."""
    made = tmp_path / "site-packages" / "pyspark"
    for directory in ("bin", "jars", "conf"):
        (made / directory).mkdir(parents=True)
    (made / "bin" / "spark-submit").touch()
    installed(monkeypatch, pyspark=made / "__init__.py", pyarrow=tmp_path / "pyarrow.py")
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "JAVA_HOME"):
        monkeypatch.delenv(name, raising=False)
    return made


def installed(monkeypatch: pytest.MonkeyPatch, **origins: Path) -> None:
    def find_spec(name: str) -> ModuleSpec | None:
        return ModuleSpec(name, None, origin=str(origins[name])) if name in origins else None

    monkeypatch.setattr(spark, "find_spec", find_spec)


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    command, *rest = arguments
    assert main([command, "--json", *rest]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def confs(command: list[str]) -> list[str]:
    return [command[index + 1] for index, word in enumerate(command) if word == "--conf"]


def test_a_job_is_run_with_this_python_and_its_pyspark(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    found = shown(capsys, "spark-submit", "--master", "local[2]", "--conf", "a=b=c", "job.py", "--conf", "its own")
    assert found["environment"] == {
        "SPARK_HOME": str(home),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
    }
    command = found["command"]
    assert command[:3] == [str(home / "bin/spark-submit"), "--master", "local[2]"]
    assert command[-3:] == ["job.py", "--conf", "its own"]
    assert confs(command[:-3]) == [
        f"spark.driver.defaultJavaOptions={UNCHECKED}",
        f"spark.executor.defaultJavaOptions={UNCHECKED}",
        PUSHDOWN,
        "spark.sql.execution.arrow.pyspark.enabled=true",
        "a=b=c",
    ]


def test_the_shell_is_pysparks(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    command = shown(capsys, "spark-shell", "--driver-memory", "2g")["command"]
    assert command[:3] == [str(home / "bin/pyspark"), "--driver-memory", "2g"]


@pytest.mark.parametrize("words", [["spark-shell", "--", "--verbose"], ["spark-submit", "--", "--verbose", "job.py"]])
def test_any_other_option_goes_after_two_dashes(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    command = shown(capsys, *words)["command"]
    assert command[-len(words[2:]) :] == words[2:]
    assert "--" not in command


def test_every_declared_option_is_passed_on(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    words = [word for flag in spark.PASSED_ON for word in (flag, str(tmp_path / "x"))]
    assert shown(capsys, "spark-submit", *words, "job.py")["command"][1 : 1 + len(words)] == words


def test_what_the_user_settles_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    off = "spark.sql.python.filterPushdown.enabled=false"
    given = confs(shown(capsys, "spark-submit", "--conf", off, "job.py")["command"])
    assert off in given
    assert PUSHDOWN not in given


@pytest.mark.parametrize(
    "line", ["spark.sql.python.filterPushdown.enabled false", "{}=false", " {} : false", "{}\tfalse"]
)
def test_and_so_is_what_his_files_settle(
    capsys: pytest.CaptureFixture[str], home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    text = f"# {PUSHDOWN}\n\n{line.format('spark.sql.python.filterPushdown.enabled')}\n"
    (home / "conf/spark-defaults.conf").write_text(text)
    assert PUSHDOWN not in confs(shown(capsys, "spark-submit", "job.py")["command"])
    (tmp_path / "mine.conf").touch()
    mine = ["--properties-file", str(tmp_path / "mine.conf")]
    assert PUSHDOWN in confs(shown(capsys, "spark-submit", *mine, "job.py")["command"])
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert PUSHDOWN in confs(shown(capsys, "spark-submit", "job.py")["command"])


def test_a_properties_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["spark-submit", "--properties-file", "/no/such.conf", "job.py"]) == 2
    assert "--properties-file: there is no /no/such.conf" in capsys.readouterr().err


def test_another_driver_python_stays(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_DRIVER_PYTHON", "ipython")
    monkeypatch.setenv("PYSPARK_PYTHON", "/some/other/python")
    monkeypatch.setenv("SPARK_HOME", "/opt/old-spark")
    environment = shown(capsys, "spark-shell")["environment"]
    assert "PYSPARK_DRIVER_PYTHON" not in environment
    assert environment["PYSPARK_PYTHON"] == sys.executable
    assert environment["SPARK_HOME"] != "/opt/old-spark"


def test_a_dry_run_prints_what_a_shell_would_take(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    assert main(["spark-submit", "--dry-run", "--master", "local[2]", "my job.py"]) == 0
    line = capsys.readouterr().out
    assert line.startswith(f"env SPARK_HOME={home} ")
    assert "--master 'local[2]'" in line
    assert line.endswith("'my job.py'\n")


@pytest.mark.parametrize("command", [["spark-shell"], ["spark-submit", "job.py"]])
def test_without_pyspark_the_install_command_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: list[str]
) -> None:
    installed(monkeypatch, pyarrow=tmp_path / "pyarrow.py")
    assert main(command) == 1
    assert "PySpark is not installed" in (said := capsys.readouterr().err)
    assert "pip install 'tidelog[spark]'" in said


def test_without_pyarrow(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    installed(monkeypatch, pyspark=home / "__init__.py")
    assert main(["spark-shell"]) == 1
    assert "pyarrow is not installed" in capsys.readouterr().err


def test_a_client_of_spark_connect_is_not_spark(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    (home / "jars").rmdir()
    assert main(["spark-shell"]) == 1
    assert "a client of Spark Connect, without Spark itself" in capsys.readouterr().err


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Return a function that puts a `java` into PATH which runs the given shell text."""

    def say(text: str) -> Path:
        program = tmp_path / "jdk" / "bin" / "java"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\n{text}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(program.parent))
        return program.parent.parent

    return say


@pytest.fixture
def became(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    calls: list[Any] = []

    def execve(program: str, arguments: list[str], environment: dict[str, str]) -> None:
        calls.append((program, arguments, environment))
        raise Became

    monkeypatch.setattr(os, "execve", execve)
    return calls


@pytest.mark.parametrize("version", ['openjdk version "17.0.1"', 'java version "21"', "something else"])
def test_the_process_becomes_spark(
    java: Callable[[str], Path], became: list[Any], home: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    java(f"echo '{version}' >&2")
    monkeypatch.setenv("KEPT", "yes")
    with pytest.raises(Became):
        main(["spark-submit", "job.py"])
    ((program, arguments, environment),) = became
    assert program == arguments[0] == str(home / "bin/spark-submit")
    assert (environment["KEPT"], environment["SPARK_HOME"]) == ("yes", str(home))


@pytest.mark.parametrize(("version", "major"), [("11.0.2", 11), ("1.8.0_402", 8)])
def test_an_old_java_is_told(
    capsys: pytest.CaptureFixture[str], java: Callable[[str], Path], became: list[Any], version: str, major: int
) -> None:
    java(f"echo 'openjdk version \"{version}\"' >&2")
    assert main(["spark-shell"]) == 1
    assert f"is Java {major}" in (said := capsys.readouterr().err)
    assert "openjdk-17" in said
    assert became == []


def test_no_java_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, became: list[Any]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["spark-shell"]) == 1
    assert "no `java` in PATH, and JAVA_HOME is not set" in capsys.readouterr().err
    monkeypatch.setenv("JAVA_HOME", "/no/jdk")
    assert main(["spark-shell"]) == 1
    assert "no bin/java in JAVA_HOME (/no/jdk)" in capsys.readouterr().err
    assert became == []


def test_java_home_comes_first(
    java: Callable[[str], Path], became: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java("echo 'openjdk version \"17\"' >&2")))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Became):
        main(["spark-shell"])


def test_a_java_that_does_not_run_is_told(
    capsys: pytest.CaptureFixture[str], java: Callable[[str], Path], became: list[Any]
) -> None:
    java("exit 3")
    assert main(["spark-shell"]) == 1
    assert "does not run" in capsys.readouterr().err
