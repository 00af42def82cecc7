import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.sim.history import history

SEEDS = range(10)
ROOT = Path(__file__).parents[3]


def test_the_same_seed_gives_the_same_history() -> None:
    assert [history(seed) for seed in SEEDS] == [history(seed) for seed in SEEDS]


def test_another_seed_gives_another() -> None:
    traces, survivors = zip(*(history(seed).split() for seed in SEEDS), strict=True)
    assert len(dict.fromkeys(traces)) == len(dict.fromkeys(survivors)) == len(SEEDS)


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_the_hash_seed_has_no_say(hash_seed: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tests.unit.sim.history", *map(str, SEEDS)],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split("\n")[:-1] == [history(seed) for seed in SEEDS]
