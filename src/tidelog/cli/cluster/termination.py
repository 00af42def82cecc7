"""SIGTERM as a way to end a command in order: `timeout`, systemd, containers and most scripts send it, not Ctrl-C."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

TERMINATED: Final = 143  # as a shell counts a process that was ended by SIGTERM


@contextmanager
def ended_in_order() -> Iterator[Callable[[], bool]]:
    """Yield a function that says whether SIGTERM has come: a command that reads on asks it between two records, and
    then ends as at any other end. At the end of the block the command leaves by SystemExit with the code of SIGTERM. A
    second SIGTERM does not wait. Python handles signals in the main thread only; in any other thread the function never
    says so."""
    asked = threading.Event()

    def ask(*_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        asked.set()

    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, ask) if is_main else None
    try:
        yield asked.is_set
    finally:
        if is_main:
            signal.signal(signal.SIGTERM, before)
    if asked.is_set():
        raise SystemExit(TERMINATED)
