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
        self.durations_ns: list[int] = []  # of the flushes that are done and were not reported yet

    def __len__(self) -> int:
        return len(self._by_ticket)

    def begin_if_due(self, log: Log, now_ms: int) -> None:
        """Begin the flush of a log that is due. Raises StorageFault when it can not even begin."""
        if log.flush.is_due(log, now_ms):
            self.begin(log)

    def begin(self, log: Log) -> None:
        self._by_ticket.update(dict.fromkeys(log.flush.begin(log), log))

    def complete(self, completion: Completion) -> tuple[Log, StorageFault | None] | None:
        """Return the log whose flush has come a step further, and its fault if it failed; None where the ticket is not
        of a flush."""
        log = self._by_ticket.pop(completion.ticket, None)
        if log is None:
            return None
        begun = log.flush.begun
        fault = log.flush.complete(log, completion)
        if fault is None and begun is not None and log.flush.begun is None:
            self.durations_ns.append(begun.took_ns)
        return log, fault

    def forget(self, logs: Iterable[Log]) -> None:
        """Forget the flushes of logs that are deleted or offline: nobody waits for them any more."""
        gone = dict.fromkeys(logs)
        self._by_ticket = {ticket: log for ticket, log in self._by_ticket.items() if log not in gone}

    def take_times_ns(self) -> list[int]:
        """Return how long each flush took that was completed since the last call: the syncs of the log, added up."""
        taken, self.durations_ns = self.durations_ns, []
        return taken
