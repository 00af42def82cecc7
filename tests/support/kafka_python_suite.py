"""kafka-python's own integration tests, from its source distribution: fetched once into a cache outside the repository,
unpacked for each run, and run by a pytest of their own against a broker that is already there.

The distribution leaves two files out of its `test` package, without which the package of that name in Python's library
is found in its place: they are written into the unpacked copy. Nothing else is changed.
"""

import fcntl
import os
import re
import signal
import subprocess
import sys
import tarfile
from collections.abc import Collection
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree

REPOSITORY = Path(__file__).parent.parent.parent
LOCKED = REPOSITORY / "requirements" / "dev.txt"
FETCH_SECONDS_MAX = 120
RUN_SECONDS_MAX = 150  # it takes 20, and 30 more for each test in which a consumer never asks for its topic
SERVICE = '''"""Stands in for a file that the distribution leaves out: the broker runs already."""


class SpawnedService:
    pass


class ExternalService:
    def __init__(self, host, port):
        self.host, self.port = host, port
'''


class SuiteMissing(Exception):
    """The reason why the suite can not be had here."""


class SuiteHung(Exception):
    """A run of the suite did not end; the text says where each of its threads was."""


@dataclass(slots=True)
class Outcomes:
    """The names of tests by outcome; `failed` and `skipped` have the reasons."""

    passed: list[str]
    failed: dict[str, str]
    skipped: dict[str, str]
    output: str


def fetch_suite() -> Path:
    """Return the source distribution of the installed version, fetching it first if need be. Its hash is locked."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tidelog" / "kafka-python"
    cache.mkdir(parents=True, exist_ok=True)
    archive = cache / f"kafka_python-{version('kafka-python')}.tar.gz"
    with (cache / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not archive.exists():
            _download(cache)
    return archive


def _download(cache: Path) -> None:
    locked = re.search(r"^kafka-python==.*(?:\n +--hash.*)+", LOCKED.read_text(), re.MULTILINE)
    assert locked is not None
    requirement = cache / "requirement.txt"
    requirement.write_text(locked[0])
    options = ["--no-deps", "--no-build-isolation", "--no-binary", ":all:", "--require-hashes", "-r", str(requirement)]
    command = [sys.executable, "-m", "pip", "download", "-q", *options, "-d", str(cache)]
    try:
        outcome = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_SECONDS_MAX)
    except subprocess.TimeoutExpired as late:
        raise SuiteMissing(f"pip took more than {FETCH_SECONDS_MAX} s") from late
    if outcome.returncode:
        raise SuiteMissing(f"pip could not fetch it: {outcome.stderr[-500:]}")


def unpack(archive: Path, directory: Path) -> Path:
    """Unpack the tests only: the library that they use is the installed one."""
    with tarfile.open(archive) as packed:
        packed.extractall(directory, filter="data")
    (root,) = directory.iterdir()
    (root / "kafka").rename(directory / "unused")
    (root / "test" / "__init__.py").touch()
    (root / "test" / "service.py").write_text(SERVICE)
    return root


def run_suite(root: Path, host: str, port: int, expected: Collection[str]) -> Outcomes:
    """Run the suite, and run unexpected failures a second time: some of the tests allow half a second for an answer,
    and a machine with other work to do now and then takes longer."""
    everything = ("test/integration", "--ignore=test/integration/test_ssl_integration.py")
    try:
        first = _run(root, host, port, *everything)
    except SuiteHung as hung:
        print(f"kafka-python's suite did not end and is run again: {hung}")
        first = _run(root, host, port, *everything)
    again = [f"test/integration/{name.replace('::', '.py::', 1)}" for name in first.failed if name not in expected]
    if not again:
        return first
    second = _run(root, host, port, *again)
    failed = {name: why for name, why in first.failed.items() if name not in second.passed}
    return Outcomes(first.passed + second.passed, failed, first.skipped, first.output + second.output)


def _run(root: Path, host: str, port: int, *arguments: str) -> Outcomes:
    report = root / "report.xml"
    environment = {
        **os.environ,
        "KAFKA_URI": f"kafka://{host}:{port}",
        "KAFKA_VERSION": "4.3.1",
        "KAFKA_ROOT": str(root),  # not used to start a broker, since there is one already
        "PYTHONPATH": os.pathsep.join([str(root), str(REPOSITORY)]),
    }
    plugins = [option for name in ("tidelog", "randomly", "xdist", "cacheprovider") for option in ("-p", f"no:{name}")]
    plugins += ["-p", "tests.support.time_limit"]
    options = ["-c", os.devnull, "--rootdir", str(root), "--junitxml", str(report), "--show-capture=no", *plugins]
    command = [sys.executable, "-m", "pytest", "-q", *options, *arguments]
    report.unlink(missing_ok=True)
    with subprocess.Popen(
        command, cwd=root, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        try:
            output, complaints = process.communicate(timeout=RUN_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)  # pytest's faulthandler writes down the stack of each thread
            output, complaints = process.communicate()
            raise SuiteHung(output[-1000:] + complaints[-5000:]) from None
    assert report.exists(), output[-3000:] + complaints[-3000:]
    return _outcomes(report, output)


def _outcomes(report: Path, output: str) -> Outcomes:
    outcomes = Outcomes([], {}, {}, output)
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname', '').rpartition('.')[2]}::{case.get('name')}"
        wrong = case.find("failure") if case.find("failure") is not None else case.find("error")
        skipped = case.find("skipped")
        if wrong is not None:
            outcomes.failed[name] = wrong.get("message", "")
        elif skipped is not None:
            outcomes.skipped[name] = skipped.get("message", "")
        else:
            outcomes.passed.append(name)
    return outcomes
