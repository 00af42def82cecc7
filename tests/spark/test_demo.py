"""`make demo DEMO_SECONDS=15`, as people run it: broker, traffic and job in processes of their own, and the verdict."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
DEMO_S_MAX = 600  # it ends by itself long before, or not at all


@pytest.mark.usefixtures("limits")
@pytest.mark.long
def test_the_job_finds_the_truth() -> None:
    command = [sys.executable, "-m", "examples.demo", "--seconds", "15", "--rate", "500", "--seed", "11"]
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=os.environ, timeout=DEMO_S_MAX)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert "the pipeline has found the truth" in outcome.stdout
    assert re.search(r"records sent +7,500 +7,500 +equal", outcome.stdout)
    assert re.search(r"dead letters +([1-9]\d*) +\1 +equal", outcome.stdout)
    assert re.search(r"sales per minute +([1-9]\d*) for ", outcome.stdout)
