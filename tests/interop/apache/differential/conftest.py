"""All scenarios on Apache's broker and on ours, once for all workers; tests compare what was written down."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.interop.apache.broker import format_directory, running_broker
from tests.interop.apache.differential.deviations import unexplained
from tests.interop.apache.differential.running import SETTINGS, run_again, run_scenarios
from tests.interop.apache.differential.world import Transcript
from tests.interop.apache.jars import exclusive

from tidelog import testing

AGAIN_MAX = 20  # if more scenarios differ, it is no accident of timing
TRIES = 3  # a true difference shows each time


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
    """Run all scenarios on both brokers: ours while Apache's is starting."""
    with testing.broker(SETTINGS) as broker, ExitStack() as stack, ThreadPoolExecutor(1) as pool:

        def run_on_apache() -> tuple[str, dict[str, Transcript]]:
            format_directory(jars, directory, SETTINGS)
            address = stack.enter_context(running_broker(jars, directory, SETTINGS))
            return address, run_scenarios(address)

        running = pool.submit(run_on_apache)
        ours = run_scenarios(broker.bootstrap_servers)
        address, apache = running.result()
        for number in range(TRIES):
            again = [name for name in ours if unexplained(name, apache[name], ours[name])]
            if not again or len(again) > AGAIN_MAX:
                break
            apache |= run_again(address, again, number)
            ours |= run_again(broker.bootstrap_servers, again, number)
        return Transcripts(apache, ours)
