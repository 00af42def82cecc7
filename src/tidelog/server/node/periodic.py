"""What is done from time to time. Each task begins work that is then done by slices; none of them waits."""

from collections.abc import Callable

from tidelog.model.lazy_dataclass import dataclass


@dataclass(slots=True)
class Task:
    interval_ms: Callable[[], int]  # asked each time: settings change
    run: Callable[[], None]
    due_ms: int


class Periodic:
    def __init__(self) -> None:
        self._tasks: list[Task] = []

    def add(self, now_ms: int, interval_ms: Callable[[], int], run: Callable[[], None]) -> None:
        self._tasks.append(Task(interval_ms, run, now_ms + interval_ms()))

    @property
    def deadline_ms(self) -> int | None:
        return min((task.due_ms for task in self._tasks), default=None)

    def turn(self, now_ms: int) -> None:
        for task in self._tasks:
            if now_ms >= task.due_ms:
                task.due_ms = now_ms + max(1, task.interval_ms())
                task.run()
