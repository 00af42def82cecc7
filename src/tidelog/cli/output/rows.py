"""Answers of a cluster, as a table for people or as JSON lines for programs, from the same rows.

A row is what JSON shows, whole and in plain values; a table shows some of it, each column with a form of its own.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rich.console import Console

Row = Mapping[str, Any]
Form = Callable[[Any], str]

NOTHING: Final = "-"


def show_rows(rows: Sequence[Row], columns: Mapping[str, Form], *, as_json: bool, empty: str = "nothing") -> None:
    """Show rows as a table or as JSON. `columns` names keys of the rows, in the order to show them. JSON has all
    keys."""
    if as_json:
        show_json(rows)
    elif rows:
        _show_table(rows, columns)
    else:
        _console().print(f"[dim]{empty}[/]")


def show_json(rows: Iterable[Row]) -> None:
    for row in rows:
        print(json.dumps(row))


def show_title(text: str) -> None:
    from rich.markup import escape

    _console().print(f"[bold cyan]{escape(text)}[/]", soft_wrap=True)


def _show_table(rows: Sequence[Row], columns: Mapping[str, Form]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name, form in columns.items():
        is_number = form in (number, size, lag, rate, change)
        heading = name.removesuffix("_ms").removesuffix("_per_s").replace("_", " ")  # the values have their unit
        table.add_column(heading, justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(form(row[name]) for name, form in columns.items()))
    _console().print(table)


def _console() -> "Console":
    from tidelog.cli.output.console import make_console  # imports rich, which JSON does not need

    return make_console()


# Forms


def text(value: Any) -> str:
    """Return a text that is safe in a table and on a terminal: names and settings are what anybody wrote."""
    from rich.markup import escape

    if value is None or value == "":
        return NOTHING
    shown = str(value)
    return escape(shown if shown.isprintable() else json.dumps(shown))


def number(value: Any) -> str:
    return NOTHING if value is None or value == -1 else str(value)


def lag(value: Any) -> str:
    """Return a lag, green if there is nothing to catch up on."""
    if value is None:
        return NOTHING
    return f"[green]{value}[/]" if value == 0 else f"[yellow]{value}[/]"


def rate(value: Any) -> str:
    return NOTHING if value is None else f"{value:,.1f}/s"


def change(value: Any) -> str:
    return NOTHING if value is None else f"{value:+d}"


def ids(value: Any) -> str:
    return ",".join(map(str, value)) or NOTHING


def flag(value: Any) -> str:
    return "yes" if value else "no"


def size(value: Any) -> str:
    """Return a number of bytes in its unit, to three digits."""
    if value is None or value < 0:
        return NOTHING
    amount = float(value)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{value} B" if unit == "B" else f"{amount:.3g} {unit}" if amount < 100 else f"{amount:.0f} {unit}"
        amount /= 1024
    return f"{amount:,.1f} TiB"
