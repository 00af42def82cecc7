"""Helper threads: what may stall on a disk happens here, and comes back to the loop as a completion.

One thread for each lane, made when the lane is first used. A lane is a disk, so that one slow disk does not delay
another's syncs, and work in a lane completes in the order it was begun. Bookkeeping stays on the loop's thread: a
helper runs the work and puts the outcome into a queue, nothing else.

Work that finds no descriptor (a directory to be synced, a file to be replaced) is tried again until there is one: a
helper has the time, and whoever waits for its completion would do nothing else. All such work may be repeated.
"""

import queue
import threading
import time
from collections.abc import Callable
from typing import Final

from tidelog.ports.errors import StorageFault, TooManyOpenFiles
from tidelog.ports.files import Completion, Ticket

Work = Callable[[], None]
RETRY_S: Final = 0.05


class TimedCompletion(Completion):
    """A completion with the time that a helper thread was busy with the work."""

    work_ns = 0

    @property
    def took_ns(self) -> int:
        return self.work_ns


class HelperThreads:
    def __init__(self, wake: Callable[[], None]) -> None:
        """Prepare; threads start with the first work. `wake` is called from a helper thread whenever there is a
        completion to fetch."""
        self._wake = wake
        self._lanes: dict[str, queue.SimpleQueue[tuple[Ticket, Work] | None]] = {}
        self._threads: list[threading.Thread] = []
        self._done: queue.SimpleQueue[Completion | Exception] = queue.SimpleQueue()
        self._next_ticket = 1
        self._is_stopping = threading.Event()

    def begin(self, lane: str, work: Work) -> Ticket:
        ticket = Ticket(self._next_ticket)
        self._next_ticket += 1
        self._lane(lane).put((ticket, work))
        return ticket

    def _lane(self, name: str) -> "queue.SimpleQueue[tuple[Ticket, Work] | None]":
        if name not in self._lanes:
            self._lanes[name] = queue.SimpleQueue()
            thread = threading.Thread(target=self._run, args=(self._lanes[name],), name=f"tidelog {name}", daemon=True)
            self._threads.append(thread)
            thread.start()
        return self._lanes[name]

    def _run(self, lane: "queue.SimpleQueue[tuple[Ticket, Work] | None]") -> None:
        while (job := lane.get()) is not None:
            self._done.put(self._carry_out(*job))
            self._wake()

    def completions(self) -> list[Completion]:
        """Return what has completed since the last call. A bug in the work is raised here, on the loop's thread, where
        it is seen."""
        completed: list[Completion] = []
        while not self._done.empty():
            outcome = self._done.get_nowait()
            if isinstance(outcome, Exception):
                raise outcome
            completed.append(outcome)
        return completed

    def stop(self) -> None:
        """Finish the work that was begun, then end the threads. Work that finds no descriptor now fails: nobody will
        free one any more."""
        self._is_stopping.set()
        for lane in self._lanes.values():
            lane.put(None)
        for thread in self._threads:
            thread.join()

    def _carry_out(self, ticket: Ticket, work: Work) -> Completion | Exception:
        began_ns = time.monotonic_ns()
        try:
            self._work(work)
        except StorageFault as fault:
            return Completion(ticket, fault)
        except Exception as bug:  # noqa: BLE001 - raised again on the loop's thread
            return bug
        done = TimedCompletion(ticket, None)
        done.work_ns = time.monotonic_ns() - began_ns
        return done

    def _work(self, work: Work) -> None:
        while True:
            try:
                return work()
            except TooManyOpenFiles:
                if self._is_stopping.wait(RETRY_S):
                    raise
