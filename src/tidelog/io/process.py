"""The process as the kernel counts it: from /proc, and where there is none (macOS) what getrusage says."""

import os
import resource
import time
from pathlib import Path
from typing import Final

from tidelog.ports.process import ProcessUse

_STAT: Final = Path("/proc/self/stat")
_DESCRIPTORS: Final = Path("/proc/self/fd")
_BOOTED: Final = Path("/proc/stat")
# Fields of /proc/self/stat after the process's name, which may hold blanks: counted from the state.
_STARTED, _VIRTUAL, _RESIDENT = 19, 20, 21


class SystemProcess:
    def __init__(self) -> None:
        self._started_seconds = time.time()
        if _STAT.exists():
            self._started_seconds = _booted_seconds() + int(_stat()[_STARTED]) / os.sysconf("SC_CLK_TCK")

    def use(self) -> ProcessUse:
        times = os.times()
        has_proc = _STAT.exists()
        stat = _stat() if has_proc else []
        soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        return ProcessUse(
            cpu_seconds=times.user + times.system,
            started_seconds=self._started_seconds,
            resident_bytes=int(stat[_RESIDENT]) * resource.getpagesize() if has_proc else None,
            virtual_bytes=int(stat[_VIRTUAL]) if has_proc else None,
            open_descriptors=len(os.listdir(_DESCRIPTORS)) if has_proc else None,
            max_descriptors=None if soft == resource.RLIM_INFINITY else soft,
        )


def _stat() -> list[str]:
    return _STAT.read_text().rpartition(") ")[2].split()


def _booted_seconds() -> int:
    lines = (line.split() for line in _BOOTED.read_text().splitlines())
    return next((int(words[1]) for words in lines if words[0] == "btime"), 0)
