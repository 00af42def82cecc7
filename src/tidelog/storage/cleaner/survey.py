"""One round over all compacted logs, to find the filthiest: a slice of them a turn, because there may be thousands.

A round sees each log once, at some moment of it. What it finds is a list of candidates; whoever picks one looks at the
log again before the job is made.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from tidelog.config.units import LONG_MAX
from tidelog.model.lazy_dataclass import dataclass, field
from tidelog.storage.cleaner.selection import LogToClean
from tidelog.storage.directories.log_directory import LogDirectory
from tidelog.storage.directories.logs import Logs
from tidelog.storage.log.log import Log

# What a turn may cost, in segments looked at; a log counts as some. A few milliseconds: 15 us a log, 1 us a segment.
SLICE_UNITS: Final = 2000
_UNITS_PER_LOG: Final = 8
_UNITS_PER_TIMED_SEGMENT: Final = 40  # its timestamps may have to be read from its files


class Candidate(NamedTuple):
    log: Log
    directory: LogDirectory
    assessed: LogToClean


Assess = Callable[[Log, LogDirectory], LogToClean | None]  # None: it is not to be cleaned now


@dataclass(slots=True)
class Survey:
    pending: list[tuple[Log, LogDirectory]]
    due: list[Candidate] = field(default_factory=list)
    dirty_ratio_max: float = 0.0
    overdue_ms_max: int = 0

    @property
    def is_done(self) -> bool:
        return not self.pending

    def advance(self, assess: Assess) -> None:
        units = SLICE_UNITS
        while self.pending and units > 0:
            log, directory = self.pending.pop()
            units -= _cost(log)
            assessed = assess(log, directory)
            if assessed is not None and assessed.total_bytes:
                self._note(Candidate(log, directory, assessed))

    def _note(self, found: Candidate) -> None:
        self.dirty_ratio_max = max(self.dirty_ratio_max, found.assessed.dirty_ratio)
        self.overdue_ms_max = max(self.overdue_ms_max, found.assessed.overdue_ms)
        if found.assessed.is_due:
            self.due.append(found)

    def filthiest_first(self) -> list[Candidate]:
        """Return the candidates by their dirty share, the largest first; among equals the one that comes first in its
        directory."""
        return sorted(self.due, key=lambda each: each.assessed.dirty_ratio, reverse=True)


def begin_survey(logs: Logs) -> Survey:
    pending = [
        (log, directory)
        for directory in logs.directories.values()
        if directory.is_online
        for log in directory.logs.values()
        if log.config.compacts
    ]
    pending.reverse()  # they are taken from the end
    return Survey(pending)


def _cost(log: Log) -> int:
    has_lag = log.config.min_compaction_lag_ms > 0 or log.config.max_compaction_lag_ms < LONG_MAX
    return _UNITS_PER_LOG + len(log.segments) * (_UNITS_PER_TIMED_SEGMENT if has_lag else 1)
