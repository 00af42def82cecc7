"""Rows of a dump as tables for a terminal: what a person looks for, in a width that a terminal has.

A table is printed in pages, since a log has more batches than memory should hold of them. Long values are cut; whoever
needs all of one asks for JSON.
"""

from typing import Final

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tidelog.cli.output.cells import Cells, batch_line, cells_of
from tidelog.cli.output.console import make_console as make_console
from tidelog.cli.output.rows import NOTHING
from tidelog.storage.inspect.findings import Finding, Severity
from tidelog.storage.inspect.rows import Row

PAGE_ROWS: Final = 500
STYLES: Final = {Severity.ERROR: "bold red", Severity.WARNING: "yellow"}
TEXT_COLUMNS: Final = ("key", "value", "headers", "meaning", "topic", "flags", "state", "compression")


def print_finding(console: Console, finding: Finding) -> None:
    style = STYLES[finding.severity]
    where = escape(finding.where)
    console.print(f"[{style}]{finding.severity.value}[/] {where}: {escape(finding.reason)}", soft_wrap=True)


class DumpTables:
    def __init__(self, *, records: bool) -> None:
        """Prepare to show files. With `records` each batch is a line above a table of its records; without, batches are
        the table."""
        self._records = records
        self._console = make_console()
        self._errors = make_console(stderr=True)
        self._kind = ""
        self._page: list[Cells] = []
        self._shown = 0

    def begin_file(self, path: str) -> None:
        self._shown = 0
        self._console.print(f"[bold cyan]{escape(path)}[/]", soft_wrap=True)

    def show(self, row: Row) -> None:
        self._shown += 1
        if row.kind != self._kind or len(self._page) >= PAGE_ROWS:
            self._flush()
        if self._records and row.kind == "batch":
            self._flush()
            self._console.print(batch_line(row.values), soft_wrap=True)
            return
        self._kind = row.kind
        self._page.append(cells_of(row))

    def report(self, finding: Finding) -> None:
        self._flush()
        self._console.file.flush()  # the two streams are often one terminal
        print_finding(self._errors, finding)

    def end_file(self) -> None:
        self._flush()
        if not self._shown:
            self._console.print("[dim]  nothing in it[/]")

    def _flush(self) -> None:
        if self._page:
            self._console.print(_table(self._page))
        self._page = []
        self._kind = ""


def _table(page: list[Cells]) -> Table:
    """Return a page as a table. Columns without any value are left out."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    names = [name for name in page[0] if any(cells[name] != NOTHING for cells in page)]
    table.add_column("")  # indents
    for name in names:
        is_text = name in TEXT_COLUMNS
        table.add_column(
            name.replace("_", " "), justify="left" if is_text else "right", overflow="fold", no_wrap=not is_text
        )
    for cells in page:
        table.add_row("", *(cells[name] for name in names))
    return table
