import signal
import sys
import tempfile
from pathlib import Path

import pytest
from examples import demo_processes
from examples.demo_processes import (
    QUICK_JVM,
    Child,
    java_version,
    missing_for_spark,
    parsed_java_version,
    quick_java,
    quick_workers,
)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.9" 2023-10-17', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "25-ea" 2025-09-16', 25),
        ("command not found", None),
        ('version ""', None),
    ],
)
def test_versions_of_java(text: str, version: int | None) -> None:
    assert parsed_java_version(text) == version


def test_java_is_where_its_variable_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert java_version() is None
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.1\"' >&2\n")
    java.chmod(0o755)
    assert java_version() == 11


@pytest.mark.parametrize(("version", "text"), [(None, "there is no Java"), (11, "version 11; Spark needs 17")])
def test_what_spark_lacks_is_said(monkeypatch: pytest.MonkeyPatch, version: int | None, text: str) -> None:
    monkeypatch.setattr(demo_processes, "java_version", lambda: version)
    assert text in (missing_for_spark() or "")
    monkeypatch.setattr(demo_processes, "java_version", lambda: 17)
    assert missing_for_spark() is None
    monkeypatch.setattr(demo_processes, "find_spec", lambda _name: None)
    assert "pip install" in (missing_for_spark() or "")


def child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> Child:
    (tmp_path / "a_child_of_ours.py").write_text(program)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return Child("child", ["a_child_of_ours", "word"], tmp_path)


def wait_for(path: Path) -> None:
    while not path.exists():
        pass


def test_what_a_child_said_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import sys\nfor n in range(100): print('line', n)\nsys.exit(sys.argv[1] + ' of the child')"
    with child(tmp_path, monkeypatch, program) as failing:
        while failing.code is None:
            pass
        assert failing.has_failed
        assert "word of the child" in failing.last_words()
        assert "line 99" in failing.last_words()
        assert "line 50" not in failing.last_words()


def test_a_complaint_is_shown_from_its_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "print('ecommerce: no'); print('x' * 1000)\nfor n in range(100): print('plan', n)"
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path / "kept"))
    (tmp_path / "kept").mkdir()
    with child(tmp_path, monkeypatch, program) as ended:
        while ended.code is None:
            pass
    lines = ended.last_words().splitlines()
    assert (lines[0], len(lines[1]), len(lines)) == ("ecommerce: no", 300, 25)
    assert ended.keep_log().read_text().endswith("plan 99\n")


def test_a_child_is_ended_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = f"""
import pathlib, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
pathlib.Path({str(tmp_path / "ready")!r}).touch()
time.sleep(60)
"""
    with child(tmp_path, monkeypatch, program) as ended:
        wait_for(tmp_path / "ready")
        assert not ended.last_words().startswith("Traceback")
    assert (ended.code, ended.has_failed) == (0, False)


def test_a_child_that_will_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_processes, "PATIENCE_S", 0.05)
    program = f"""
import pathlib, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
pathlib.Path({str(tmp_path / "ready")!r}).touch()
time.sleep(60)
"""
    with child(tmp_path, monkeypatch, program) as stubborn:
        wait_for(tmp_path / "ready")
    assert stubborn.code == -signal.SIGKILL


def test_spark_s_workers_run_this_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with child(tmp_path, monkeypatch, "import os\nprint(os.environ['PYSPARK_PYTHON'])") as asked:
        while asked.code is None:
            pass
    assert asked.last_words() == sys.executable


def test_the_jvm_is_told_to_be_quick_and_the_user_counts_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=4")
    assert quick_java()["JDK_JAVA_OPTIONS"].endswith(" -XX:TieredStopAtLevel=4")
    monkeypatch.delenv("JDK_JAVA_OPTIONS")
    assert quick_java() == {"JDK_JAVA_OPTIONS": QUICK_JVM}
    (tmp_path / "said.py").write_text("import os\nprint(os.environ['JDK_JAVA_OPTIONS'])")
    monkeypatch.chdir(tmp_path)
    with Child("said", ["said"], tmp_path, quick_java()) as asked:
        while asked.code is None:
            pass
    assert asked.last_words() == QUICK_JVM


def test_spark_s_home_has_no_pyspark_that_its_workers_would_compile_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(quick_workers(tmp_path)["SPARK_HOME"])
    assert (home / "bin" / "spark-submit").is_file()
    assert list((home / "jars").glob("spark-core_*.jar"))
    assert not list(home.glob("**/*.zip"))
    monkeypatch.setattr(demo_processes, "find_spec", lambda _name: None)
    assert quick_workers(tmp_path) == {}
