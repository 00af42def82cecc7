"""The two brokers as processes: how each is started on an empty directory, and what it costs while it runs."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tests.interop.apache.jars import fetch_jars, java_command

from benchmarks.broker.frames import metadata_frame

OURS, APACHE = "tidelog", "Apache 4.3.1"
START_SECONDS_MAX = 60
TURNS, RUNNING = "turns", "RUNNING"
POLL_SECONDS = 0.002
TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
LONGEST_TURN = re.compile(r"longest turn of the loop: ([\d.]+) ms")
TIMED_NODE = Path(__file__).with_name("timed_node.py")
LOG4J = Path(__file__).parents[2] / "tests" / "interop" / "apache" / "log4j2.properties"

PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller_port}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={directory}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


class LongTurn(NamedTuple):
    """A long turn of the loop, as a line of `timed_node` tells it."""

    ended: float  # of the wall clock, in seconds
    wall_ms: float
    own_ms: float  # without the time in which other programs had the processors
    cpu_ms: float  # of that; the rest is waiting, for the disk say


@dataclass(slots=True)
class System:
    """A broker that answers."""

    name: str
    port: int
    directory: Path
    process: "subprocess.Popen[bytes]"
    output: Path
    start_seconds: float

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def cpu_seconds(self) -> float:
        """Return the user and system time of the process, all threads together."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND

    def resident_bytes(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(status.split("VmRSS:")[1].split()[0])

    def segments(self, topic: str) -> list[Path]:
        return sorted(self.directory.glob(f"{topic}-0/*.log"))

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def long_turns(self) -> list[LongTurn]:
        """Return the long turns of a timed node since it began to serve."""
        lines = (line.split() for line in self.output.with_name(TURNS).read_text().splitlines())
        return [LongTurn._make(map(float, figures)) for *figures, phase in lines if phase == RUNNING]

    def longest_turn(self, since: float = 0.0) -> LongTurn:
        """Return the turn of a timed node with the most own time; zeros where none was long enough to be told."""
        turns = (each for each in self.long_turns() if each.ended >= since)
        return max(turns, key=lambda each: each.own_ms, default=LongTurn(0.0, 0.0, 0.0, 0.0))

    def longest_turn_ms(self) -> float | None:
        """Return the longest turn that our node tells of when it stops."""
        found = LONGEST_TURN.search(self.output.read_text(errors="replace"))
        return None if found is None else float(found[1])


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


@contextmanager
def running(
    name: str, scratch: Path, settings: Mapping[str, str] | None = None, *, is_timed: bool = False
) -> Iterator[System]:
    """Yield a broker on an empty directory; raise RuntimeError with its output where it does not answer. `is_timed`:
    ours with `long_turns`, which costs it some microseconds a turn."""
    scratch.mkdir(parents=True)
    directory, port, settings = scratch / "data", free_port(), settings or {}
    if name == OURS:
        command = _our_command(directory, port, settings, scratch / TURNS if is_timed else None)
    else:
        command = _apache_command(scratch, directory, port, settings)
    began = time.perf_counter()
    system = _launched(name, scratch / "output", directory, port, command)
    try:
        _wait_for_metadata(system)
        system.start_seconds = time.perf_counter() - began
        yield system
    finally:
        system.stop()
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def restarted(system: System, settings: Mapping[str, str] | None = None) -> Iterator[System]:
    """Yield our node once more, timed, on the directory of one that has stopped. Nobody waits for it: it may be
    loading."""
    output = system.output.with_name("output-again")
    command = _our_command(system.directory, system.port, settings or {}, output.with_name(TURNS))
    again = _launched(system.name, output, system.directory, system.port, command)
    try:
        yield again
    finally:
        again.stop()


def _launched(name: str, output: Path, directory: Path, port: int, command: list[str]) -> System:
    with output.open("wb") as sink:
        process = subprocess.Popen(
            command, stdout=sink, stderr=subprocess.STDOUT, cwd=output.parent, env=_environment()
        )
    return System(name, port, directory, process, output, 0.0)


def _environment() -> dict[str, str]:
    """Return the environment of an installed program: its modules are compiled once, and not at every start."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _our_command(directory: Path, port: int, settings: Mapping[str, str], turns: Path | None) -> list[str]:
    """Return the command that starts our node. `turns`: where a timed node writes its long turns down."""
    program = [str(Path(sys.executable).with_name("tidelog"))]
    if turns is not None:
        program = [sys.executable, str(TIMED_NODE), str(turns)]
    overrides = [part for name, value in settings.items() for part in ("--override", f"{name}={value}")]
    return [*program, "dev", "--dir", str(directory), "--port", str(port), *overrides]


def _apache_command(scratch: Path, directory: Path, port: int, settings: Mapping[str, str]) -> list[str]:
    """Format a directory, which is not counted, and return the command that starts Apache's broker on it."""
    jars = fetch_jars()
    properties = scratch / "server.properties"
    text = PROPERTIES.format(port=port, controller_port=free_port(), directory=directory)
    properties.write_text(text + "".join(f"{name}={value}\n" for name, value in settings.items()))
    tool = java_command(jars, "kafka.tools.StorageTool", "random-uuid")
    cluster_id = subprocess.run(tool, check=True, capture_output=True, text=True).stdout.split()[-1]
    tool = java_command(jars, "kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(properties))
    subprocess.run(tool, check=True, capture_output=True)
    options = ["-Xmx1g", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", f"-Dlog4j2.configurationFile={LOG4J}"]
    return ["java", *options, "-cp", f"{jars}/*", "kafka.Kafka", str(properties)]


def _wait_for_metadata(system: System) -> None:
    until = time.perf_counter() + START_SECONDS_MAX
    while time.perf_counter() < until and system.process.poll() is None:
        with suppress(OSError):
            if _answers_metadata(system.port):
                return
        time.sleep(POLL_SECONDS)
    raise RuntimeError(f"{system.name} did not start:\n{system.output.read_text(errors='replace')[-2000:]}")


def _answers_metadata(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=START_SECONDS_MAX) as sock:
        sock.sendall(metadata_frame())
        return len(sock.recv(4)) == 4
