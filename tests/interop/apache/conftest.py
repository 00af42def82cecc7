"""Apache Kafka, as far as this machine has it: the jars, and a directory that its broker wrote and closed cleanly.

The broker is started once for all workers, and stopped before anything looks at its files; tests get copies.
"""

import pickle
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.interop.apache.broker import format_directory, running_broker
from tests.interop.apache.class_archive import archived_jars
from tests.interop.apache.jars import ApacheMissing, exclusive
from tests.interop.apache.workload import Expectation, run_workload


@dataclass
class ApacheDirectory:
    path: Path
    expected: Expectation


@pytest.fixture(scope="session")
def jars() -> Path:
    try:
        return archived_jars()
    except ApacheMissing as missing:
        pytest.skip(f"APACHE KAFKA DID NOT RUN, ITS INTEROPERABILITY IS NOT TESTED: {missing}")


@pytest.fixture(scope="session")
def written_by_apache(jars: Path, tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> ApacheDirectory:
    """Return the directory that Apache's broker wrote, which no test may change; `apache_directory` is a copy that a
    test may change."""
    base = tmp_path_factory.getbasetemp()
    shared = (base if worker_id == "master" else base.parent) / "apache"
    with exclusive(shared / ".lock"):
        if not (shared / "expected").exists():
            _write(jars, shared)
    with (shared / "expected").open("rb") as file:
        return ApacheDirectory(shared / "data", pickle.load(file))


@pytest.fixture
def apache_directory(written_by_apache: ApacheDirectory, tmp_path: Path) -> ApacheDirectory:
    copy = tmp_path / "data"
    shutil.copytree(written_by_apache.path, copy)
    return ApacheDirectory(copy, written_by_apache.expected)


def _write(jars: Path, shared: Path) -> None:
    format_directory(jars, shared / "data")
    with running_broker(jars, shared / "data") as bootstrap:
        expected = run_workload(bootstrap, shared / "data")
    (shared / "expected").write_bytes(pickle.dumps(expected))
