"""What a job costs: CPU seconds of the JVM and of the Python workers together, the broker's apart.

Spark's processes are those below this one, except the brokers, which are named. The time of a worker that has ended is
with its parent, once that has waited for it.
"""

import os
from collections.abc import Collection
from pathlib import Path
from typing import Final

TICKS_A_SECOND: Final = os.sysconf("SC_CLK_TCK")
# In /proc/PID/stat behind the name: parent, and the times of the process and of its ended children.
PARENT, TIMES = 1, slice(11, 15)


def cpu_seconds(but: Collection[int] = (), of: int | None = None) -> float:
    """Return the CPU seconds of a process (this one, unless told) and of all below it, but for the processes in `but`
    and what is below them."""
    fields = _all_fields()
    children: dict[int, list[int]] = {}
    for pid, found in fields.items():
        children.setdefault(int(found[PARENT]), []).append(pid)
    ticks, left = 0, [os.getpid() if of is None else of]
    while left:
        pid = left.pop()
        if pid in but:
            continue
        left += children.get(pid, [])
        times = fields[pid][TIMES]
        # This process has waited for brokers and tools of earlier rounds: only its own time counts.
        ticks += sum(map(int, times[:2] if pid == os.getpid() else times))
    return ticks / TICKS_A_SECOND


def _all_fields() -> dict[int, list[str]]:
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found[int(entry.name)] = (entry / "stat").read_text().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue  # gone since
    return found
