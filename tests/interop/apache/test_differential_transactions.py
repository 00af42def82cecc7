"""Idempotence and transactions: our broker answers as Apache's does, request by request and field by field."""

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
    worn_scenarios,
)
from tests.interop.apache.transactions.running import run
from tests.interop.apache.transactions.script import Scenario, differences
from tests.interop.apache.transactions.setting_up import leave_worn_ids, prepare

SCENARIOS: dict[str, Scenario] = {
    **init_scenarios.SCENARIOS,
    **idempotence_scenarios.SCENARIOS,
    **produce_scenarios.SCENARIOS,
    **ending_scenarios.SCENARIOS,
    **offset_scenarios.SCENARIOS,
    **seeing_scenarios.SCENARIOS,
    **worn_scenarios.SCENARIOS,
}

OLD_EPOCH = "a fenced producer must not abort its successor's transaction, which Apache lets it do"
NOBODYS_MARKER = "a marker without a producer is a bad request, not a fault of the broker"
COORDINATORS_LOG = "a marker among the transactional ids: Apache takes it, and can not load what follows it afterwards"
SECOND_BATCH = "found by our log, which says where it begins; Apache finds it before it comes to that"
LAST_EPOCH = "a producer whose last epoch was announced in vain may ask again; Apache fails on it, and leaves no record"
# The reason why ours differs, by scenario and step.
DEVIATIONS: dict[tuple[str, str], str] = {
    ("init-old-while-open", "4."): OLD_EPOCH,
    ("init-old-while-open", "5."): OLD_EPOCH,
    **{(f"odd-batches-v{version}", "10."): SECOND_BATCH for version in (7, 9, 11, 12, 13)},
    ("worn-init-v1", "3."): LAST_EPOCH,
    ("worn-init-v1", "16."): LAST_EPOCH,
    ("worn-init-v2", "3."): LAST_EPOCH,
    ("worn-init-v2", "15."): LAST_EPOCH,
    ("markers-coordinator", "2."): COORDINATORS_LOG,
    ("markers-coordinator", "3."): COORDINATORS_LOG,
    ("markers-v1", "22."): NOBODYS_MARKER,
    ("markers-v2", "22."): NOBODYS_MARKER,
}


def test_answers_are_apaches(jars: Path, tmp_path: Path) -> None:
    format_directory(jars, tmp_path / "apache")
    with our_broker(tmp_path / "apache") as bootstrap:
        leave_worn_ids(bootstrap, worn_scenarios.WORN_IDS)
    shutil.copytree(tmp_path / "apache", tmp_path / "ours")
    with running_broker(jars, tmp_path / "apache") as bootstrap:
        prepare(bootstrap, list(SCENARIOS))
        apache = run(SCENARIOS, bootstrap)
    with our_broker(tmp_path / "ours") as bootstrap:
        prepare(bootstrap, list(SCENARIOS))
        ours = run(SCENARIOS, bootstrap)
    found = differences(apache, ours, DEVIATIONS)
    assert not found, "\n\n".join(found)
