"""How far the recovery of the logs is, as a bar on standard error: logs and bytes done, and how long it will take."""

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from tidelog.storage.directories.loading import LoadProgress


class RecoveryBar:
    def __init__(self, console: Console | None = None) -> None:
        text = TextColumn("recovering logs {task.fields[logs]}")
        columns = (text, BarColumn(), DownloadColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=console or Console(stderr=True), transient=True)
        self._task = self._progress.add_task("logs", total=None, logs="")
        self._progress.start()

    def update(self, found: LoadProgress) -> None:
        """Move the bar. It goes by the bytes to be scanned, which take the time."""
        logs = f"{found.logs_done:,}/{found.logs_total:,}"
        self._progress.update(self._task, completed=found.bytes_done, total=found.bytes_total, logs=logs)

    def close(self) -> None:
        self._progress.stop()
