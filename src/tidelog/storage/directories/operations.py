"""Work on the logs that is not done within a turn: it waits for the disk, or is too much for one turn.

An operation is a generator; what it yields is what it waits for.

    yield tickets       go on when all of these have completed; a fault of one of them is raised right there
    yield operation     go on when that one has ended, however it did
    yield GIVE_WAY      go on when a later turn has time for a further piece of work
    yield PAUSE         go on after a while (`resume`): there was no room for the next piece

Between two of its yields it does no more than a turn can spare: about a file-system call or two. Each belongs to a log
directory and ends with it.
"""

from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Final, Union

from tidelog.ports.errors import StorageFault
from tidelog.ports.files import Completion, Ticket

Steps = Generator[Union[Sequence[Ticket], "Operation"], None, None]
GIVE_WAY: Final[Sequence[Ticket]] = ()


class _Pause(tuple[Ticket, ...]):
    """The type of PAUSE, an empty tuple that is another object than GIVE_WAY."""


PAUSE: Final[Sequence[Ticket]] = _Pause()
PAUSE_MS: Final = 1_000


class Operation:
    """A generator of steps under way. Once it `is_done`, `fault` is why it failed; None where it came to its end."""

    __slots__ = ("_steps", "_waiting_for", "directory", "fault", "followers", "is_done")

    def __init__(self, directory: str | None, steps: Steps) -> None:
        self.directory = directory  # the log directory it ends with; None: it belongs to no single one
        self.is_done = False
        self.fault: StorageFault | None = None
        self.followers: list[Operation] = []  # operations that wait for this one
        self._steps = steps
        self._waiting_for: dict[Ticket, None] = {}

    def advance(self, fault: StorageFault | None = None) -> "Sequence[Ticket] | Operation | None":
        """Run it to its next yield, and return what it waits for; None when it has come to its end. A StorageFault that
        it raises is its end, too."""
        self._waiting_for = {}
        try:
            waits_for = next(self._steps) if fault is None else self._steps.throw(fault)
        except StopIteration:
            self.is_done = True
            return None
        except StorageFault as end:
            self.is_done, self.fault = True, end
            raise
        if not isinstance(waits_for, Operation):
            self._waiting_for = dict.fromkeys(waits_for)
        return waits_for

    def completed(self, ticket: Ticket) -> bool:
        """Note that a ticket has completed; tell whether nothing else is waited for."""
        self._waiting_for.pop(ticket, None)
        return not self._waiting_for

    def is_waiting_for(self, ticket: Ticket) -> bool:
        return ticket in self._waiting_for

    def cancel(self, fault: StorageFault) -> None:
        if not self.is_done:
            self.is_done, self.fault = True, fault
            self._waiting_for = {}
            self._steps.close()


class Operations:
    def __init__(self, on_fault: Callable[[Operation, StorageFault], None]) -> None:
        self._on_fault = on_fault
        self._all: dict[Operation, None] = {}
        self._by_ticket: dict[Ticket, list[Operation]] = {}
        self._ready: deque[Operation] = deque()
        self._paused: list[Operation] = []
        self._paused_ms: int | None = None  # when `resume` first saw one of them pausing

    def __len__(self) -> int:
        """The number of operations under way. Those that pause do not count, so that nobody waits for them: there may
        never be room."""
        return len(self._all) - len(self._paused)

    @property
    def has_work(self) -> bool:
        """Tell whether an operation waits for nothing but its turn."""
        return bool(self._ready)

    def begin(self, directory: str | None, steps: Steps) -> Operation:
        """Begin an operation; it has come to its first yield when this returns."""
        operation = Operation(directory, steps)
        self._all[operation] = None
        self._advance(operation)
        return operation

    def complete(self, completion: Completion) -> None:
        for operation in self._by_ticket.pop(completion.ticket, ()):
            if not operation.is_waiting_for(completion.ticket):
                continue  # it has ended meanwhile
            if completion.fault is not None:
                self._advance(operation, completion.fault)
            elif operation.completed(completion.ticket):
                self._advance(operation)

    def work(self, budget: int) -> int:
        """Do up to `budget` pieces of work, one operation after another; return how many pieces were not needed."""
        while budget > 0 and self._ready:
            operation = self._ready.popleft()
            if not operation.is_done:
                self._advance(operation)
                budget -= 1
        return budget

    @property
    def is_pausing(self) -> bool:
        """Tell whether any operation pauses: `resume` is to be called again soon."""
        return bool(self._paused)

    def resume(self, now_ms: int) -> None:
        """Let the operations go on that have paused long enough. A clock that was set back ends the pause, too."""
        if not self._paused:
            self._paused_ms = None
        elif self._paused_ms is None:
            self._paused_ms = now_ms
        elif not self._paused_ms <= now_ms < self._paused_ms + PAUSE_MS:
            self._ready.extend(self._paused)
            self._paused, self._paused_ms = [], None

    def drop(self, directory: str, fault: StorageFault) -> None:
        """End the operations of a directory that is offline."""
        for operation in [each for each in self._all if each.directory == directory]:
            operation.cancel(fault)
            self._end(operation)
        self._paused = [each for each in self._paused if not each.is_done]

    def _advance(self, operation: Operation, fault: StorageFault | None = None) -> None:
        try:
            waits_for = operation.advance(fault)
        except StorageFault as end:
            self._end(operation)
            self._on_fault(operation, end)
            return
        if waits_for is None:
            self._end(operation)
        elif isinstance(waits_for, Operation):
            followers = self._ready if waits_for.is_done else waits_for.followers
            followers.append(operation)
        elif waits_for is PAUSE:
            self._paused.append(operation)
        elif not waits_for:
            self._ready.append(operation)
        for ticket in waits_for if isinstance(waits_for, Sequence) else ():
            self._by_ticket.setdefault(ticket, []).append(operation)

    def _end(self, operation: Operation) -> None:
        if self._all.pop(operation, operation) is None:
            self._ready.extend(operation.followers)
            operation.followers = []
