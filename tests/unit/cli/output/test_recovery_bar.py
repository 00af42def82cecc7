"""The progress bar of a long recovery."""

import io

from rich.console import Console

from tidelog.cli.output.recovery_bar import RecoveryBar
from tidelog.storage.directories.loading import LoadProgress


def test_logs_and_bytes_are_shown() -> None:
    shown = io.StringIO()
    bar = RecoveryBar(Console(file=shown, force_terminal=True, width=120))
    bar.update(LoadProgress(0, logs_total=40, logs_done=7, bytes_total=8_000_000, bytes_done=2_000_000))
    bar.close()
    assert "recovering logs 7/40" in shown.getvalue()
    assert "2.0/8.0 MB" in shown.getvalue()
