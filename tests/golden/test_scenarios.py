"""Every scenario of the coordinators, event by event, and its records replayed."""

import os
from pathlib import Path

import pytest
from tests.golden.scenario import rewritten

ROOT = Path(__file__).parent / "coordinators"
SCENARIOS = sorted(ROOT.glob("*/*.scenario"))
UPDATE = "TIDELOG_UPDATE_GOLDEN"


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_scenario(path: Path) -> None:
    now = rewritten(path)
    if os.environ.get(UPDATE) == "1":
        path.write_text(now)
    assert path.read_text() == now, f"not what it was; where that is right, {UPDATE}=1 writes it down"


def test_there_are_enough_and_each_says_why() -> None:
    assert len(SCENARIOS) >= 44
    for path in SCENARIOS:
        lines = path.read_text().splitlines()
        assert lines[0].startswith("# "), f"{path.name} does not say what it is about"
        assert lines[-1].startswith("    : "), f"{path.name} does not end with the state"
