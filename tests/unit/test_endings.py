"""Tests come to an end, also where a shell started them in the background, which makes them ignore SIGINT."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

CHILD = "import signal; signal.raise_signal(signal.SIGINT)"
INTERRUPTED = "KeyboardInterrupt"


def test_a_child_can_be_interrupted() -> None:
    outcome = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=False)
    assert INTERRUPTED in outcome.stderr
    assert outcome.returncode == -signal.SIGINT


def test_a_child_can_be_interrupted_where_the_tests_began_with_sigint_ignored() -> None:
    name = f"{Path(__file__)}::{test_a_child_can_be_interrupted.__name__}"
    command = ["bash", "-c", 'trap "" INT; exec "$@"', "-", sys.executable, "-m", "pytest", "-q", name]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    assert "1 passed" in outcome.stdout, outcome.stdout


def test_every_test_has_a_time_limit(pytestconfig: pytest.Config) -> None:
    assert float(pytestconfig.getini("timeout")) > 0
