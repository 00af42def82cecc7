"""What `tidelog log verify` says, as text with a progress bar or as JSON lines."""

import json
import sys
from abc import ABC, abstractmethod

from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as ProgressBar

from tidelog.cli.output.console import make_console
from tidelog.cli.output.tables import print_finding
from tidelog.storage.inspect.findings import Finding, Severity
from tidelog.storage.inspect.log_check import LogSummary
from tidelog.storage.inspect.verify import Progress


class Report(ABC):
    """The counts of everything that was verified; subclasses say how it is shown."""

    def __init__(self) -> None:
        self.errors = 0
        self.warnings = 0
        self.logs = 0
        self.segments = 0
        self.batches = 0
        self.size_bytes = 0

    def add(self, item: Finding | LogSummary | Progress) -> None:
        if isinstance(item, Finding):
            self.errors += item.severity is Severity.ERROR
            self.warnings += item.severity is Severity.WARNING
            self.show_finding(item)
        elif isinstance(item, LogSummary):
            self.logs += 1
            self.segments += item.segments
            self.batches += item.batches
            self.size_bytes += item.size_bytes
            self.show_summary(item)
        else:
            self.show_progress(item)

    @abstractmethod
    def show_finding(self, finding: Finding) -> None: ...

    @abstractmethod
    def show_summary(self, summary: LogSummary) -> None: ...

    @abstractmethod
    def show_progress(self, progress: Progress) -> None: ...

    @abstractmethod
    def close(self) -> None:
        """Release what is open: no more items come, perhaps because something failed."""

    @abstractmethod
    def conclude(self) -> None:
        """Show the result, when all items have come."""


class TextReport(Report):
    """A report for people: findings as they come, on a terminal above a bar that moves, and one line at the end."""

    def __init__(self) -> None:
        super().__init__()
        self._console = make_console()
        self._bar = ProgressBar(
            TextColumn("{task.description}"),
            BarColumn(),
            DownloadColumn(binary_units=True),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task: TaskID = self._bar.add_task("", total=None)
        self._bar.start()

    def show_finding(self, finding: Finding) -> None:
        print_finding(self._console, finding)

    def show_summary(self, summary: LogSummary) -> None:
        """Show nothing: a directory has thousands of logs, and those that are well are not worth a line each."""

    def show_progress(self, progress: Progress) -> None:
        name = escape(progress.path.rpartition("/")[2])
        self._bar.update(
            self._task, description=name, completed=progress.done_bytes, total=max(progress.total_bytes, 1)
        )

    def close(self) -> None:
        self._bar.stop()

    def conclude(self) -> None:
        read = ", ".join(
            [
                _counted(self.logs, "log"),
                _counted(self.segments, "segment"),
                _counted(self.batches, "batch", "es"),
                _counted(self.size_bytes, "byte"),
            ]
        )
        verdict = f"{_counted(self.errors, 'error')}, {_counted(self.warnings, 'warning')}"
        style = "bold red" if self.errors else "yellow" if self.warnings else "green"
        self._console.print(f"{read}: [{style}]{verdict}[/]", soft_wrap=True)


class JsonReport(Report):
    def show_finding(self, finding: Finding) -> None:
        severity = finding.severity.value
        _write("finding", severity=severity, file=finding.path, position=finding.position, reason=finding.reason)

    def show_summary(self, summary: LogSummary) -> None:
        _write(
            "log",
            directory=summary.path,
            segments=summary.segments,
            batches=summary.batches,
            size_bytes=summary.size_bytes,
            log_start_offset=summary.log_start_offset,
            log_end_offset=summary.log_end_offset,
        )

    def show_progress(self, progress: Progress) -> None:
        """Show nothing: a program waits for the end."""

    def close(self) -> None:
        """Do nothing: nothing is open."""

    def conclude(self) -> None:
        _write("summary", errors=self.errors, warnings=self.warnings, logs=self.logs, size_bytes=self.size_bytes)


def _write(kind: str, **values: object) -> None:
    sys.stdout.write(json.dumps({"kind": kind, **values}) + "\n")


def _counted(count: int, noun: str, ending: str = "s") -> str:
    return f"{count} {noun}{'' if count == 1 else ending}"
