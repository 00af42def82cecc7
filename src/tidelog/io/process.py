"""The process as the kernel counts it: from /proc, and where there is none (macOS) what getrusage says."""

import os
import resource
import time
from typing import Final

from tidelog.ports.process import ProcessUse

_STAT: Final = "/proc/self/stat"
_DESCRIPTORS: Final = "/proc/self/fd"
_BOOTED: Final = "/proc/stat"
# Fields of /proc/self/stat after the process's name, which may hold blanks: counted from the state.
_STARTED, _VIRTUAL, _RESIDENT = 19, 20, 21


class SystemProcess:
    def __init__(self) -> None:
        self._started_seconds = time.time()
        if os.path.exists(_STAT):
            self._started_seconds = _booted_seconds() + int(_stat()[_STARTED]) / os.sysconf("SC_CLK_TCK")

    def use(self) -> ProcessUse:
        times = os.times()
        has_proc = os.path.exists(_STAT)
        stat = _stat() if has_proc else []
        soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        return ProcessUse(
            cpu_seconds=times.user + times.system,
            started_seconds=self._started_seconds,
            resident_bytes=int(stat[_RESIDENT]) * resource.getpagesize() if stat else None,
            virtual_bytes=int(stat[_VIRTUAL]) if stat else None,
            open_descriptors=_open_descriptors() if has_proc else None,
            max_descriptors=None if soft == resource.RLIM_INFINITY else soft,
        )


def _open_descriptors() -> int | None:
    try:
        return len(os.listdir(_DESCRIPTORS))
    except OSError:  # listing needs a descriptor, too
        return None


def _stat() -> list[str]:
    try:
        return _read(_STAT).rpartition(") ")[2].split()
    except OSError:
        return []


def _booted_seconds() -> int:
    lines = (line.split() for line in _read(_BOOTED).splitlines())
    return next((int(words[1]) for words in lines if words[0] == "btime"), 0)


def _read(path: str) -> str:
    with open(path) as file:
        return file.read()
