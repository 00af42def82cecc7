"""The demo is the first thing a newcomer runs: it has to keep its word, also where nobody looks."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def test_the_demo_ends_by_itself_and_every_record_came_back() -> None:
    command = [sys.executable, "-m", "examples.demo", "--seconds", "1.5"]
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
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
