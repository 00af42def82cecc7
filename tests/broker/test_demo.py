"""The demos are the first thing that a newcomer runs: they have to do what they say, also where nobody looks."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def run(module: str, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", module, *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ | environment)


def shop(seconds: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the shop demo with a job that needs no Spark. With the real job it is run in tests/spark."""
    options = ("--rate", "500", "--seconds", seconds, "--job", "tests.broker.stand_in_job")
    return run("examples.demo", *options, **environment)


def test_the_broker_alone_ends_by_itself_and_every_record_came_back() -> None:
    outcome = run("examples.demo_log", "--seconds", "1.5")
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    verdict = re.search(r"^([\d,]+) records acknowledged, ([\d,]+) read back$", outcome.stdout, re.MULTILINE)
    assert verdict, outcome.stdout
    assert verdict[1] == verdict[2]
    assert int(verdict[1].replace(",", "")) > 100
    for topic in ("clicks", "orders", "audit"):
        row = re.search(rf"│ {topic} +([\d,]+) +([\d,]+) ", outcome.stdout)
        assert row, outcome.stdout
        assert row[1] != "0"
    assert max(len(line) for line in outcome.stdout.splitlines()) <= 80


def test_a_job_that_is_right_is_found_to_be() -> None:
    outcome = shop("2")
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert "the pipeline has found the truth" in outcome.stdout
    assert re.search(r"records sent +1,000 +1,000 +equal", outcome.stdout)
    assert re.search(r"sales per minute +[1-9]\d* for [\d,.]+ +[1-9]\d* for [\d,.]+ +equal", outcome.stdout)
    assert "sold in the five minutes" in outcome.stdout


def test_a_job_that_is_a_cent_off_is_found_out() -> None:
    outcome = shop("1", WRONG_BY="1", DEMO_STUCK_S="8")
    assert outcome.returncode == 1
    assert "the pipeline differs from the truth" in outcome.stdout
    assert re.search(r"sales per minute .* [12] differ", outcome.stdout)
    assert re.search(r"top viewed products .* equal", outcome.stdout)


def test_a_job_that_fails_has_the_last_word() -> None:
    outcome = shop("1", FAILS="1")
    assert outcome.returncode == 1
    assert "the job failed with exit code 1" in outcome.stdout
    assert "the job has no Java, say" in outcome.stdout


def test_without_java_the_broker_is_shown(tmp_path: Path) -> None:
    outcome = run("examples.demo", "--seconds", "1", JAVA_HOME=str(tmp_path))
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert "there is no Java, which Spark needs" in outcome.stdout
    assert "records acknowledged" in outcome.stdout
