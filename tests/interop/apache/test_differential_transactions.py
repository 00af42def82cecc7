"""Idempotence and transactions: what Apache's broker answers, ours answers, request by request and field by field."""

import shutil
from pathlib import Path

from tests.interop.apache.broker import format_directory, running_broker
from tests.interop.apache.our_broker import our_broker
from tests.interop.apache.transactions import (
    ending_scenarios,
    idempotence_scenarios,
    init_scenarios,
    offset_scenarios,
    produce_scenarios,
    seeing_scenarios,
)
from tests.interop.apache.transactions.running import run
from tests.interop.apache.transactions.script import Scenario, differences
from tests.interop.apache.transactions.setting_up import prepare

SCENARIOS: dict[str, Scenario] = {
    **init_scenarios.SCENARIOS,
    **idempotence_scenarios.SCENARIOS,
    **produce_scenarios.SCENARIOS,
    **ending_scenarios.SCENARIOS,
    **offset_scenarios.SCENARIOS,
    **seeing_scenarios.SCENARIOS,
}

# Scenario, step, and why ours is meant to be different.
DEVIATIONS: dict[tuple[str, str], str] = {
    ("init-old-while-open", "4."): "a fenced producer must not abort its successor's transaction (KIP-360 means so, too)",
    ("init-old-while-open", "5."): "and so there is no abort in the log",
    ("markers-v1", "22."): "a marker of nobody's is a bad request, not a fault of the broker",
    ("markers-v2", "22."): "a marker of nobody's is a bad request, not a fault of the broker",
}


def test_answers_are_apaches(jars: Path, tmp_path: Path) -> None:
    format_directory(jars, tmp_path / "apache")
    shutil.copytree(tmp_path / "apache", tmp_path / "ours")
    with running_broker(jars, tmp_path / "apache") as bootstrap:
        prepare(bootstrap, list(SCENARIOS))
        apache = run(SCENARIOS, bootstrap)
    with our_broker(tmp_path / "ours") as bootstrap:
        prepare(bootstrap, list(SCENARIOS))
        ours = run(SCENARIOS, bootstrap)
    found = differences(apache, ours, DEVIATIONS)
    assert not found, "\n\n".join(found)
