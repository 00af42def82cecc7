"""Our node as the program `tidelog` runs it, with every long turn of the loop written to a file: when it ended, how
long it took by the clock on the wall, how long without the time that the loop's thread waited for a processor, and how
much of that was CPU.

    python benchmarks/broker/timed_node.py <file> dev --dir ... --port ...

A turn is promised to take 50 ms at most, on a machine that has a processor for it. Where other programs are busy, too,
most of a turn's length is theirs: with eight busy programs on two processors a turn of 254 ms was 2 ms of work. What
Linux calls the run delay of a thread (`schedstat`) tells the two apart. Waiting for the disk, for another thread or for
the collector of garbage is the node's own. The two looks at it would cost too much of a short turn to be in the node.
"""

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tidelog.cli.main import main
from tidelog.server.node.node import Node

TOLD_FROM_NS = 5_000_000


def run_delay_of_this_thread() -> Callable[[], int]:
    """Return a function that tells how long the thread has waited for a processor, in nanoseconds; 0 where the system
    does not tell."""
    try:
        descriptor = os.open(f"/proc/self/task/{threading.get_native_id()}/schedstat", os.O_RDONLY)
    except OSError:
        return lambda: 0
    return lambda: int(os.pread(descriptor, 100, 0).split()[1])


def time_turns(path: Path) -> None:
    file = path.open("a", buffering=1)
    plain = Node.turn
    waited_ns = run_delay_of_this_thread()

    def turn(node: Node) -> None:
        began_ns, waited_before_ns, cpu_before_ns = time.monotonic_ns(), waited_ns(), time.thread_time_ns()
        plain(node)
        cpu_ns = time.thread_time_ns() - cpu_before_ns
        took_ns = time.monotonic_ns() - began_ns
        own_ns = took_ns - (waited_ns() - waited_before_ns)
        if own_ns >= TOLD_FROM_NS:
            figures = (f"{each / 1e6:.1f}" for each in (took_ns, own_ns, cpu_ns))
            file.write(f"{time.time():.3f} {' '.join(figures)} {node.phase.name}\n")

    Node.turn = turn  # type: ignore[method-assign, assignment]


if __name__ == "__main__":
    time_turns(Path(sys.argv[1]))
    sys.argv = ["tidelog", *sys.argv[2:]]
    sys.exit(main())
