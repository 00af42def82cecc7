"""The simulated helper thread: work that was begun, and completes when simulated time has come.

On each disk what makes things durable completes in the order begun; warming, and the making of directories, have
queues of their own. Between its beginning and its completion a job may be caught by a power loss at any of its steps.
"""

from collections.abc import Generator
from dataclasses import dataclass
from random import Random

from tidelog.ports.errors import StorageFault
from tidelog.ports.files import Completion, Ticket

STEPS_MAX = 4  # those of the longest jobs: a replacement, a new log
Steps = Generator[None, None, None]


@dataclass(slots=True)
class Job:
    ticket: Ticket
    due_ms: int
    steps: Steps  # running it to its end carries the job out


def run(job: Job) -> Completion:
    try:
        for _ in job.steps:
            pass
    except StorageFault as fault:
        return Completion(job.ticket, fault)
    return Completion(job.ticket, None)


class Jobs:
    def __init__(self) -> None:
        self._pending: list[Job] = []
        self._last_due_ms: dict[str, int] = {}
        self._next_ticket = 1

    def begin(self, lane: str, now_ms: int, duration_ms: int, steps: Steps) -> Ticket:
        due_ms = max(now_ms, self._last_due_ms.get(lane, 0)) + duration_ms
        self._last_due_ms[lane] = due_ms
        ticket = Ticket(self._next_ticket)
        self._next_ticket += 1
        self._pending.append(Job(ticket, due_ms, steps))
        return ticket

    def completions(self, now_ms: int) -> list[Completion]:
        due = [job for job in self._pending if job.due_ms <= now_ms]
        self._pending = [job for job in self._pending if job.due_ms > now_ms]
        return [run(job) for job in sorted(due, key=lambda job: (job.due_ms, job.ticket))]

    def next_due_ms(self) -> int | None:
        return min((job.due_ms for job in self._pending), default=None)

    def interrupt(self, random: Random) -> None:
        """Let the process die with jobs under way: each has come as far as chance will have it."""
        for job in self._pending:
            self._interrupt(job, random.randrange(STEPS_MAX + 1))
        self._pending = []
        self._last_due_ms = {}

    def _interrupt(self, job: Job, steps: int) -> None:
        try:
            for _ in range(steps):
                next(job.steps, None)
        except StorageFault:
            return
        job.steps.close()
