"""Runs `join.c`, which is compiled once: members of a KIP-848 group, all at once."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from benchmarks.broker.load import SECONDS_MAX, LoadFailed

SOURCE = Path(__file__).with_name("join.c")


@dataclass(slots=True)
class JoinFigures:
    seconds: float
    heartbeats: int


class JoinLoad:
    def __init__(self, scratch: Path) -> None:
        self._tool = scratch / "join"
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            raise LoadFailed("the members are C, and there is no compiler for it (cc, gcc)")
        subprocess.run([compiler, "-O2", "-o", str(self._tool), str(SOURCE)], check=True)

    def join(self, port: int, group: str, topic: str, members: int, partitions: int, pace_ms: int) -> JoinFigures:
        arguments = [str(port), group, topic, str(members), str(partitions), str(pace_ms)]
        outcome = subprocess.run([str(self._tool), *arguments], capture_output=True, text=True, timeout=SECONDS_MAX)
        if outcome.returncode:
            raise LoadFailed(outcome.stderr.strip())
        seconds, heartbeats = outcome.stdout.split()
        return JoinFigures(float(seconds), int(heartbeats))
