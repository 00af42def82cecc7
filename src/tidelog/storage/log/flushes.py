"""The flushes under way in all logs of a broker, by the tickets that they wait for (`flush` is that of one log).

Nothing here decides what a fault means: whoever begins or completes a flush takes the log directory offline.
"""

from collections.abc import Iterable

from tidelog.ports.errors import StorageFault
from tidelog.ports.files import Completion, Ticket
from tidelog.storage.log.log import Log


class Flushes:
    __slots__ = ("_by_ticket", "durations_ns")

    def __init__(self) -> None:
        self._by_ticket: dict[Ticket, Log] = {}
        self.durations_ns: list[int] = []  # of those that are done, not told to anybody yet

    def __len__(self) -> int:
        return len(self._by_ticket)

    def begin_if_due(self, log: Log, now_ms: int) -> None:
        """StorageFault when it can not even begin."""
        if log.flush.is_due(log, now_ms):
            self.begin(log)

    def begin(self, log: Log) -> None:
        self._by_ticket.update(dict.fromkeys(log.flush.begin(log), log))

    def complete(self, completion: Completion) -> tuple[Log, StorageFault | None] | None:
        """Whose flush has come a step further, or failed; None: it was none of ours."""
        log = self._by_ticket.pop(completion.ticket, None)
        if log is None:
            return None
        begun = log.flush.begun
        fault = log.flush.complete(log, completion)
        if fault is None and begun is not None and log.flush.begun is None:
            self.durations_ns.append(begun.took_ns)
        return log, fault

    def forget(self, logs: Iterable[Log]) -> None:
        """They are deleted, or offline: nobody waits for theirs any more."""
        gone = dict.fromkeys(logs)
        self._by_ticket = {ticket: log for ticket, log in self._by_ticket.items() if log not in gone}

    def take_times_ns(self) -> list[int]:
        """How long the flushes took that were completed since the last call: the syncs of each log, added up."""
        taken, self.durations_ns = self.durations_ns, []
        return taken
