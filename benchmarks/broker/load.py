"""Runs `load.c`, which is compiled once, and reads what it prints."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from benchmarks.broker.frames import FetchFrame, ProduceFrame

SOURCE = Path(__file__).with_name("load.c")
SECONDS_MAX = 300


class LoadFailed(Exception):
    """The error for a load tool, or a broker under it, that gave up."""


@dataclass(slots=True)
class ProduceFigures:
    requests: int
    seconds: float
    p50_us: float
    p99_us: float
    p999_us: float


@dataclass(slots=True)
class ConsumeFigures:
    size_bytes: int
    seconds: float
    p99_us: float


class Load:
    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._tool = scratch / "load"
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            raise LoadFailed("the load tool is C, and there is no compiler for it (cc, gcc)")
        subprocess.run([compiler, "-O2", "-o", str(self._tool), str(SOURCE)], check=True)

    def produce(
        self,
        port: int,
        frame: ProduceFrame,
        connections: int,
        window: int,
        seconds: float,
        count: int = 0,
        sequence_at: int = 0,
    ) -> ProduceFigures:
        """Produce for so many seconds, or so many requests in all."""
        numbers = (connections, window, seconds, count, frame.error_at, sequence_at)
        requests, *rest = self._run("produce", port, frame.data, *numbers)
        return ProduceFigures(int(requests), *rest)

    def fetch(self, port: int, frame: FetchFrame, consumers: int, size_bytes: int) -> ConsumeFigures:
        """Let each consumer read so many bytes from the beginning."""
        numbers = (consumers, size_bytes, frame.offset_at, frame.records_at)
        read, *rest = self._run("fetch", port, frame.data, *numbers)
        return ConsumeFigures(int(read), *rest)

    def begin_fetch(self, port: int, frame: FetchFrame, size_bytes: int) -> "subprocess.Popen[bytes]":
        """Start one consumer that reads beside something else."""
        arguments = [str(port), self._frame(frame.data), "1", str(size_bytes), str(frame.offset_at)]
        command = [str(self._tool), "fetch", *arguments, str(frame.records_at)]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL)

    def _frame(self, data: bytes) -> str:
        path = self._scratch / f"frame-{hash(data):x}"
        path.write_bytes(data)
        return str(path)

    def _run(self, what: str, port: int, frame: bytes, *numbers: float) -> list[float]:
        command = [str(self._tool), what, str(port), self._frame(frame), *map(str, numbers)]
        outcome = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX)
        if outcome.returncode:
            raise LoadFailed(f"{what}: {outcome.stderr.strip()}")
        return [float(each) for each in outcome.stdout.split()]
