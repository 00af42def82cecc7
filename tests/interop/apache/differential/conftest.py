"""All scenarios on Apache's broker and on ours, once for all workers; tests compare what was written down."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.interop.apache.broker import format_directory, running_broker
from tests.interop.apache.differential.running import SETTINGS, run_scenarios
from tests.interop.apache.differential.world import Transcript
from tests.interop.apache.jars import exclusive

from tidelog import testing


@dataclass
class Transcripts:
    apache: dict[str, Transcript]
    ours: dict[str, Transcript]


@pytest.fixture(scope="session")
def transcripts(jars: Path, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Transcripts:
    base = tmp_path_factory.getbasetemp()
    shared = (base if worker_id == "master" else base.parent) / "differential"
    with exclusive(shared / ".lock"):
        if not (shared / "transcripts").exists():
            (shared / "transcripts").write_bytes(pickle.dumps(_run(jars, shared / "data")))
    with (shared / "transcripts").open("rb") as file:
        found: Transcripts = pickle.load(file)
    return found


def _run(jars: Path, directory: Path) -> Transcripts:
    """Ours while Apache's is starting."""
    with ThreadPoolExecutor(1) as pool:
        apache = pool.submit(_run_on_apache, jars, directory)
        with testing.broker(SETTINGS) as broker:
            ours = run_scenarios(broker.bootstrap_servers)
        return Transcripts(apache.result(), ours)


def _run_on_apache(jars: Path, directory: Path) -> dict[str, Transcript]:
    format_directory(jars, directory, SETTINGS)
    with running_broker(jars, directory, SETTINGS) as address:
        return run_scenarios(address)
