"""The processes of a soak: the node (`tidelog dev` with a data directory) and the workers, which are only ever killed.

Their output goes to files, which stay when a round fails.
"""

import contextlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.interop.apache.class_archive import archived_jars
from tests.interop.apache.jars import archive_options
from tests.soak.plan import LOITER_MS, PARTITIONS, TRANSACTION_RECORDS, Group, Plan, Program
from tests.support.ports import held_ports

ROOT = Path(__file__).parent.parent.parent
READY_S_MAX = 30
SESSION_TIMEOUT_MS = 1_000
HEARTBEAT_MS = 200
TRANSACTION_TIMEOUT_MS = 4_000
# Short timeouts, so that dead members and transactions are noticed soon; few partitions, so that each round uses all.
SETTINGS = {
    "group.min.session.timeout.ms": 500,
    "group.consumer.min.session.timeout.ms": 500,
    "group.consumer.session.timeout.ms": SESSION_TIMEOUT_MS,
    "group.consumer.min.heartbeat.interval.ms": 100,
    "group.consumer.heartbeat.interval.ms": HEARTBEAT_MS,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 500,
    "offsets.topic.num.partitions": 4,
    "transaction.state.log.num.partitions": 4,
}


class SoakFailed(AssertionError):
    """A broken promise, or something that did not come in time."""


class Node:
    """The broker, across its restarts."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        (self.port,) = held_ports(1)
        self.log = directory / "node.log"

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        overrides = [f"--override={name}={value}" for name, value in SETTINGS.items()]
        command = [sys.executable, "-m", "tidelog", "dev", "--dir", "data", "--port", str(self.port), *overrides]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(command, cwd=self._directory, stdout=log, stderr=log)
        until = time.monotonic() + READY_S_MAX
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > until:
                raise SoakFailed(f"the broker did not start: {self.log.read_text()[-2000:]}")
            time.sleep(0.01)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """Stop the broker in order; fail if anything that it logged in its lives is a traceback."""
        if self._process is not None:
            self._process.terminate()
            code = self._process.wait(READY_S_MAX)
            if code:
                raise SoakFailed(f"the broker did not stop in order: exit code {code}")
        if "Traceback" in self.log.read_text():
            raise SoakFailed(f"the broker ran into a bug: see {self.log}")

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True


class Worker:
    """One process of the program, which the round restarts."""

    def __init__(self, command: list[str], log: Path) -> None:
        self._command, self.log = command, log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(self._command, cwd=ROOT, stdout=log, stderr=log)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def exit_code(self) -> int | None:
        return None if self._process is None else self._process.poll()

    def commits(self) -> int:
        return self.log.read_bytes().count(b" committed ") if self.log.exists() else 0

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)


class Programs:
    """The commands that start the workers of a plan. The Java program is compiled when it is first used."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._java: list[str] = []

    def command(self, plan: Plan, index: int, bootstrap: str) -> list[str]:
        options = [f"{name}={value}" for name, value in _options(plan, index, bootstrap).items()]
        if plan.program is Program.CONFLUENT:
            return [sys.executable, "-m", "tests.soak.copier", *options]
        if not self._java:
            self._java = self._compile()
        return [*self._java, *options]

    def _compile(self) -> list[str]:
        jars = archived_jars()
        classes = self._directory / "classes"
        source = Path(__file__).parent / "Copier.java"
        command = ["javac", "-cp", f"{jars}/*", "-d", str(classes), str(source)]
        outcome = subprocess.run(command, capture_output=True, text=True)
        if outcome.returncode:
            raise SoakFailed(outcome.stderr)
        quick = ["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *archive_options(jars)]
        logging = f"-Dlog4j2.configurationFile={ROOT / 'tests/interop/apache/log4j2.properties'}"
        return ["java", *quick, logging, "-cp", f"{jars}/*:{classes}", "Copier"]


def _options(plan: Plan, index: int, bootstrap: str) -> dict[str, object]:
    options: dict[str, object] = {
        "bootstrap": bootstrap,
        "input": plan.input,
        "output": plan.output,
        "group": f"{plan.name}-group",
        "id": f"{plan.name}-{index}",
        "seed": f"{plan.name}-{index}",
        "protocol": plan.group.protocol,
        "assignor": "cooperative-sticky" if plan.group is Group.COOPERATIVE else "range",
        "partitions": PARTITIONS,
        "transaction_records": TRANSACTION_RECORDS,
        "loiter_ms": LOITER_MS,
        "transaction_timeout_ms": TRANSACTION_TIMEOUT_MS,
        "session_timeout_ms": SESSION_TIMEOUT_MS,
        "heartbeat_ms": HEARTBEAT_MS,
    }
    if plan.is_static:
        options["instance"] = f"{plan.name}-{index}"
    return options


class Place:
    """A directory that is removed when all is well, and kept when something failed."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="tidelog-soak-"))

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
